//! What an application or the operator asks of the machine.

use ring_codec::MacAddr;

use super::{OnceRequest, RunEnd, Work};

/// A request to the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// There is work for the token: get it, and keep it until [`Command::WorkDone`].
    WantToken,
    /// The work is done, or given up: the token may go on.
    WorkDone,
    /// Ask the members to confirm the tenure at once; nothing if the node is no OWNER, passes the token
    /// on already, has asked within TAKE_TIMEOUT, or may not ask because it still owes somebody its
    /// help.
    Confirm,
    /// Changes the token's data; only an OWNER that may use the token can. At most 1,024 bytes.
    SetData(Vec<u8>),
    /// Find out whether a job has run in its period and, if it has not, stamp a run; only an OWNER that may
    /// use the token can. [`Lab2::once`](super::Lab2::once) says how far that is. One that was asked for
    /// before and has not ended counts as not run.
    Once(OnceRequest),
    /// The job that was asked for by this number has ended.
    EndOnce(u64, RunEnd),
    /// Take part, but own nothing: pass the token on, accept none and stand for no election; or end
    /// that.
    Pause(bool),
    /// Hand the token over now, whatever the work: to this member, or to the next. Nothing if the
    /// node is no OWNER, passes the token on already, or does not know the member.
    Yield(Option<MacAddr>),
    /// Tell the members which program of this node holds the token; `None`: none does any longer.
    Announce(Option<Work>),
    /// Remove a member that is silent or has left, here and everywhere. Nothing if it is heard.
    Forget(MacAddr),
    /// Hand the token over, say LEAVING, then be finished.
    ShutDown,
    /// Wait no longer for what [`Command::ShutDown`] waits for: say LEAVING, then be finished.
    Leave,
}
