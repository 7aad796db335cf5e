//! A machine that a process runs for itself, with no daemon around it: no control socket, no clients, no log.

use std::io;
use std::os::fd::AsFd;

use crate::clock;
use crate::driver::{Driver, Environment, Link, Observe, Store};
use ring_proto::Machine;
use ring_proto::time::{Instant, Now};

use crate::cycle::Cycle;
use crate::wait::{Failure, ReadyKeys, Waiting};

/// The first key for descriptors of the caller.
const CALLER: u64 = 1;

/// A machine with its link. Who has it calls [`step`](Self::step) in a loop, and looks after each at what has become
/// of the machine and at its own descriptors.
#[derive(Debug)]
pub struct Errand<M: Machine, L, S, O> {
    cycle: Cycle<M>,
    link: Option<L>,
    store: S,
    observer: O,
}

/// What a step has found.
#[derive(Debug)]
pub struct Step {
    /// When it woke up.
    pub now: Now,
    /// The link failed to receive and is gone: the machine has not heard of that yet.
    pub link_failed: Option<io::Error>,
    ready: ReadyKeys,
}

impl Step {
    /// Whether the caller's descriptor with this key is readable.
    pub const fn is_ready(&self, key: u8) -> bool {
        self.ready.has(CALLER + key as u64)
    }
}

impl<M, L, S, O> Errand<M, L, S, O>
where
    M: Machine,
    L: Link<M::Peer>,
    S: Store<M::Durable>,
    O: Observe<M::Event>,
{
    /// A machine without a link.
    ///
    /// # Errors
    /// The system refuses.
    pub fn new(driver: Driver<M>, store: S, observer: O) -> Result<Self, Failure> {
        let waiting = Waiting::new()?;
        Ok(Self {
            cycle: Cycle { driver, waiting },
            link: None,
            store,
            observer,
        })
    }

    /// Gives the machine a link, in place of the one it has, and tells it what the network is like now. The link's
    /// descriptors are to be registered under [`LINK`](crate::wait::LINK).
    ///
    /// # Errors
    /// The system refuses.
    pub fn set_link(
        &mut self,
        link: L,
        net: M::Net,
        register: impl FnOnce(&L, &Waiting) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        // The old one is closed first, and with that no longer waited for.
        self.link = None;
        register(&link, &self.cycle.waiting)?;
        self.link = Some(link);
        let (driver, environment) = self.parts();
        driver.link_changed(clock::now(), net, &mut { environment });
        Ok(())
    }

    fn parts(&mut self) -> (&mut Driver<M>, Environment<'_, L, S, O>) {
        let environment = Environment {
            link: self.link.as_mut(),
            store: &mut self.store,
            observer: &mut self.observer,
        };
        (&mut self.cycle.driver, environment)
    }

    /// Waits for a descriptor of the caller as well, until that is closed or [removed](Self::remove). A step reports under
    /// this key that it is readable.
    ///
    /// # Errors
    /// The system refuses.
    pub fn add(&self, fd: impl AsFd, key: u8) -> Result<(), Failure> {
        self.cycle.waiting.add(fd, CALLER + u64::from(key))
    }

    /// Waits no longer for a descriptor of the caller.
    ///
    /// # Errors
    /// The system refuses.
    pub fn remove(&self, fd: impl AsFd) -> Result<(), Failure> {
        self.cycle.waiting.remove(fd)
    }

    /// Waits until there is something to do, for the machine or the caller, and does the machine's part of it: what
    /// has arrived, then its timeouts. Ends at `until` at the latest.
    ///
    /// # Errors
    /// The system refuses.
    pub fn step(&mut self, until: Option<Instant>) -> Result<Step, Failure> {
        let (ready, now) = self.cycle.wait(self.link.as_mut(), until)?;
        let environment = &mut Environment {
            link: self.link.as_mut(),
            store: &mut self.store,
            observer: &mut self.observer,
        };
        let link_failed = self.cycle.pump(now, ready, environment).err();
        if link_failed.is_some() {
            self.link = None;
        }
        Ok(Step {
            now,
            link_failed,
            ready,
        })
    }

    /// Passes a command to the machine.
    pub fn command(&mut self, command: M::Command) {
        let (driver, environment) = self.parts();
        driver.command(clock::now(), command, &mut { environment });
    }

    /// Returns the machine.
    pub fn machine(&self) -> &M {
        self.cycle.driver.machine()
    }

    /// Returns what sees the machine's events.
    pub const fn observer(&mut self) -> &mut O {
        &mut self.observer
    }
}
