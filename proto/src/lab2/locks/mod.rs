//! The state machine of named locks (`docs/reference/lab2/locks.md`). [`Locks::handle`] takes inputs, and
//! [`Locks::poll`] returns the resulting actions. The locks never affect which node owns the token, except that an
//! owner keeps the token while members store its changes. Start with `owner`, then read `sessions`.
//!
//! | file | holds |
//! |---|---|
//! | `lock` | names and requests of applications, and their view of the tables |
//! | `record`, `table` | the records, and the two tables of records that each member has |
//! | `owner` | the owner of the token: grants and removals |
//! | `agreements` | the copies that members announced |
//! | `duty` | the owner's knowledge of its tables: whether it may change them |
//! | `work` | the work for which an owner keeps the token |
//! | `sessions` | the locks that programs of this node hold or want |
//! | `kept` | released locks that this node keeps for a moment |
//! | `renewals` | the leases of holders, and the flags of silent members |
//! | `sync` | the frames that make all copies of the tables equal |
//! | `frames` | the frames of locks |

mod agreements;
mod duty;
mod fence;
mod frames;
mod kept;
pub(super) mod lock;
mod owner;
mod questions;
mod record;
mod renewals;
mod sessions;
mod snapshot;
mod sync;
mod table;
mod work;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{LocksStanding, Token};

pub(crate) use frames::{LocksFrame, QuestionFrame, ReceivedLocks, ReceivedQuestion};

use super::confidence::promise_delay;
use super::machine::Context;
use super::members::Members;
use super::{Event, Grade, LockRequest, LockView};
use crate::time::Instant;
use agreements::Agreements;
use duty::Duty;
use frames::Payloads;
use kept::KeptLocks;
use owner::Pending;
use questions::Questions;
use renewals::Renewals;
use sessions::{Session, Sessions};
use table::Table;

/// The table to which a record belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(crate) enum Side {
    /// Locks that need the grade `quorum`. A majority of the ring must agree to this table.
    Quorum,
    /// The other locks. The owner decides about these locks without the other members.
    Others,
}

impl Side {
    const ALL: [Self; 2] = [Self::Quorum, Self::Others];

    const fn of(grade: Grade) -> Self {
        match grade {
            Grade::Quorum => Self::Quorum,
            Grade::Alone | Grade::AllHeard => Self::Others,
        }
    }

    /// Returns the side whose number a frame contains.
    const fn from_wire(grade: u8) -> Self {
        match grade {
            2 => Self::Quorum,
            _ => Self::Others,
        }
    }

    /// Returns the number of the side in frames: the number of its lowest grade.
    const fn to_wire(self) -> u8 {
        match self {
            Self::Quorum => 2,
            Self::Others => 0,
        }
    }
}

/// The tables, the sessions of this node, and the data of an owner.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Locks {
    quorum: Table,
    others: Table,
    sessions: Sessions,
    kept: KeptLocks,
    renewals: Renewals,
    duty: Option<Duty>,
    agreements: Agreements,
    /// Requests that no owner has served yet.
    pending: VecDeque<Pending>,
    /// Whether this owner kept the token for work on locks at the last check.
    keeps_token: bool,
    /// For each grade: whether this node could grant locks of this grade at the last check.
    power: [bool; 3],
    /// The time at which each member last announced that it is alive. An owner flags the records of silent members.
    heard: BTreeMap<MacAddr, Instant>,
    /// The chain of the strongest known token, and the time at which this node first knew it.
    chain: Option<(Token, Instant)>,
    /// Whether the last heartbeat of the owner had a standing. For an owner: whether a PING had a standing.
    others_show: bool,
    /// The questions about the table of each side.
    questions: [Questions; 2],
    payloads: Payloads,
    actions: VecDeque<LocksAction>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum LocksInput<'a> {
    /// A program of this node wants a lock.
    Take(LockRequest),
    /// The program of this session has ended, or no longer waits.
    Release(u64),
    /// A LOCKS frame was received.
    Received {
        from: MacAddr,
        frame: ReceivedLocks<'a>,
    },
    /// A LOCKS_QUESTION frame was received.
    Asked {
        from: MacAddr,
        question: ReceivedQuestion<'a>,
    },
    /// A PING was received. `promised` is the token that the member promises to confirm.
    Pinged {
        from: MacAddr,
        promised: Option<Token>,
        standing: Option<LocksStanding>,
    },
    /// A TOKEN_IS_HERE of the known owner was received.
    HeardOwner {
        from: MacAddr,
        standing: Option<LocksStanding>,
    },
    /// This node takes the offered token.
    Took {
        from: MacAddr,
        token: Token,
        standing: Option<LocksStanding>,
    },
    /// The time of [`Locks::next_wake`] has come.
    TimerFired,
    /// The tenure, or its grade, may have changed.
    TenureChanged,
}

