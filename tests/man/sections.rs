//! The sections of the manual pages after the options. A part of them is in the help of the program: lists that begin
//! with a line such as `Exit codes:`. The other parts are in the tables below.

use std::fmt::Write as _;

use clap::Command;

/// Entries of a section: a term and its description.
type Entries = &'static [(&'static str, &'static str)];

/// The pages of daemons, and of commands for their operators. All other pages are in section 1.
const DAEMONS: [&str; 7] = [
    "ring-board",
    "ring-board-password",
    "ringd",
    "ringd-check-config",
    "ringd-ftn",
    "ringd-jitterbug",
    "ringd-keygen",
];

/// Sections that have the same entries for all commands of a program. A page uses the entries of the longest name that
/// it begins with.
const COMMON: &[(&str, &str, Entries)] = &[
    (
        "ring-sim",
        "FILES",
        &[(
            "sim-SEED.json",
            "The schedule of a run that broke a rule, in the current directory, unless --record names another one.",
        )],
    ),
    (
        "ring-sim",
        "SIGNALS",
        &[("SIGINT, SIGTERM", "End ring-sim at once.")],
    ),
    (
        "ring-board",
        "ENVIRONMENT",
        &[
            ("PGPASSWORD", "Password for the database server."),
            (
                "PGPASSFILE",
                "File with passwords for database servers [default: ~/.pgpass].",
            ),
            (
                "CREDENTIALS_DIRECTORY",
                "Directory of systemd's credentials; the credential database-password is a password.",
            ),
            (
                "NOTIFY_SOCKET, WATCHDOG_USEC",
                "Socket for reports to systemd, and interval of these reports.",
            ),
            (
                "JOURNAL_STREAM",
                "Whether the log goes to the journal. If so, its lines have fields and priorities.",
            ),
        ],
    ),
    (
        "ring-board",
        "FILES",
        &[
            (
                "/etc/ringd/ringd.toml",
                "The configuration file, unless --config names another one.",
            ),
            (
                "/var/lib/ringd-board/board.db",
                "The database, unless --database names another one.",
            ),
            (
                "/etc/ringd/board.password",
                "The hash of the page's password, for example, for --http-password-file.",
            ),
            (
                "/run/ringd-board/board-ID.sock",
                "The control socket for ringctl.",
            ),
        ],
    ),
    (
        "ringd-check-config",
        "FILES",
        &[(
            "/etc/ringd/ringd.toml",
            "The configuration file, unless --config names another one.",
        )],
    ),
    (
        "ring-board-password",
        "FILES",
        &[("/etc/ringd/board.password", "The usual file for the line.")],
    ),
    (
        "ring-board-password",
        "EXIT STATUS",
        &[
            ("0", "The line is printed."),
            ("2", "Wrong usage, or a password that cannot be used."),
        ],
    ),
    ("ring-board-password", "ENVIRONMENT", &[]),
    ("ring-board-password", "SIGNALS", &[]),
    ("ringd-check-config", "ENVIRONMENT", &[]),
    ("ringd-check-config", "SIGNALS", &[]),
    ("ringd-keygen", "FILES", &[]),
    ("ringd-keygen", "ENVIRONMENT", &[]),
    ("ringd-keygen", "SIGNALS", &[]),
    (
        "ringd-ftn",
        "FILES",
        &[
            (
                "/etc/ringd/ringd.toml",
                "The configuration file, unless --config names another one.",
            ),
            (
                "/etc/ringd/ftn.servers",
                "The usual list of servers, which ringctl token reads.",
            ),
            (
                "/var/lib/ringd-ftn/ftn-N.state",
                "The number of the configuration, which must survive a restart.",
            ),
            (
                "/run/ringd-ftn/ftn-N.sock",
                "The control socket for ringctl.",
            ),
        ],
    ),
    (
        "ringd-jitterbug",
        "FILES",
        &[
            (
                "/etc/ringd/ringd.toml",
                "The configuration file, unless --config names another one.",
            ),
            (
                "/run/ringd-jitterbug/jitterbug-IFACE.sock",
                "The control socket for ringctl.",
            ),
        ],
    ),
    (
        "ringd",
        "ENVIRONMENT",
        &[
            (
                "CREDENTIALS_DIRECTORY",
                "Directory of systemd's credentials, for --key-file credential:NAME.",
            ),
            (
                "XDG_RUNTIME_DIR",
                "Directory of the lock file, if the daemon's user cannot write /run/ringd.",
            ),
            (
                "NOTIFY_SOCKET, WATCHDOG_USEC",
                "Socket for reports to systemd, and interval of these reports.",
            ),
            (
                "JOURNAL_STREAM",
                "Whether the log goes to the journal. If so, its lines have fields and priorities.",
            ),
        ],
    ),
    (
        "ringd",
        "FILES",
        &[
            (
                "/etc/ringd/ringd.toml",
                "The configuration file, unless --config names another one.",
            ),
            (
                "/run/ringd/IFACE.sock",
                "The control socket for ringctl. With --ethertype, the name is IFACE:TYPE.sock.",
            ),
            (
                "/var/lib/ringd/IFACE.state",
                "The state that must survive a restart.",
            ),
            (
                "/var/lib/ringd/IFACE.jobs",
                "The last runs of jobs (ringctl once).",
            ),
            (
                "/var/lib/ringd/IFACE.paused",
                "A pause that lasts over a restart (ringctl pause --persist).",
            ),
            (
                "/var/lib/ringd/IFACE.history, /var/lib/ringd/IFACE.member-history",
                "The holds of locks on this machine and on other machines, if the daemon does not log to the journal \
                 (ringctl history).",
            ),
            ("/etc/ringd/hooks.d", "Programs that run at each change."),
            (
                "/etc/ringd/ring.keys",
                "The usual key file, if --key-file names it.",
            ),
            (
                "/etc/ethers, /etc/hosts",
                "Names of members for the log and for ringctl.",
            ),
        ],
    ),
    (
        "ringd",
        "SIGNALS",
        &[
            (
                "SIGTERM, SIGINT",
                "Hand the token over, then exit. A second signal ends the daemon at once.",
            ),
            (
                "SIGHUP, SIGQUIT",
                "If the daemon has a terminal, the same. Otherwise no effect; the daemon logs this.",
            ),
            ("SIGUSR1", "Log the status."),
            (
                "SIGUSR2",
                "No effect; the daemon logs that it ignores the signal.",
            ),
        ],
    ),
    (
        "ringctl",
        "EXIT STATUS",
        &[
            ("0", "Done."),
            (
                "1",
                "The daemon refused the request, or a system call failed.",
            ),
            ("2", "Wrong usage."),
            (
                "3",
                "No daemon runs here, ringctl cannot reach it, or it does not answer.",
            ),
            ("4", "Several daemons run here: choose one with -i."),
        ],
    ),
    (
        "ringctl-guard",
        "ENVIRONMENT",
        &[(
            "RINGD_TOKEN",
            "The fencing token that ringctl compares with FILE, unless --token gives one.",
        )],
    ),
    (
        "ringctl-status",
        "EXIT STATUS",
        &[
            (
                "0",
                "The node is healthy or degraded. With --check: healthy.",
            ),
            (
                "1",
                "The daemon refused the request, or a system call failed. With --check: degraded.",
            ),
            (
                "2",
                "Wrong usage. With --check: critical, or no daemon answers.",
            ),
            (
                "3",
                "No daemon runs here, ringctl cannot reach it, or it does not answer.",
            ),
            ("4", "Several daemons run here: choose one with -i."),
            ("5", "The node's health is critical, also with -q."),
        ],
    ),
    (
        "ringctl-token",
        "EXIT STATUS",
        &[
            ("0", "Done."),
            (
                "1",
                "The token was not granted in time, a server does not answer, or a system call failed.",
            ),
            ("2", "Wrong usage, or FILE is not a list of servers."),
            ("3", "No session has begun in time."),
            ("4", "get: the token has no data."),
            ("75", "The token was lost."),
        ],
    ),
    (
        "ringctl-top",
        "ENVIRONMENT",
        &[
            ("NO_COLOR", "If it is not empty, no colors."),
            (
                "LC_ALL, LC_CTYPE, LANG",
                "The first that is not empty is the locale. If it is not UTF-8, only ASCII characters.",
            ),
            (
                "COLUMNS",
                "Width of snapshots [default: that of the terminal; without a terminal 160].",
            ),
        ],
    ),
    (
        "ringctl",
        "ENVIRONMENT",
        &[
            (
                "RINGD_LOCK",
                "Fencing token of the lock that ringctl runs under. Commands that would wait for its end fail at once.",
            ),
            ("RINGD_TOKEN", "The same, if RINGD_LOCK is not set."),
            (
                "RINGCTL_COMPLETE",
                "Name of a shell. ringctl prints the completion script for this shell.",
            ),
        ],
    ),
    (
        "ringctl-token",
        "ENVIRONMENT",
        &[
            (
                "RINGD_SERVERS",
                "File with the list of servers, unless --servers names one.",
            ),
            (
                "RINGD_TOKENS",
                "Tokens under which ringctl runs. A command that would wait for one of them fails at once.",
            ),
        ],
    ),
    (
        "ringctl",
        "FILES",
        &[
            (
                "/run/ringd/IFACE.sock",
                "The control socket of the daemon on IFACE.",
            ),
            (
                "/run/ringd-SYSTEM/SYSTEM-PLACE.sock",
                "The control socket of a node of another system.",
            ),
            ("/etc/ethers, /etc/hosts", "Names of members."),
        ],
    ),
    (
        "ringctl-token",
        "FILES",
        &[(
            "/etc/ringd/ftn.servers",
            "The list of servers, unless --servers or RINGD_SERVERS names another one.",
        )],
    ),
    (
        "ringctl-history",
        "FILES",
        &[(
            "/var/lib/ringd/IFACE.history, /var/lib/ringd/IFACE.member-history",
            "The newest holds of this machine and of other machines, if ringd does not log to the journal. The older \
             holds are in files with the ending .1.",
        )],
    ),
    (
        "ringctl-history",
        "EXIT STATUS",
        &[
            ("0", "Done. The list may be empty."),
            (
                "1",
                "The journal or a file cannot be read, or a system call failed.",
            ),
            ("2", "Wrong usage."),
        ],
    ),
    (
        "ringctl-guard",
        "FILES",
        &[(
            "FILE",
            "The record of the newest token. Put FILE next to the data that the tokens protect.",
        )],
    ),
    (
        "ringctl",
        "SIGNALS",
        &[(
            "SIGINT, SIGTERM, SIGHUP, SIGQUIT",
            "End ringctl. Its request to the daemon ends too.",
        )],
    ),
    ("ringctl-run", "SIGNALS", RUN_SIGNALS),
    ("ringctl-once", "SIGNALS", RUN_SIGNALS),
    ("ringctl-token-run", "SIGNALS", RUN_SIGNALS),
    (
        "ringctl-token-hold",
        "SIGNALS",
        &[("SIGINT, SIGTERM", "Return the token, then exit.")],
    ),
    (
        "ringctl-lock",
        "SIGNALS",
        &[(
            "SIGINT, SIGTERM, SIGHUP, SIGQUIT",
            "End ringctl while it waits. Later, ringd-keeper holds the lock.",
        )],
    ),
];

