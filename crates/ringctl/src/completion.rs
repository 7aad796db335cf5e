//! What a shell completes on the command line of `ringctl`, as it asks for it.

use std::ffi::OsString;
use std::path::Path;

use clap_complete::CompletionCandidate;
use ring_control::CONTROL_DIR;

use super::discover;

/// The nodes that run on this machine.
pub(super) fn nodes() -> Vec<CompletionCandidate> {
    // A shell has no place for an error.
    let names = discover::names(Path::new(CONTROL_DIR)).unwrap_or_default();
    names.into_iter().map(CompletionCandidate::new).collect()
}

/// The value of an option that is on the command line already, in either spelling.
pub(super) fn given(option: &str) -> Option<OsString> {
    value_of(option, std::env::args_os())
}

fn value_of(option: &str, words: impl Iterator<Item = OsString>) -> Option<OsString> {
    let mut words = words.skip_while(|word| word != "--").skip(1);
    let mut found = None;
    while let Some(word) = words.next() {
        if word == option {
            found = words.next();
        } else if let Some(value) = word.to_str().and_then(|word| word.strip_prefix(option))
            && let Some(value) = value.strip_prefix('=')
        {
            found = Some(value.into());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::value_of;

    fn value(words: &str) -> Option<OsString> {
        value_of("--servers", words.split(' ').map(OsString::from))
    }

    #[test]
    fn the_last_value_of_an_option_counts_in_either_spelling() {
        assert_eq!(
            value("ringctl -- ringctl token --servers a"),
            Some("a".into())
        );
        assert_eq!(
            value("ringctl -- ringctl token --servers=a"),
            Some("a".into())
        );
        let twice = value("ringctl -- ringctl token --servers=a --servers b get");
        assert_eq!(twice, Some("b".into()));
        assert_eq!(value("ringctl -- ringctl token --servers"), None);
        assert_eq!(
            value("ringctl --servers a -- ringctl token"),
            None,
            "the shell's own words"
        );
    }
}
