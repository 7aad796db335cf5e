//! The events of the state machine, and the state that must be stored.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Kind, Token};

use super::{HostName, PauseReason, SilentMembers, Stamp, StoredStamp};

/// The four states of `docs/reference/lab2/states.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum State {
    /// The node holds the token.
    Owner,
    /// The node has heard of the token recently.
    Waiter,
    /// The node has not heard of the token for a while, and asks for it. The name is spelled as in the original
    /// document.
    Looser,
    /// The node stands for election with a candidate.
    Generating,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Owner, Self::Waiter, Self::Looser, Self::Generating];

    /// Returns the name in the spelling of the specification.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Owner => "OWNER",
            Self::Waiter => "WAITER",
            Self::Looser => "LOOSER",
            Self::Generating => "GENERATING",
        }
    }
}

/// The certainty with which an OWNER is the only holder of the token. The grades are in ascending order.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub enum Grade {
    /// No member confirmed the tenure.
    Alone,
    /// All members that were heard recently have confirmed the tenure.
    AllHeard,
    /// A majority of the ring confirmed the tenure. Until the promises of the confirming members end, no other owner
    /// can have a quorum.
    Quorum,
}

impl Grade {
    /// Returns the name that users see.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::AllHeard => "all-heard",
            Self::Quorum => "quorum",
        }
    }
}

/// The reason for a change of the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Reason {
    /// The node accepted a TAKE_TOKEN.
    TokenTaken,
    /// The member to which the token was offered has taken it.
    TokenHandedOver,
    /// The node has heard a TOKEN_IS_HERE.
    TokenHeard,
    /// An OWNER met a stronger token. The OWNER destroyed its own token, or minted a new token that is even stronger.
    StrongerToken,
    /// An OWNER has given up its token. The token of another owner is weaker, but members confirm the other owner's
    /// tenure.
    BetterBackedOwner,
    /// WAITER_TIMEOUT has passed since the node last heard of the token.
    WaiterTimeout,
    /// WHERE_IS_TOKEN was not answered within LOOSER_ANSWER_TIMEOUT.
    NoAnswer,
    /// The node has heard a candidate that is weaker than the node's candidate.
    WeakerCandidate,
    /// The node has heard a candidate that is stronger than the node's candidate.
    StrongerCandidate,
    /// A candidate has heard a TOKEN_WAS_HERE_RECENTLY.
    TokenWasHere,
    /// No member objected to the candidate within LOOSER_ANSWER_TIMEOUT.
    Elected,
    /// An OWNER could send no heartbeat for WAITER_TIMEOUT, so the other members may have elected a new owner.
    LeaseExpired,
    /// The interface went down or changed its address.
    LinkLost,
    /// A candidate was paused.
    Paused,
    /// The state that must survive a restart could not be stored.
    NotStored,
    /// An OWNER gave the token up, because members asked for the token, but no member took it.
    NoTaker,
    /// The timeouts of an OWNER or candidate differ too much from the timeouts of the ring.
    Apart,
}

/// The options that a member announces to other members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct MemberOptions {
    /// WAITER_TIMEOUT.
    pub waiter_timeout: Duration,
    /// TAKE_TIMEOUT.
    pub take_timeout: Duration,
    /// The number of members that the member expects.
    pub expect: Option<usize>,
}

/// A difference between options that should be equal at a member and at this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Difference {
    /// The member's options.
    pub theirs: MemberOptions,
    /// This node's options.
    pub ours: MemberOptions,
}

/// The present maximum number of bytes of a token's data, and the reason for this limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct DataLimit {
    /// The number of bytes.
    pub len: usize,
    /// The smallest known MTU.
    pub mtu: usize,
    /// The member with this MTU; `None` for this node.
    pub member: Option<MacAddr>,
}