const RUN_SIGNALS: Entries = &[
    (
        "SIGTERM, SIGINT, SIGHUP, SIGQUIT",
        "Forwarded to the command. While ringctl waits for the token, they end ringctl.",
    ),
    (
        "SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP",
        "Forwarded to the command. While ringctl waits for the token, it ignores the first three.",
    ),
];

/// Examples of the commands whose help contains no examples.
const EXAMPLES: &[(&str, Entries)] = &[
    (
        "ringctl-data",
        &[(
            "ringctl data get --raw",
            "Print the data that travel with the token.",
        )],
    ),
    (
        "ringctl-data-get",
        &[("ringctl data get --raw", "Print the data as bytes.")],
    ),
    (
        "ringctl-data-set",
        &[(
            "echo hello | ringctl data set -",
            "Set the data from standard input.",
        )],
    ),
    (
        "ringctl-forget",
        &[("ringctl forget node3", "Remove the member with this name.")],
    ),
    (
        "ringctl-resume",
        &[(
            "ringctl resume -i eth0",
            "End the pause of the node on eth0.",
        )],
    ),
    (
        "ringctl-status",
        &[
            (
                "ringctl status",
                "Show the ring as the daemon here sees it.",
            ),
            ("ringctl status --check", "Print a line for a monitor."),
            ("ringctl status --json | jq .owner", "Print the owner."),
        ],
    ),
    (
        "ringctl-token-get",
        &[(
            "ringctl token get counter",
            "Print the data of the token counter.",
        )],
    ),
    (
        "ringctl-token-hold",
        &[(
            "ringctl token hold --shared report",
            "Share the token report.",
        )],
    ),
    (
        "ringctl-token-list",
        &[("ringctl token list --json", "Print all tokens as JSON.")],
    ),
    (
        "ringctl-token-run",
        &[(
            "ringctl token run nightly -- backup /srv",
            "Run a command under the token nightly.",
        )],
    ),
    (
        "ringctl-token-set",
        &[(
            "make list | ringctl token set list",
            "Set the data from standard input.",
        )],
    ),
    (
        "ringctl-top",
        &[
            (
                "ringctl top --interval 5s",
                "Show the ring; ask ringd every 5 s.",
            ),
            ("ringctl top -n 1", "Print one snapshot."),
            (
                "ringctl top -n 60 > ring.log",
                "Record the ring for a minute.",
            ),
        ],
    ),
    (
        "ringctl-unlock",
        &[(
            "ringctl unlock --pid $$",
            "Release the lock of this script.",
        )],
    ),
    (
        "ringctl-wait",
        &[(
            "ringctl wait OWNER -w 10",
            "Wait until this node owns the token, at most 10 s.",
        )],
    ),
    (
        "ringctl-watch",
        &[
            (
                "ringctl watch",
                "Print the state of the ring, then each event.",
            ),
            (
                "ringctl watch --json --from 1000",
                "Print the events from number 1000 on, as JSON.",
            ),
        ],
    ),
    (
        "ringctl-yield",
        &[("ringctl yield node3", "Hand the token over to this member.")],
    ),
];

