//! Runs a state machine in a program that is not a daemon, such as a client. Such a program has no control socket, no
//! clients and no log.

use std::io;
use std::os::fd::AsFd;

use crate::busy_poll::BusyPoll;
use crate::clock;
use crate::driver::{Driver, Environment, Link, Observe, Store};
use ring_proto::Machine;
use ring_proto::time::{Instant, Now};

use crate::cycle::EventLoop;
use crate::wait::{Reactor, ReadyKeys, SystemCallError};

const FIRST_CALLER_KEY: u64 = 1;

/// A state machine with its link. The caller runs [`step`](Self::step) in a loop. After each step, the caller checks
/// the state of the machine, and handles those of its descriptors that are ready.
#[derive(Debug)]
pub struct MachineRunner<M: Machine, L, S, O> {
    cycle: EventLoop<M>,
    link: Option<L>,
    store: S,
    observer: O,
}

/// The result of a step.
#[derive(Debug)]
pub struct StepResult {
    /// Time after the wait.
    pub now: Now,
    /// The error of a link that failed to receive. The runner has dropped this link, but the machine does not know
    /// about the loss yet.
    pub link_failed: Option<io::Error>,
    ready: ReadyKeys,
}

impl StepResult {
    /// Whether the caller's descriptor with this key is readable.
    pub const fn is_ready(&self, key: u8) -> bool {
        self.ready.has(FIRST_CALLER_KEY + key as u64)
    }
}

impl<M, L, S, O> MachineRunner<M, L, S, O>
where
    M: Machine,
    L: Link<M::Peer>,
    S: Store<M::Durable>,
    O: Observe<M::Event>,
{
    /// Wraps a machine without a link.
    ///
    /// # Errors
    /// Fails if a system call fails.
    pub fn new(driver: Driver<M>, store: S, observer: O) -> Result<Self, SystemCallError> {
        let waiting = Reactor::new()?;
        Ok(Self {
            cycle: EventLoop::new(driver, waiting, BusyPoll::Never),
            link: None,
            store,
            observer,
        })
    }

    /// Replaces the machine's link and reports the network's new state to the machine. `register` adds the link's
    /// descriptors under the key [`LINK`](crate::wait::LINK).
    ///
    /// # Errors
    /// Fails if a system call fails.
    pub fn set_link(
        &mut self,
        link: L,
        net: M::Net,
        register: impl FnOnce(&L, &Reactor) -> Result<(), SystemCallError>,
    ) -> Result<(), SystemCallError> {
        // First close the old link, because this also removes its descriptors from the wait.
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

    /// Returns the link; `None` if it failed.
    pub const fn link(&mut self) -> Option<&mut L> {
        self.link.as_mut()
    }

    /// Adds a descriptor of the caller to the wait. When the descriptor is readable, a step reports `key`. The
    /// descriptor stays in the wait until it is closed or [removed](Self::remove).
    ///
    /// # Errors
    /// Fails if a system call fails.
    pub fn add(&self, fd: impl AsFd, key: u8) -> Result<(), SystemCallError> {
        self.cycle
            .waiting
            .add(fd, FIRST_CALLER_KEY + u64::from(key))
    }

    /// Removes a descriptor of the caller from the wait.
    ///
    /// # Errors
    /// Fails if a system call fails.
    pub fn remove(&self, fd: impl AsFd) -> Result<(), SystemCallError> {
        self.cycle.waiting.remove(fd)
    }

    /// Waits for input of the machine or of the caller, at most until `until`. Then handles the machine's messages and
    /// timeouts.
    ///
    /// # Errors
    /// Fails if a system call fails.
    pub fn step(&mut self, until: Option<Instant>) -> Result<StepResult, SystemCallError> {
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
        Ok(StepResult {
            now,
            link_failed,
            ready,
        })
    }

    /// Gives the machine a command.
    pub fn command(&mut self, command: M::Command) {
        let (driver, environment) = self.parts();
        driver.command(clock::now(), command, &mut { environment });
    }

    /// Returns the machine.
    pub fn machine(&self) -> &M {
        self.cycle.driver.machine()
    }

    /// Returns the observer of the machine's events.
    pub const fn observer(&mut self) -> &mut O {
        &mut self.observer
    }
}
