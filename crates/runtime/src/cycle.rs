//! The core of every loop around a machine: wait, read the clocks, pump.

use std::io;

use crate::clock;
use crate::driver::{Driver, Environment, Link, Observe, Store};
use ring_proto::Machine;
use ring_proto::time::{Instant, Now};

use crate::wait::{Failure, LINK, ReadyKeys, Waiting};

/// A machine, and what its loop waits for.
#[derive(Debug)]
pub struct Cycle<M: Machine> {
    /// The machine.
    pub driver: Driver<M>,
    /// What it waits for.
    pub waiting: Waiting,
}

impl<M: Machine> Cycle<M> {
    /// Waits until a descriptor is ready, or the machine's deadline or `until` has come. Returns what is ready,
    /// and the time.
    ///
    /// # Errors
    /// The system refuses.
    pub fn wait<L: Link<M::Peer>>(
        &mut self,
        link: Option<&mut L>,
        until: Option<Instant>,
    ) -> Result<(ReadyKeys, Now), Failure> {
        let streams = link.and_then(Link::streams);
        let deadline = if streams.is_some_and(|streams| streams.is_due()) {
            Some(Instant::default())
        } else {
            [self.driver.deadline(), until].into_iter().flatten().min()
        };
        let ready = self.waiting.wait(deadline)?;
        // Reading the clocks costs a hundredth of a hop: once a turn is enough.
        Ok((ready, clock::now()))
    }

    /// Handles messages if the link is `ready`, events of connections, and timeouts.
    ///
    /// # Errors
    /// The link failed to receive.
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