/// For the pages of a program: further pages to which these pages refer, in addition to the pages of the program's
/// commands.
const SEE_ALSO: &[(&str, &[&str])] = &[
    ("ring-board", &["ringctl(1)", "ringd(8)"]),
    (
        "ring-sim",
        &[
            "ringd(8)",
            "ringd-ftn(8)",
            "ringd-jitterbug(8)",
            "ring-board(8)",
        ],
    ),
    ("ringctl", &["ringd(8)", "ringd-jitterbug(8)", "flock(1)"]),
    (
        "ringctl-guard",
        &["ringctl-run(1)", "ringctl-lock(1)", "ringd(8)"],
    ),
    (
        "ringctl-lock",
        &[
            "ringctl-unlock(1)",
            "ringctl-run(1)",
            "ringctl-guard(1)",
            "ringd(8)",
        ],
    ),
    (
        "ringctl-once",
        &["ringctl-run(1)", "ringd(8)", "crontab(5)"],
    ),
    (
        "ringctl-pause",
        &["ringctl-resume(1)", "ringctl-yield(1)", "ringd(8)"],
    ),
    ("ringctl-resume", &["ringctl-pause(1)", "ringd(8)"]),
    ("ringctl-token", &["ringd-ftn(8)"]),
    ("ringctl-unlock", &["ringctl-lock(1)", "ringd(8)"]),
    (
        "ringd",
        &[
            "ringctl(1)",
            "ringd-ftn(8)",
            "ringd-jitterbug(8)",
            "ring-board(8)",
        ],
    ),
    ("ringd-ftn", &["ringctl-token(1)", "ringctl(1)", "ringd(8)"]),
    ("ringd-jitterbug", &["ringctl(1)", "ringd(8)"]),
];

