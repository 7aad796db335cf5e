//! Completes the names of nodes for a shell. Also finds the values of options in the command line that the user has
//! typed.

use std::ffi::OsString;
use std::path::Path;

use clap_complete::CompletionCandidate;
use ring_control::CONTROL_DIR;

use super::discover;

pub(super) fn node_candidates() -> Vec<CompletionCandidate> {
    // After an error, return no candidates, because a shell would not show the error.
    let names = discover::node_names(Path::new(CONTROL_DIR)).unwrap_or_default();
    names.into_iter().map(CompletionCandidate::new).collect()
}

/// Returns the value of an option in the command line. The forms are `--option value` and `--option=value`.
pub(super) fn value_on_command_line(option: &str) -> Option<OsString> {
    value_of(option, std::env::args_os())
}

fn value_of(option: &str, words: impl Iterator<Item = OsString>) -> Option<OsString> {
    let mut words = words.skip_while(|word| word != "--").skip(1);
    let mut last = None;
    while let Some(word) = words.next() {
        if word == option {
            last = words.next();
        } else if let Some(value) = word.to_str().and_then(|word| word.strip_prefix(option))
            && let Some(value) = value.strip_prefix('=')
        {
            last = Some(value.into());
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::value_of;

    fn value(words: &str) -> Option<OsString> {
        value_of("--servers", words.split(' ').map(OsString::from))
    }

    #[test]
    fn the_last_value_counts_in_either_spelling() {
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
            "words before -- belong to the shell"
        );
    }
}
