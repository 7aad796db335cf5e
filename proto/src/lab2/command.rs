//! The commands of applications and operators.

use ring_codec::MacAddr;

use super::{
    Adjustment, HolderProgram, HostReport, LockRequest, OnceRequest, Pause, RunEnd, SurveyRequest,
};

/// A command to the state machine.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Command {
    /// Requests the token for work. The node keeps the token until [`Command::WorkDone`].
    WantToken,
    /// Ends the work. Then the token may move on.
    WorkDone,
    /// Asks the members to confirm the tenure at once. Has no effect if the node is not OWNER, if it offers the token,
    /// or if it already asked within the last TAKE_TIMEOUT. The command also has no effect while this node's promise to
    /// another owner lasts.
    Confirm,
    /// Replaces the token's data by these bytes, at most 1,024. Only an OWNER that may use the token can replace the
    /// data.
    SetData(Vec<u8>),
    /// Finds out whether a job already ran in its period. If the job did not run, stamps a new run. Only an OWNER that
    /// may use the token can stamp a run. [`Lab2::once_progress`](super::Lab2::once_progress) returns the progress of
    /// the request. If an earlier request is still open, this request replaces it. The job of the earlier request then
    /// counts as not run.
    Once(OnceRequest),
    /// Reports the result of the requested job with this number.
    EndOnce(u64, RunEnd),
    /// Asks the owner of the token for a named lock. The events [`LockGranted`](super::Event::LockGranted) and
    /// [`LockRefused`](super::Event::LockRefused) report the answer.
    TakeLock(LockRequest),
    /// Ends the session with this number: its program has ended, or no longer waits.
    ReleaseLock(u64),
    /// Pauses the node, or resumes it (`None`). A paused node takes part in the ring, but hands the token over, accepts
    /// no offer and does not stand for election. The node announces the end and the reason of the pause. The node does
    /// not resume itself at this end. If the node is already paused, this command replaces the end and the reason.
    Pause(Option<Pause>),
    /// Hands the token over at once, even if a program works under the token. The value names the receiver. If the
    /// value is `None`, the next successor receives the token. Has no effect if the node is not OWNER, if it already
    /// offers the token, or if it does not know the member.
    Yield(Option<MacAddr>),
    /// Announces to the members which program of this node holds the token; `None` if no program holds it.
    Announce(Option<HolderProgram>),
    /// Removes a member that is silent or has left from the tables of all nodes. Has no effect if this node hears the
    /// member.
    Forget(MacAddr),
    /// Replaces constants while the node runs. The node keeps its token. Announces a new expected number of members at
    /// once. The caller checks the new constants.
    Adjust(Adjustment),
    /// Begins a survey. Has no effect while a survey of this node runs. A measurement also has no effect until
    /// [`Lab2::measure_delay`](super::Lab2::measure_delay) returns `None`.
    Survey(Box<SurveyRequest>),
    /// Answers the members that wait for a report of this node
    /// ([`Lab2::wants_report`](super::Lab2::wants_report)).
    Report(Box<HostReport>),
    /// Shuts the node down. The node hands the token over, and then sends LEAVING.
    ShutDown,
    /// Ends a shutdown at once. The node sends LEAVING even if it still has the token. Has no effect if no shutdown has
    /// begun.
    Leave,
}
