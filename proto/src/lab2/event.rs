//! Events of the state machine, and the state that it asks to be stored.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Kind, Token};

use super::{SilentMembers, Stamp, StoredStamp};

/// The four states of section 4 of `docs/protocol.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// The node holds the token.
    Owner,
    /// The node has heard of the token recently.
    Waiter,
    /// The node has not heard of the token, and asks for it. The name is spelled as in the original document.
    Looser,
    /// The node stands for election with a candidate.
    Generating,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Owner, Self::Waiter, Self::Looser, Self::Generating];

    /// Returns the name, as the specification spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Owner => "OWNER",
            Self::Waiter => "WAITER",
            Self::Looser => "LOOSER",
            Self::Generating => "GENERATING",
        }
    }
}

/// How safe it is to rely on being the only holder of the token, from the least to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Grade {
    /// No member has confirmed the tenure.
    Alone,
    /// All members that were heard recently have confirmed it.
    AllHeard,
    /// A majority of the ring has confirmed it. No other quorum exists until their promises end.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// A TAKE_TOKEN was accepted.
    TokenTaken,
    /// The member that was offered the token has it.
    TokenHandedOver,
    /// A TOKEN_IS_HERE was heard.
    TokenHeard,
    /// An OWNER met a stronger token and destroyed its own, or heard of a stronger one and minted.
    StrongerToken,
    /// An OWNER has given way to an owner of a weaker token, which members confirm.
    BetterBackedOwner,
    /// WAITER_TIMEOUT has passed since the token was heard of.
    WaiterTimeout,
    /// WHERE_IS_TOKEN was not answered within LOOSER_ANSWER_TIMEOUT.
    NoAnswer,
    /// A GENERATING_TOKEN weaker than this node's candidate was heard.
    WeakerCandidate,
    /// A GENERATING_TOKEN stronger than this node's candidate was heard.
    StrongerCandidate,
    /// A TOKEN_WAS_HERE_RECENTLY was heard while GENERATING.
    TokenWasHere,
    /// No member objected to the candidate within LOOSER_ANSWER_TIMEOUT.
    Elected,
    /// An OWNER could send no heartbeat for WAITER_TIMEOUT: the others may have elected another.
    LeaseExpired,
    /// The interface went down or changed its address.
    LinkLost,
    /// A candidate was paused.
    Paused,
    /// The state that must survive a restart could not be stored.
    NotStored,
    /// An OWNER has let go of the token, because no member takes it although members ask for it.
    NoTaker,
    /// The timeouts of an OWNER or candidate are too far from the ring's.
    Apart,
}

/// The options of a member that other members must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberOptions {
    /// WAITER_TIMEOUT.
    pub waiter_timeout: Duration,
    /// TAKE_TIMEOUT.
    pub take_timeout: Duration,
    /// The number of members that it expects.
    pub expect: Option<usize>,
}

/// A difference between the options of a member and of this node, which should agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    /// The member's options.
    pub theirs: MemberOptions,
    /// This node's options.
    pub ours: MemberOptions,
}

/// The number of bytes of data that a token may carry at present, and the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DataLimit {
    /// The number of bytes.
    pub len: usize,
    /// The smallest known MTU.
    pub mtu: usize,
    /// The member with this MTU; `None` for this node.
    pub member: Option<MacAddr>,
}

