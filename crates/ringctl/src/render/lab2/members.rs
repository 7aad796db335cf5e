//! Names of members, from the files of this machine.

use ring_control::lab2::Status;
use ring_text::{Names, name_macs, parse_mac};

pub(crate) fn add_names(status: &mut Status) {
    let names = Names::read();
    for member in &mut status.members {
        let ip = member.ip.as_deref().and_then(|ip| ip.parse().ok());
        let name = parse_mac(&member.mac).and_then(|mac| names.of_machine(mac, ip));
        member.name = name.map(str::to_owned);
    }
}

/// Returns a text with the member's name after each MAC address. The names come from `status`.
pub(crate) fn append_names(text: &str, status: &Status) -> String {
    name_macs(text, |mac| {
        let mut members = status.members.iter();
        let member = members.find(|member| parse_mac(&member.mac) == Some(mac))?;
        member.name.clone()
    })
}
