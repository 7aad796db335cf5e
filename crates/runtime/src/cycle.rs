//! One iteration of a loop around a state machine: it waits, reads the clocks and handles input.

use std::io;

use crate::busy_poll::{BusyPoll, BusyPollWork, BusyPolling};
use crate::clock;
use crate::driver::{Driver, Environment, Link, Observe, Store};
use ring_proto::Machine;
use ring_proto::time::{Instant, Now};

use crate::wait::{LINK, Reactor, ReadyKeys, SystemCallError};

/// A state machine, and the reactor in which its loop waits.
#[derive(Debug)]
pub struct EventLoop<M: Machine> {
    /// Driver that passes inputs to the state machine.
    pub driver: Driver<M>,
    /// Descriptors and timer for which the loop waits.
    pub waiting: Reactor,
    polling: BusyPolling,
}

impl<M: Machine> EventLoop<M> {
    /// Makes a loop.
    pub fn new(driver: Driver<M>, waiting: Reactor, busy_poll: BusyPoll) -> Self {
        Self {
            driver,
            waiting,
            polling: BusyPolling::new(busy_poll),
        }
    }

    /// Returns the results of polling since the start of the loop.
    pub const fn busy_poll_work(&self) -> BusyPollWork {
        self.polling.work()
    }

    /// Waits until a descriptor is ready, the machine's deadline passes, or the time `until` is reached. Returns the
    /// ready descriptors and the time.
    ///
    /// # Errors
    /// Fails if a system call fails.
    pub fn wait<L: Link<M::Peer>>(
        &mut self,
        mut link: Option<&mut L>,
        until: Option<Instant>,
    ) -> Result<(ReadyKeys, Now), SystemCallError> {
        let streams = link.as_deref_mut().and_then(Link::streams);
        let deadline = if streams.is_some_and(|streams| streams.is_due()) {
            Some(Instant::default())
        } else {
            [self.driver.deadline(), until].into_iter().flatten().min()
        };
        if let Some((link, end)) = link.zip(self.polling.until())
            && let Some(found) = self.poll(link, deadline, end)?
        {
            return Ok(found);
        }
        let ready = self.waiting.wait(deadline)?;
        // Reading the clocks takes a hundredth of the time of a hop, so one reading per iteration is enough.
        let now = clock::now();
        self.polling.on_ready(ready, now.monotonic);
        Ok((ready, now))
    }

    /// Looks for messages until `end`, without sleeping. Returns `None` if the loop must sleep.
    fn poll<L: Link<M::Peer>>(
        &mut self,
        link: &L,
        deadline: Option<Instant>,
        end: Instant,
    ) -> Result<Option<(ReadyKeys, Now)>, SystemCallError> {
        let mut now = clock::now();
        let began = now.monotonic;
        let sleeps_from = deadline.map_or(end, |deadline| deadline.min(end));
        if began >= sleeps_from {
            return Ok(None);
        }
        while now.monotonic < sleeps_from {
            let mut ready = ReadyKeys::default();
            if self.polling.must_look_at_others(now.monotonic) {
                ready = self.waiting.look()?;
                self.polling.on_looked_at_others(now.monotonic);
            }
            let is_found = ready.is_empty() && self.polling.look(|| link.has_message());
            now = clock::now();
            if is_found {
                ready = ReadyKeys::LINK;
                self.polling.on_found();
            }
            if !ready.is_empty() {
                self.polling.on_ready(ready, now.monotonic);
                self.polling.on_polled(began, now.monotonic);
                return Ok(Some((ready, now)));
            }
        }
        self.polling.on_polled(began, now.monotonic);
        if now.monotonic >= end {
            self.polling.on_given_up();
        }
        Ok(None)
    }

    /// Handles the events of connections, and the timeouts. If `ready` contains the link, first handles the link's
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
