//! Makes manual pages from the options that a program declares.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;

use clap::Command;

/// Environment variable. If the variable is set, the test writes the pages instead of checking them.
const WRITE_VARIABLE: &str = "RINGD_WRITE_MAN";

/// Returns the pages of a program: one page for the program, and one for each command at any depth. The key is the file
/// name.
pub(crate) fn pages(program: Command) -> BTreeMap<String, String> {
    // Clap's `help` command needs no page.
    let program = program.disable_help_subcommand(true);
    let mut program = with_aliases(program);
    program.build();
    let mut pages = BTreeMap::new();
    add_pages(&program, &mut pages);
    pages
}

/// Adds the pages of a command and of its visible commands.
fn add_pages(command: &Command, pages: &mut BTreeMap<String, String>) {
    let man = clap_mangen::Man::new(command.clone())
        .section("8")
        .source(concat!("ringd ", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    man.render(&mut page)
        .expect("a write to a vector never fails");
    let page = String::from_utf8(page).expect("help is text");
    pages.insert(man.get_filename(), with_lists(&page));
    let commands = command.get_subcommands();
    for command in commands.filter(|command| !command.is_hide_set()) {
        add_pages(command, pages);
    }
}

/// Adds the aliases of options to the help of the options. `--help` shows aliases there, but `clap_mangen` omits them.
fn with_aliases(program: Command) -> Command {
    let program = program.mut_args(|option| {
        let aliases = option.get_visible_aliases().unwrap_or_default();
        if aliases.is_empty() {
            return option;
        }
        let aliases = aliases.join(", --");
        let help = option.get_long_help().or(option.get_help());
        let help = help.map(ToString::to_string).unwrap_or_default();
        option.long_help(format!("{help} [aliases: --{aliases}]"))
    });
    program.mut_subcommands(with_aliases)
}

/// Keeps the line breaks of indented lines at the end of the page. These lines are lists, and `man` would join them.
fn with_lists(page: &str) -> String {
    let mut kept = String::new();
    let mut in_list = false;
    for line in page.lines() {
        if line.starts_with("  ") != in_list {
            in_list = !in_list;
            kept += if in_list { ".nf\n" } else { ".fi\n" };
        }
        kept += match line {
            ".SH EXTRA" => ".SH NOTES",
            line => line,
        };
        kept.push('\n');
    }
    kept
}

/// Compares pages with the program's pages in `docs/man`. If [`WRITE_VARIABLE`] is set, writes the pages instead.
///
/// # Panics
/// Panics if the pages differ. The panic's message names `again`, the command that writes the pages.
pub(crate) fn check(made: &BTreeMap<String, String>, is_own: impl Fn(&str) -> bool, again: &str) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    // The crate's folder is the repository's root, or a folder inside the repository.
    let root = directory
        .ancestors()
        .find(|it| it.join("docs/man").is_dir());
    let directory = root.expect("docs/man is there").join("docs/man");
    if env::var_os(WRITE_VARIABLE).is_some() {
        for (name, page) in made {
            fs::write(directory.join(name), page).expect("a manual page can be written");
        }
    }
    let mut written = read_pages(&directory);
    written.retain(|name, _| is_own(name));
    let missing: Vec<_> = made
        .keys()
        .filter(|it| !written.contains_key(*it))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/man has no page for these commands: {missing:?}; run {WRITE_VARIABLE}=1 {again}"
    );
    let surplus: Vec<_> = written
        .keys()
        .filter(|it| !made.contains_key(*it))
        .collect();
    assert!(
        surplus.is_empty(),
        "docs/man has pages for commands that do not exist: {surplus:?}; delete them"
    );
    for (name, page) in made {
        let absent = references(page).find(|it| !written.contains_key(it));
        assert_eq!(absent, None, "docs/man/{name} refers to a missing page");
        assert!(
            written[name] == *page,
            "docs/man/{name} differs from --help; run {WRITE_VARIABLE}=1 {again}"
        );
    }
}

/// Returns the file names of the command pages to which a page refers.
fn references(page: &str) -> impl Iterator<Item = String> {
    let listed = page.lines().filter_map(|line| line.strip_suffix("(8)"));
    listed.map(|name| name.replace(r"\-", "-") + ".8")
}

fn read_pages(directory: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(directory).expect("docs/man is there");
    entries
        .map(|entry| {
            let entry = entry.expect("docs/man can be listed");
            let page = fs::read_to_string(entry.path()).expect("a manual page is text");
            (entry.file_name().to_string_lossy().into_owned(), page)
        })
        .collect()
}

/// Checks the form of the help of a program and its commands.
///
/// # Panics
/// Panics if a line or a summary is too long.
pub(crate) fn check_help(program: &Command) {
    check_lines(program);
    check_summaries(program);
    let commands = program.get_subcommands();
    commands
        .filter(|command| !command.is_hide_set())
        .for_each(check_help);
}

/// Checks the lines at the end of a program's help. A terminal must not break a line that clap has already broken. So a
/// line of prose must be shorter than the terminal, or must be the only line of its paragraph. A line of a list must
/// fit into clap's maximum width.
fn check_lines(program: &Command) {
    let help = program.get_after_long_help().map(ToString::to_string);
    let help = help.unwrap_or_default();
    let lines: Vec<&str> = help.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let before = at.checked_sub(1).map_or("", |before| lines[before]);
        let after = lines.get(at + 1).copied().unwrap_or_default();
        let is_alone = before.is_empty() && after.is_empty();
        let most = if line.starts_with(' ') {
            HELP_WIDTH_MAX
        } else {
            TERMINAL_WIDTH
        };
        let name = program.get_name();
        assert!(
            line.len() <= most || is_alone,
            "a line in the help of {name} has more than {most} characters: {line}"
        );
    }
}

/// Checks the lists of commands and options: each command and each option has a description of one short line.
fn check_summaries(program: &Command) {
    let name = program.get_name();
    let options = program
        .get_arguments()
        .filter(|option| !option.is_hide_set())
        .map(|option| (option.get_id().as_str(), option.get_help()));
    let commands = program
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|command| (command.get_name(), command.get_about()));
    for (id, summary) in options.chain(commands) {
        let summary = summary.map(ToString::to_string).unwrap_or_default();
        let summary = summary.split(" [default").next().unwrap_or_default();
        assert!(
            summary.chars().count() <= SUMMARY_LEN_MAX,
            "the summary of {name} {id} has more than {SUMMARY_LEN_MAX} characters: {summary}"
        );
    }
}

/// Width of a terminal, in characters.
const TERMINAL_WIDTH: usize = 80;
/// Maximum length of the summary of a command or an option, in characters (`docs/contributors/style.md`).
const SUMMARY_LEN_MAX: usize = 60;
/// Maximum width of a line of help. Clap breaks longer lines.
const HELP_WIDTH_MAX: usize = 100;
