//! The only place that describes events. The description of an event determines its log line, counter, message for
//! watchers and variables for hooks. So a programmer who adds an event adds only one match arm in this file.

use std::fmt::Arguments;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;
use ring_proto::lab2::{Event, Grade, JobName, Pause, PauseReason, Reason, State};
use ring_proto::time::Instant;
use tracing::Level;

use super::display::{
    DifferenceText, Ip, KnownOwner, KnownToken, Limit, Members, OtherCount, PauseText,
};
use super::tally::Tally;
use super::text::{drop_reason, reason};
use super::trouble;
use crate::system::lab2::events;

/// The state of the node and its ring, according to the events so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RingState {
    pub state: State,
    /// The token that this node holds, or else the strongest known token.
    pub token: Option<Token>,
    /// The owner of the token, if it is known.
    pub owner: Option<MacAddr>,
    pub grade: Grade,
    pub members: usize,
}

impl Default for RingState {
    fn default() -> Self {
        Self {
            state: State::Looser,
            token: None,
            owner: None,
            grade: Grade::Alone,
            members: 0,
        }
    }
}

/// The pause that an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PauseNews {
    /// Time until the pause ends by itself.
    pub left: Option<Duration>,
    pub reason: PauseReason,
}

impl PauseNews {
    pub(crate) fn new(pause: &Pause, now: Instant) -> Self {
        Self {
            left: pause.left(now),
            reason: pause.reason,
        }
    }

    /// Returns the operator's reason; `None` if the operator gave none.
    pub(crate) fn reason_text(&self) -> Option<String> {
        Some(self.reason.as_str().to_owned()).filter(|reason| !reason.is_empty())
    }
}

/// The receivers of an event. Each variant includes the receivers of the variants before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Audience {
    /// The log, if the event has a level.
    Log,
    /// Clients that watch.
    Watchers,
    Hooks,
}

/// The keys of an event, in their order in the log line.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Keys {
    pub from: Option<State>,
    pub to: Option<State>,
    /// The member that got an offer of the token. In the log, the key for the member that got an offer also has the
    /// name `to`.
    pub receiver: Option<MacAddr>,
    pub reason: Option<&'static str>,
    /// The token's owner.
    pub owner: Option<MacAddr>,
    pub grade: Option<Grade>,
    /// The number of failed handovers in a row.
    pub in_a_row: Option<u32>,
    /// The duration of a handover.
    pub latency: Option<Duration>,
    pub token: Option<Token>,
    /// The member that the event is about.
    pub mac: Option<MacAddr>,
    pub members: Option<usize>,
    /// The member's IP address.
    pub ip: Option<[u8; 16]>,
    /// The number of other members with the same change.
    pub others: Option<usize>,
    /// A length in bytes.
    pub len: Option<usize>,
    pub mtu: Option<usize>,
    pub author: Option<MacAddr>,
    pub job: Option<JobName>,
    /// The member's pause. In the log, only the sentence describes it.
    pub pause: Option<PauseNews>,
}

pub(crate) struct Description<'a> {
    /// The name, in `snake_case`.
    pub event: &'static str,
    /// The level; `None` if the event is not logged.
    pub level: Option<Level>,
    /// The sentence for the log.
    pub text: Arguments<'a>,
    pub keys: Keys,
    pub audience: Audience,
    /// The reason for watchers, if the keys contain no reason.
    pub cause: Option<Arguments<'a>>,
    /// The state after the event; `None` if it is unchanged.
    pub after: Option<RingState>,
    pub count: &'a dyn Fn(&mut Tally),
}

impl<'a> Description<'a> {
    /// Creates the description of an event that is only counted.
    fn new_unlogged(event: &'static str) -> Self {
        Self {
            event,
            level: None,
            text: format_args!(""),
            keys: Keys::default(),
            audience: Audience::Log,
            cause: None,
            after: None,
            count: &|_| {},
        }
    }

    fn new_logged(event: &'static str, level: Level, text: Arguments<'a>) -> Self {
        Self {
            level: Some(level),
            text,
            ..Self::new_unlogged(event)
        }
    }

    /// Creates the description of an event for the log and for watchers.
    fn new_news(event: &'static str, level: Level, text: Arguments<'a>) -> Self {
        Self {
            audience: Audience::Watchers,
            ..Self::new_logged(event, level, text)
        }
    }

    fn with(mut self, fill_in: impl FnOnce(&mut Keys)) -> Self {
        fill_in(&mut self.keys);
        self
    }

