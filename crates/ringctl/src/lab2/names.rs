//! Translation between the names and the MAC addresses of members.

use std::net::IpAddr;
use std::path::Path;

use ring_control::Reply;
use ring_control::lab2::{MemberStatus, Status};
use ring_text::{Names, has_mac, parse_mac};

use super::super::Error;
use super::super::client::{self, CommonRequest};
use super::super::render::members;

/// Adds the name of the member after each MAC address of a text. If the text contains an address, asks the daemon at
/// `socket` for the names.
pub(crate) fn add_names(socket: &Path, text: String) -> String {
    if !has_mac(&text) {
        return text;
    }
    let Ok(Reply::Status(status)) = client::ask(socket, &CommonRequest::Status) else {
        return text;
    };
    let Ok(mut status) = status.json().decode::<Status>() else {
        return text;
    };
    members::add_names(&mut status);
    members::append_names(&text, &status)
}

/// Whether a text is the name of a member, not an address. Only names must be translated, because the daemon accepts
/// addresses.
pub(super) fn is_name(text: &str) -> bool {
    parse_mac(text).is_none() && text.parse::<IpAddr>().is_err()
}

/// Returns the MAC address of the member with this name. The status must contain the members' names. Names in the files
/// of this machine have priority, because every machine can announce any name.
pub(super) fn find_member(name: &str, status: &Status) -> Result<String, Error> {
    let files = Names::read();
    let is_in_files = |it: &&MemberStatus| {
        let ip = it.ip.as_deref().and_then(|ip| ip.parse().ok());
        let known = parse_mac(&it.mac).and_then(|mac| files.of_machine(mac, ip));
        known.is_some_and(|known| known.eq_ignore_ascii_case(name))
    };
    let is_shown = |it: &&MemberStatus| {
        let known = it.name.as_deref();
        known.is_some_and(|known| known.eq_ignore_ascii_case(name))
    };
    let mut found: Vec<_> = status.members.iter().filter(is_in_files).collect();
    if found.is_empty() {
        found = status.members.iter().filter(is_shown).collect();
    }
    match &found[..] {
        [member] => Ok(member.mac.clone()),
        [] => Err(Error::NoMember(name.to_owned())),
        _ => Err(Error::SeveralMembers(name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::is_name;

    #[test]
    fn an_address_is_not_a_name() {
        for name in ["left", "middle.lab", "02:00:00:00:00:00:01", "face:b00k"] {
            assert!(is_name(name), "{name}");
        }
        for address in ["02:00:00:00:00:01", "2-0-0-0-0-1", "10.0.0.1", "fe80::1"] {
            assert!(!is_name(address), "{address}");
        }
    }
}