/// An action that the surrounding state machine carries out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum LocksAction {
    Send(MacAddr, LocksFrame),
    Ask(MacAddr, QuestionFrame),
    /// Asks the members to confirm the tenure now.
    Confirm,
    Report(Event),
}

/// The parts of the surrounding state machine that affect the locks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LocksContext<'a> {
    pub(super) context: &'a Context,
    pub(super) members: &'a Members,
    pub(super) tenure: LocksTenure,
}

/// The knowledge of this node about the token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LocksTenure {
    /// The strongest known token. It is `None` while the node may not send frames.
    pub(super) known: Option<Token>,
    pub(super) owner: Option<MacAddr>,
    /// The held token, even while this node offers it.
    pub(super) held: Option<Token>,
    /// Whether an application may rely on the held token now.
    pub(super) may_serve: bool,
    /// The grade of the tenure.
    pub(super) grade: Grade,
    /// Whether this node stays in the ring.
    pub(super) stays: bool,
}

impl LocksContext<'_> {
    fn now(&self) -> Instant {
        self.context.now()
    }

    /// Returns the time for which a holder relies on its lock after its last successful renewal.
    pub(crate) fn lease_lasts(&self) -> Duration {
        // The clocks of two machines may run at different rates.
        self.members.shortest_waiter_timeout(self.context) * LEASE_PERIODS / 32 * 31
    }

    /// Returns the time after which no silent member can rely on its lock.
    fn lease_ends(&self) -> Duration {
        self.members.longest_waiter_timeout(self.context) * LEASE_PERIODS
    }

    /// Returns whether this node may agree to a table. An earlier process of the node may have agreed to locks that
    /// this process does not know. So this process waits until the leases of these locks have ended.
    fn may_agree(&self) -> bool {
        let ring = self.members.ring_size(self.context);
        let promise = promise_delay(self.context, self.members, ring);
        self.context.has_run_for(self.lease_ends() + promise)
    }

    /// Returns the pause between two renewals.
    fn renewal_period(&self) -> Duration {
        self.members.shortest_waiter_timeout(self.context) / 2
    }

    fn take_timeout(&self) -> Duration {
        self.context.constants().take_timeout
    }

    fn me(&self) -> MacAddr {
        self.context.me()
    }
}

/// The length of a lease, as a multiple of WAITER_TIMEOUT.
const LEASE_PERIODS: u32 = 4;

impl Locks {
    pub(crate) fn handle(&mut self, locks: &LocksContext<'_>, input: LocksInput<'_>) {
        self.follow_chain(locks);
        self.follow_tenure(locks);
        match input {
            LocksInput::Take(request) => self.take(locks, request),
            LocksInput::Release(session) => self.release(locks, session),
            LocksInput::Received { from, frame } => self.on_locks(locks, from, frame),
            LocksInput::Asked { from, question } => self.on_question(locks, from, &question),
            LocksInput::Pinged {
                from,
                promised,
                standing,
            } => self.on_ping(locks, from, promised, standing),
            LocksInput::HeardOwner { from, standing } => self.on_standing(locks, from, standing),
            LocksInput::Took {
                from,
                token,
                standing,
            } => self.on_token_taken(locks, from, token, standing),
            LocksInput::TimerFired => {
                self.expire_leases(locks);
                self.repeat_requests(locks);
                self.renew(locks);
                self.review_sessions(locks);
                self.sessions.find_next_times(self.kept.next_end());
            }
            LocksInput::TenureChanged => {}
        }
        if self.is_resting(locks) {
            return;
        }
        if !locks.tenure.stays && !self.kept.is_empty() {
            self.review_kept(locks);
        }
        self.review_duty(locks);
        self.review_agreement(locks);
        self.serve_renewals(locks);
        self.serve_pending(locks);
        self.review_power(locks);
        self.check_silent_members(locks);
    }

