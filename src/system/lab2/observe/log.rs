//! One log line a change. What prints nothing formats nothing.

#[cfg(test)]
mod tests;

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;
use ring_host::observe::{NotShown, RateLimit};
use ring_proto::lab2::{DropReason, Event, Grade, Reason, State, Trouble};
use ring_proto::time::{Instant, Now};
use ring_runtime::driver::Observe;
use tracing::field::display;
use tracing::{debug, error, info, warn};

use super::Routine;
use super::display::{Differs, Ip, KnownToken, Limit, Members, Others, TooLong, Wrong};
use super::text::{drop_reason, reason};

/// Dropped frames.
const DROPS: RateLimit = RateLimit::new(1, Duration::from_secs(1));
/// An OWNER that nobody confirms for this long has lost its grade. Shorter tenures may end unconfirmed.
const UNCONFIRMED: Duration = Duration::from_secs(1);

/// Prints a line a change through `tracing`: news at the level INFO and above, the token's plain
/// rotation at DEBUG.
#[derive(Debug)]
pub struct Log {
    verbose: bool,
    /// After so long without a heartbeat others elect a new owner.
    failure_timeout: Duration,
    routine: Routine,
    members: usize,
    /// This node's state.
    state: State,
    /// The last token that was spoken of.
    known: Option<Token>,
    /// Since when this node has held a token that nobody confirms.
    unconfirmed: Option<Instant>,
    drops: RateLimit,
}

impl Log {
    /// If `verbose`, turns of the plain rotation are told too, and why frames are dropped. Lateness is judged by
    /// `failure_timeout`.
    #[must_use]
    pub fn new(verbose: bool, failure_timeout: Duration) -> Self {
        Self {
            verbose,
            failure_timeout,
            routine: Routine::new(),
            members: 0,
            state: State::Looser,
            known: None,
            unconfirmed: None,
            drops: DROPS,
        }
    }

    /// Whether a change that may be routine is shown.
    const fn shows(&self, routine: bool) -> bool {
        self.verbose || !routine
    }

    fn state_changed(&self, (from, to): (State, State), why: Reason, routine: bool) {
        if !self.shows(routine) {
            return;
        }
        let (key, text) = reason(why);
        let (from, to) = (from.name(), to.name());
        let (shown, members) = (KnownToken(self.known), Members(self.members));
        let token = self.known.map(display);
        macro_rules! line {
            ($level:ident) => {
                $level!(
                    event = "state_changed",
                    from,
                    to,
                    reason = key,
                    token,
                    members = self.members,
                    "{from} -> {to}: {text}; {shown}, {members}"
                )
            };
        }
        if routine {
            line!(debug);
        } else if matches!(why, Reason::StrongerToken | Reason::LeaseExpired) {
            line!(warn);
        } else {
            line!(info);
        }
    }

    fn owner_changed(&self, owner: Option<MacAddr>, routine: bool) {
        if self.state == State::Owner {
            // The change of state has said so.
            return;
        }
        if !self.shows(routine) {
            return;
        }
        let (event, shown) = ("owner_changed", KnownToken(self.known));
        let token = self.known.map(display);
        match owner {
            Some(owner) if routine => {
                debug!(event, %owner, token, "owner is {owner}; {shown}");
            }
            Some(owner) => info!(event, %owner, token, "owner is {owner}; {shown}"),
            None => info!(event, token, "owner is unknown; {shown}"),
        }
    }

    fn grade_changed(&self, grade: Grade, token: Token, routine: bool) {
        if !self.shows(routine) {
            return;
        }
        let (event, grade, shown) = ("grade_changed", grade.name(), KnownToken(Some(token)));
        let token = display(token);
        if routine {
            debug!(event, grade, %token, "grade is {grade}; {shown}");
        } else {
            info!(event, grade, %token, "grade is {grade}; {shown}");
        }
    }

