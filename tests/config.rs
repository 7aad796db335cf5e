//! The configuration file, through the program `ringd`.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

/// The sections that `ringd check-config` checks, each with its subcommand.
const SECTIONS: [(&str, Option<&str>); 3] = [
    ("ring", None),
    ("ftn", Some("ftn")),
    ("jitterbug", Some("jitterbug")),
];

/// A configuration file in a folder that only this user can change.
struct File {
    folder: TempDir,
}

impl File {
    fn new(contents: &str) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let file = Self { folder };
        fs::write(file.path(), contents)?;
        fs::set_permissions(file.path(), Permissions::from_mode(0o644))?;
        Ok(file)
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("ringd.toml")
    }

    /// Runs `ringd` with these words and the file.
    fn run(&self, words: &[&str]) -> Result<Output> {
        let mut ringd = Command::new(env!("CARGO_BIN_EXE_ringd"));
        let ringd = ringd.args(words).arg("--config").arg(self.path());
        ringd.output().context("ringd cannot run")
    }

    /// Returns the mistakes that `ringd check-config` prints, without the path of the file.
    fn mistakes(&self) -> Result<Vec<String>> {
        let output = self.run(&["check-config"])?;
        let text = String::from_utf8(output.stderr)?;
        ensure!(
            output.status.code() == Some(if text.is_empty() { 0 } else { 2 }),
            "{}: {text}",
            output.status
        );
        let start = format!("{}: ", self.path().display());
        let lines = text.lines();
        let mistakes = lines.map(|line| line.strip_prefix(&start).unwrap_or(line).to_owned());
        Ok(mistakes.collect())
    }

    /// Returns the notes that `ringd check-config` prints about a file without mistakes.
    fn notes(&self) -> Result<Vec<String>> {
        let output = self.run(&["check-config"])?;
        ensure!(output.status.success(), "{output:?}");
        let start = format!("{}: note: ", self.path().display());
        let text = String::from_utf8(output.stdout)?;
        let lines = text.lines();
        let notes = lines.filter_map(|line| line.strip_prefix(&start));
        Ok(notes.map(str::to_owned).collect())
    }

    /// Returns the error with which a daemon on an interface that does not exist refuses to start.
    fn start_error(&self) -> Result<(Option<i32>, String)> {
        let output = self.run(&["no-such-iface"])?;
        Ok((output.status.code(), String::from_utf8(output.stderr)?))
    }
}

#[test]
fn each_mistake_has_its_line_column_and_nearest_key() -> Result<()> {
    let file = File::new(concat!(
        "[ring]\n",
        "heartbeet = '20ms'\n",
        "expect = 3\n",
        "heartbeat = 20\n",
        "verbose = 'yes'\n",
        "[ring.eth0.100]\n",
        "[ring.eth1]\n",
        "  log-format = 'xml'\n",
        "[ftn]\n",
        "xyz = 1\n",
        "[rnig]\n",
        "[ring.'']\n",
    ))?;
    let expected = [
        "line 2, column 1: [ring] has no key 'heartbeet', but it has 'heartbeat'",
        "line 3, column 1: [ring] has no key 'expect', but it has 'ring-size'",
        "line 4, column 13: 'heartbeat' cannot have the value '20': no unit",
        "line 5, column 11: 'verbose' is true or false",
        "line 6, column 12: [ring.eth0.100] is no section; put a name with a dot in quotes",
        "line 8, column 16: 'log-format' cannot have the value 'xml': give one of text, json",
        "line 11, column 2: there is no section [rnig], but there is [ring]",
        "line 12, column 7: [ring.\"\"] needs the name of an interface, as in [ring.eth0]",
        "line 10, column 1: [ftn] has no key 'xyz'",
    ];
    let mistakes = file.mistakes()?;
    ensure!(mistakes.len() == expected.len(), "{mistakes:#?}");
    for (mistake, expected) in mistakes.iter().zip(expected) {
        ensure!(mistake.starts_with(expected), "{mistake}, not {expected}");
    }
    let (code, error) = file.start_error()?;
    ensure!(
        code == Some(2) && error.contains(expected[0]),
        "{code:?}: {error}"
    );
    Ok(())
}

#[test]
fn values_that_cannot_work_together_are_a_mistake_of_their_section() -> Result<()> {
    let file =
        File::new("[ring]\ntake-timeout = '1s'\n[ring.eth0]\nheartbeat = '10s'\n[ring.eth1]\n")?;
    let mistakes = file.mistakes()?;
    ensure!(
        matches!(&mistakes[..], [it] if it.starts_with("[ring.eth1]: a failed handover")),
        "{mistakes:#?}"
    );
    Ok(())
}

