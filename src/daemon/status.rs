//! The status that is shown, made from the machine and what surrounds it.

use std::net::Ipv6Addr;

use ring_codec::lab2::{NO_IP, Token};

use super::attachment::{Attachment, Loss};
use crate::control::{ConstantsStatus, MemberStatus, Status, TokenStatus};
use crate::observe::Tally;
use crate::proto::lab2::{Constants, Lab2, MemberView};
use crate::proto::time::{Instant, nanos};

/// How the ring is, as this node sees it at `now`.
pub fn status(now: Instant, machine: &Lab2, attachment: &mut Attachment, tally: &Tally) -> Status {
    let counters = tally.counters(attachment.kernel_drops());
    let interface = attachment.interface();
    let heard = machine.heard_about_token();
    Status {
        interface: interface.name.clone(),
        mac: interface.mac.to_string(),
        link: attachment.loss().map_or("up", Loss::text).to_owned(),
        state: machine.state().name().to_owned(),
        token: machine.token().map(token),
        owner: machine.owner().map(|owner| owner.to_string()),
        heard_about_token_ns: heard.map(|heard| nanos(now.since(heard))),
        members: machine.members().map(|view| member(now, view)).collect(),
        ring_hash: format!("{:016x}", machine.digest().hash),
        constants: constants(machine.constants()),
        counters,
    }
}

fn token(token: Token) -> TokenStatus {
    TokenStatus {
        progress: token.progress,
        author: token.author.to_string(),
        number: token.number,
    }
}

fn member(now: Instant, view: MemberView) -> MemberStatus {
    let ip = (view.ip != NO_IP).then(|| Ipv6Addr::from(view.ip).to_canonical().to_string());
    MemberStatus {
        mac: view.mac.to_string(),
        ip,
        penalty: view.penalty,
        last_seen_ns: view.last_seen.map(|seen| nanos(now.since(seen))),
    }
}

fn constants(constants: &Constants) -> ConstantsStatus {
    ConstantsStatus {
        heartbeat_ns: nanos(constants.heartbeat),
        waiter_timeout_ns: nanos(constants.waiter_timeout()),
        looser_timeout_ns: nanos(constants.looser_timeout()),
        looser_answer_timeout_ns: nanos(constants.looser_answer_timeout()),
        take_timeout_ns: nanos(constants.take_timeout),
        take_attempts: constants.take_attempts,
        idle_hold_ns: nanos(constants.idle_hold),
        ethertype: format!("{:#06x}", constants.ethertype),
        max_members: constants.max_members,
    }
}