/// Returns the section of the manual to which a page belongs.
pub(super) fn number(page: &str) -> &'static str {
    if DAEMONS.contains(&page) { "8" } else { "1" }
}

/// Returns the sections after the options.
pub(super) fn render(command: &Command, page: &str) -> String {
    let mut text = String::new();
    let help = command.get_after_long_help().map(ToString::to_string);
    let mut parts = parts_of_help(&help.unwrap_or_default());
    for section in [
        "NOTES",
        "EXIT STATUS",
        "ENVIRONMENT",
        "FILES",
        "SIGNALS",
        "EXAMPLES",
    ] {
        let mut body = String::new();
        let from_help = parts.iter_mut().filter(|part| part.section == section);
        for part in from_help {
            body += &part.body;
        }
        let entries = match section {
            "EXAMPLES" if body.is_empty() => find(EXAMPLES, page, false),
            // The help of a command lists all its codes and signals.
            "EXIT STATUS" | "SIGNALS" if body.contains(".nf") => &[],
            "EXAMPLES" | "NOTES" => &[],
            _ => common(section, page),
        };
        if section == "ENVIRONMENT" && !body.is_empty() && !entries.is_empty() {
            let program = page.split('-').next().unwrap_or(page);
            write(
                &mut body,
                format_args!(".PP\n{program} itself uses these variables:\n"),
            );
        }
        for (term, description) in entries {
            write(
                &mut body,
                format_args!(".TP\n\\fB{}\\fR\n{}\n", escape(term), escape(description)),
            );
        }
        if !body.is_empty() {
            write(&mut text, format_args!(".SH \"{section}\"\n{body}"));
        }
    }
    text += ".SH \"SEE ALSO\"\n";
    let mut pages: Vec<String> = Vec::new();
    let parent = page.rsplit_once('-').map(|(parent, _)| parent);
    // The name of the command check-config contains a hyphen.
    let parent = parent.map(|it| it.strip_suffix("-check").unwrap_or(it));
    if let Some(parent) = parent.filter(|it| *it != "ring") {
        pages.push(format!("{parent}({})", number(parent)));
    }
    for other in find(SEE_ALSO, page, true) {
        if !pages.contains(&(*other).to_owned()) && !other.starts_with(&format!("{page}(")) {
            pages.push((*other).to_owned());
        }
    }
    let pages: Vec<_> = pages
        .iter()
        .map(|it| format!(".B {}", escape(it)))
        .collect();
    text + &pages.join(",\n") + "\n"
}