    /// A grade that ends with its tenure is no event of its own: it is missed in the next one.
    fn miss_confirmation(&mut self, now: Instant) {
        let Some(since) = self.unconfirmed else {
            return;
        };
        if now.since(since) < UNCONFIRMED {
            return;
        }
        self.unconfirmed = None;
        if self.routine.ungraded() {
            let (grade, shown) = (Grade::Alone.name(), KnownToken(self.known));
            let token = self.known.map(display);
            info!(
                event = "grade_changed",
                grade,
                token,
                "grade is {grade}: no member has confirmed the token for {UNCONFIRMED:?}; {shown}"
            );
        }
    }

    /// Told once of a member that takes nothing: it is tried again more and more rarely.
    fn hand_over_failed(
        &mut self,
        now: Instant,
        (to, in_a_row): (MacAddr, u32),
        minted: Option<Token>,
        routine: bool,
    ) {
        self.known = minted.or(self.known);
        self.unconfirmed.get_or_insert(now);
        if !self.shows(routine) {
            return;
        }
        let token = self.known;
        let why = match minted {
            Some(minted) => format!(
                "{to} did not take the token, failure {in_a_row} in a row; minted token {minted} in its place"
            ),
            None => format!(
                "cannot send the token to {to}, failure {in_a_row} in a row: this machine's interface refuses \
                 frames to one station"
            ),
        };
        let token = token.map(display);
        macro_rules! line {
            ($level:ident) => {
                $level!(event = "hand_over_failed", %to, in_a_row, token, "{why}")
            };
        }
        if routine {
            line!(debug);
        } else {
            line!(warn);
        }
    }

    fn member(&self, event: &Event) {
        let members = Members(self.members);
        match *event {
            Event::MemberAdded {
                mac,
                members: count,
            } => info!(
                event = "member_added", %mac, members = count,
                "member {mac} added; {members}"
            ),
            Event::MemberMoved { mac, ip } => {
                let ip = Ip(ip);
                info!(event = "member_moved", %mac, %ip, "member {mac} has ip {ip}");
            }
            Event::MemberLeft { mac } => {
                info!(event = "member_left", %mac, "member {mac} is leaving");
            }
            Event::MemberSilent { mac, quiet, others } => {
                let more = Others(others);
                warn!(
                    event = "member_silent", %mac, others,
                    "member {mac} is silent: nothing of it has come for {quiet:.1?}{more}"
                );
            }
            Event::MemberAlive { mac, others } => {
                let more = Others(others);
                info!(
                    event = "member_alive", %mac, others,
                    "member {mac} is heard again{more}"
                );
            }
            Event::MemberDiffers { mac, difference } => {
                let shown = Differs(difference);
                warn!(
                    event = "member_differs", %mac,
                    "member {mac} {shown}: start all members with the same options"
                );
            }
            Event::MemberAgrees { mac } => info!(
                event = "member_agrees", %mac,
                "member {mac} has the constants of this node now"
            ),
            Event::MemberForgotten {
                mac,
                members: count,
            } => info!(
                event = "member_forgotten", %mac, members = count,
                "member {mac} is forgotten; {members}"
            ),
            _ => {}
        }
    }

    fn wrong(&self, trouble: Trouble, over: bool) {
        let shown = Wrong { trouble, over };
        let (name, mac) = (shown.event(), shown.member().map(display));
        if over || trouble.is_slight(self.failure_timeout) {
            info!(event = name, mac, "{shown}");
        } else {
            warn!(event = name, mac, "{shown}");
        }
    }

    fn dropped(&mut self, now: Instant, why: DropReason) {
        if self.verbose && self.drops.allow(now) {
            let (key, text) = drop_reason(why);
            let hidden = NotShown(self.drops.take_refused());
            debug!(
                event = "dropped",
                reason = key,
                "dropped a frame: {text}{hidden}"
            );
        }
    }
}

