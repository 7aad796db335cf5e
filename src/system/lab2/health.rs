//! The verdict of a node on itself and its ring: what is wrong, how bad it is, and what to do.

use ring_proto::lab2::{Constants, Lab2, Trouble};

use super::status::trouble;
use crate::control::lab2::{MemberStatus, Status};
use crate::control::{Finding, Health, Verdict};

/// How many members of the same kind are named.
const NAMED: usize = 4;

/// Gives a status its verdict. `around`: what is wrong with this machine.
pub fn judge(status: &mut Status, machine: &Lab2, around: impl Iterator<Item = Finding>) {
    let own = own_findings(status).into_iter();
    let ring = findings(machine.troubles(), machine.constants());
    let members = member_findings(status).into_iter();
    let findings = own.chain(ring).chain(around).chain(members);
    let Verdict { health, troubles } = Verdict::of(findings.collect());
    (status.health, status.troubles) = (health, troubles);
}

/// Returns the troubles that people can do something about.
pub(super) fn findings(
    troubles: impl Iterator<Item = Trouble>,
    constants: &Constants,
) -> impl Iterator<Item = Finding> {
    let limit = constants.waiter_timeout();
    let told = troubles.filter(move |it| !it.is_slight(limit));
    told.map(|it| Finding {
        health: health(it),
        text: trouble(it),
    })
}

/// How well a node does what it is for, in spite of a trouble.
const fn health(trouble: Trouble) -> Health {
    match trouble {
        Trouble::CannotSend
        | Trouble::BroadcastsUnheard
        | Trouble::Unheard { .. }
        | Trouble::OwnerUnheard { .. }
        | Trouble::AddressShared { .. }
        | Trouble::Apart { mac: None }
        | Trouble::NoQuorum { .. } => Health::Critical,
        Trouble::MemberDeaf { .. }
        | Trouble::AnswerLate { .. }
        | Trouble::TakenLate { .. }
        | Trouble::TablesDiffer { .. }
        | Trouble::Apart { mac: Some(_) }
        | Trouble::TokenAhead { .. }
        | Trouble::ClockAhead { .. }
        | Trouble::MemberUnreached { .. }
        | Trouble::MtuTooSmall { .. }
        | Trouble::DataDropped { .. } => Health::Degraded,
    }
}

/// What keeps this node from its job.
fn own_findings(status: &Status) -> Vec<Finding> {
    let mut findings = Vec::new();
    let interface = &status.interface;
    if status.link != "up" {
        findings.push(Finding::critical(format!(
            "{interface} {}: this node is in no ring until that is over; look at its cable, its switch port and 'ip link'",
            status.link
        )));
    } else if status.is_cut_off() {
        let others = status.others().count();
        findings.push(Finding::critical(format!(
            "this node hears none of the {others} other members that it knows: if they are up, look at {interface}, its \
             firewall and its cable"
        )));
    } else if !status.is_in_ring() {
        findings.push(Finding::critical(format!(
            "{}: this node knows no owner and looks for one; if that lasts, frames are lost on this segment",
            status.state
        )));
    }
    if !status.stored {
        findings.push(Finding::critical(
            "the state file cannot be written, and this node owns nothing until it can: look for a full or read-only disk",
        ));
    }
    if status.unfit {
        findings.push(Finding::critical(
            "no member takes the token from this node, which owns nothing: frames to one station are lost; look for a filter, \
             and then run ringctl resume",
        ));
    }
    if status.paused {
        findings.push(Finding::degraded(
            "this node is paused and owns nothing: ringctl resume ends that",
        ));
    }
    findings
}

/// What is wrong with single members.
fn member_findings(status: &Status) -> Vec<Finding> {
    let silent = status.others().filter(|member| member.state == "silent");
    let silent: Vec<&MemberStatus> = silent.collect();
    let mut findings = Vec::new();
    if let Some(first) = silent.first() {
        let named = silent.iter().take(NAMED).map(|it| it.mac.as_str());
        let named: Vec<&str> = named.collect();
        let more = match silent.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let (members, have) = if silent.len() == 1 {
            ("member", "has")
        } else {
            ("members", "have")
        };
        findings.push(Finding::degraded(format!(
            "{members} {}{more} {have} not been heard for long; start ringd there, or, if a machine is gone for good, run \
             ringctl forget {}",
            named.join(", "),
            first.mac
        )));
    }
    let differ = status.members.iter().filter_map(|member| {
        let differs = member.differs.as_deref()?;
        Some((member, differs))
    });
    findings.extend(differ.take(NAMED).map(|(member, differs)| {
        Finding::degraded(format!(
            "member {} {differs}: start all members with the same options",
            member.mac
        ))
    }));
    findings
}
