//! One iteration of a loop around a state machine: wait, read the clocks, handle input.

use std::io;

use crate::clock;
use crate::driver::{Driver, Environment, Link, Observe, Store};
use ring_proto::Machine;
use ring_proto::time::{Instant, Now};

use crate::wait::{LINK, Reactor, ReadyKeys, SystemCallError};

/// A state machine, and the reactor that its loop waits in.
#[derive(Debug)]
pub struct EventLoop<M: Machine> {
    /// The driver of the state machine.
    pub driver: Driver<M>,
    /// The descriptors and the timer that the loop waits for.
    pub waiting: Reactor,
}

impl<M: Machine> EventLoop<M> {
    /// Waits until a descriptor is ready, or the machine's deadline or `until` has come. Returns what is ready,
    /// and the time.
    ///
    /// # Errors
    /// A system call failed.
    pub fn wait<L: Link<M::Peer>>(
        &mut self,
        link: Option<&mut L>,
        until: Option<Instant>,
    ) -> Result<(ReadyKeys, Now), SystemCallError> {
        let streams = link.and_then(Link::streams);
        let deadline = if streams.is_some_and(|streams| streams.is_due()) {
            Some(Instant::default())
        } else {
            [self.driver.deadline(), until].into_iter().flatten().min()
        };
        let ready = self.waiting.wait(deadline)?;
        // Reading the clocks costs a hundredth of a hop: once per iteration is enough.
        Ok((ready, clock::now()))
    }

    /// Handles messages if the link is `ready`, events of connections, and timeouts.
    ///
    /// # Errors
    /// The link cannot receive.
    pub fn pump<L, S, O>(
        &mut self,
        now: Now,
        ready: ReadyKeys,
        environment: &mut Environment<'_, L, S, O>,
    ) -> io::Result<()>
    where
        L: Link<M::Peer>,
        S: Store<M::Durable>,
        O: Observe<M::Event>,
    {
        let arrived = ready.has(LINK);
        self.driver.turn(now, arrived, clock::now, environment)
    }
}
