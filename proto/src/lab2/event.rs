//! What the machine tells its observers, and what it asks to be stored.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Kind, Token};

use super::{SilentMembers, Stamp, StoredStamp};

/// The states of section 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// Holds the token.
    Owner,
    /// Has heard of the token not long ago.
    Waiter,
    /// Has not, and asks for it.
    Looser,
    /// Stands for election with a candidate.
    Generating,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Owner, Self::Waiter, Self::Looser, Self::Generating];

    /// The name as the protocol's document spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Owner => "OWNER",
            Self::Waiter => "WAITER",
            Self::Looser => "LOOSER",
            Self::Generating => "GENERATING",
        }
    }
}

/// How safe it is to rely on being the only one who holds the token, from the least to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Grade {
    /// Nobody is known to have confirmed the tenure.
    Alone,
    /// All members that were heard lately have.
    View,
    /// A majority of the ring has: there is no other quorum until their promises end.
    Quorum,
}

impl Grade {
    /// The name that users see.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::View => "view",
            Self::Quorum => "quorum",
        }
    }
}

/// Why the state changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// A TAKE_TOKEN was accepted.
    TokenTaken,
    /// The member that the token was offered to has it.
    TokenHandedOver,
    /// A TOKEN_IS_HERE was heard.
    TokenHeard,
    /// An OWNER met a stronger token and destroyed its own, or heard of a stronger one and minted
    /// in its place.
    StrongerToken,
    /// An OWNER has given way to one whose token is weaker, and whom members confirm.
    Outranked,
    /// WAITER_TIMEOUT has passed since the token was heard of.
    WaiterTimeout,
    /// Nobody answered WHERE_IS_TOKEN in LOOSER_ANSWER_TIMEOUT.
    NoAnswer,
    /// A GENERATING_TOKEN weaker than the own candidate was heard.
    WeakerCandidate,
    /// A GENERATING_TOKEN stronger than the own candidate was heard.
    StrongerCandidate,
    /// A TOKEN_WAS_HERE_RECENTLY was heard while GENERATING.
    TokenWasHere,
    /// Nobody objected to the candidate in LOOSER_ANSWER_TIMEOUT.
    Elected,
    /// An OWNER could send no heartbeat for WAITER_TIMEOUT: the others may have elected another.
    LeaseExpired,
    /// The interface went down or changed its address.
    LinkLost,
    /// A candidate was paused.
    Paused,
    /// What the state depends on could not be stored.
    NotStored,
    /// An OWNER from which nobody takes the token, though others ask for it, has let go of it.
    NobodyTakes,
    /// An OWNER or a candidate has found out that its constants are too far from the ring's.
    Apart,
}

/// What a member lives by that others have to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// WAITER_TIMEOUT.
    pub patience: Duration,
    /// TAKE_TIMEOUT.
    pub take_timeout: Duration,
    /// How many members it expects.
    pub expect: Option<usize>,
}

/// In what a member differs from this node although all members must agree: in these terms, or in other
/// constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    /// What the member lives by.
    pub theirs: Terms,
    /// What this node lives by.
    pub ours: Terms,
}

/// How many bytes of data a token may carry just now, and why no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DataLimit {
    /// So many.
    pub len: usize,
    /// The smallest MTU that is known of.
    pub mtu: usize,
    /// The member that has it; `None`: this node.
    pub member: Option<MacAddr>,
}

