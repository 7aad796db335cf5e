//! The interface between the host and a system.

use std::fmt::{Debug, Display};
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use ring_control::{Reply, Request, SystemRequest};
use ring_proto::Machine;
use ring_proto::time::{Instant, Now};
use ring_runtime::driver::{Environment, Link, Observe, Store};

use super::jobs::Task;
use super::{Error, Server};
use ring_process::Client;
use ring_runtime::wait::Reactor;

/// A system's answer to a client's request.
#[derive(Debug)]
pub enum Answer<C> {
    /// Send this reply.
    Reply(Reply),
    /// The reply follows later, through [`Server::send`].
    Later,
    /// Give the machine this command, then send this reply.
    Command(C, Reply),
}

/// The limits for a late wake-up of the loop.
#[derive(Debug, Clone, Copy)]
pub struct LateLimits {
    /// A wake-up that is later than this is counted and logged.
    pub log_after: Duration,
    /// From here on peers act as if this process were dead.
    pub fail_after: Duration,
}

/// How to shut a machine down.
#[derive(Debug)]
pub struct ShutDown<C> {
    /// Starts an orderly shutdown.
    pub command: C,
    /// The maximum time of an orderly shutdown.
    pub timeout: Duration,
    /// The last command if it takes longer. It tells peers at least that this node is gone.
    pub last_command: C,
}

/// One node of a system: the environment of its machine, and the requests of its clients.
///
/// The host calls all methods from one thread. No method may block. A call that can find much to do does a bounded
/// part of it.
pub trait System: Sized {
    /// The protocol's state machine.
    type Machine: Machine;
    /// The link that carries its messages.
    type Link: Link<<Self::Machine as Machine>::Peer>;
    /// The store for everything that must survive a restart.
    type Store: Store<<Self::Machine as Machine>::Durable>;
    /// The observer of its events.
    type Observer: Observe<<Self::Machine as Machine>::Event>;
    /// The task that does its jobs, in the worker's thread; [`NoTask`](super::NoTask) for a machine without jobs.
    type Task: Task<Job = <Self::Machine as Machine>::Job, Answer = <Self::Machine as Machine>::Command>;
    /// The requests that only its clients make; [`NoRequest`](ring_control::NoRequest) if there are none.
    type Request: SystemRequest;
    /// The node's condition in a few words, for the service manager. It must not change with each turn of a token.
    type Condition: Copy + PartialEq + Debug + Display;

    /// Returns the parts that the driver works with.
    fn environment(&mut self) -> Environment<'_, Self::Link, Self::Store, Self::Observer>;

    /// Returns the task that does the machine's jobs. It is called once. `None`: the machine has no jobs.
    fn task(&mut self) -> Option<Self::Task>;

    /// Registers descriptors with the loop:
    ///
    /// - the link's under [`LINK`](ring_runtime::wait::LINK), if it is open
    /// - those that report changes of the network under [`NETWORK`](super::NETWORK)
    /// - the one with which the system's threads wake the loop under [`SYSTEM`](super::SYSTEM)
    ///
    /// # Errors
    /// A system call failed.
    fn register(&mut self, waiting: &Reactor) -> Result<(), Error>;

    /// Handles a readable descriptor under [`NETWORK`](super::NETWORK).
    ///
    /// # Errors
    /// The descriptor is broken.
    fn on_network_readable(&mut self) -> Result<(), Error>;

    /// Handles a readable descriptor under [`SYSTEM`](super::SYSTEM). Commands that follow come from
    /// [`poll_clients`](Self::poll_clients), in the same loop iteration.
    ///
    /// # Errors
    /// The descriptor is broken.
    fn on_system_readable(&mut self, _now: Now) -> Result<(), Error> {
        Ok(())
    }

    /// Returns the next change of the network for the machine, if there is one. Registers a new link with `waiting`.
    ///
    /// # Errors
    /// A system call failed.
    fn poll_network(
        &mut self,
        now: Instant,
        waiting: &Reactor,
    ) -> Result<Option<<Self::Machine as Machine>::Net>, Error>;

    /// Handles a link that cannot receive. Returns the network's new state.
    fn on_link_failed(
        &mut self,
        now: Instant,
        error: &io::Error,
    ) -> <Self::Machine as Machine>::Net;

    /// Returns when the host must run the next loop iteration at the latest.
    fn deadline(&self) -> Option<Instant>;

    /// Answers a client's request. It may take descriptors that came with it. The host closes the others.
    fn answer(
        &mut self,
        now: Now,
        client: Client,
        request: Request<Self::Request>,
        descriptors: &mut Vec<OwnedFd>,
        machine: &Self::Machine,
    ) -> Answer<<Self::Machine as Machine>::Command>;

    /// Sends clients their late replies, and returns the next command that they cause. The host calls it again after
    /// each command.
    fn poll_clients(
        &mut self,
        now: Now,
        server: &mut Server,
        machine: &Self::Machine,
    ) -> Option<<Self::Machine as Machine>::Command>;

    /// Ends a loop iteration.
    fn on_iteration_end(&mut self, now: Now, machine: &Self::Machine);

    /// Does periodic work: about a second has passed.
    fn on_second(&mut self, now: Now);

    /// Counts a wake-up that was later than [`LateLimits::log_after`].
    fn count_late_wake_up(&mut self);

    /// Returns the limits for a late wake-up.
    fn late_limits(machine: &Self::Machine) -> LateLimits;

    /// Returns the node's condition.
    fn condition(&self, machine: &Self::Machine) -> Self::Condition;

    /// Logs the full status.
    fn report(&mut self, now: Now, machine: &Self::Machine);

    /// Begins a shutdown: refuses new clients and asks the others to finish. Returns the next step in a few words,
    /// for the service manager.
    fn begin_shutdown(&mut self) -> &'static str;

    /// Whether a client still holds something that the machine needs before it can shut down.
    fn is_busy(&self) -> bool;

    /// Returns how to shut the machine down.
    fn shut_down(machine: &Self::Machine) -> ShutDown<<Self::Machine as Machine>::Command>;

    /// Whether the machine has shut down.
    fn is_finished(machine: &Self::Machine) -> bool;

    /// Ends the system after the loop: flushes pending output, and stops as soon as `is_over` returns `true`.
    fn finish(&mut self, now: Now, is_over: &mut dyn FnMut() -> bool);
}
