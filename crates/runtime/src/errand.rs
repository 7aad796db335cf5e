//! Runs a state machine in a program that is no daemon: without a control socket, clients or a log.

use std::io;
use std::os::fd::AsFd;

use crate::clock;
use crate::driver::{Driver, Environment, Link, Observe, Store};
use ring_proto::Machine;
use ring_proto::time::{Instant, Now};

use crate::cycle::EventLoop;
use crate::wait::{Reactor, ReadyKeys, SystemCallError};

const FIRST_CALLER_KEY: u64 = 1;

/// A state machine with its link. Its user calls [`step`](Self::step) in a loop, and checks the machine and its own
/// descriptors after each call.
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
    /// The time after the wait.
    pub now: Now,
    /// The error for which the link was dropped: it could not receive. The machine does not know of it yet.
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
    /// A system call failed.
    pub fn new(driver: Driver<M>, store: S, observer: O) -> Result<Self, SystemCallError> {
        let waiting = Reactor::new()?;
        Ok(Self {
            cycle: EventLoop { driver, waiting },
            link: None,
            store,
            observer,
        })
    }

    /// Replaces the machine's link, and reports the network's new state to the machine. `register` adds the link's
    /// descriptors under [`LINK`](crate::wait::LINK).
    ///
    /// # Errors
    /// A system call failed.
    pub fn set_link(
        &mut self,
        link: L,
        net: M::Net,
        register: impl FnOnce(&L, &Reactor) -> Result<(), SystemCallError>,
    ) -> Result<(), SystemCallError> {
        // Closing the old link also removes its descriptors from the wait.
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

    /// Waits for a descriptor of the caller as well, until it is closed or [removed](Self::remove). A step reports
    /// with this key that it is readable.
    ///
    /// # Errors
    /// A system call failed.
    pub fn add(&self, fd: impl AsFd, key: u8) -> Result<(), SystemCallError> {
        self.cycle
            .waiting
            .add(fd, FIRST_CALLER_KEY + u64::from(key))
    }

    /// Stops waiting for a descriptor of the caller.
    ///
    /// # Errors
    /// A system call failed.
    pub fn remove(&self, fd: impl AsFd) -> Result<(), SystemCallError> {
        self.cycle.waiting.remove(fd)
    }

    /// Waits for input of the machine or the caller, at most until `until`. Then handles the machine's messages and
    /// timeouts.
    ///
    /// # Errors
    /// A system call failed.
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
