//! The part of each node's data that only Lab2 has.

use std::rc::Rc;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;
use ring_proto::lab2::{Constants, Event, StoredStamp, StoredState};
use ring_proto::time::Instant;

use super::guardian::LastFrames;
use super::lock_records::LockChange;

/// The initial state of a node without a state file.
pub(super) const EMPTY_STATE: StoredState = StoredState {
    my_token_number: 0,
    known: None,
    stamp: None,
};

/// The work for which a node requests the token.
#[derive(Debug, Clone, Copy)]
pub(super) struct Job {
    pub(super) number: u32,
    /// The duration of the work, in nanoseconds.
    pub(super) work: u64,
    pub(super) begun: bool,
    /// Whether the work needs a quorum.
    pub(super) quorum: bool,
    /// The tenure that the members are asked to confirm, and the number of requests to the members.
    pub(super) asked: Option<(Token, u32)>,
    /// The number of tenures when the node began to request the token.
    pub(super) tenures: u64,
}

/// A job that a node runs once in a period.
#[derive(Debug, Clone, Copy)]
pub(super) struct JobRun {
    pub(super) number: u32,
    pub(super) job: u8,
    pub(super) quorum: bool,
    pub(super) work: u64,
    pub(super) stage: JobRunState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobRunState {
    Waiting,
    /// The node asked its state machine for permission.
    Asked,
    /// The job runs until this time.
    Working(u64),
}

/// The events, except frames, that wait while a process is stalled.
#[derive(Debug, Clone, Copy, Default)]
pub struct MissedEvents {
    /// Whether the work under the token was done.
    pub(super) done: bool,
    /// Whether the interface's addresses changed.
    pub(super) moved: bool,
}

/// A time until which an application may rely on a token or a quorum.
#[derive(Debug, Clone, Copy)]
pub(super) struct AppClaim {
    pub(super) token: Token,
    /// The end, by the node's clock.
    pub(super) until: Instant,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct OwnerQuorum {
    /// The end, by the node's clock.
    pub(super) until: Instant,
    /// The number of members of a quorum.
    pub(super) size: usize,
}

/// A node's addresses, its state file, and the state of its state machine and its application.
pub struct NodeData {
    pub(super) mac: MacAddr,
    /// The number of the node's network card.
    pub(super) card: u8,
    pub(super) ip: [u8; 16],
    /// The state file.
    pub(super) durable: StoredState,
    /// The progress that the node knew directly before it stored the current chain in the file.
    pub(super) knew: u64,
    /// The part of the state file that is certainly on the disk.
    pub(super) synced: StoredState,
    /// The number of writes since the part `synced` of the file reached the disk.
    pub(super) unsynced: u32,
    pub(super) stamps: Vec<StoredStamp>,
    pub(super) constants: Rc<Constants>,
    /// The preference with which the node is started.
    pub(super) preference: u8,
    /// Whether the node is shutting down after a command.
    pub(super) leaving: bool,
    /// Whether the node was paused. The node may not know about the end of the pause, because a stalled process reads
    /// no commands.
    pub(super) held_off: bool,
    /// The token that the node holds.
    pub(super) held: Option<Token>,
    pub(super) may_use: bool,
    pub(super) last_held: Option<Token>,
    pub(super) job: Option<Job>,
    /// The job that the node runs once in a period.
    pub(super) job_run: Option<JobRun>,
    /// The events of named locks during the present input.
    pub(super) lock_events: Vec<Event>,
    /// The locks that the node granted and removed as an owner during the present input.
    pub(super) lock_changes: Vec<LockChange>,
    /// The hash of the node's records of grade quorum, when the simulator last looked at them.
    pub(super) quorum_locks_hash: u64,
    /// The quorum on which the node's application may rely.
    pub(super) claim: Option<AppClaim>,
    /// The node's quorum after the last input. When the node gives up its token or reports a lower grade, the simulator
    /// drops this quorum.
    pub(super) quorum: Option<OwnerQuorum>,
    /// The lease of the node's application, if the application works.
    pub(super) lease: Option<AppClaim>,
    /// The earliest time at which the node may start, if it lost its state file.
    pub(super) down_until: u64,
    pub(super) seen: InputEvents,
    /// The frames that the guardian of the dead process sends.
    pub(super) last_frames: Option<LastFrames>,
}

/// The events of a state machine during one input.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct InputEvents {
    /// The number of frames sent since the last received frame was handled.
    pub(super) replies: u32,
    /// The stronger token that the node met while it was an owner with a quorum.
    pub(super) outdone: Option<Token>,
    /// The number of members after this input, if the table grew during the input; otherwise 0.
    pub(super) grown: usize,
}

impl NodeData {
    pub(super) fn new(mac: MacAddr, ip: [u8; 16], constants: Rc<Constants>) -> Self {
        Self {
            mac,
            card: 0,
            ip,
            durable: EMPTY_STATE,
            knew: 0,
            synced: EMPTY_STATE,
            unsynced: 0,
            stamps: Vec::new(),
            constants,
            preference: 0,
            leaving: false,
            held_off: false,
            held: None,
            may_use: false,
            last_held: None,
            job: None,
            job_run: None,
            lock_events: Vec::new(),
            lock_changes: Vec::new(),
            quorum_locks_hash: 0,
            claim: None,
            quorum: None,
            lease: None,
            down_until: 0,
            seen: InputEvents::default(),
            last_frames: None,
        }
    }
}
