//! Names of members, as this machine has them.

use ring_control::lab2::Status;
use ring_text::{Names, name_macs, parse_mac};

/// Fills in the names of a status's members.
pub(crate) fn give_to(status: &mut Status) {
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
