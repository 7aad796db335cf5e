//! Names of members, as this machine has them.

use std::net::IpAddr;
use std::path::Path;

use ring_control::Reply;
use ring_control::lab2::Status;
use ring_text::{Names, has_mac, name_macs, parse_mac};

use super::super::Error;
use super::super::client::{self, Plain};

/// Fills in the names of a status's members.
pub(super) fn give_to(status: &mut Status) {
    let names = Names::read();
    for member in &mut status.members {
        let ip = member.ip.as_deref().and_then(|ip| ip.parse().ok());
        let name = parse_mac(&member.mac).and_then(|mac| names.of(mac, ip));
        member.name = name.map(str::to_owned);
    }
}

/// Returns a text in which each MAC address of a member has the member's name behind it. `status` has the names.
pub(crate) fn named(text: &str, status: &Status) -> String {
    name_macs(text, |mac| {
        let mut members = status.members.iter();
        let member = members.find(|member| parse_mac(&member.mac) == Some(mac))?;
        member.name.clone()
    })
}

/// Does the same for a text of the daemon at `socket`, which knows the members. A text without an address costs nothing.
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
