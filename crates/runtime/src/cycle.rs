//! One iteration of a loop around a state machine: it waits, reads the clocks and handles input.

use std::io;

use crate::clock;
use crate::driver::{Driver, Environment, Link, Observe, Store};
use ring_proto::Machine;
use ring_proto::time::{Instant, Now};

use crate::wait::{LINK, Reactor, ReadyKeys, SystemCallError};

/// A state machine, and the reactor in which its loop waits.
#[derive(Debug)]
pub struct EventLoop<M: Machine> {
    /// Driver of the state machine.
    pub driver: Driver<M>,
    /// Descriptors and timer for which the loop waits.
    pub waiting: Reactor,
}

impl<M: Machine> EventLoop<M> {
    /// Waits until a descriptor is ready, the machine's deadline passes, or the time `until` is reached. Returns the
    /// ready descriptors and the time.
    ///
    /// # Errors
    /// Fails if a system call fails.
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
        // Reading the clocks takes a hundredth of the time of a hop, so one reading per iteration is enough.
        Ok((ready, clock::now()))
    }

    /// Handles the timeouts and the events of connections. If `ready` contains the link, first handles the link's
    /// messages.
    ///
    /// # Errors
    /// Fails if the link cannot receive.
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