/// A problem that people should know: an assumption of the protocol does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Diagnostic {
    /// A member announces that it hears no member, although this node hears it.
    MemberDeaf {
        /// The member.
        mac: MacAddr,
    },
    /// A member took the token after the offer failed. TAKE_TIMEOUT is too short for this network.
    AnswerLate {
        /// The member.
        mac: MacAddr,
        /// The time since the first offer.
        after: Duration,
    },
    /// This node acknowledged the token so late that the giver may have minted a new token before. For a while, this
    /// node is unsure of the token.
    TakenLate {
        /// The delay of the acknowledgement; `None` if the node could not send the acknowledgement.
        late: Option<Duration>,
        /// The member to which this node had already offered the token before it noticed the delay. That member does
        /// not know that the token is unsure.
        offered_to: Option<MacAddr>,
    },
    /// Other members hear an owner that this node does not hear.
    OwnerUnheard {
        /// The owner that the other members name.
        owner: MacAddr,
    },
    /// This node's member table does not become equal to the owner's table.
    TablesDiffer {
        /// The owner whose table differed from this node's table when the problem was reported.
        owner: MacAddr,
    },
    /// The interface is up, but has refused all frames for WAITER_TIMEOUT.
    CannotSend,
    /// Two machines have the same MAC address.
    AddressShared {
        /// The address. It may be this node's address.
        mac: MacAddr,
        /// The IP addresses of the two machines; `None` if a frame with this node's address arrived.
        ips: Option<([u8; 16], [u8; 16])>,
    },
    /// The timeouts of a member differ too much from the timeouts of the ring. Such a member does not stand for
    /// election, and must not own the token.
    Apart {
        /// The member; `None` for this node.
        mac: Option<MacAddr>,
    },
    /// Fewer members are present than a majority of the ring, so no majority can confirm a tenure.
    NoQuorum {
        /// The number of present members, including this node.
        present: usize,
        /// The number of members in the ring.
        ring: usize,
        /// The expected number of members.
        expected: usize,
        /// The silent members.
        silent: SilentMembers,
    },
    /// A token is more than an hour ahead of this node's wall clock.
    TokenAhead {
        /// The token.
        token: Token,
        /// The lead of the token over the clock.
        by: Duration,
    },
    /// This node's wall clock is too far ahead of the known token. If this node creates a token, its progress is
    /// smaller than the clock's time.
    ClockAhead {
        /// The lead of the clock over the known token.
        by: Duration,
    },
    /// For a long time, only unicast frames have reached this node.
    BroadcastsUnheard,
    /// A member announces that it receives only unicast frames.
    MemberUnreached {
        /// The member.
        mac: MacAddr,
    },
    /// Members announce that they do not hear this node, although this node hears them.
    NotHeardBy {
        /// The members that do not hear this node.
        by: SilentMembers,
    },
    /// A member with a higher preference than this node does not take the idle token, although it answers heartbeats.
    PreferredRefuses {
        /// The member.
        mac: MacAddr,
        /// The number of failed handovers to this member since the last successful handover.
        in_a_row: u32,
    },
    /// A node's MTU is too small for a PING with a promise, or its interface refused a heartbeat or PING as too long.
    /// So this node cannot confirm a tenure, or the other members cannot confirm its tenure.
    MtuTooSmall {
        /// The MTU, in bytes.
        mtu: usize,
        /// The MTU that a promise needs.
        needed: usize,
        /// The member with this MTU; `None` for this node.
        member: Option<MacAddr>,
    },
    /// The node dropped the application's data, because they no longer fit the MTU of every member. With the data, the
    /// token could not reach all members.
    DataDropped {
        /// The length of the data, in bytes.
        len: usize,
        /// The limit for the length of the data.
        limit: DataLimit,
    },
}

impl Diagnostic {
    /// Returns whether this problem is a delay of less than a quarter of `failure_timeout` (WAITER_TIMEOUT). The
    /// protocol recovers from such a delay by itself.
    pub fn is_slight(&self, failure_timeout: Duration) -> bool {
        // A busy machine causes such delays now and then, and a report about each of them would hide the serious
        // problems.
        match *self {
            Self::AnswerLate { after: late, .. }
            | Self::TakenLate {
                late: Some(late), ..
            } => late < failure_timeout / 4,
            _ => false,
        }
    }
}