/// Returns the entries of the longest name in the table with which `page` begins. If `inherits` is false, the name must
/// be `page`.
fn find<T>(table: &'static [(&str, &'static [T])], page: &str, inherits: bool) -> &'static [T] {
    let matching = table.iter().filter(|(name, _)| {
        let rest = page.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || inherits && rest.starts_with('-'))
    });
    let longest = matching.max_by_key(|(name, _)| name.len());
    longest.map_or(&[], |(_, entries)| entries)
}

fn common(section: &str, page: &str) -> Entries {
    let matching = COMMON.iter().filter(|(name, of, _)| {
        let rest = page.strip_prefix(name);
        *of == section && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    });
    let longest = matching.max_by_key(|(name, ..)| name.len());
    longest.map_or(&[], |(_, _, entries)| entries)
}

/// A part of a help text, and the section to which it belongs.
pub(super) struct Part {
    pub section: &'static str,
    pub body: String,
}

/// Splits the text at the end of a help into parts. A blank line separates paragraphs. A paragraph belongs to the
/// section that its first line names.
fn parts_of_help(help: &str) -> Vec<Part> {
    let mut section = "NOTES";
    let mut parts = Vec::new();
    for paragraph in help.split("\n\n").filter(|it| !it.trim().is_empty()) {
        let lines: Vec<&str> = paragraph.lines().collect();
        let first = lines[0];
        let heading = section_of(first);
        // Examples may have several paragraphs.
        let continues = section == "EXAMPLES" && first.starts_with("  ");
        section = heading.unwrap_or(if continues { section } else { "NOTES" });
        let has_only_heading = heading.is_some() && HEADINGS.contains(&first);
        let lines = if has_only_heading {
            &lines[1..]
        } else {
            &lines[..]
        };
        parts.push(Part {
            section,
            body: body(lines),
        });
    }
    parts
}

/// First lines that are only the name of a section.
const HEADINGS: [&str; 3] = ["Exit codes:", "Examples:", "Signals:"];

fn section_of(first: &str) -> Option<&'static str> {
    match first {
        "Examples:" => Some("EXAMPLES"),
        "Signals:" => Some("SIGNALS"),
        _ if first.contains("xit code") => Some("EXIT STATUS"),
        _ if first.to_lowercase().contains("environment") && first.ends_with(':') => {
            Some("ENVIRONMENT")
        }
        _ if first.contains("exit codes of") => Some("EXIT STATUS"),
        _ => None,
    }
}

/// Returns a paragraph in the language of manual pages. Indented lines are a list and keep their line breaks.
fn body(lines: &[&str]) -> String {
    let mut text = String::from(".PP\n");
    let mut in_list = false;
    for line in lines {
        if line.starts_with("  ") != in_list {
            in_list = !in_list;
            text += if in_list { ".nf\n" } else { ".fi\n" };
        }
        write(&mut text, format_args!("{}\n", escape(line)));
    }
    if in_list {
        text += ".fi\n";
    }
    text
}

/// Returns the text for a manual page. A line must not begin with a dot or an apostrophe.
pub(super) fn escape(text: &str) -> String {
    let text = text
        .replace('\\', r"\e")
        .replace('-', r"\-")
        .replace('\'', r"\*(Aq");
    if text.starts_with(['.', '\'']) {
        format!(r"\&{text}")
    } else {
        text
    }
}

fn write(page: &mut String, text: std::fmt::Arguments<'_>) {
    page.write_fmt(text).expect("a string takes all");
}
