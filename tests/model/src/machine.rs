//! State machines behind a trait object. So the checker is compiled only once for all types of state machines.

use std::convert::Infallible;

use ring_codec::lab2::{Digest, Token};
use ring_proto::lab2::{Command, Constants, Event, Inspect, Lab2, LockView, State, StoredState};
use ring_proto::time::Instant;
use ring_proto::{LinkState, Machine};

/// A state machine that the checker can explore.
pub trait Snapshot: Inspect + Clone + Send + Sync + 'static {
    /// Returns the part of the state that determines the future. State machines with equal bytes have equal futures.
    fn snapshot(&self) -> Vec<u8>;
}

impl Snapshot for Lab2 {
    fn snapshot(&self) -> Vec<u8> {
        self.snapshot()
    }
}

/// Trait with the methods of a [`Snapshot`] that can be used as a trait object.
pub trait AnyMachine:
    Machine<
        Peer = (),
        Net = LinkState,
        Command = Command,
        Event = Event,
        Durable = StoredState,
        Job = Infallible,
    > + Send
    + Sync
{
    /// Returns a new state machine that has the same type.
    fn start_anew(&self, constants: Constants, durable: StoredState) -> Box<dyn AnyMachine>;
    /// Returns a clone.
    fn duplicate(&self) -> Box<dyn AnyMachine>;
    /// See [`Subject::state`].
    fn state(&self) -> State;
    /// See [`Subject::held`].
    fn held(&self) -> Option<Token>;
    /// See [`Subject::may_use`].
    fn may_use(&self) -> bool;
    /// See [`Subject::carries`].
    fn carries(&self, token: Token) -> bool;
    /// See [`Subject::quorum_until`].
    fn quorum_until(&self) -> Option<Instant>;
    /// See [`Subject::digest`].
    fn digest(&self) -> Digest;
    /// See [`Subject::members_in_order`].
    fn members_in_order(&self) -> Option<usize>;
    /// See [`Inspect::lock_lease_end`].
    fn lock_lease_end(&self, session: u64) -> Option<Instant>;
    /// See [`Inspect::lock_views`].
    fn lock_views(&self) -> Vec<LockView>;
    /// See [`Snapshot::snapshot`].
    fn snapshot(&self) -> Vec<u8>;
}

/// A function that creates state machines of one type.
pub(crate) type Start = fn(Constants, StoredState) -> Box<dyn AnyMachine>;

/// Returns a state machine with the stored state of an earlier run. Its link is down.
pub(crate) fn start<M: Snapshot>(
    constants: Constants,
    durable: StoredState,
) -> Box<dyn AnyMachine> {
    Box::new(M::start(constants, durable))
}

impl<M: Snapshot> AnyMachine for M {
    fn start_anew(&self, constants: Constants, durable: StoredState) -> Box<dyn AnyMachine> {
        start::<M>(constants, durable)
    }

    fn duplicate(&self) -> Box<dyn AnyMachine> {
        Box::new(self.clone())
    }

    fn state(&self) -> State {
        Inspect::state(self)
    }

    fn held(&self) -> Option<Token> {
        Inspect::held_token(self)
    }

    fn may_use(&self) -> bool {
        Inspect::may_use(self)
    }

    fn carries(&self, token: Token) -> bool {
        Inspect::carries(self, token)
    }

    fn quorum_until(&self) -> Option<Instant> {
        Inspect::quorum_until(self)
    }

    fn digest(&self) -> Digest {
        Inspect::digest(self)
    }

    fn members_in_order(&self) -> Option<usize> {
        Inspect::members_in_order(self)
    }

    fn lock_lease_end(&self, session: u64) -> Option<Instant> {
        Inspect::lock_lease_end(self, session)
    }

    fn lock_views(&self) -> Vec<LockView> {
        Inspect::lock_views(self)
    }

    fn snapshot(&self) -> Vec<u8> {
        Snapshot::snapshot(self)
    }
}

impl Clone for Box<dyn AnyMachine> {
    fn clone(&self) -> Self {
        self.as_ref().duplicate()
    }
}