/// The reason why a received frame was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum DropReason {
    /// The frame is shorter than its kind requires.
    Truncated,
    /// The kind of the frame is not a number from 1 to 17.
    UnknownKind,
    /// The reserved byte of the frame is not 0.
    Reserved,
    /// The frame names a progress of 2^63 or more.
    ProgressTooLarge,
    /// The author of the frame is a group address or all zero.
    AuthorNotAStation,
    /// The author of the frame is not its Ethernet source.
    AuthorNotSource,
    /// The frame has more data than a token may carry.
    DataTooLong,
    /// The frame lists more members than a frame may carry.
    TooManyMembers,
    /// The frame lists a member whose address is a group address or all zero.
    MemberNotAStation,
    /// The author of the frame has this node's address. The author is this node, or a second machine with the same
    /// address.
    OwnFrame,
    /// The frame has an invalid stamp, or an invalid purpose of stamps.
    NotAStamp,
    /// The frame has an invalid lock record, or an invalid purpose of locks.
    NotALock,
    /// The frame of a survey has an invalid value.
    NotASurvey,
    /// The destination of the frame is neither this node nor broadcast.
    NotForUs,
    /// The frame is a TAKE_TOKEN to the broadcast address. An offer to the broadcast address would give one token
    /// several owners.
    BroadcastTakeToken,
    /// The frame is a TAKE_TOKEN older than TAKE_TIMEOUT. Meanwhile, the giver has repeated the offer, or no longer
    /// offers the token to this node.
    StaleOffer,
    /// The link is down, or the node is shut down.
    NotListening,
    /// The author of the frame hears no member.
    AuthorDeaf,
}

