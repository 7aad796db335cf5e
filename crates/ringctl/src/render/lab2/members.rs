//! Names of members, from the files of this machine or from the members' announcements.

use ring_control::escape_control_characters;
use ring_control::lab2::{MemberStatus, Status, SurveyReport};
use ring_text::{Names, name_macs, parse_mac};

/// Replaces the announced host names of members that have a name in the files of this machine.
pub(crate) fn add_names(status: &mut Status) {
    let names = Names::read();
    for member in &mut status.members {
        let ip = member.ip.as_deref().and_then(|ip| ip.parse().ok());
        let name = parse_mac(&member.mac).and_then(|mac| names.of_machine(mac, ip));
        if let Some(name) = name {
            member.name = Some(name.to_owned());
        }
    }
    let name_of = |mac: &str| name_of(&status.members, parse_mac(mac)?);
    status.owner_name = status.owner.as_deref().and_then(name_of);
    for run in &mut status.runs {
        run.runner_name = name_of(&run.runner);
    }
}

/// Gives the members of a survey the names that the status has for them.
pub(crate) fn name_surveyed(report: &mut SurveyReport, status: &Status) {
    for surveyed in &mut report.members {
        let mut members = status.members.iter();
        if let Some(member) = members.find(|member| member.mac == surveyed.mac) {
            surveyed.name.clone_from(&member.name);
        }
    }
}

/// Returns a text for people with the member's name after each MAC address. The names come from `status`.
pub(crate) fn append_names(text: &str, status: &Status) -> String {
    name_macs(text, |mac| {
        let name = name_of(&status.members, mac)?;
        Some(escape_control_characters(&name))
    })
}

/// Returns the name of the member with this MAC address.
pub(super) fn name_of(members: &[MemberStatus], mac: [u8; 6]) -> Option<String> {
    let mut members = members.iter();
    let member = members.find(|member| parse_mac(&member.mac) == Some(mac))?;
    member.name.clone()
}
