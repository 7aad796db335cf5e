//! The interface with which the simulator and the model checker look at a state machine.

use std::convert::Infallible;

use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, Token};

use super::{
    Command, Constants, Diagnostic, Event, JobName, LastFrames, LockView, OnceProgress, RunView,
    State, StoredStamp, StoredState,
};
use crate::time::Instant;
use crate::{LinkState, Machine};

/// A Lab2 state machine under test. The tests use the real state machine, or a state machine with a flaw that they must
/// find.
pub trait Inspect:
    Machine<
        Peer = (),
        Net = LinkState,
        Command = Command,
        Event = Event,
        Durable = StoredState,
        Job = Infallible,
    > + Sized
{
    /// Creates a state machine from the stored state of an earlier process. Its link is down.
    fn start(constants: Constants, durable: StoredState) -> Self;
    /// Sets the preference that the machine announces.
    fn with_preference(self, _preference: u8) -> Self {
        self
    }
    /// Adds the stored stamps of an earlier process.
    fn with_stamps(self, _stamps: Vec<StoredStamp>) -> Self {
        self
    }
    /// Returns the number and progress of the latest requested job.
    fn once(&self) -> Option<(u64, OnceProgress)> {
        None
    }
    /// Returns the last known run of a job.
    fn run_of(&self, _job: JobName) -> Option<RunView> {
        None
    }
    /// Returns the time until which the program of a session of this node may rely on its named lock.
    fn lock_lease_end(&self, _session: u64) -> Option<Instant> {
        None
    }
    /// Returns the records of named locks that this node knows.
    fn lock_views(&self) -> Vec<LockView> {
        Vec::new()
    }
    /// Returns a hash of the records that require the grade `quorum`. The hash changes with the records.
    fn quorum_locks_hash(&self) -> u64 {
        0
    }
    /// Writes the frames that the guardian of this node sends if the process dies now. `reports_ends` is whether the
    /// guardian learns that all programs with locks here have ended.
    fn last_frames(
        &self,
        _reports_ends: bool,
        _offer: &mut [u8],
        _leaving: &mut [u8],
    ) -> Option<LastFrames> {
        None
    }
    /// Whether a member waits for a report of this node.
    fn wants_report(&self) -> bool {
        false
    }
    /// Returns the time by which the running survey of this node ends; `None` if no survey runs.
    fn survey_deadline(&self) -> Option<Instant> {
        None
    }
    /// Returns the state.
    fn state(&self) -> State;
    /// Returns the token that the machine believes it holds; `None` if the machine is not OWNER.
    fn held_token(&self) -> Option<Token>;
    /// Whether the machine believes that it may use the token: it is OWNER and does not offer the token.
    fn may_use(&self) -> bool;
    /// Returns the time until which an application may rely on the token if it asks at `now`. Returns `None` if the
    /// application cannot get the token.
    fn lease_until(&self, now: Instant) -> Option<Instant>;
    /// Whether an application that was granted this token may continue to work.
    fn carries(&self, token: Token) -> bool;
    /// Whether the machine holds this token, or held it earlier in the present tenure. The result is also `true` while
    /// the machine offers its token to a successor.
    fn has_held(&self, token: Token) -> bool;
    /// Returns the time until which the machine has a quorum; `None` if it has no quorum.
    fn quorum_until(&self) -> Option<Instant>;
    /// Returns the number of members that a quorum needs, including this machine.
    fn quorum_size(&self) -> usize;
    /// Whether the machine must not own the token because no member took the token from it.
    fn is_unfit(&self) -> bool;
    /// Returns the members that wanted the token at the end of this machine's last tenure, and have not held it since
    /// then.
    fn overdue_members(&self) -> Vec<MacAddr> {
        Vec::new()
    }
    /// Returns the reported problems that last. Each of these problems ends only when its cause ends.
    fn lasting_problems(&self) -> Vec<Diagnostic> {
        Vec::new()
    }
    /// Returns the size and hash of the member table.
    fn digest(&self) -> Digest;
    /// Returns the number of members in the table. Returns `None` if the table is not sorted, or if it lists a member
    /// twice.
    fn members_in_order(&self) -> Option<usize>;
    /// Whether the shutdown of the machine is complete.
    fn is_finished(&self) -> bool;
}