#[test]
fn text_that_is_not_toml_has_its_place() -> Result<()> {
    let mistakes = File::new("[ring]\nheartbeat = '1\n")?.mistakes()?;
    ensure!(
        mistakes.iter().any(|it| it.starts_with("line 2, column 1")),
        "{mistakes:#?}"
    );
    Ok(())
}

#[test]
fn every_long_option_is_a_key() -> Result<()> {
    let mut ringd = ringd::cli::command();
    ringd.build();
    for (section, subcommand) in SECTIONS {
        let command = subcommand.and_then(|name| ringd.find_subcommand(name));
        let options = command.unwrap_or(&ringd).get_arguments();
        let names = options.filter_map(clap::Arg::get_long);
        for name in names.filter(|it| !matches!(*it, "config" | "help" | "version")) {
            // No option takes a date. So the file has one mistake, and this mistake is not an unknown key.
            let mistakes = File::new(&format!("[{section}]\n{name} = 2000-01-01\n"))?.mistakes()?;
            ensure!(
                mistakes.len() == 1
                    && mistakes[0].starts_with(&format!("line 2, column {}: '", name.len() + 4)),
                "{name}: {mistakes:?}"
            );
        }
    }
    Ok(())
}

#[test]
fn the_example_file_has_no_mistakes() -> Result<()> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/systemd/ringd.toml");
    let example = fs::read_to_string(path)?;
    ensure!(File::new(&example)?.mistakes()?.is_empty(), "as it is");
    // A comment of several words is not a key.
    let is_value = |line: &str| line.starts_with("# ") && line.split(' ').nth(2) == Some("=");
    let lines = example.lines();
    let lines = lines.map(|line| if is_value(line) { &line[2..] } else { line });
    let lines: Vec<_> = lines.collect();
    ensure!(lines.contains(&"ring-size = 3"), "{lines:#?}");
    let mut text = lines.join("\n");
    let mut files = Vec::new();
    for (id, name) in [(1, "ring.keys"), (2, "ftn.keys"), (3, "ftn.clients")] {
        let keys = tempfile::NamedTempFile::new()?;
        fs::write(keys.path(), format!("{id} {}", "5a".repeat(32)))?;
        let path = keys.path().display().to_string();
        text = text.replace(&format!("/etc/ringd/{name}"), &path);
        files.push(keys);
    }
    let mistakes = File::new(&text)?.mistakes()?;
    ensure!(mistakes.is_empty(), "with all values: {mistakes:#?}");
    Ok(())
}

#[test]
fn the_examples_of_the_pages_have_no_mistakes() -> Result<()> {
    let mut examples = 0;
    for page in [
        "reference/configuration.md",
        "how-to/grow-a-ring.md",
        "how-to/quorum.md",
        "how-to/virtual-ip.md",
        "operations/deploy.md",
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("docs")
            .join(page);
        let text = fs::read_to_string(path)?;
        for block in text.split("```toml\n").skip(1) {
            let (example, _) = block.split_once("```").context("the block has an end")?;
            let mistakes = File::new(example)?.mistakes()?;
            ensure!(mistakes.is_empty(), "{page}: {example}: {mistakes:#?}");
            examples += 1;
        }
    }
    ensure!(examples == 6, "{examples} examples");
    Ok(())
}

#[test]
fn a_missing_file_is_an_error_if_it_was_named() -> Result<()> {
    let file = File::new("")?;
    fs::remove_file(file.path())?;
    let (code, error) = file.start_error()?;
    ensure!(
        code == Some(2) && error.contains("cannot read the configuration file"),
        "{code:?}: {error}"
    );
    Ok(())
}

#[test]
fn a_file_that_others_can_change_is_refused() -> Result<()> {
    let file = File::new("")?;
    // The daemon reads the file, and then finds that the interface does not exist.
    let (code, error) = file.start_error()?;
    ensure!(code == Some(3), "{code:?}: {error}");
    for mode in [0o664, 0o646] {
        fs::set_permissions(file.path(), Permissions::from_mode(mode))?;
        let (code, error) = file.start_error()?;
        ensure!(
            code == Some(2) && error.contains("other users can change"),
            "{mode:o}: {code:?}: {error}"
        );
    }
    if !nix::unistd::geteuid().is_root() {
        return Ok(());
    }
    fs::set_permissions(file.path(), Permissions::from_mode(0o600))?;
    chown(file.path(), Some(65534), None)?;
    let (code, error) = file.start_error()?;
    ensure!(
        code == Some(2) && error.contains("other users can change"),
        "{code:?}: {error}"
    );
    Ok(())
}

