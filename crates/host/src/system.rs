//! The interface between the host and a system.

use std::fmt::{Debug, Display};
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use ring_control::{Reply, Request, SystemRequest};
use ring_proto::Machine;
use ring_proto::time::{Instant, Now};
use ring_runtime::driver::{Environment, Link, Observe, Store};
use ring_runtime::{BusyPoll, BusyPollWork};

use super::jobs::Task;
use super::observe::LogOutput;
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
    /// The host gives this command to the machine, and then sends this reply.
    Command(C, Reply),
}

/// The limits for a late wake-up of the loop.
#[derive(Debug, Clone, Copy)]
pub struct LateLimits {
    /// If the loop wakes up later than its deadline by more than this time, the host counts and logs this.
    pub log_after: Duration,
    /// If the loop wakes up later than its deadline by more than this time, peers act as if this process were dead.
    pub fail_after: Duration,
}

/// The commands and the timeout that shut a machine down.
#[derive(Debug)]
pub struct ShutDown<C> {
    /// Command that starts an orderly shutdown.
    pub command: C,
    /// Maximum time of an orderly shutdown.
    pub timeout: Duration,
    /// Last command for the machine, if the shutdown takes longer than `timeout`. With this command, the machine at
    /// least informs its peers that this node ends.
    pub last_command: C,
}

/// The result of a request to read the configuration file again.
#[derive(Debug)]
pub enum Reload<C> {
    /// The system cannot change its options while it runs.
    Unsupported,
    /// The system has read the file, and has logged the result. The host gives this command to the machine.
    Done(Option<C>),
}

/// One node of a system. It contains a state machine with its environment, and handles the requests of clients.
///
/// The host calls all methods from one thread. No method may block. If a method has much work, each call does only a
/// limited part of it.
pub trait System: Sized {
    /// The type of the protocol's state machine.
    type Machine: Machine;
    /// The type of the link that carries the machine's messages.
    type Link: Link<<Self::Machine as Machine>::Peer>;
    /// The type of the store for the data that must survive a restart.
    type Store: Store<<Self::Machine as Machine>::Durable>;
    /// The type of the observer of the machine's events.
    type Observer: Observe<<Self::Machine as Machine>::Event>;
    /// The type of the task that does the machine's jobs in the worker's thread; [`NoTask`](super::NoTask) for a
    /// machine without jobs.
    type Task: Task<Job = <Self::Machine as Machine>::Job, Answer = <Self::Machine as Machine>::Command>;
    /// The type of the requests that exist only in this system; [`NoRequest`](ring_control::NoRequest) if the system
    /// has no such requests.
    type Request: SystemRequest;
    /// The type of the node's condition. The host reports the condition to the service manager in a few words. The
    /// condition must not change with each hop of a token.
    type Condition: Copy + PartialEq + Debug + Display;

    /// Returns the parts that the driver uses.
    fn environment(&mut self) -> Environment<'_, Self::Link, Self::Store, Self::Observer>;

    /// Returns the task that does the machine's jobs; `None` if the machine has no jobs. The host calls this method
    /// once.
    fn task(&mut self) -> Option<Self::Task>;

    /// Returns the setting for polling: the time for which the loop looks for messages before it sleeps. The host calls
    /// this method once.
    fn busy_poll(&self) -> BusyPoll {
        BusyPoll::Never
    }

    /// Stores the results of polling since the start of the loop. The host calls this method about once per second.
    fn note_busy_poll(&mut self, _work: BusyPollWork) {}

    /// Registers descriptors with the loop:
    ///
    /// - the link's descriptors under [`LINK`](ring_runtime::wait::LINK), if the link is open
    /// - the descriptors that report changes of the network under [`NETWORK`](super::NETWORK)
    /// - the descriptor with which the system's threads wake the loop under [`SYSTEM`](super::SYSTEM)
    ///
    /// # Errors
    /// Fails if a system call fails.
    fn register(&mut self, waiting: &Reactor) -> Result<(), Error>;

    /// Reads from the descriptors under [`NETWORK`](super::NETWORK), because one of them is readable.
    ///
    /// # Errors
    /// Fails if the descriptor is broken.
    fn on_network_readable(&mut self) -> Result<(), Error>;

    /// Reads from the descriptor under [`SYSTEM`](super::SYSTEM), because it is readable. In the same loop iteration,
    /// the host calls [`poll_clients`](Self::poll_clients), which returns the resulting commands.
    ///
    /// # Errors
    /// Fails if the descriptor is broken.
    fn on_system_readable(&mut self, _now: Now) -> Result<(), Error> {
        Ok(())
    }

    /// If the network changed, returns the next change for the machine. Registers a new link with `waiting`.
    ///
    /// # Errors
    /// Fails if a system call fails.
    fn poll_network(
        &mut self,
        now: Instant,
        waiting: &Reactor,
    ) -> Result<Option<<Self::Machine as Machine>::Net>, Error>;

    /// Handles the failure of a link that cannot receive. Returns the network's new state.
    fn on_link_failed(
        &mut self,
        now: Instant,
        error: &io::Error,
    ) -> <Self::Machine as Machine>::Net;

    /// Returns the latest time for the next loop iteration.
    fn deadline(&self) -> Option<Instant>;

    /// Answers a client's request. The system may keep descriptors that came with the request. The host closes all
    /// other descriptors.
    fn answer(
        &mut self,
        now: Now,
        client: Client,
        request: Request<Self::Request>,
        descriptors: &mut Vec<OwnedFd>,
        machine: &Self::Machine,
    ) -> Answer<<Self::Machine as Machine>::Command>;

    /// Sends clients their late replies. Returns the next command that results from requests of clients. After each
    /// command, the host calls this method again.
    fn poll_clients(
        &mut self,
        now: Now,
        server: &mut Server,
        machine: &Self::Machine,
    ) -> Option<<Self::Machine as Machine>::Command>;

    /// Reads the configuration file again. Changes the options that can change at run time, including the options of
    /// the log.
    fn reload(&mut self, _log: &LogOutput) -> Reload<<Self::Machine as Machine>::Command> {
        Reload::Unsupported
    }

    /// Handles the end of a loop iteration.
    fn on_iteration_end(&mut self, now: Now, machine: &Self::Machine);

    /// Does periodic work. The host calls this method about once per second.
    fn on_second(&mut self, now: Now);

    /// Counts a late wake-up of the loop. `late` is longer than [`LateLimits::log_after`].
    fn count_late_wake_up(&mut self, late: Duration);

    /// Returns the limits for a late wake-up.
    fn late_limits(machine: &Self::Machine) -> LateLimits;

    /// Returns the node's condition.
    fn condition(&self, machine: &Self::Machine) -> Self::Condition;

    /// Logs the full status.
    fn report(&mut self, now: Now, machine: &Self::Machine);

    /// Begins a shutdown. Refuses new clients and asks the other clients to finish. Returns a few words about the next
    /// step of the shutdown, for the service manager.
    fn begin_shutdown(&mut self) -> &'static str;

    /// Whether a client still holds a token. The machine cannot shut down before the client releases it.
    fn is_busy(&self) -> bool;

    /// Returns the commands and the timeout that shut the machine down.
    fn shut_down(machine: &Self::Machine) -> ShutDown<<Self::Machine as Machine>::Command>;

    /// Whether the machine's shutdown is complete.
    fn is_finished(machine: &Self::Machine) -> bool;

    /// Handles the end of the loop. Writes pending output, but stops as soon as `is_over` returns `true`.
    fn finish(&mut self, now: Now, is_over: &mut dyn FnMut() -> bool);
}
