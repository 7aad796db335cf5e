//! Commands of applications and operators.

use ring_codec::MacAddr;

use super::{HolderProgram, OnceRequest, RunEnd};

/// A command to the state machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Requests the token for work, and keeps it until [`Command::WorkDone`].
    WantToken,
    /// Ends the work: the token may go on.
    WorkDone,
    /// Asks the members to confirm the tenure at once. Has no effect if the node is not OWNER, offers the token, has
    /// asked within TAKE_TIMEOUT, or is still bound by a promise.
    Confirm,
    /// Changes the token's data, at most 1,024 bytes. Only an OWNER that may use the token can do this.
    SetData(Vec<u8>),
    /// Finds out whether a job has run in its period and, if not, stamps a run. Only an OWNER that may use the token
    /// can do this. [`Lab2::once_progress`](super::Lab2::once_progress) returns the progress. An earlier request that has not ended
    /// counts as not run.
    Once(OnceRequest),
    /// Reports how the requested job with this number ended.
    EndOnce(u64, RunEnd),
    /// Pauses the node, or resumes it. A paused node takes part, but hands the token over, accepts none and stands for
    /// no election.
    Pause(bool),
    /// Hands the token over at once, even if a program works: to this member, or to the next. Has no effect if the node
    /// is not OWNER, offers the token already, or does not know the member.
    Yield(Option<MacAddr>),
    /// Tells the members which program of this node holds the token; `None` if none does.
    Announce(Option<HolderProgram>),
    /// Removes a member that is silent or has left, on all nodes. Has no effect if it is heard.
    Forget(MacAddr),
    /// Shuts the node down: it hands the token over and sends LEAVING.
    ShutDown,
    /// Ends a shutdown at once: the node sends LEAVING, even with the token. Has no effect without a shutdown.
    Leave,
}
