//! Tests of the text of a key file.

use proptest::prelude::*;

use super::{KEYS_MAX, Key, Keyring, KeyringError, KeyringProblem};

const DIGITS: &str = "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF";

fn problem(text: &str) -> (usize, usize, KeyringProblem) {
    match Keyring::parse(text) {
        Err(KeyringError::Line {
            line,
            column,
            problem,
        }) => (line, column, problem),
        other => panic!("{text:?}: {other:?}"),
    }
}

#[test]
fn comments_and_blank_lines_are_no_keys_and_the_first_key_signs() {
    let text = format!("# keys\n\n 20261130\t{DIGITS} # new\r\n7 {DIGITS}\n");
    let keyring = Keyring::parse(&text).expect("legal");
    assert_eq!(keyring.signing_id().get(), 20_261_130);
    let ids: Vec<u32> = keyring.ids().map(u32::from).collect();
    assert_eq!(ids, [20_261_130, 7]);
    for text in ["", "# no key\n\n"] {
        assert_eq!(Keyring::parse(text).err(), Some(KeyringError::Empty));
    }
}

#[test]
fn an_error_names_the_line_and_the_column() {
    let good = format!("7 {DIGITS}\n");
    for id in ["0", "+7", "-1", "4294967296", "seven", DIGITS] {
        let text = format!("{good}\n  {id} {DIGITS}\n");
        assert_eq!(problem(&text), (3, 3, KeyringProblem::Id), "{id}");
    }
    let max = format!("4294967295 {DIGITS}");
    assert!(Keyring::parse(&max).is_ok());
    assert_eq!(problem("7"), (1, 2, KeyringProblem::NoKey));
    assert_eq!(problem("7  # none"), (1, 2, KeyringProblem::NoKey));
    let short = KeyringProblem::Length { digits: 63 };
    assert_eq!(problem(&format!("7  {}", &DIGITS[1..])), (1, 4, short));
    let long = KeyringProblem::Length { digits: 65 };
    assert_eq!(problem(&format!("7 {DIGITS}0")), (1, 3, long));
    let wrong = DIGITS.replace("22", "2ä");
    assert_eq!(
        problem(&format!("7 {wrong}")),
        (1, 8, KeyringProblem::Digit)
    );
    let rest = format!("{good}8 {DIGITS} new");
    assert_eq!(problem(&rest), (2, 68, KeyringProblem::Rest));
    let same = KeyringProblem::SameId { first: 1 };
    assert_eq!(problem(&format!("{good}7 {DIGITS}")), (2, 1, same));
}

#[test]
fn there_are_at_most_eight_keys() {
    let lines: Vec<String> = (1..=9).map(|id| format!("{id} {DIGITS}")).collect();
    assert!(Keyring::parse(&lines[..KEYS_MAX].join("\n")).is_ok());
    let too_many = KeyringProblem::TooMany { max: KEYS_MAX };
    assert_eq!(problem(&lines.join("\n")), (9, 1, too_many));
}

#[test]
fn a_printed_key_is_read_again_and_no_debug_output_shows_it() {
    let key = Key::new(20_261_130.try_into().expect("not zero"), [0xab; 32]);
    let line = key.to_line();
    assert_eq!(line.as_str(), format!("20261130 {}", "ab".repeat(32)));
    let keyring = Keyring::parse(&line).expect("a legal line");
    assert_eq!(keyring.keys()[0].secret[..], [0xab; 32]);
    assert_eq!(
        format!("{keyring:?}"),
        "Keyring([Key { id: 20261130, .. }])"
    );
}

proptest! {
    #[test]
    fn any_text_is_a_keyring_or_an_error_without_a_key(text in "([0-9a-f#+ \t]{1,70}\n?){0,12}") {
        if let Err(error) = Keyring::parse(&text) {
            let message = error.to_string();
            for word in text.split_whitespace().filter(|word| word.len() > 10) {
                prop_assert!(!message.contains(word), "{message}");
            }
        }
    }
}
