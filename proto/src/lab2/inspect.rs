//! The interface through which simulator and model checker judge a state machine.

use std::convert::Infallible;

use ring_codec::lab2::{Digest, Token};

use super::{
    Command, Constants, Diagnostic, Event, JobName, OnceProgress, RunView, State, StoredStamp,
    StoredState,
};
use crate::time::Instant;
use crate::{LinkState, Machine};

/// A Lab2 state machine under test: the real one, or a broken one that proves that the tests find its flaw.
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
    /// Creates a state machine whose link is down, from the state that an earlier run has stored.
    fn start(constants: Constants, durable: StoredState) -> Self;
    /// Adds the stamps that an earlier run has stored.
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
    /// Returns the state.
    fn state(&self) -> State;
    /// Returns the token that it believes to hold; `None` unless it is OWNER.
    fn held_token(&self) -> Option<Token>;
    /// Whether it believes that it may use the token: it is OWNER and does not offer the token.
    fn may_use(&self) -> bool;
    /// Returns until when an application that asks at `now` may rely on the token; `None` if it may not.
    fn lease_until(&self, now: Instant) -> Option<Instant>;
    /// Whether an application that was granted this token may continue.
    fn carries(&self, token: Token) -> bool;
    /// Whether this is the token held, or one that it has replaced in the same tenure. It may be offered to a
    /// successor.
    fn has_held(&self, token: Token) -> bool;
    /// Returns until when it has a quorum; `None` if it has none.
    fn quorum_until(&self) -> Option<Instant>;
    /// Returns how many members make a quorum, including itself.
    fn quorum_size(&self) -> usize;
    /// Whether it owns nothing because no member took the token from it.
    fn is_unfit(&self) -> bool;
    /// Returns the reported problems that last, and that end as soon as nothing is wrong.
    fn lasting_problems(&self) -> Vec<Diagnostic> {
        Vec::new()
    }
    /// Returns the size and hash of its member table.
    fn digest(&self) -> Digest;
    /// Returns the number of members in its table; `None` if they are not sorted or one is listed twice.
    fn members_in_order(&self) -> Option<usize>;
    /// Whether its shutdown is complete.
    fn is_finished(&self) -> bool;
}
