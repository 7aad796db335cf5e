//! Errors of wrong usage of `ringctl`, in words that say what to type instead.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use ring_text::usage::{Understood, texts};

/// How many characters of a wrong value are shown.
const SHOWN: usize = 40;
/// The id of the arguments that are a command to run.
const COMMAND: &str = "command";

/// Returns the error with a better explanation, if there is one. `command` declares the options, and `given` are the
/// words of the command line, the program's name first.
pub(super) fn explained(error: Error, command: Command, given: &[OsString]) -> Error {
    let error = with_short_value(error);
    if error.kind() != ErrorKind::MissingRequiredArgument {
        return error;
    }
    let missing = texts(&error, ContextKind::InvalidArg);
    let Some(understood) = Understood::of(command, given) else {
        return error;
    };
    let text = behind_command(&understood, missing).or_else(|| first_taken(&understood, missing));
    match text {
        Some(text) => understood.error(&error, text),
        None => error,
    }
}

/// Returns the error with a value that is cut short: the reason stands behind it, and nobody finds it behind thousands
/// of bytes.
fn with_short_value(mut error: Error) -> Error {
    if let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue)
        && value.chars().count() > SHOWN
    {
        let cut: String = value.chars().take(SHOWN).chain("...".chars()).collect();
        error.insert(ContextKind::InvalidValue, ContextValue::String(cut));
    }
    error
}

/// Returns the explanation for an option that stands behind the command to run, whose option it is there.
fn behind_command(understood: &Understood, missing: &[String]) -> Option<String> {
    let words = words(understood, COMMAND);
    let program = words.first()?;
    let option = missing.iter().find_map(|it| it.split(' ').next())?;
    let is_option = |word: &String| word.split('=').next() == Some(option);
    let at = words.iter().position(is_option)?;
    let has_own_value = words[at].contains('=');
    let end = (at + if has_own_value { 1 } else { 2 }).min(words.len());
    let option = words[at..end].join(" ");
    let command = [&words[..at], &words[end..]].concat().join(" ");
    let before = before_command(understood).flat_map(|(_, given)| given);
    let before: String = before.flat_map(|word| [" ".to_owned(), word]).collect();
    Some(format!(
        "{option} belongs to the command {program}, since it stands behind it: put options before the command, as in \
         {}{before} {option} -- {command}",
        understood.name()
    ))
}

/// Returns the explanation for a command to run that is missing, since it was read as the argument before it.
fn first_taken(understood: &Understood, missing: &[String]) -> Option<String> {
    let takes_command = understood.read.try_contains_id(COMMAND).is_ok();
    if !takes_command || !missing.iter().all(|it| it.starts_with("<CMD>")) {
        return None;
    }
    let (argument, given) = before_command(understood).last()?;
    let given = given.last()?;
    Some(format!(
        "<CMD> is missing, since '{given}' is read as <{argument}>: put the {argument} before it"
    ))
}

/// Returns the arguments before the command to run: how help calls them, and what was given.
fn before_command(understood: &Understood) -> impl Iterator<Item = (String, Vec<String>)> {
    let arguments = understood.command.get_positionals();
    let before = arguments.take_while(|it| it.get_id() != COMMAND);
    before.map(|it| {
        let names = it.get_value_names().and_then(|names| names.first());
        let name = names.map_or_else(|| it.get_id().as_str().to_uppercase(), ToString::to_string);
        (name, words(understood, it.get_id().as_str()))
    })
}

/// Returns the words that were given for an argument.
fn words(understood: &Understood, argument: &str) -> Vec<String> {
    let given = understood.read.try_get_raw(argument).ok().flatten();
    let words = given.into_iter().flatten();
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}