/// A problem: an assumption that does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Diagnostic {
    /// The member announces that it hears no member, although it is heard.
    MemberDeaf {
        /// The member.
        mac: MacAddr,
    },
    /// The member took the token after the offer had failed: TAKE_TIMEOUT is too short for this network.
    AnswerLate {
        /// The member.
        mac: MacAddr,
        /// The time since the first offer.
        after: Duration,
    },
    /// This node acknowledged the token so late that its giver may have minted. It is unsure of the token for a while.
    TakenLate {
        /// The delay of the acknowledgement; `None` if it could not be sent.
        late: Option<Duration>,
        /// The member that was offered the token before the delay was known, and so is sure of it.
        offered_to: Option<MacAddr>,
    },
    /// Other members hear an owner that this node does not hear.
    OwnerUnheard {
        /// The owner that they name.
        owner: MacAddr,
    },
    /// This node's table does not become equal to the owner's.
    TablesDiffer {
        /// The last owner whose table differed.
        owner: MacAddr,
    },
    /// The interface has refused all frames for WAITER_TIMEOUT, although it is up.
    CannotSend,
    /// Two machines have the same MAC address.
    AddressShared {
        /// The address, which may be this node's.
        mac: MacAddr,
        /// The IP addresses of the two; `None` if a frame came that has this node's address.
        ips: Option<([u8; 16], [u8; 16])>,
    },
    /// The timeouts of a member are so far from the ring's that it neither elects nor owns.
    Apart {
        /// The member; `None` for this node.
        mac: Option<MacAddr>,
    },
    /// So many members are silent that no majority of the ring can confirm a tenure.
    NoQuorum {
        /// The number of present members, including this node.
        present: usize,
        /// The number of members of the ring.
        ring: usize,
        /// The expected number.
        expected: usize,
        /// The silent members.
        silent: SilentMembers,
    },
    /// A token is more than an hour ahead of this node's wall clock.
    TokenAhead {
        /// The token.
        token: Token,
        /// The lead.
        by: Duration,
    },
    /// This node's wall clock is so far ahead of the known token that a token created here does not follow it.
    ClockAhead {
        /// The lead of the clock.
        by: Duration,
    },
    /// For long, only unicast frames have reached this node.
    BroadcastsUnheard,
    /// The member announces that only unicast frames reach it.
    MemberUnreached {
        /// The member.
        mac: MacAddr,
    },
    /// Members announce that they do not hear this node, although it hears them.
    NotHeardBy {
        /// These members.
        by: SilentMembers,
    },
    /// An MTU is too small for a PING with a promise, or the interface has refused a heartbeat or a PING as too long.
    /// So this node, or the member, confirms no tenure, or is not confirmed.
    MtuTooSmall {
        /// The MTU, in bytes.
        mtu: usize,
        /// The MTU that a promise needs.
        needed: usize,
        /// The member with this MTU; `None` for this node.
        member: Option<MacAddr>,
    },
    /// The application's data were dropped, because they no longer fit the MTU of every member. Otherwise the token
    /// would not reach them either.
    DataDropped {
        /// Their length in bytes.
        len: usize,
        /// The limit.
        limit: DataLimit,
    },
}

impl Diagnostic {
    /// Returns whether this is a lateness of less than a quarter of `failure_timeout` (WAITER_TIMEOUT). The protocol
    /// recovers from it by itself.
    pub fn is_slight(&self, failure_timeout: Duration) -> bool {
        match *self {
            Self::AnswerLate { after: late, .. }
            | Self::TakenLate {
                late: Some(late), ..
            } => late < failure_timeout / 4,
            _ => false,
        }
    }
}

/// The reason for which a received frame was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// It is shorter than its kind needs.
    Truncated,
    /// Its kind is none of 1 to 11.
    UnknownKind,
    /// The reserved byte is not 0.
    Reserved,
    /// It has a progress of 2^63 or more.
    ProgressTooLarge,
    /// Its author is a group address or all zero.
    AuthorNotAStation,
    /// Its author is not the Ethernet source.
    AuthorNotSource,
    /// It has more data than a token carries.
    DataTooLong,
    /// It has more members than a frame carries.
    TooManyMembers,
    /// It lists a member whose address is a group address or all zero.
    MemberNotAStation,
    /// It is a frame of this node, or of another machine with its address.
    OwnFrame,
    /// It has a stamp or a purpose of stamps that is not valid.
    NotAStamp,
    /// It is addressed to neither this node nor broadcast.
    NotForUs,
    /// It is a TAKE_TOKEN to the broadcast address, which would make several owners of one token.
    BroadcastTakeToken,
    /// It is a TAKE_TOKEN older than TAKE_TIMEOUT: its giver has repeated the offer or given it up.
    StaleOffer,
    /// The link is down, or the node is shut down.
    NotListening,
    /// Its author hears no member.
    AuthorDeaf,
}

