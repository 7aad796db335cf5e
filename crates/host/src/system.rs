//! What a system adds to the host to be a daemon.

use std::fmt::{Debug, Display};
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use ring_control::{OwnRequest, Reply, Request};
use ring_proto::Machine;
use ring_proto::time::{Instant, Now};
use ring_runtime::driver::{Environment, Link, Observe, Store};

use super::jobs::Task;
use super::{Error, Server};
use ring_process::Client;
use ring_runtime::wait::Waiting;

/// A system's answer to a client's request.
#[derive(Debug)]
pub enum Answer<C> {
    /// Send this reply.
    Reply(Reply),
    /// The reply follows later, through [`Server::tell`].
    Later,
    /// Give the machine this command, then send this reply.
    Command(C, Reply),
}

/// How late the loop may wake up.
#[derive(Debug, Clone, Copy)]
pub struct LateLimits {
    /// A later wake-up is counted and logged.
    pub noticed: Duration,
    /// From here on peers act as if this process were dead.
    pub harmful: Duration,
}

/// How to shut a machine down.
#[derive(Debug)]
pub struct ShutDown<C> {
    /// Starts an orderly shutdown.
    pub command: C,
    /// How long an orderly shutdown may take.
    pub patience: Duration,
    /// The last command if it takes longer: tells peers at least that this node is gone.
    pub last_word: C,
}

/// One node of a system: everything around its machine, and what its clients may ask of it.
///
/// The host calls all of this from its one thread. No method may block. A call that can find a lot to do
/// does a bounded part of it.
pub trait System: Sized {
    /// The protocol's state machine.
    type Machine: Machine;
    /// Carries its messages.
    type Link: Link<<Self::Machine as Machine>::Peer>;
    /// Stores what must survive a restart.
    type Store: Store<<Self::Machine as Machine>::Durable>;
    /// Sees its events.
    type Observer: Observe<<Self::Machine as Machine>::Event>;
    /// Does its jobs, in the worker's thread; [`NoTask`](super::NoTask) for a machine without jobs.
    type Task: Task<Job = <Self::Machine as Machine>::Job, Answer = <Self::Machine as Machine>::Command>;
    /// What only its own clients ask of it; [`NoRequest`](ring_control::NoRequest) if they ask nothing.
    type Request: OwnRequest;
    /// The node's condition in a few words, for the service manager. It must not change with each turn of a
    /// token.
    type Condition: Copy + PartialEq + Debug + Display;

    /// Lends the driver what it works with.
    fn environment(&mut self) -> Environment<'_, Self::Link, Self::Store, Self::Observer>;

    /// Returns what does the machine's jobs; called once. `None`: the machine has none.
    fn task(&mut self) -> Option<Self::Task>;

    /// Registers descriptors with the loop: the link's under [`LINK`](ring_runtime::wait::LINK), if it is open already, those
    /// that report changes of the network under [`NETWORK`](super::NETWORK), and of its own, by which threads of
    /// the system get into the loop, under [`SYSTEM`](super::SYSTEM).
    ///
    /// # Errors
    /// The kernel refuses.
    fn register(&mut self, waiting: &Waiting) -> Result<(), Error>;

    /// A descriptor under [`NETWORK`](super::NETWORK) is readable.
    ///
    /// # Errors
    /// The descriptor is broken.
    fn network_readable(&mut self) -> Result<(), Error>;

    /// A descriptor under [`SYSTEM`](super::SYSTEM) is readable. What follows for the machine is told by
    /// [`poll_clients`](Self::poll_clients), in the same turn.
    ///
    /// # Errors
    /// The descriptor is broken.
    fn own_readable(&mut self, _now: Now) -> Result<(), Error> {
        Ok(())
    }

    /// Returns the next change of the network for the machine, if there is one. A new link registers itself
    /// with `waiting`.
    ///
    /// # Errors
    /// The kernel refuses.
    fn poll_network(
        &mut self,
        now: Instant,
        waiting: &Waiting,
    ) -> Result<Option<<Self::Machine as Machine>::Net>, Error>;

    /// The link failed to receive.
    fn link_failed(&mut self, now: Instant, error: &io::Error) -> <Self::Machine as Machine>::Net;

    /// The next time at which the host must call in.
    fn deadline(&self) -> Option<Instant>;

    /// Answers a client's request. It may take descriptors that came with it; the host closes the others.
    fn answer(
        &mut self,
        now: Now,
        client: Client,
        request: Request<Self::Request>,
        descriptors: &mut Vec<OwnedFd>,
        machine: &Self::Machine,
    ) -> Answer<<Self::Machine as Machine>::Command>;

    /// Sends clients their late replies, and returns the next command that they cause. The host calls again
    /// after each command.
    fn poll_clients(
        &mut self,
        now: Now,
        server: &mut Server,
        machine: &Self::Machine,
    ) -> Option<<Self::Machine as Machine>::Command>;

    /// A turn of the loop ends.
    fn after_turn(&mut self, now: Now, machine: &Self::Machine);

    /// About a second has passed.
    fn every_second(&mut self, now: Now);

    /// The loop woke up later than [`LateLimits::noticed`].
    fn count_late_wake_up(&mut self);

    /// The limits for a late wake-up.
    fn late_limits(machine: &Self::Machine) -> LateLimits;

    /// The node's condition.
    fn condition(&self, machine: &Self::Machine) -> Self::Condition;

    /// Logs the full status.
    fn report(&mut self, now: Now, machine: &Self::Machine);

    /// A shutdown begins: refuses new clients and asks present ones to finish. Returns the next step in a few
    /// words, for the service manager.
    fn leave(&mut self) -> &'static str;

    /// Whether a client still holds something that the machine needs back before it can shut down.
    fn is_busy(&self) -> bool;

    /// How to shut the machine down.
    fn shut_down(machine: &Self::Machine) -> ShutDown<<Self::Machine as Machine>::Command>;

    /// Whether the machine has shut down.
    fn is_finished(machine: &Self::Machine) -> bool;

    /// The loop has ended: flushes what is pending, and gives up as soon as `is_over` returns `true`.
    fn finish(&mut self, now: Now, is_over: &mut dyn FnMut() -> bool);
}
