//! The metrics of a node of a ring.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use ring_control::lab2::{Grade, LockTotals, NamedLockStatus, QuorumStatus, Status};
use ring_control::{NodeStatus, RawJson};
use ring_proto::lab2::{Presence, State};

use super::metric::{Source, Writer, metrics};

metrics! {
    METRICS:
    STATE Gauge "ringd_state" ["state"]
        "1 for the present state of the node, and 0 for the other states. The OWNER holds the token.";
    GRADE Gauge "ringd_grade" ["grade"]
        "1 for the grade of the node's token, and 0 for the other grades.";
    LINK Gauge "ringd_link_up" []
        "1 if the node can send, and 0 if its interface is down or has another fault.";
    BLOCKED Gauge "ringd_ownership_blocked" ["reason"]
        "1 if the node must not own the token for this reason, and 0 if the reason does not exist.";
    PAUSE_LEFT Seconds "ringd_pause_left" []
        "The time until the pause of the node ends by itself. Absent without such an end.";
    SILENCE Seconds "ringd_token_silence" []
        "The time since the node last heard of the token, or since its start. The value is 0 on the OWNER.";
    TOKEN Gauge "ringd_token_number" ["author"]
        "The number of the token that an OWNER or WAITER knows. A number and its author identify a token.";
    MEMBERS Gauge "ringd_members" ["state"]
        "The known members of the ring, including this node, by their state.";
    PRESENT Gauge "ringd_members_present" []
        "The members that are present, including this node.";
    NEEDED Gauge "ringd_quorum_members" []
        "The members that a quorum needs.";
    RING_SIZE Gauge "ringd_ring_size" []
        "The known members, or --ring-size if it is larger.";
    UNPROVEN Counter "ringd_frames_unproven" ["reason"]
        "Received frames whose signature was missing, wrong or used before.";
    HANDOVERS Counter "ringd_handovers" ["result"]
        "Handovers of the token by this node. The sum over all nodes is the number of hops of the token.";
    HANDOVER_TIME Seconds "ringd_handover_duration" ["statistic"]
        "The time of a handover until its acknowledgement. Absent before the first handover.";
    RECEIVED Counter "ringd_frames_received" ["kind"]
        "Valid frames that the node received.";
    SENT Counter "ringd_frames_sent" ["kind"]
        "Frames that the kernel accepted for sending.";
    SEND_FAILED Counter "ringd_frames_send_failed" ["kind"]
        "Frames that the kernel did not accept for sending.";
    DROPPED Counter "ringd_frames_dropped" ["reason"]
        "Received frames that had no effect.";
    STATE_CHANGES Counter "ringd_state_changes" ["change"]
        "Changes of the state, by the old and the new state.";
    STATE_CHANGE_REASONS Counter "ringd_state_change_reasons" ["reason"]
        "Changes of the state, by reason.";
    MEMBER_TABLE_FULL Counter "ringd_member_table_full" []
        "Members that did not fit into the table of members.";
    LATE_WAKE_UPS Counter "ringd_late_wake_ups" []
        "Wake-ups of the daemon that were too late.";
    BUSY_POLL_TIME SecondsTotal "ringd_busy_poll" []
        "Time that the daemon spent polling (--busy-poll).";
    BUSY_POLL_FOUND Counter "ringd_busy_poll_found" []
        "The number of times at which polling found a frame without a system call.";
    BUSY_POLL_GIVEN_UP Counter "ringd_busy_poll_given_up" []
        "The number of times at which the daemon polled, found nothing and slept.";
    CLIENTS Gauge "ringd_token_programs" ["state"]
        "Programs of this machine that hold the token or wait for it.";
    GRANTED Counter "ringd_locks_granted" []
        "Locks that this node granted to programs of its machine.";
    LOST Counter "ringd_locks_lost" ["reason"]
        "Locks that programs of this machine lost.";
    REFUSED Counter "ringd_locks_refused" ["reason"]
        "Requests for locks that this node refused.";
    NAMED_LOCKS Gauge "ringd_named_locks" ["state", "place"]
        "Requests in the ring's table of named locks. The place is here, on this machine, or elsewhere.";
    NAMED_LOCK_NAMES Gauge "ringd_named_lock_names" []
        "Names in the ring's table of named locks.";
    NAMED_LOCKS_MAX Gauge "ringd_named_locks_max" []
        "The maximum number of requests in the table of named locks.";
    NAMED_LOCK_NAMES_MAX Gauge "ringd_named_lock_names_max" []
        "The maximum number of names in the table of named locks.";
}