/// An event. Log lines, counters and the status are made from events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Event {
    /// A valid frame was received.
    Received {
        /// The kind of the frame.
        kind: Kind,
    },
    /// The link accepted a frame.
    Transmitted {
        /// The kind of the frame.
        kind: Kind,
    },
    /// A frame could not be sent.
    TransmitFailed {
        /// The kind of the frame.
        kind: Kind,
    },
    /// A received frame was dropped.
    Dropped {
        /// The reason for the drop.
        reason: DropReason,
    },
    /// The state changed.
    StateChanged {
        /// The old state.
        from: State,
        /// The new state.
        to: State,
        /// The reason for the change.
        reason: Reason,
        /// The token that caused the change. The node holds this token, has handed it over, has heard of it, or stands
        /// for election with it.
        token: Option<Token>,
    },
    /// The known holder of the token changed.
    OwnerChanged {
        /// The new holder; `None` if the node knows no holder.
        owner: Option<MacAddr>,
        /// The strongest known token.
        token: Option<Token>,
    },
    /// The grade of an OWNER's tenure changed.
    GradeChanged {
        /// The new grade.
        grade: Grade,
        /// The token.
        token: Token,
    },
    /// A handover is complete.
    HandedOver {
        /// The member that now has the token.
        to: MacAddr,
        /// The time from the first TAKE_TOKEN to the acknowledgement.
        latency: Duration,
    },
    /// A member did not take the token.
    HandoverFailed {
        /// The member.
        to: MacAddr,
        /// The number of failed handovers to this member since the last successful handover.
        in_a_row: u32,
        /// The new token that this node minted; `None` if the node could send no offer and so keeps its old token.
        minted: Option<Token>,
    },
    /// The token has reached the progress of 2^63 - 1, and can no longer be handed over.
    ProgressExhausted,
    /// New data of the application were refused.
    DataRefused {
        /// The length of the data, in bytes.
        len: usize,
        /// Whether this node may change the data, because it is OWNER and does not offer the token.
        may_use: bool,
        /// The limit for the length of the data.
        limit: DataLimit,
    },
    /// The node can no longer store the state that must survive a restart, or can store it again. While the state
    /// cannot be stored, the node must not own the token.
    StorageChanged {
        /// Whether the state cannot be stored.
        failed: bool,
    },
    /// This node has become deaf, or hears again.
    HearingChanged {
        /// Whether the node is deaf.
        deaf: bool,
        /// Whether the node has heard a member since its start. If the node has never heard a member, it may be the
        /// only member, and nothing is wrong.
        heard_before: bool,
    },
    /// A problem began or ended. While a problem lasts, it is not reported again.
    DiagnosticChanged {
        /// The problem.
        trouble: Diagnostic,
        /// Whether the problem ended.
        over: bool,
    },
    /// This node became unfit, or became fit again. An unfit node must not own the token, because members asked for the
    /// token, but no member took it from this node.
    FitnessChanged {
        /// Whether the node is unfit.
        unfit: bool,
    },
    /// The interface refused a frame as too long. For each kind of frame, the node reports this event only at
    /// intervals.
    TooLong {
        /// The kind of the frame.
        kind: Kind,
        /// The interface's MTU, in bytes.
        mtu: usize,
    },
    /// This node is about to run a job, and asks the members to store its stamp.
    RunStamped {
        /// The run.
        stamp: Stamp,
    },
    /// A session of this node waits for its lock, because another session holds the lock.
    LockQueued {
        /// The session.
        session: u64,
    },
    /// A session of this node has its lock.
    LockGranted {
        /// The session.
        session: u64,
        /// The fencing token of the lock. It grows with each grant of a lock with the same name.
        fence: Token,
    },
    /// The owner of the token refused a lock, because its table is full. The session is over.
    LockRefused {
        /// The session.
        session: u64,
    },
    /// A session of this node has lost its lock, because no owner could renew its lease. The session is over.
    LockLost {
        /// The session.
        session: u64,
    },
    /// A member was added to the table.
    MemberAdded {
        /// The member.
        mac: MacAddr,
        /// The number of members in the table now.
        members: usize,
    },
    /// A member's IP address changed.
    MemberMoved {
        /// The member.
        mac: MacAddr,
        /// The new IP address of the member.
        ip: [u8; 16],
    },
    /// A member announced its host name for the first time, or a different host name than before. If the member is new,
    /// this event comes before [`MemberAdded`](Self::MemberAdded).
    MemberNamed {
        /// The member.
        mac: MacAddr,
        /// The host name of the member.
        name: HostName,
    },
    /// A member announced that an operator paused it, or announced a different end or reason of its pause. The event is
    /// reported once, and again when the end or the reason changes.
    MemberPaused {
        /// The member.
        mac: MacAddr,
        /// Time until the pause ends by itself; `None` if it does not end by itself.
        left: Option<Duration>,
        /// The operator's reason.
        reason: PauseReason,
    },
    /// The announced pause of a member ended.
    MemberResumed {
        /// The member.
        mac: MacAddr,
    },
    /// A member sent LEAVING.
    MemberLeft {
        /// The member.
        mac: MacAddr,
    },
    /// A member has different constants than this node, or expects a different number of members. The event is reported
    /// once, and again when the difference changes.
    MemberDiffers {
        /// The member.
        mac: MacAddr,
        /// The difference.
        difference: Difference,
    },
    /// The constants and the expected number of a member became equal to this node's values.
    MemberAgrees {
        /// The member.
        mac: MacAddr,
    },
    /// A member has become silent. The event is not repeated before the member is heard again.
    MemberSilent {
        /// The member.
        mac: MacAddr,
        /// The time since the member's last frame.
        quiet: Duration,
        /// The number of further members that became silent too. The event does not name these members.
        others: usize,
    },
    /// A member that was silent is heard again.
    MemberAlive {
        /// The member.
        mac: MacAddr,
        /// The number of further members that are heard again too. The event does not name these members.
        others: usize,
    },
    /// A member was removed from the table, because it was silent for too long or because an operator removed it.
    MemberForgotten {
        /// The member.
        mac: MacAddr,
        /// The number of members in the table now.
        members: usize,
    },
    /// The author of a frame was not added to the table, because the table is full.
    TableFull {
        /// The author.
        author: MacAddr,
    },
}

/// The state that survives a restart (`docs/reference/lab2/states.md D1`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StoredState {
    /// currentMyTokenNumber: the number of the last chain that this node minted.
    pub my_token_number: u32,
    /// The strongest token seen.
    pub known: Option<Token>,
    /// A new or changed stamp, with its place in the file; `None` if all stamps are unchanged. The stamps at other
    /// places of the file stay unchanged.
    pub stamp: Option<StoredStamp>,
}
