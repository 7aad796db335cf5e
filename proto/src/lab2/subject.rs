//! What simulator and model checker must know of a machine to judge it.

use std::convert::Infallible;

use ring_codec::lab2::{Digest, Token};

use super::{
    Command, Constants, Durable, Event, JobName, OnceStanding, RunView, State, StoredStamp, Trouble,
};
use crate::time::Instant;
use crate::{LinkState, Machine};

/// A Lab2 machine as simulator and model checker see it: the one that ships, or one that was spoilt on purpose to
/// prove that they find out.
pub trait Subject:
    Machine<
        Peer = (),
        Net = LinkState,
        Command = Command,
        Event = Event,
        Durable = Durable,
        Job = Infallible,
    > + Sized
{
    /// A machine whose link is down, with what an earlier run has stored.
    fn start(constants: Constants, durable: Durable) -> Self;
    /// The same machine with the stamps that an earlier run has stored.
    fn recall(self, _stamps: Vec<StoredStamp>) -> Self {
        self
    }
    /// How far the job has come that was asked for last, by its number.
    fn once(&self) -> Option<(u64, OnceStanding)> {
        None
    }
    /// The last run of a job that is known here.
    fn run_of(&self, _job: JobName) -> Option<RunView> {
        None
    }
    /// The state.
    fn state(&self) -> State;
    /// The token that it believes to hold; `None` unless it is OWNER.
    fn held(&self) -> Option<Token>;
    /// Whether it believes that it may use the token: it is OWNER and does not pass it on.
    fn may_use(&self) -> bool;
    /// Until when it tells an application at `now` that it may rely on the token; `None`: it may not.
    fn lease_until(&self, now: Instant) -> Option<Instant>;
    /// Whether an application that was told to rely on this token may go on.
    fn carries(&self, token: Token) -> bool;
    /// Whether this is the token that it holds, be it offered, or one that it took the place of in the same tenure.
    fn has_held(&self, token: Token) -> bool;
    /// Until when it tells its application that it has a quorum; `None`: it has none.
    fn quorum_until(&self) -> Option<Instant>;
    /// How many members make a quorum, itself included.
    fn quorum_size(&self) -> usize;
    /// Whether it owns nothing because nobody took the token from it.
    fn is_unfit(&self) -> bool;
    /// What it tells of that lasts, and is over as soon as nothing is wrong.
    fn lasting_troubles(&self) -> Vec<Trouble> {
        Vec::new()
    }
    /// Size and hash of its member table.
    fn digest(&self) -> Digest;
    /// How many members its table holds, if they are in order and each is there once.
    fn members_in_order(&self) -> Option<usize>;
    /// Whether it was shut down and has nothing left to say.
    fn is_finished(&self) -> bool;
}