/// Maximum number of requests in the table of named locks ([I51](../../../../docs/reference/lab2/locks.md)).
const NAMED_LOCKS_LIMIT: usize = 16_384;
/// Maximum number of names in the table of named locks (I51).
const NAMED_LOCK_NAMES_LIMIT: usize = 1_024;

/// A node of a ring.
#[derive(Debug)]
pub(super) struct RingNode {
    status: Status,
    named_locks: Option<NamedLockCounts>,
}

/// Numbers of requests and names in the table of named locks.
#[derive(Debug, Default)]
struct NamedLockCounts {
    names: usize,
    /// The key is the state and the place of the request.
    requests: BTreeMap<[&'static str; 2], usize>,
}

impl NamedLockCounts {
    fn new(locks: &[NamedLockStatus]) -> Self {
        let states = ["held", "waiting"];
        let places = ["here", "elsewhere"];
        let pairs = states.iter().flat_map(|state| places.map(|it| [state, it]));
        let mut requests: BTreeMap<_, _> = pairs.map(|pair| (pair, 0)).collect();
        for lock in locks {
            let state = states[usize::from(!lock.held)];
            let place = places[usize::from(!lock.is_here)];
            *requests.entry([state, place]).or_default() += 1;
        }
        let names: BTreeSet<_> = locks.iter().map(|lock| &lock.name).collect();
        let names = names.len();
        Self { names, requests }
    }
}

impl RingNode {
    /// Reads a node's status and its list of named locks. Daemons of earlier versions have no such list.
    pub(super) fn new(status: &NodeStatus, locks: Option<&[RawJson]>) -> serde_json::Result<Self> {
        let decode = |locks: &[RawJson]| locks.iter().map(RawJson::decode).collect();
        let locks: Option<Vec<NamedLockStatus>> = locks.map(decode).transpose()?;
        Ok(Self {
            status: status.json().decode()?,
            named_locks: locks.as_deref().map(NamedLockCounts::new),
        })
    }

    fn write_state(&self, to: &mut Writer<'_>) -> fmt::Result {
        let it = &self.status;
        let is_state = |state: State| ([state.name()], state.name() == it.state);
        to.write(&STATE, State::ALL.map(is_state))?;
        let is_grade = |grade: &Grade| ([grade.name()], grade.name() == it.grade);
        to.write(&GRADE, Grade::ALL.iter().map(is_grade))?;
        to.write_one(&LINK, it.link == "up")?;
        let reasons = [
            ("apart", it.apart),
            ("deaf", it.deaf),
            ("not_stored", !it.stored),
            ("paused", it.paused),
            ("unfit", it.unfit),
        ];
        to.write(&BLOCKED, reasons.map(|(reason, exists)| ([reason], exists)))?;
        let left = it.pause.as_ref().and_then(|pause| pause.left_ns);
        to.write(
            &PAUSE_LEFT,
            left.map(|ns| ([""; 0], Duration::from_nanos(ns))),
        )
    }

    fn write_token(&self, to: &mut Writer<'_>) -> fmt::Result {
        let it = &self.status;
        // An owner that keeps the token receives no frames about the token, so its value is 0.
        let silence = match it.heard_about_token_ns {
            _ if it.state == State::Owner.name() => 0,
            heard => heard.unwrap_or(it.up_ns),
        };
        to.write_one(&SILENCE, Duration::from_nanos(silence))?;
        // In other states, a node may know a token that no longer exists.
        let is_in_ring = [State::Owner, State::Waiter].map(State::name);
        let is_in_ring = is_in_ring.contains(&it.state.as_str());
        let token = it.token.as_ref().filter(|_| is_in_ring);
        let token = token.map(|it| ([it.author.as_str()], u64::from(it.number)));
        to.write(&TOKEN, token)
    }

