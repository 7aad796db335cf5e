//! Creates the status from the state machine and its environment.

use std::net::Ipv6Addr;

use ring_client::fencing::FencingToken;
use ring_codec::MacAddr;
use ring_codec::lab2::{NO_IP, RunOutcome, Token};
use ring_control::lab2::{
    ConstantsStatus, HolderStatus, MemberStatus, PauseStatus, QuorumStatus, RunStatus, Status,
    TokenStatus,
};
use ring_control::{ConfigStatus, Health};
use ring_host::announced_host_name;
use ring_host::trust::{key_ids, trust_status, unproven_counts};
use ring_process::sandbox::missing_limits;
use ring_proto::lab2::{Constants, FOREVER, Lab2, MemberView, Pause, RunView};
use ring_proto::time::{Instant, Now, nanos};

use super::attachment::{Attachment, LinkLoss};
use super::service::Service;
use crate::system::lab2::observe::{DifferenceText, Tally};

/// Returns the ring's status at the time `now`, from the view of this node. The node started at the time `started`.
pub(super) fn status(
    started: Now,
    now: Instant,
    machine: &Lab2,
    attachment: &mut Attachment,
    tally: &Tally,
    service: &Service,
) -> Status {
    let mut counters = tally.counters(attachment.kernel_drops());
    counters.unproven = unproven_counts(attachment.signer());
    let interface = attachment.interface();
    let heard = machine.heard_about_token();
    let own = interface.mac;
    let keys = key_ids(attachment.signer());
    let members = machine.members().map(|view| MemberStatus {
        key: keys.get(&view.mac).copied(),
        ..member(now, own, &view)
    });
    Status {
        ringd: env!("CARGO_PKG_VERSION").to_owned(),
        started_ms: started.wall / 1_000_000,
        up_ns: nanos(now.since(started.monotonic)),
        interface: interface.name.clone(),
        mac: interface.mac.to_string(),
        link: attachment.loss().map_or("up", LinkLoss::text).to_owned(),
        state: machine.state().name().to_owned(),
        token: machine.token().map(token_status),
        grade: machine.grade().name().to_owned(),
        paused: machine.is_paused(),
        deaf: machine.is_deaf(),
        unfit: machine.is_unfit(),
        apart: machine.is_apart(),
        health: Health::default(),
        troubles: Vec::new(),
        quorum: quorum(machine),
        stored: machine.is_stored(),
        pausing: service.pending(machine),
        pause: service.pause_status(now),
        owner: machine.owner().map(|owner| owner.to_string()),
        owner_name: machine.owner().and_then(name_of),
        holder: machine.work().map(|work| HolderStatus {
            program: work.program.clone(),
            since_ns: nanos(now.since(work.since)),
        }),
        heard_about_token_ns: heard.map(|heard| nanos(now.since(heard))),
        members: members.collect(),
        ring_hash: format!("{:016x}", machine.digest().hash),
        clients: service.clients(now),
        runs: machine
            .runs()
            .map(|view| run(view, service.is_lost(now, &view, machine)))
            .collect(),
        locks: service.lock_totals(),
        trust: trust_status(attachment.signer()),
        missing_limits: missing_limits(),
        constants: constants(machine.constants()),
        config: ConfigStatus::default(),
        counters,
    }
}

pub(super) fn token_status(token: Token) -> TokenStatus {
    TokenStatus {
        progress: token.progress,
        author: token.author.to_string(),
        number: token.number,
        fencing: FencingToken::from(token).to_string(),
    }
}

/// Returns the host name that a member announced.
fn name_of(member: MacAddr) -> Option<String> {
    announced_host_name(member.0)
}

fn quorum(machine: &Lab2) -> QuorumStatus {
    let votes = machine.votes();
    QuorumStatus {
        present: machine.present_members(),
        needed: votes.quorum,
        ring: votes.ring,
    }
}

fn run(RunView { stamp, age, .. }: RunView, lost: bool) -> RunStatus {
    RunStatus {
        lost,
        name: stamp.name.to_string(),
        runner: stamp.runner.to_string(),
        runner_name: name_of(stamp.runner),
        outcome: outcome_text(stamp.outcome).to_owned(),
        began_ns: nanos(age),
        every_ns: nanos(stamp.period),
    }
}

/// Returns the outcome of a run, for people and programs.
pub(super) const fn outcome_text(outcome: RunOutcome) -> &'static str {
    match outcome {
        RunOutcome::Begun => "begun",
        RunOutcome::Done => "done",
        RunOutcome::Failed => "failed",
        RunOutcome::Void => "void",
    }
}

pub(super) fn member(now: Instant, own: MacAddr, view: &MemberView) -> MemberStatus {
    // The machine's time is the time of its last call, but this node is alive now.
    let seen = if view.mac == own {
        Some(now)
    } else {
        view.last_seen
    };
    let ip = (view.ip != NO_IP).then(|| Ipv6Addr::from(view.ip).to_canonical().to_string());
    MemberStatus {
        mac: view.mac.to_string(),
        name: view.host_name.map(|name| name.to_string()),
        ip,
        penalty: view.penalty,
        state: view.presence.name().to_owned(),
        paused: view.paused,
        pause: view.pause.map(|pause| pause_status(now, &pause)),
        preference: view.preference,
        last_seen_ns: seen.map(|seen| nanos(now.since(seen))),
        differs: view
            .differs
            .map(|difference| DifferenceText(difference).to_string()),
        version: view.version.map(|version| version.to_string()),
        key: None,
    }
}

pub(super) fn pause_status(now: Instant, pause: &Pause) -> PauseStatus {
    let reason = pause.reason.as_str();
    PauseStatus {
        left_ns: pause.left(now).map(nanos),
        reason: Some(reason.to_owned()).filter(|reason| !reason.is_empty()),
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
        idle_hold_ns: (constants.idle_hold != FOREVER).then(|| nanos(constants.idle_hold)),
        ethertype: format!("{:#06x}", constants.ethertype),
        max_members: constants.max_members,
        expect: constants.expect,
        forget_after_ns: constants.forget.map(nanos),
    }
}

#[cfg(test)]
mod tests {
    use ring_proto::lab2::{MemberView, Presence};
    use ring_proto::time::Instant;

    use super::member;
    use ring_codec::MacAddr;
    use ring_codec::lab2::NO_IP;

    #[test]
    fn this_node_is_seen_now_and_others_at_their_last_frame() {
        let (own, other) = (MacAddr([2, 0, 0, 0, 0, 1]), MacAddr([2, 0, 0, 0, 0, 2]));
        let seen = |mac, last_seen| {
            let view = MemberView {
                mac,
                ip: NO_IP,
                penalty: 0,
                paused: false,
                pause: None,
                preference: 0,
                presence: Presence::Alive,
                last_seen,
                differs: None,
                version: None,
                host_name: None,
            };
            member(Instant::from_nanos(50), own, &view).last_seen_ns
        };
        let earlier = Some(Instant::from_nanos(20));
        assert_eq!(seen(own, earlier), Some(0));
        assert_eq!(seen(other, earlier), Some(30));
        assert_eq!(seen(other, None), None);
    }
}
