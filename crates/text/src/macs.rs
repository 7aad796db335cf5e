//! MAC addresses in sentences.

use std::fmt::Write as _;

/// The length of a MAC address as text: six pairs of digits, separated by colons.
const MAC_LEN: usize = 17;

/// Adds names to the MAC addresses in a text. After each address comes the name from `name_of`, in parentheses. Some
/// addresses get no name. A fencing token contains an address between two hyphens, which readers do not see as an
/// address. A command such as `ringctl COMMAND ADDRESS` must stay unchanged, because a person may paste it into a
/// shell.
pub fn name_macs(text: &str, name_of: impl Fn([u8; 6]) -> Option<String>) -> String {
    let mut named = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, mac)) = first_mac(rest) {
        let (before, from) = rest.split_at(at);
        let (address, behind) = from.split_at(MAC_LEN);
        named.push_str(before);
        named.push_str(address);
        let is_of_token = before.ends_with('-') && behind.starts_with('-');
        let has_name = !is_of_token && !ends_with_command(before);
        if let Some(name) = name_of(mac).filter(|_| has_name) {
            // Writing to a string cannot fail.
            let _ = write!(named, " ({name})");
        }
        rest = behind;
    }
    named.push_str(rest);
    named
}

/// Whether a text ends with `ringctl`, another word and a space.
fn ends_with_command(text: &str) -> bool {
    let mut words = text.rsplit(' ');
    words.next() == Some("") && words.next().is_some() && words.next() == Some("ringctl")
}

/// Whether a text contains a MAC address.
pub fn has_mac(text: &str) -> bool {
    first_mac(text).is_some()
}

/// Returns the first address of a text and its position.
fn first_mac(text: &str) -> Option<(usize, [u8; 6])> {
    let bytes = text.as_bytes();
    let is_of_address =
        |byte: Option<&u8>| byte.is_some_and(|it| it.is_ascii_hexdigit() || *it == b':');
    let begins = (0..bytes.len().saturating_sub(MAC_LEN - 1))
        .filter(|&at| at == 0 || !is_of_address(bytes.get(at - 1)));
    let mut found = begins.filter_map(|at| {
        let mac = parse_colon_mac(&bytes[at..at + MAC_LEN])?;
        (!is_of_address(bytes.get(at + MAC_LEN))).then_some((at, mac))
    });
    found.next()
}

fn parse_colon_mac(text: &[u8]) -> Option<[u8; 6]> {
    let mut mac = [0; 6];
    for (byte, pair) in mac.iter_mut().zip(text.chunks(3)) {
        if pair.get(2).is_some_and(|&it| it != b':') {
            return None;
        }
        let digits = pair.get(..2)?;
        if !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        *byte = u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(mac)
}

#[cfg(test)]
mod tests {
    use super::{has_mac, name_macs};

    fn replace_names(text: &str) -> String {
        name_macs(text, |mac| {
            (mac == [2, 0, 0, 0, 0, 0xab]).then(|| "beta".to_owned())
        })
    }

    #[test]
    fn each_address_is_followed_by_its_name() {
        for (text, expected) in [
            ("", ""),
            ("02:00:00:00:00:ab", "02:00:00:00:00:ab (beta)"),
            (
                "held by 02:00:00:00:00:AB, not by 02:00:00:00:00:01 or 02:00:00:00:00:ab.",
                "held by 02:00:00:00:00:AB (beta), not by 02:00:00:00:00:01 or 02:00:00:00:00:ab (beta).",
            ),
            ("é 02:00:00:00:00:ab é", "é 02:00:00:00:00:ab (beta) é"),
        ] {
            assert_eq!(replace_names(text), expected);
        }
    }

    #[test]
    fn an_address_in_a_command_gets_no_name_so_that_a_shell_accepts_the_command() {
        for (text, expected) in [
            (
                "02:00:00:00:00:ab is silent; run ringctl forget 02:00:00:00:00:ab; ringctl yield 02:00:00:00:00:ab",
                "02:00:00:00:00:ab (beta) is silent; run ringctl forget 02:00:00:00:00:ab; ringctl yield \
                 02:00:00:00:00:ab",
            ),
            (
                "ringctl stopped by 02:00:00:00:00:ab",
                "ringctl stopped by 02:00:00:00:00:ab (beta)",
            ),
        ] {
            assert_eq!(replace_names(text), expected);
        }
    }

    #[test]
    fn texts_that_look_like_an_address_get_no_name() {
        for text in [
            "token 17-02:00:00:00:00:ab-3",
            "02:00:00:00:00:ab:cd",
            "fe80:02:00:00:00:00:ab",
            "02:00:00:00:00:a",
            "at 02:00:00",
            "02-00-00-00-00-ab",
        ] {
            assert_eq!(replace_names(text), text);
        }
        assert!(has_mac("x 02:00:00:00:00:01") && !has_mac("12:30:00"));
    }
}
