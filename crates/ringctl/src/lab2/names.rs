//! Members by their names.

use std::net::IpAddr;
use std::path::Path;

use ring_control::Reply;
use ring_control::lab2::Status;
use ring_text::{has_mac, parse_mac};

use super::super::Error;
use super::super::client::{self, Plain};
use super::super::render::members::{give_to, named};

/// Returns a text in which each MAC address of a member has the member's name behind it. The daemon at `socket` knows the
/// members; a text without an address costs nothing.
pub(crate) fn named_by(socket: &Path, text: String) -> String {
    if !has_mac(&text) {
        return text;
    }
    let Ok(Reply::Status(status)) = client::ask(socket, &Plain::Status) else {
        return text;
    };
    let Ok(mut status) = status.json().read::<Status>() else {
        return text;
    };
    give_to(&mut status);
    named(&text, &status)
}

/// Whether this can only be a name: the daemon knows addresses itself.
pub(super) fn is_name(text: &str) -> bool {
    parse_mac(text).is_none() && text.parse::<IpAddr>().is_err()
}

/// Returns the MAC of the member that a status, with names, shows under this name.
///
/// # Errors
/// There is no such member, or more than one.
pub(super) fn member_called(name: &str, status: &Status) -> Result<String, Error> {
    let is_called = |it: &Option<String>| {
        it.as_ref()
            .is_some_and(|known| known.eq_ignore_ascii_case(name))
    };
    let mut called = status.members.iter().filter(|it| is_called(&it.name));
    match (called.next(), called.next()) {
        (Some(member), None) => Ok(member.mac.clone()),
        (None, _) => Err(Error::NoMember(name.to_owned())),
        (Some(_), Some(_)) => Err(Error::SeveralMembers(name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::is_name;

    #[test]
    fn addresses_are_no_names() {
        for name in ["left", "middle.lab", "02:00:00:00:00:00:01", "face:b00k"] {
            assert!(is_name(name), "{name}");
        }
        for address in ["02:00:00:00:00:01", "2-0-0-0-0-1", "10.0.0.1", "fe80::1"] {
            assert!(!is_name(address), "{address}");
        }
    }
}
