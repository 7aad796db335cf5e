//! What Lab2 keeps of each node.

use std::rc::Rc;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;
use ring_proto::lab2::{Constants, Durable, StoredStamp};
use ring_proto::time::Instant;

/// Nothing stored by an earlier run.
pub(super) const BLANK: Durable = Durable {
    my_token_number: 0,
    known: None,
    stamp: None,
};

/// What a node wants the token for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Job {
    pub(super) number: u32,
    /// In nanoseconds.
    pub(super) work: u64,
    pub(super) begun: bool,
    /// The work needs a quorum.
    pub(super) quorum: bool,
    /// The tenure that the members were asked to confirm, and how often.
    pub(super) asked: Option<(Token, u32)>,
    /// How many tenures there had been when it was wanted.
    pub(super) tenures: u64,
}

/// A job that a node wants to run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Errand {
    pub(super) number: u32,
    pub(super) job: u8,
    pub(super) quorum: bool,
    pub(super) work: u64,
    pub(super) stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The token is waited for.
    Waiting,
    /// The machine was asked.
    Asked,
    /// The work is being done, until then.
    Working(u64),
}

/// What a process that stands still finds when it goes on, beside frames.
#[derive(Debug, Clone, Copy, Default)]
pub struct Missed {
    /// The work that it wanted the token for was done.
    pub(super) done: bool,
    /// The interface's addresses changed.
    pub(super) moved: bool,
}

/// What an application was told of a token, or of a quorum.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    pub(super) token: Token,
    /// By the node's clock.
    pub(super) until: Instant,
}

/// The quorum of an owner.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quorum {
    /// By the node's clock.
    pub(super) until: Instant,
    /// How many members make one.
    pub(super) size: usize,
}

/// A node's addresses, its state file, and what its machine and its application believe.
pub struct Own {
    pub(super) mac: MacAddr,
    /// The number of its network card.
    pub(super) card: u8,
    pub(super) ip: [u8; 16],
    /// The state file.
    pub(super) durable: Durable,
    /// The progress that was known before the file told of the chain of tokens that it tells of now.
    pub(super) knew: u64,
    /// What of it is on the disk for certain.
    pub(super) synced: Durable,
    /// How often it was written since.
    pub(super) unsynced: u32,
    /// The stamps in it.
    pub(super) stamps: Vec<StoredStamp>,
    pub(super) constants: Rc<Constants>,
    /// It was asked to shut down, and has not ended yet.
    pub(super) leaving: bool,
    /// It was told to own nothing, and perhaps not that this is over: a process that stands still hears
    /// nothing.
    pub(super) held_off: bool,
    /// The token that it believes to hold.
    pub(super) held: Option<Token>,
    pub(super) may_use: bool,
    /// The last token that it held.
    pub(super) last_held: Option<Token>,
    pub(super) job: Option<Job>,
    /// The job that it wants to run once in a period.
    pub(super) errand: Option<Errand>,
    /// What its application was told of a quorum last.
    pub(super) claim: Option<Claim>,
    /// The quorum that it has, as it was seen last: until it lets go of its token, or tells of a lower grade.
    pub(super) quorum: Option<Quorum>,
    /// What its application was told last of its token, if it works with it.
    pub(super) lease: Option<Claim>,
    /// Its state file was lost: it is not started before this time.
    pub(super) down_until: u64,
    pub(super) seen: Seen,
}

/// What is seen of a machine during one input.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    /// Frames sent since the last received one was done with.
    pub(super) replies: u32,
    /// It was an owner with a quorum and has met a token that counts more than its own: that one.
    pub(super) outdone: Option<Token>,
    /// How many members there are since the table has grown; 0: it has not.
    pub(super) grown: usize,
}

impl Own {
    pub(super) fn new(mac: MacAddr, ip: [u8; 16], constants: Rc<Constants>) -> Self {
        Self {
            mac,
            card: 0,
            ip,
            durable: BLANK,
            knew: 0,
            synced: BLANK,
            unsynced: 0,
            stamps: Vec::new(),
            constants,
            leaving: false,
            held_off: false,
            held: None,
            may_use: false,
            last_held: None,
            job: None,
            errand: None,
            claim: None,
            quorum: None,
            lease: None,
            down_until: 0,
            seen: Seen::default(),
        }
    }
}
