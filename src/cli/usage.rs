//! Explains wrong usage of `ringd`, and shows the command to type.

use std::ffi::{OsStr, OsString};

use clap::error::{ContextKind, ErrorKind};
use clap::{Command, Error};
use ring_text::parse_duration;
use ring_text::usage::{PartialParse, context_texts};

/// The clap id of the argument for the interface.
const INTERFACE: &str = "interface";

/// Adds an explanation to an error, if there is an explanation. `command` declares the options. `given` contains the
/// words of the command line, including the program's name.
pub(super) fn explain(mut error: Error, command: Command, given: &[OsString]) -> Error {
    let surplus = match error.kind() {
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        ErrorKind::ArgumentConflict => ContextKind::InvalidSubcommand,
        _ => return error,
    };
    // clap proposes two hyphens before the word. They would make the word an interface.
    error.remove(ContextKind::Suggested);
    let Some(word) = context_texts(&error, surplus).first().cloned() else {
        return error;
    };
    let understood = PartialParse::of(command, given);
    let takes_interface = |it: &PartialParse| it.read.try_contains_id(INTERFACE).is_ok();
    let Some(understood) = understood.filter(takes_interface) else {
        return error;
    };
    let interface = understood.read.get_one::<String>(INTERFACE);
    let name = understood.name();
    let text = match interface {
        _ if matches!(word.as_str(), "-i" | "--interface") => {
            let next = given.iter().skip_while(|it| **it != *word).nth(1);
            let next = next.map_or("IFACE".into(), |it| OsStr::to_string_lossy(it));
            format!(
                "there is no option '{word}'; give the interface without an option, as in {name} {next}"
            )
        }
        Some(_) if is_unit(&word) => {
            format!("'{word}' is a separate word; write a duration without a blank, as in 100ms")
        }
        Some(interface) if !word.starts_with('-') => format!(
            "'{word}' is one word too many: {name} takes one interface, and reads '{interface}' as its name; {name} \
             {word} runs on {word}: each interface has its own {name}"
        ),
        _ => return error,
    };
    understood.error(&error, text)
}

fn is_unit(word: &str) -> bool {
    parse_duration(&format!("1{word}")).is_ok()
}