#[test]
fn a_file_that_is_not_a_short_regular_file_is_refused() -> Result<()> {
    let file = File::new(&"#\n".repeat(40_000))?;
    let (code, error) = file.start_error()?;
    ensure!(
        code == Some(2) && error.contains("it is longer than"),
        "{code:?}: {error}"
    );
    fs::remove_file(file.path())?;
    // No program writes to the pipe.
    nix::unistd::mkfifo(&file.path(), nix::sys::stat::Mode::S_IRUSR)?;
    let (code, error) = file.start_error()?;
    ensure!(
        code == Some(2) && error.contains("it is not a regular file"),
        "{code:?}: {error}"
    );
    Ok(())
}

#[test]
fn the_check_notes_what_may_be_right_on_another_machine() -> Result<()> {
    let file = File::new("[ring]\ntake-timeout = '1s'\n[ring.lo]\nheartbeat = '10s'\n")?;
    let notes = file.notes()?;
    ensure!(
        matches!(&notes[..], [it] if it.starts_with("[ring]: a failed handover")),
        "{notes:#?}"
    );
    let file = File::new("[ring.eht0]\n")?;
    fs::set_permissions(file.path(), Permissions::from_mode(0o600))?;
    let notes = file.notes()?;
    ensure!(
        notes.len() == 2
            && notes[0].starts_with("[ring.eht0]: this machine has no interface eht0; its ")
            && notes[1].contains("do not run as root, and some users cannot read"),
        "{notes:#?}"
    );
    Ok(())
}

#[test]
fn a_file_full_of_mistakes_has_a_limited_number_of_messages() -> Result<()> {
    for line in ["a\n", "[ring]\n"] {
        let mistakes = File::new(&line.repeat(9_000))?.mistakes()?;
        ensure!(mistakes.len() == 100, "{line}: {}", mistakes.len());
    }
    Ok(())
}

#[test]
fn the_check_finds_values_with_which_no_server_starts() -> Result<()> {
    for (value, expected) in [
        ("heartbeat = '10s'", "[ftn]: --server-timeout 4s is less"),
        ("quorum = 0", "[ftn]: "),
        ("client-timeout = '1ms'", "[ftn]: --client-timeout"),
    ] {
        let mistakes = File::new(&format!("[ftn]\n{value}\n"))?.mistakes()?;
        ensure!(
            matches!(&mistakes[..], [it, ..] if it.starts_with(expected)),
            "{value}: {mistakes:#?}"
        );
    }
    let file = File::new("[ftn]\nquorum = 3\nindex = 4\n")?;
    ensure!(file.mistakes()?.is_empty(), "these values need a list");
    Ok(())
}

#[test]
fn a_file_that_others_can_change_is_checked_nevertheless() -> Result<()> {
    let file = File::new("[ring]\nring-sizes = 3\n")?;
    fs::set_permissions(file.path(), Permissions::from_mode(0o664))?;
    let mistakes = file.mistakes()?;
    ensure!(
        matches!(&mistakes[..], [it] if it.contains("'ring-size'")),
        "{mistakes:#?}"
    );
    fs::write(file.path(), "")?;
    let notes = file.notes()?;
    ensure!(
        matches!(&notes[..], [it] if it.contains("users other than root can change")),
        "{notes:#?}"
    );
    Ok(())
}

#[test]
fn text_that_is_not_utf_8_is_named() -> Result<()> {
    let file = File::new("")?;
    fs::write(file.path(), b"# \xff\n")?;
    let (code, error) = file.start_error()?;
    ensure!(
        code == Some(2) && error.contains("it is not UTF-8"),
        "{code:?}: {error}"
    );
    Ok(())
}

#[test]
fn a_required_option_may_be_in_the_file() -> Result<()> {
    let file = File::new("[ftn]\nservers = '/nonexistent/list'\nindex = 0\n")?;
    let output = file.run(&["ftn"])?;
    let error = String::from_utf8(output.stderr)?;
    ensure!(
        output.status.code() == Some(3) && error.contains("/nonexistent/list"),
        "{error}"
    );
    Ok(())
}