    /// Sets the member that the event is about.
    fn with_member(self, mac: MacAddr) -> Self {
        self.with(|keys| keys.mac = Some(mac))
    }

    /// Hides the event from the log unless `is_logged` is true.
    fn log_only_if(mut self, is_logged: bool) -> Self {
        self.level = self.level.filter(|_| is_logged);
        self
    }

    /// Passes the event also to hooks.
    fn with_hooks(mut self) -> Self {
        self.audience = Audience::Hooks;
        self
    }

    /// Sets the reason for watchers.
    fn with_cause(mut self, cause: Arguments<'a>) -> Self {
        self.cause = Some(cause);
        self
    }

    fn with_ring_state(mut self, after: RingState) -> Self {
        self.after = Some(after);
        self
    }

    fn with_counter(mut self, count: &'a dyn Fn(&mut Tally)) -> Self {
        self.count = count;
        self
    }
}

/// Passes the description of `event` to `tell`. `before` is the state before the event. A `routine` event gets the
/// level DEBUG. The level of a late event depends on `failure_timeout`. Most texts are formatted only when `tell` needs
/// them.
#[expect(clippy::too_many_lines, reason = "a description for each event")]
pub(crate) fn describe(
    event: &Event,
    before: &RingState,
    routine: bool,
    failure_timeout: Duration,
    tell: impl FnOnce(Description<'_>),
) {
    macro_rules! logged {
        ($event:expr, $level:expr, $($text:tt)+) => {
            Line::new_logged($event, $level, format_args!($($text)+))
        };
    }
    macro_rules! news {
        ($event:expr, $level:expr, $($text:tt)+) => {
            Line::new_news($event, $level, format_args!($($text)+))
        };
    }
    type Line<'a> = Description<'a>;
    use Level as L;
    let level = |level| if routine { L::DEBUG } else { level };
    match *event {
        Event::Received { kind } => {
            tell(
                Line::new_unlogged("received")
                    .with_counter(&|it| it.received[kind as usize - 1] += 1),
            );
        }
        Event::Transmitted { kind } => {
            tell(Line::new_unlogged("sent").with_counter(&|it| it.sent[kind as usize - 1] += 1));
        }
        Event::TransmitFailed { kind } => {
            tell(
                Line::new_unlogged("send_failed")
                    .with_counter(&|it| it.send_failed[kind as usize - 1] += 1),
            );
        }
        Event::Dropped { reason } => {
            let (key, text) = drop_reason(reason);
            tell(
                logged!(events::DROPPED, L::DEBUG, "dropped a frame: {text}")
                    .with(|keys| keys.reason = Some(key))
                    .with_counter(&|tally| tally.dropped[reason as usize] += 1),
            );
        }
        Event::StateChanged {
            from,
            to,
            reason: why,
            token,
        } => {
            let (key, text) = reason(why);
            let after = RingState {
                state: to,
                token: token.or(before.token),
                grade: Grade::Alone,
                ..*before
            };
            let rank = match why {
                Reason::StrongerToken | Reason::LeaseExpired => L::WARN,
                _ => L::INFO,
            };
            let (old, new) = (from.name(), to.name());
            let (shown, members) = (KnownToken(after.token), Members(after.members));
            tell(
                news!(
                    events::STATE_CHANGED,
                    level(rank),
                    "{old} -> {new}: {text}; {shown}, {members}"
                )
                .with(|keys| {
                    (keys.from, keys.to, keys.reason) = (Some(from), Some(to), Some(key));
                    (keys.token, keys.members) = (after.token, Some(after.members));
                })
                .with_hooks()
                .with_ring_state(after)
                .with_counter(&|tally| {
                    tally.state_changes[from as usize][to as usize] += 1;
                    tally.reasons[why as usize] += 1;
                }),
            );
        }
        Event::OwnerChanged { owner, token } => {
            let token = token.or(before.token);
            let (who, shown) = (KnownOwner(owner), KnownToken(token));
            // A change of state to OWNER already shows that this node is the owner.
            let is_logged = before.state != State::Owner;
            tell(
                news!(events::OWNER_CHANGED, level(L::INFO), "owner is {who}; {shown}")
                    .with(|keys| (keys.owner, keys.token) = (owner, token))
                    .log_only_if(is_logged)
                    .with_ring_state(RingState {
                        token,
                        owner,
                        ..*before
                    }),
            );
        }
        Event::GradeChanged { grade, token } => {
            let (name, shown) = (grade.name(), KnownToken(Some(token)));
            tell(
                news!(events::GRADE_CHANGED, level(L::INFO), "grade is {name}; {shown}")
                    .with(|keys| (keys.grade, keys.token) = (Some(grade), Some(token)))
                    .with_hooks()
                    .with_ring_state(RingState { grade, ..*before }),
            );
        }
        Event::HandedOver { to, latency } => tell(
            logged!(events::HANDED_OVER, L::DEBUG, "{to} took it in {latency:?}")
                .with(|keys| (keys.receiver, keys.latency) = (Some(to), Some(latency)))
                .with_counter(&|tally| {
                    tally.hand_overs += 1;
                    tally.latency.record(latency);
                }),
        ),
        Event::HandoverFailed {
            to,
            in_a_row,
            minted,
        } => {
            let why = match minted {
                Some(minted) => format!(
                    "{to} did not take the token (failure {in_a_row} in a row): re-created it as token \
                     {minted}"
                ),
                None => format!(
                    "cannot send the token to {to} (failure {in_a_row} in a row): this \
                     machine's interface refuses frames to that member"
                ),
            };
            let after = RingState {
                token: minted.or(before.token),
                grade: minted.map_or(before.grade, |_| Grade::Alone),
                ..*before
            };
            tell(
                news!(events::HAND_OVER_FAILED, level(L::WARN), "{why}")
                    .with(|keys| {
                        keys.receiver = Some(to);
                        (keys.in_a_row, keys.token) = (Some(in_a_row), after.token);
                    })
                    .with_ring_state(after)
                    .with_counter(&|tally| tally.hand_overs_failed += 1),
            );
        }
        Event::ProgressExhausted => tell(logged!(
            events::PROGRESS_EXHAUSTED,
            L::ERROR,
            "cannot hand the token over: its progress has reached 2^63 - 1"
        )),
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
            tell(
                logged!(
                    events::DATA_REFUSED,
                    L::WARN,
                    "cannot set the data of {len} bytes: {why}"
                )
                .with(|keys| keys.len = Some(len)),
            );
        }
        Event::StorageChanged { failed: true } => tell(
            news!(
                events::STATE_NOT_STORED,
                L::ERROR,
                "cannot write the state file: this node owns nothing until ringd can \
                 write it; free some space or check the disk"
            )
            .with_cause(format_args!("state_file")),
        ),
        Event::StorageChanged { failed: false } => tell(
            news!(
                events::STATE_STORED,
                L::INFO,
                "the state file can be written again: this node may own the token"
            )
            .with_cause(format_args!("state_file")),
        ),
        Event::HearingChanged { deaf, heard_before } => {
            let (event, level, text) = match (deaf, heard_before) {
                (true, false) => (
                    events::RECEIVES_NOTHING,
                    L::INFO,
                    "this node hears no member: it is the only node on its segment, or its interface receives nothing",
                ),
                (true, true) => (
                    events::RECEIVES_NOTHING,
                    L::WARN,
                    "this node no longer hears any member: until it hears one, other members ignore it as an owner; if \
                     the members are up, check this node's interface, firewall and cable",
                ),
                (false, _) => (events::RECEIVES, L::INFO, "this node hears other members"),
            };
            tell(news!(event, level, "{text}").with_cause(format_args!("hearing")));
        }
        Event::FitnessChanged { unfit: true } => tell(
            news!(
                events::UNICAST_LOST,
                L::ERROR,
                "no member takes the token from this node, although others request it: frames to single members are \
                 lost; this node owns nothing until such frames arrive, or until ringctl resume"
            )
            .with_cause(format_args!("hand_over")),
        ),
        Event::FitnessChanged { unfit: false } => tell(
            news!(
                events::UNICAST_RESTORED,
                L::INFO,
                "this node may own the token again"
            )
            .with_cause(format_args!("hand_over")),
        ),
        Event::DiagnosticChanged { trouble, over } => {
            let trouble::TroubleDescription {
                event,
                member,
                text,
                ..
            } = trouble::describe(trouble, over);
            let level = if over || trouble.is_slight(failure_timeout) {
                L::INFO
            } else {
                L::WARN
            };
            tell(
                news!(event, level, "{text}")
                    .with(|keys| keys.mac = member)
                    .with_cause(format_args!("{text}")),
            );
        }
        Event::TooLong { kind, mtu } => {
            let text = format!(
                "cannot send a {kind}: it is too long for the interface (EMSGSIZE), whose MTU was {mtu} at the last \
                 look-up"
            );
            tell(
                news!(events::TOO_LONG, L::WARN, "{text}")
                    .with(|keys| keys.mtu = Some(mtu))
                    .with_cause(format_args!("{text}")),
            );
        }
        // The node tells its clients about these events, and logs each lock with its client.
        Event::LockQueued { .. } => tell(Line::new_unlogged("lock_queued")),
        Event::LockGranted { .. } => tell(Line::new_unlogged("lock_granted")),
        Event::LockRefused { .. } => tell(Line::new_unlogged("lock_refused")),
        Event::LockLost { .. } => tell(Line::new_unlogged("lock_lost")),
        Event::RunStamped { stamp } => {
            let job = stamp.name;
            tell(
                logged!(events::RUN_STAMPED, L::INFO, "this node is about to run {job}")
                    .with(|keys| keys.job = Some(job)),
            );
        }
        Event::MemberAdded { mac, members } => {
            let shown = Members(members);
            tell(
                news!(events::MEMBER_ADDED, L::INFO, "member {mac} added; {shown}")
                    .with_member(mac)
                    .with(|keys| keys.members = Some(members))
                    .with_ring_state(RingState { members, ..*before }),
            );
        }
        Event::MemberForgotten { mac, members } => {
            let shown = Members(members);
            tell(
                news!(
                    events::MEMBER_FORGOTTEN,
                    L::INFO,
                    "member {mac} was forgotten; {shown}"
                )
                .with_member(mac)
                .with(|keys| keys.members = Some(members))
                .with_ring_state(RingState { members, ..*before }),
            );
        }
        Event::MemberMoved { mac, ip } => {
            let shown = Ip(ip);
            tell(
                news!(events::MEMBER_MOVED, L::INFO, "member {mac} has IP {shown}")
                    .with_member(mac)
                    .with(|keys| keys.ip = Some(ip)),
            );
        }
        // The log and the clients add the host name to each address of the member.
        Event::MemberNamed { .. } => tell(Line::new_unlogged("member_named")),
        Event::MemberPaused { mac, left, reason } => {
            let news = PauseNews { left, reason };
            let shown = PauseText(news);
            tell(
                news!(events::MEMBER_PAUSED, L::INFO, "member {mac} is paused {shown}")
                    .with_member(mac)
                    .with(|keys| keys.pause = Some(news))
                    .with_hooks(),
            );
        }
        Event::MemberResumed { mac } => tell(
            news!(events::MEMBER_RESUMED, L::INFO, "member {mac} is no longer paused")
                .with_member(mac)
                .with_hooks(),
        ),
        Event::MemberLeft { mac } => {
            tell(news!(events::MEMBER_LEFT, L::INFO, "member {mac} is leaving").with_member(mac));
        }
        Event::MemberDiffers { mac, difference } => {
            let differs = DifferenceText(difference);
            tell(
                news!(
                    events::MEMBER_DIFFERS,
                    L::WARN,
                    "member {mac} {differs}; start all members with the same options"
                )
                .with_member(mac)
                .with_cause(format_args!("{differs}")),
            );
        }
        Event::MemberAgrees { mac } => tell(
            news!(
                events::MEMBER_AGREES,
                L::INFO,
                "member {mac} has the same constants as this node again"
            )
            .with_member(mac),
        ),
        Event::MemberSilent { mac, quiet, others } => {
            let more = OtherCount(others);
            tell(
                news!(
                    events::MEMBER_SILENT,
                    L::WARN,
                    "member {mac} is silent: no frame from it has arrived for {quiet:.1?}{more}"
                )
                .with_member(mac)
                .with(|keys| keys.others = Some(others))
                .with_hooks(),
            );
        }
        Event::MemberAlive { mac, others } => {
            let more = OtherCount(others);
            tell(
                news!(events::MEMBER_ALIVE, L::INFO, "member {mac} is heard again{more}")
                    .with_member(mac)
                    .with(|keys| keys.others = Some(others))
                    .with_hooks(),
            );
        }
        Event::TableFull { author } => tell(
            logged!(
                events::TABLE_FULL,
                L::WARN,
                "cannot add {author}: the member table is full; if {author} is a real member, raise --max-members"
            )
            .with(|keys| keys.author = Some(author))
            .with_counter(&|tally| tally.table_full += 1),
        ),
    }
}
