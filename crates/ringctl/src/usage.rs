//! Usage errors of `ringctl` that show the correct command line.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use ring_text::usage::{PartialParse, context_texts};

/// Maximum number of characters of a wrong value that an error shows.
const VALUE_CHARS_MAX: usize = 40;
/// The clap id of the argument that contains the command to run.
const COMMAND_ID: &str = "command";

/// Returns the error. If a better explanation exists, the error contains it. `command` declares the options; `given` is
/// the command line, including the program's name.
pub(super) fn explain(error: Error, command: Command, given: &[OsString]) -> Error {
    let error = shorten_value(error);
    if error.kind() != ErrorKind::MissingRequiredArgument {
        return error;
    }
    let missing = context_texts(&error, ContextKind::InvalidArg);
    let Some(understood) = PartialParse::of(command, given) else {
        return error;
    };
    let text = explain_misplaced_option(&understood, missing)
        .or_else(|| explain_missing_command(&understood, missing));
    match text {
        Some(text) => understood.error(&error, text),
        None => error,
    }
}

/// Shortens the wrong value in an error. The reason follows the value in the text, so a user would not find the reason
/// after a value of thousands of bytes.
fn shorten_value(mut error: Error) -> Error {
    if let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue)
        && value.chars().count() > VALUE_CHARS_MAX
    {
        let cut: String = value
            .chars()
            .take(VALUE_CHARS_MAX)
            .chain("...".chars())
            .collect();
        error.insert(ContextKind::InvalidValue, ContextValue::String(cut));
    }
    error
}

/// Explains an option that follows the command to run. `ringctl` took this option for an option of the command to run.
fn explain_misplaced_option(understood: &PartialParse, missing: &[String]) -> Option<String> {
    let words = words(understood, COMMAND_ID);
    let program = words.first()?;
    let option = missing.iter().find_map(|it| it.split(' ').next())?;
    let is_option = |word: &String| word.split('=').next() == Some(option);
    let at = words.iter().position(is_option)?;
    let has_own_value = words[at].contains('=');
    let end = (at + if has_own_value { 1 } else { 2 }).min(words.len());
    let option = words[at..end].join(" ");
    let command = [&words[..at], &words[end..]].concat().join(" ");
    let before = arguments_before_command(understood).flat_map(|(_, given)| given);
    let before: String = before.flat_map(|word| [" ".to_owned(), word]).collect();
    Some(format!(
        "{option} is an option of the command {program}, because it follows the command; put options before the \
         command: {}{before} {option} -- {command}",
        understood.name()
    ))
}

/// Explains why the command is missing: `ringctl` took the command for the argument before it.
fn explain_missing_command(understood: &PartialParse, missing: &[String]) -> Option<String> {
    let takes_command = understood.read.try_contains_id(COMMAND_ID).is_ok();
    if !takes_command || !missing.iter().all(|it| it.starts_with("<CMD>")) {
        return None;
    }
    let (argument, given) = arguments_before_command(understood).last()?;
    let given = given.last()?;
    Some(format!(
        "<CMD> is missing: '{given}' is read as <{argument}>; put the {argument} before it"
    ))
}

/// Returns the arguments that stand before the command to run. Each item contains the name of an argument, as the help
/// shows it, and the words that were given for this argument.
fn arguments_before_command(
    understood: &PartialParse,
) -> impl Iterator<Item = (String, Vec<String>)> {
    let arguments = understood.command.get_positionals();
    let before = arguments.take_while(|it| it.get_id() != COMMAND_ID);
    before.map(|it| {
        let names = it.get_value_names().and_then(|names| names.first());
        let name = names.map_or_else(|| it.get_id().as_str().to_uppercase(), ToString::to_string);
        (name, words(understood, it.get_id().as_str()))
    })
}

fn words(understood: &PartialParse, argument: &str) -> Vec<String> {
    let given = understood.read.try_get_raw(argument).ok().flatten();
    let words = given.into_iter().flatten();
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}