/// An assumption that does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trouble {
    /// The member says that it hears nobody, though it is heard, and goes on to.
    MemberDeaf {
        /// Who says so.
        mac: MacAddr,
    },
    /// The member took the token when it had been given up: TAKE_TIMEOUT is too short for this segment.
    AnswerLate {
        /// Who took it.
        mac: MacAddr,
        /// How long after the first offer.
        after: Duration,
    },
    /// This node acknowledged the token when its giver may have given it up, and is not sure of it for a while.
    TakenLate {
        /// How much too late; `None`: the acknowledgement could not be sent.
        late: Option<Duration>,
        /// Who was offered the token before that was known, and is sure of it.
        offered_to: Option<MacAddr>,
    },
    /// Others hear an owner that this node does not hear.
    OwnerUnheard {
        /// Who it is, as they say.
        owner: MacAddr,
    },
    /// This node's table has not become equal to the owner's.
    TablesDiffer {
        /// Whose table was the last to differ.
        owner: MacAddr,
    },
    /// The interface has refused every frame for WAITER_TIMEOUT, though it is up.
    CannotSend,
    /// Two stations have one address.
    AddressShared {
        /// The address, perhaps this node's own.
        mac: MacAddr,
        /// The ips that its stations say; `None`: a frame came that has this node's own address.
        ips: Option<([u8; 16], [u8; 16])>,
    },
    /// The times of a member are so far from the ring's that it neither elects nor owns.
    Apart {
        /// The member; `None`: this node.
        mac: Option<MacAddr>,
    },
    /// So many members are silent that no majority of the ring can confirm a tenure.
    NoQuorum {
        /// How many members are there, this node included.
        present: usize,
        /// How many the ring has.
        ring: usize,
        /// How many are expected.
        expected: usize,
        /// Who is silent.
        silent: SilentMembers,
    },
    /// A token is more than an hour ahead of this node's wall clock.
    TokenAhead {
        /// The token.
        token: Token,
        /// By how much.
        by: Duration,
    },
    /// This node's wall clock is so far ahead of what is known that a token which it generates does not follow
    /// it.
    ClockAhead {
        /// By how much.
        by: Duration,
    },
    /// Of all frames only those to this node alone have reached it for long.
    BroadcastsUnheard,
    /// The member says that of itself.
    MemberUnreached {
        /// Who says so.
        mac: MacAddr,
    },
    /// Members say that they do not hear this node, though it hears them.
    Unheard {
        /// Who says so.
        by: SilentMembers,
    },
    /// An interface carries less than a promise needs, or has refused a heartbeat or a PING as too long: this
    /// node, or the member, helps nobody to a grade, or nobody helps it.
    MtuTooSmall {
        /// What the interface is said to carry, in bytes.
        mtu: usize,
        /// What a promise needs.
        needed: usize,
        /// The member that has it; `None`: this node.
        member: Option<MacAddr>,
    },
    /// The application's data were dropped, because they no longer reach every member: else the token
    /// would not either.
    DataDropped {
        /// Their length in bytes.
        len: usize,
        /// How many bytes there may be.
        limit: DataLimit,
    },
}

impl Trouble {
    /// Returns whether this is lateness of less than a quarter of `failure_timeout` (WAITER_TIMEOUT). The protocol
    /// recovers from it, and people have nothing to do.
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

/// Why a received frame was dropped without any effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// Shorter than its kind needs.
    Truncated,
    /// The kind is none of 1 to 11.
    UnknownKind,
    /// The reserved byte is not 0.
    Reserved,
    /// A progress of 2^63 or more.
    ProgressTooLarge,
    /// The author is a group address or all zero.
    AuthorNotAStation,
    /// The author is not the Ethernet source.
    AuthorNotSource,
    /// More data than a token carries.
    DataTooLong,
    /// More members than a frame carries.
    TooManyMembers,
    /// A table entry that is no single station's address.
    MemberNotAStation,
    /// A frame of our own, or of a station with our address.
    OwnFrame,
    /// A stamp, or a purpose of stamps, that cannot be.
    NotAStamp,
    /// Addressed to neither this node nor broadcast.
    NotForUs,
    /// A TAKE_TOKEN to the broadcast address: it would make several owners of one token.
    BroadcastTakeToken,
    /// A TAKE_TOKEN older than TAKE_TIMEOUT: its giver has repeated it or given up.
    StaleOffer,
    /// The link is down, or the node is shut down.
    NotListening,
    /// Its author hears nobody.
    AuthorDeaf,
}