    fn write_members(&self, to: &mut Writer<'_>) -> fmt::Result {
        let states = [
            Presence::Alive,
            Presence::Silent,
            Presence::Left,
            Presence::Deaf,
            Presence::Paused,
        ];
        let mut counts: BTreeMap<&str, usize> = states.map(|it| (it.name(), 0)).into();
        for member in &self.status.members {
            *counts.entry(&member.state).or_default() += 1;
        }
        to.write(
            &MEMBERS,
            counts.into_iter().map(|(state, count)| ([state], count)),
        )?;
        let QuorumStatus {
            present,
            needed,
            ring,
        } = self.status.quorum;
        to.write_one(&PRESENT, present)?;
        to.write_one(&NEEDED, needed)?;
        to.write_one(&RING_SIZE, ring)
    }

    fn write_counters(&self, to: &mut Writer<'_>) -> fmt::Result {
        let it = &self.status.counters;
        let handovers = [("done", it.hand_overs), ("failed", it.hand_overs_failed)];
        to.write(
            &HANDOVERS,
            handovers.map(|(result, count)| ([result], count)),
        )?;
        let times = &it.hand_over_latency;
        let times = [
            ("min", times.min_ns),
            ("p50", times.p50_ns),
            ("p90", times.p90_ns),
            ("p99", times.p99_ns),
            ("max", times.max_ns),
        ];
        let times = times.into_iter().filter(|(_, ns)| *ns > 0);
        to.write(
            &HANDOVER_TIME,
            times.map(|(name, ns)| ([name], Duration::from_nanos(ns))),
        )?;
        to.write_counts(&RECEIVED, &it.received)?;
        to.write_counts(&SENT, &it.sent)?;
        to.write_counts(&SEND_FAILED, &it.send_failed)?;
        to.write_counts(&DROPPED, &it.dropped)?;
        to.write_counts(&UNPROVEN, &it.unproven)?;
        to.write_counts(&STATE_CHANGES, &it.state_changes)?;
        to.write_counts(&STATE_CHANGE_REASONS, &it.state_change_reasons)?;
        to.write_one(&MEMBER_TABLE_FULL, it.table_full)?;
        to.write_one(&LATE_WAKE_UPS, it.late_wake_ups)?;
        if let Some(polling) = &it.busy_poll {
            to.write_one(&BUSY_POLL_TIME, Duration::from_nanos(polling.time_ns))?;
            to.write_one(&BUSY_POLL_FOUND, polling.found)?;
            to.write_one(&BUSY_POLL_GIVEN_UP, polling.given_up)?;
        }
        Ok(())
    }

    fn write_locks(&self, to: &mut Writer<'_>) -> fmt::Result {
        let clients = &self.status.clients;
        let holding = clients.iter().filter(|client| client.holds).count();
        let clients = [("held", holding), ("waiting", clients.len() - holding)];
        to.write(&CLIENTS, clients.map(|(state, count)| ([state], count)))?;
        let LockTotals {
            granted,
            lost,
            refused,
        } = &self.status.locks;
        to.write_one(&GRANTED, *granted)?;
        to.write_counts(&LOST, lost)?;
        to.write_counts(&REFUSED, refused)?;
        let Some(named) = &self.named_locks else {
            return Ok(());
        };
        let requests = named.requests.iter();
        to.write(
            &NAMED_LOCKS,
            requests.map(|(labels, count)| (*labels, *count)),
        )?;
        to.write_one(&NAMED_LOCK_NAMES, named.names)?;
        to.write_one(&NAMED_LOCKS_MAX, NAMED_LOCKS_LIMIT)?;
        to.write_one(&NAMED_LOCK_NAMES_MAX, NAMED_LOCK_NAMES_LIMIT)
    }
}

impl Source for RingNode {
    fn write(&self, to: &mut Writer<'_>) -> fmt::Result {
        self.write_state(to)?;
        self.write_token(to)?;
        self.write_members(to)?;
        self.write_counters(to)?;
        self.write_locks(to)
    }
}
