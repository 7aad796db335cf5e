//! The command `ringd check-config`.

use std::io::{self, Write};
use std::iter;

use clap::Parser;
use clap::error::ErrorKind;
use nix::net::if_::{if_nameindex, if_nametoindex};
use nix::unistd::User;
use ring_config::{Checked, ConfigFile, ConfigOption, DEFAULT_PATH, Section};
use ring_control::escape_control_characters;
use ring_host::trust::ServiceUser;
use ring_process::private_files::{ServiceProblem, find_service_problem};

use super::{FTN, JITTERBUG, RING};
use crate::system::{ftn, jitterbug, lab2};

/// The maximum length of the name of an interface, without alternative names.
const INTERFACE_NAME_LEN_MAX: usize = 15;

/// The user of the unit of a ring's daemon.
const RING_USER: &str = "ringd";
/// The user of the unit of a server of the token service.
const SERVER_USER: &str = "ringd-ftn";
/// The name of the command.
pub(super) const NAME: &str = "check-config";

/// Check the configuration file.
///
/// The command checks the sections [ring], [ftn] and [jitterbug]. It names the line and the column of each mistake, and
/// changes nothing. A note names a possible problem on this machine. The command checks key files too. Only the daemons
/// check other files, such as the list of servers. A node of ring-board checks the section [board] at its start.
#[derive(Debug, Parser)]
#[command(
    name = "check-config",
    after_long_help = "\
Exit codes:
  0  no mistakes, or no default file
  1  the result cannot be printed
  2  mistakes, an unreadable file, or wrong usage",
    after_help = "See --help for more."
)]
pub struct Options {
    /// The option that names the file.
    #[command(flatten)]
    config: ConfigOption,
}

impl Options {
    /// Checks the file and prints the result. Returns the exit code of the process.
    ///
    /// # Errors
    /// Fails if the result cannot be printed.
    pub fn run(&self) -> io::Result<u8> {
        let file = match ConfigFile::open_to_check(self.config.file.as_deref()) {
            Ok(Some(file)) => file,
            Ok(None) => {
                let text = "so the daemons use their command lines and the defaults";
                writeln!(io::stdout(), "there is no file {DEFAULT_PATH}, {text}")?;
                return Ok(0);
            }
            Err(error) => {
                writeln!(io::stderr(), "ringd: {error}")?;
                return Ok(2);
            }
        };
        let path = file.path().display();
        let Checked { mistakes, notes } = check(&file);
        for note in notes {
            let note = escape_control_characters(&note);
            writeln!(io::stdout(), "{path}: note: {note}")?;
        }
        for mistake in &mistakes {
            writeln!(io::stderr(), "{path}: {mistake}")?;
        }
        if !mistakes.is_empty() {
            return Ok(2);
        }
        let text = "has no mistakes in [ring], [ftn] and [jitterbug]";
        writeln!(io::stdout(), "{path} {text}")?;
        Ok(0)
    }
}

/// Checks a file. Some mistakes concern several sections, but the result contains them only once.
fn check(file: &ConfigFile) -> Checked {
    let mut notes = Vec::new();
    let [ring_user, server_user] = [RING_USER, SERVER_USER].map(service_user);
    let results = [
        file.check(&RING, |node, words| {
            notes.extend(node.and_then(|name| find_interface(RING, name)));
            let options: lab2::Options = parse(node, words)?;
            options.check().map_err(|error| error.to_string())?;
            let note = options.keys.check_keys(ring_user.as_ref());
            let note = note.map_err(|error| error.to_string())?;
            // Several sections may name the same file.
            notes.extend(note.filter(|note| !notes.contains(note)));
            Ok(())
        }),
        file.check(&JITTERBUG, |node, words| {
            notes.extend(node.and_then(|name| find_interface(JITTERBUG, name)));
            let options: jitterbug::Options = parse(node, words)?;
            options.check().map_err(|error| error.to_string())?;
            let note = options.keys.check_keys(None);
            notes.extend(note.map_err(|error| error.to_string())?);
            Ok(())
        }),
        file.check(&FTN, |_, words| {
            notes.extend(check_server(words, server_user.as_ref())?);
            Ok(())
        }),
    ];
    let mut all = Checked {
        mistakes: Vec::new(),
        notes,
    };
    for checked in results {
        for mistake in checked.mistakes {
            if !all.mistakes.contains(&mistake) {
                all.mistakes.push(mistake);
            }
        }
        all.notes.extend(checked.notes);
    }
    all.notes.extend(find_problem_of_units(file));
    all
}

/// Returns a user of the systemd units; `None` if this machine has no such user.
fn service_user(name: &'static str) -> Option<ServiceUser> {
    let user = User::from_name(name).ok().flatten()?;
    let id = user.uid.as_raw();
    Some(ServiceUser { name, id })
}

/// Returns a note if the daemons of the systemd units, which do not run as root, cannot use the file.
fn find_problem_of_units(file: &ConfigFile) -> Option<String> {
    match find_service_problem(file.path()).ok()?? {
        ServiceProblem::Changeable(part) => Some(format!(
            "the daemons of the systemd units refuse the file while users other than root can change {}; run chown \
             root and chmod go-w on it",
            part.display()
        )),
        ServiceProblem::Hidden(part) => Some(format!(
            "the daemons of the systemd units do not run as root, and some users cannot read {}",
            part.display()
        )),
    }
}

/// If this machine has no interface with this name, returns a note.
fn find_interface(section: Section, name: &str) -> Option<String> {
    // An interface may have longer alternative names, which this look-up does not find.
    if if_nametoindex(name).is_ok() || name.len() > INTERFACE_NAME_LEN_MAX {
        return None;
    }
    let found = if_nameindex().ok()?;
    let found = found
        .iter()
        .map(|it| it.name().to_string_lossy().into_owned());
    let found: Vec<_> = found.collect();
    Some(format!(
        "[{}.{name}]: this machine has no interface {name}; its interfaces are {}",
        section.name,
        found.join(", ")
    ))
}

/// Checks the words of a server of the token service, and its key files. Returns notes about the key files. It is no
/// mistake if the words lack required options, because the command line may have these options.
fn check_server(words: &[String], service: Option<&ServiceUser>) -> Result<Vec<String>, String> {
    let parse = |missing: &[&str]| {
        let words = words.iter().map(String::as_str);
        let line = iter::once("ringd").chain(words);
        ftn::Options::try_parse_from(line.chain(missing.iter().copied()))
    };
    let lacks = |error: &clap::Error| error.kind() == ErrorKind::MissingRequiredArgument;
    let required = ["--servers=list", "--index=0"];
    let mut parsed = parse(&[]);
    for missing in [&required[..1], &required[1..], &required] {
        if parsed.as_ref().is_err_and(lacks) {
            parsed = parse(missing);
        }
    }
    let options = parsed.map_err(|error| error.to_string())?;
    options.check().map_err(|error| error.to_string())?;
    options
        .check_keys(service)
        .map_err(|error| error.to_string())
}

/// Parses the words of a section, for the interface that selects the section.
fn parse<O: Parser>(interface: Option<&str>, words: &[String]) -> Result<O, String> {
    let words = words.iter().map(String::as_str);
    // A section without subsections applies to every interface.
    let interface = ["--", interface.unwrap_or("IFACE")];
    let line = iter::once("ringd").chain(words).chain(interface);
    O::try_parse_from(line).map_err(|error: clap::Error| error.to_string())
}