    /// Returns the time at which the locks next have something to do.
    pub(crate) fn next_wake(&self, locks: &LocksContext<'_>) -> Option<Instant> {
        if self.is_resting(locks) {
            return None;
        }
        let lease_ends = self.sessions.leases_from();
        let lease_ends = lease_ends.map(|from| from + locks.lease_lasts());
        // Without a known token, this node has not joined a ring yet, and sends nothing.
        let may_send = locks.tenure.known.is_some();
        let requests = [self.sessions.requests_from(), self.renewals.next()];
        let requests = requests.into_iter().flatten();
        let requests = requests.filter(|_| may_send);
        let pending = self.pending.front().map(Pending::until);
        let duty = self.duty.as_ref();
        let asks = duty.filter(|it| it.asks().is_some());
        let asks = asks.map(|_| {
            let asked = self.questions[Side::Others as usize].last();
            asked.map_or(locks.now(), |asked| asked + locks.take_timeout())
        });
        let settled = duty.map(Duty::settled_at).filter(|&at| at > locks.now());
        let sides = Side::ALL.into_iter();
        let sides = sides.filter(|&side| !self.table(side).is_empty());
        let sides = sides.filter(|&side| self.may_change(locks, side));
        let checks = sides.filter_map(|side| self.renewals.next_check(side));
        let others = [lease_ends, pending, asks, settled, self.next_work(locks)];
        others
            .into_iter()
            .flatten()
            .chain(requests)
            .chain(checks)
            .min()
    }

    /// Returns the next action. Unless this node may send frames, returns only reports.
    pub(crate) fn poll(&mut self, may_send: bool) -> Option<LocksAction> {
        let is_ready = |it: &LocksAction| may_send || matches!(it, LocksAction::Report(_));
        let first = self.actions.iter().position(is_ready)?;
        self.actions.remove(first)
    }

    /// Whether a program of this node has a named lock, or waits for one.
    pub(crate) fn has_sessions(&self) -> bool {
        !self.sessions.is_empty()
    }

    /// Whether actions wait until this node may send frames.
    pub(crate) fn has_actions(&self) -> bool {
        !self.actions.is_empty()
    }

    /// Whether the locks have nothing to do, so that changes of the tenure have no effect.
    pub(crate) fn is_idle(&self) -> bool {
        self.sessions.is_empty()
            && self.pending.is_empty()
            && self.others.is_empty()
            && self.quorum.is_empty()
    }

    /// Whether nothing is left to do until the next input. Every hop of a ring without named locks ends here.
    pub(super) fn is_resting(&self, locks: &LocksContext<'_>) -> bool {
        let asks = self.duty.as_ref().and_then(Duty::asks);
        let oldest = || Self::oldest_renewal(locks);
        self.is_idle()
            && asks.is_none()
            && self.actions.is_empty()
            && !self.renewals.has_unanswered_since(oldest)
    }

    /// Returns the number of times at which leases of this node were renewed.
    pub(crate) const fn renewals(&self) -> u64 {
        self.sessions.renewals()
    }

    /// Returns all known locks and waiting sessions.
    pub(crate) fn views(&self, now: Instant) -> impl Iterator<Item = LockView> {
        let records = self.quorum.iter().chain(self.others.iter());
        let used = records.filter(|it| !self.kept.has(it.request.session));
        used.map(move |record| {
            let own = self.sessions.open.get(&record.request.session);
            let granted = own.and_then(|it| it.granted);
            LockView {
                name: record.request.name,
                member: record.member,
                session: own.map_or(record.request.session, Session::user),
                mode: record.request.mode,
                grade: record.request.grade,
                is_held: record.is_held(),
                place: record.ticket,
                fence: granted.unwrap_or(record.fence),
                age: now.since(record.since),
                program: record.request.program,
            }
        })
    }

    /// Returns the hash of the table `Quorum`.
    pub(crate) fn quorum_hash(&self) -> u64 {
        self.quorum.digest()
    }

    fn table(&self, side: Side) -> &Table {
        match side {
            Side::Quorum => &self.quorum,
            Side::Others => &self.others,
        }
    }

    fn table_mut(&mut self, side: Side) -> &mut Table {
        match side {
            Side::Quorum => &mut self.quorum,
            Side::Others => &mut self.others,
        }
    }

    fn report(&mut self, event: Event) {
        self.actions.push_back(LocksAction::Report(event));
    }
}
