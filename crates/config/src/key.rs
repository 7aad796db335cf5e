//! Checks keys and values against the declared options.

use std::error::Error;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command};
use strsim::jaro_winkler;
use toml::de::DeValue;

/// The minimum similarity of two keys if one of them counts as a misspelling of the other.
const SIMILARITY_MIN: f64 = 0.7;

/// Returns the name of the most similar candidate, if one is similar.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let rated = candidates
        .into_iter()
        .map(|candidate| (jaro_winkler(name, candidate), candidate))
        .filter(|(similarity, _)| *similarity >= SIMILARITY_MIN);
    rated
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

/// Returns the key that a user may have meant with the unknown key `name`. This is the key of an option with the alias
/// `name`, or a similar key.
pub(crate) fn meant_key<'a>(name: &str, options: &'a [Arg]) -> Option<&'a str> {
    let with_alias = options.iter().find(|option| {
        let aliases = option.get_all_aliases().unwrap_or_default();
        aliases.contains(&name)
    });
    let keys = options.iter().filter_map(Arg::get_long);
    with_alias
        .and_then(Arg::get_long)
        .or_else(|| nearest(name, keys))
}

/// Converts a value of the file to words of the command line.
///
/// # Errors
/// Returns the reason if the option cannot have this value.
pub(crate) fn words(option: &Arg, key: &str, value: &DeValue<'_>) -> Result<Vec<String>, String> {
    if !option.get_action().takes_values() {
        let is_set = value.as_bool();
        let is_set = is_set.ok_or_else(|| format!("'{key}' is true or false"))?;
        return Ok(is_set.then(|| format!("--{key}")).into_iter().collect());
    }
    let may_repeat = matches!(option.get_action(), ArgAction::Append);
    let values: Option<Vec<_>> = if let Some(array) = value.as_array().filter(|_| may_repeat) {
        array.iter().map(|item| text(item.get_ref())).collect()
    } else {
        text(value).map(|text| vec![text])
    };
    let values = values.ok_or_else(|| format!("'{key}' takes a string or a number"))?;
    let words: Vec<_> = values.iter().map(|it| format!("--{key}={it}")).collect();
    for (word, text) in words.iter().zip(&values) {
        check(option, word)
            .map_err(|why| format!("'{key}' cannot have the value '{text}': {why}"))?;
    }
    Ok(words)
}

/// Returns the text of a value in the form in which a command line would contain it.
fn text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.clone().into_owned()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .ok()
            .map(|number| number.to_string()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

/// Parses a word with the parser of its option. Returns the reason if the parser refuses the word.
fn check(option: &Arg, word: &str) -> Result<(), String> {
    let command = Command::new("")
        .no_binary_name(true)
        .arg(option.clone().required(false));
    let Err(error) = command.try_get_matches_from([word]) else {
        return Ok(());
    };
    let choices = match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(choices)) => choices.as_slice(),
        _ => &[],
    };
    Err(match (error.kind(), error.source(), choices) {
        (ErrorKind::ValueValidation, Some(why), _) => why.to_string(),
        (_, _, [_, ..]) => format!("give one of {}", choices.join(", ")),
        _ => "the value is empty".to_owned(),
    })
}