/// What is wrong around the machine, or with what it was given.
fn trouble(event: &Event) {
    match *event {
        Event::DataRefused {
            len,
            may_use,
            limit,
        } => {
            let why = if may_use {
                Limit(limit).to_string()
            } else {
                "this node does not hold the token".to_owned()
            };
            warn!(
                event = "data_refused",
                len, "{len} bytes of data refused: {why}"
            );
        }
        Event::StorageChanged { failed: true } => error!(
            event = "state_not_stored",
            "cannot write the state file: this node owns nothing until ringd can write it; free some space or check the disk"
        ),
        Event::StorageChanged { failed: false } => info!(
            event = "state_stored",
            "the state file can be written again: this node may own the token"
        ),
        Event::TooLong { kind, mtu } => {
            let words = TooLong { kind, mtu };
            warn!(event = "too_long", mtu, "{words}");
        }
        _ => {}
    }
}

/// Who hears this node and whom it hears, as far as it can tell.
fn reach(event: &Event) {
    match *event {
        Event::HearingChanged {
            deaf: true,
            heard_before: false,
        } => info!(
            event = "deaf",
            "this node hears nobody: it is alone on its segment, or its interface receives nothing"
        ),
        Event::HearingChanged {
            deaf: true,
            heard_before: true,
        } => warn!(
            event = "deaf",
            "this node no longer hears anybody: until it does, the others ignore it as \
             an owner. If they are up, look at its interface, its firewall and the cable"
        ),
        Event::HearingChanged { deaf: false, .. } => {
            info!(event = "hears", "this node hears others");
        }
        Event::FitnessChanged { unfit: true } => error!(
            event = "unfit",
            "no member takes the token from this node, though others ask for it: frames to \
             one station alone are lost. It owns nothing until one arrives, or until ringctl \
             resume"
        ),
        Event::FitnessChanged { unfit: false } => {
            info!(event = "fit", "this node may own the token again");
        }
        _ => {}
    }
}

impl Observe<Event> for Log {
    fn observe(&mut self, now: Now, event: &Event) {
        let now = now.monotonic;
        let routine = self.routine.includes(now, event);
        self.miss_confirmation(now);
        match *event {
            Event::StateChanged {
                from,
                to,
                reason,
                token,
            } => {
                self.state = to;
                self.known = token.or(self.known);
                self.unconfirmed = (to == State::Owner).then_some(now);
                self.state_changed((from, to), reason, routine);
            }
            Event::OwnerChanged { owner, token } => {
                self.known = token.or(self.known);
                self.owner_changed(owner, routine);
            }
            Event::GradeChanged { grade, token } => {
                self.unconfirmed = (grade == Grade::Alone).then_some(now);
                self.grade_changed(grade, token, routine);
            }
            Event::RunStamped { stamp } => {
                let job = stamp.name;
                info!(event = "run_stamped", %job, "this node is about to run {job}");
            }
            Event::HandedOver { to, latency } => {
                if self.verbose {
                    let latency_ns = ring_proto::time::nanos(latency);
                    debug!(event = "handed_over", %to, latency_ns, "{to} took it in {latency:?}");
                }
            }
            Event::HandOverFailed {
                to,
                in_a_row,
                minted,
            } => self.hand_over_failed(now, (to, in_a_row), minted, routine),
            Event::ProgressExhausted => error!(
                event = "progress_exhausted",
                "the token's progress has reached 2^63 - 1: it cannot be handed over"
            ),
            Event::HearingChanged { .. } | Event::FitnessChanged { .. } => reach(event),
            Event::DataRefused { .. } | Event::StorageChanged { .. } | Event::TooLong { .. } => {
                trouble(event);
            }
            Event::MemberAdded { members, .. } | Event::MemberForgotten { members, .. } => {
                self.members = members;
                self.member(event);
            }
            Event::MemberMoved { .. }
            | Event::MemberLeft { .. }
            | Event::MemberSilent { .. }
            | Event::MemberAlive { .. }
            | Event::MemberDiffers { .. }
            | Event::MemberAgrees { .. } => self.member(event),
            Event::Trouble { trouble, over } => self.wrong(trouble, over),
            Event::TableFull { author } => warn!(
                event = "table_full", %author,
                "the member table is full: {author} is not remembered; if it is real, raise \
                 --max-members"
            ),
            Event::Dropped { reason } => self.dropped(now, reason),
            Event::Received { .. } | Event::Transmitted { .. } | Event::TransmitFailed { .. } => {}
        }
    }
}