/// An event. Everything that people see (log lines, counters, status) is made from these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A valid frame was received.
    Received {
        /// Its kind.
        kind: Kind,
    },
    /// The link accepted a frame.
    Transmitted {
        /// Its kind.
        kind: Kind,
    },
    /// A frame could not be sent.
    TransmitFailed {
        /// Its kind.
        kind: Kind,
    },
    /// A received frame was dropped.
    Dropped {
        /// The reason.
        reason: DropReason,
    },
    /// The state changed.
    StateChanged {
        /// The old state.
        from: State,
        /// The new state.
        to: State,
        /// The reason.
        reason: Reason,
        /// The token concerned: held, handed over, heard of or stood for.
        token: Option<Token>,
    },
    /// The holder that this node hears of has changed.
    OwnerChanged {
        /// The new holder; `None` if there is none.
        owner: Option<MacAddr>,
        /// The strongest known token.
        token: Option<Token>,
    },
    /// The grade of an OWNER's tenure has changed.
    GradeChanged {
        /// The new grade.
        grade: Grade,
        /// The token.
        token: Token,
    },
    /// A handover is complete.
    HandedOver {
        /// The member that has the token now.
        to: MacAddr,
        /// The time from the first TAKE_TOKEN to the acknowledgement.
        latency: Duration,
    },
    /// A member did not take the token.
    HandoverFailed {
        /// The member.
        to: MacAddr,
        /// The number of failed handovers to it in a row.
        in_a_row: u32,
        /// The token that this node has minted; `None` if no offer could be sent, so that the token is the same.
        minted: Option<Token>,
    },
    /// The token has reached the progress of 2^63 - 1, and can no longer be handed over.
    ProgressExhausted,
    /// The application's data were refused.
    DataRefused {
        /// Its length in bytes.
        len: usize,
        /// Whether this node may change the data: it is OWNER and does not offer the token.
        may_use: bool,
        /// The limit.
        limit: DataLimit,
    },
    /// The state that must survive a restart can no longer be stored, and the node owns nothing; or it can be again.
    StorageChanged {
        /// Whether it cannot be stored.
        failed: bool,
    },
    /// This node has become deaf, or hears again.
    HearingChanged {
        /// Whether it is deaf.
        deaf: bool,
        /// Whether it has heard a member since its start. One that never has may be the only member, and healthy.
        heard_before: bool,
    },
    /// A problem has begun or ended. It is reported once, not again while it lasts.
    DiagnosticChanged {
        /// The problem.
        trouble: Diagnostic,
        /// Whether it has ended.
        over: bool,
    },
    /// No member takes the token from this node although members ask for it, and it owns nothing; or it may own again.
    FitnessChanged {
        /// Whether no member takes it.
        unfit: bool,
    },
    /// The interface refused a frame as too long. Reported once in a while for each kind.
    TooLong {
        /// Its kind.
        kind: Kind,
        /// The interface's MTU, in bytes.
        mtu: usize,
    },
    /// This node is about to run a job, and has told the members.
    RunStamped {
        /// The run.
        stamp: Stamp,
    },
    /// A member was added to the table.
    MemberAdded {
        /// The member.
        mac: MacAddr,
        /// The number of members in the table now.
        members: usize,
    },
    /// A member's IP address has changed.
    MemberMoved {
        /// The member.
        mac: MacAddr,
        /// Its new IP address.
        ip: [u8; 16],
    },
    /// A member has sent LEAVING.
    MemberLeft {
        /// The member.
        mac: MacAddr,
    },
    /// A member has other constants than this node, or expects another number of members. Reported once, and again when
    /// the difference has changed.
    MemberDiffers {
        /// The member.
        mac: MacAddr,
        /// The difference.
        difference: Difference,
    },
    /// A member that differed now agrees with this node.
    MemberAgrees {
        /// The member.
        mac: MacAddr,
    },
    /// A member has become silent. Not repeated before the member is heard again.
    MemberSilent {
        /// The member.
        mac: MacAddr,
        /// The time since its last frame.
        quiet: Duration,
        /// The number of other such members, which are not named.
        others: usize,
    },
    /// A member that was silent is heard again.
    MemberAlive {
        /// The member.
        mac: MacAddr,
        /// The number of other such members, which are not named.
        others: usize,
    },
    /// A member was removed from the table: it was silent for too long, or the operator has removed it.
    MemberForgotten {
        /// The member.
        mac: MacAddr,
        /// The number of members in the table now.
        members: usize,
    },
    /// The table is full, so this author was not added.
    TableFull {
        /// The author.
        author: MacAddr,
    },
}

/// The state that survives a restart (`docs/protocol.md`, section 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredState {
    /// currentMyTokenNumber: the number of the last chain that this node has minted.
    pub my_token_number: u32,
    /// The strongest token seen.
    pub known: Option<Token>,
    /// A new or changed stamp, for its place in the file. The stamps in other places stay.
    pub stamp: Option<StoredStamp>,
}