/// Something that happened. Everything that people see (log lines, counters, status) is made
/// from these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A valid frame came in.
    Received {
        /// Its kind.
        kind: Kind,
    },
    /// A frame was accepted for sending.
    Transmitted {
        /// Its kind.
        kind: Kind,
    },
    /// A frame could not be sent.
    TransmitFailed {
        /// Its kind.
        kind: Kind,
    },
    /// A received frame had no effect.
    Dropped {
        /// Why.
        reason: DropReason,
    },
    /// The state changed.
    StateChanged {
        /// The state that was left.
        from: State,
        /// The state that was entered.
        to: State,
        /// Why.
        reason: Reason,
        /// The token that it is about: held, handed over, heard of or stood for.
        token: Option<Token>,
    },
    /// The holder that this node hears of has changed, or there is none.
    OwnerChanged {
        /// Its holder.
        owner: Option<MacAddr>,
        /// The strongest token known.
        token: Option<Token>,
    },
    /// An OWNER's token is safer than before, or less safe.
    GradeChanged {
        /// How safe it is now.
        grade: Grade,
        /// The token.
        token: Token,
    },
    /// A hand-over is complete.
    HandedOver {
        /// Who has the token now.
        to: MacAddr,
        /// From the first TAKE_TOKEN to the acknowledgement.
        latency: Duration,
    },
    /// A member did not take the token.
    HandOverFailed {
        /// Who did not take it.
        to: MacAddr,
        /// How many hand-overs to it have failed in a row.
        in_a_row: u32,
        /// The token that this node goes on with in place of the one that it has offered; `None`: no
        /// offer could be sent, so the token is the same.
        minted: Option<Token>,
    },
    /// The progress of 2^63 - 1 is reached: the token can no longer be handed over.
    ProgressExhausted,
    /// The application's data was not taken.
    DataRefused {
        /// Its length in bytes.
        len: usize,
        /// Whether this node may change the data: it is OWNER and not passing the token on.
        may_use: bool,
        /// How many bytes there may be.
        limit: DataLimit,
    },
    /// What must survive a restart can no longer be stored, and the node owns nothing; or it can again.
    StorageChanged {
        /// It cannot.
        failed: bool,
    },
    /// This node hears nobody; or it does again.
    HearingChanged {
        /// It does not.
        deaf: bool,
        /// It has before. One that never has is alone perhaps, and in order.
        heard_before: bool,
    },
    /// An assumption does not hold, or holds again. Said once, not again while it goes on.
    Trouble {
        /// What.
        trouble: Trouble,
        /// It is over.
        over: bool,
    },
    /// Nobody takes the token from this node, though others are heard and ask for it, and it owns nothing; or
    /// it may own again.
    FitnessChanged {
        /// Nobody does.
        unfit: bool,
    },
    /// A frame was refused because it is longer than the interface carries. Said once in a while of each kind.
    TooLong {
        /// Its kind.
        kind: Kind,
        /// The longest payload that the interface is said to carry, in bytes.
        mtu: usize,
    },
    /// This node is about to run a job: the members are told of it.
    RunStamped {
        /// The run.
        stamp: Stamp,
    },
    /// A member was added to the table.
    MemberAdded {
        /// The member.
        mac: MacAddr,
        /// How many members the table has now.
        members: usize,
    },
    /// A member's ip is now another one.
    MemberMoved {
        /// The member.
        mac: MacAddr,
        /// Its ip.
        ip: [u8; 16],
    },
    /// A member said that it is shutting down.
    MemberLeft {
        /// The member.
        mac: MacAddr,
    },
    /// A member has other constants than this node, or expects another number of members. Said once, and
    /// again when the difference has changed.
    MemberDiffers {
        /// The member.
        mac: MacAddr,
        /// In what it differs.
        difference: Difference,
    },
    /// A member that differed agrees with this node now.
    MemberAgrees {
        /// The member.
        mac: MacAddr,
    },
    /// A member has become silent. The event is not repeated before the member is heard again.
    MemberSilent {
        /// The member.
        mac: MacAddr,
        /// For how long nothing of it has come.
        quiet: Duration,
        /// So many others besides, which are not named.
        others: usize,
    },
    /// A member that was silent is heard again.
    MemberAlive {
        /// The member.
        mac: MacAddr,
        /// So many others besides, which are not named.
        others: usize,
    },
    /// A member was removed from the table: it has been silent for long, or the operator said so.
    MemberForgotten {
        /// The member.
        mac: MacAddr,
        /// How many members the table has now.
        members: usize,
    },
    /// The table is full; this author was not added.
    TableFull {
        /// The author.
        author: MacAddr,
    },
}

/// What survives a restart (`docs/protocol.md`, section 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Durable {
    /// currentMyTokenNumber: the number of the last chain that this node made.
    pub my_token_number: u32,
    /// The strongest token seen.
    pub known: Option<Token>,
    /// A stamp that is new, or another than before, in its place; those in the other places stay.
    pub stamp: Option<StoredStamp>,
}
