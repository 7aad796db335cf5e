//! A session with the token servers.

use std::mem;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use ring_codec::ftn::Access;
use ring_proto::ftn::client::{
    Client, ClientState, Command, Event, HeldToken, LoginFailure, Options, SocketState,
};
use ring_proto::ftn::{Configuration, DATAGRAM_BYTES_MAX, INTRODUCTION_BYTES_MAX, Servers};
use ring_proto::time::Instant;
use ring_runtime::MachineRunner;
use ring_runtime::clock;
use ring_runtime::driver::{Driver, NoStore, datagrams};
use ring_runtime::net::{UdpLink, UdpOptions};
use ring_runtime::wait::LINK;
use ring_runtime::worker::PeriodicValue;
use ring_text::truncate_to_bytes;

use super::hosts::{Hosts, RESOLVE_INTERVAL, Resolution};
use super::link::{self, Keys, Link, SIGNATURE_LEN_MAX};
use super::observer::SessionObserver;
use super::{Error, Obstacle};

/// The key under which the watched descriptor is registered with the poller.
const WATCHED: u8 = 0;
/// While the session is not live, the client finds the addresses of this machine again after each such interval.
const ADDRESSES_INTERVAL: Duration = Duration::from_secs(1);

/// The reason for the end of a wait.
#[derive(Debug, PartialEq, Eq)]
pub enum Wake {
    /// An event. A wait returns a [grant](Event::Granted) only before the end of the lease.
    Event(Event),
    /// The [lease](Session::lease) lasts longer.
    Renewed,
    /// The [watched](Session::watch) descriptor is readable.
    Ready,
    /// The time of the wait is over.
    TimedOut,
}

/// A client of the token service. A client has a socket and at most one session. In the session, a client can hold and
/// request many tokens. When a session is lost, its tokens are lost too, and the client automatically requests a new
/// session.
///
/// Dropping this value sends LOGOUT once, and does not wait for an answer. [`log_out`](Self::log_out) waits for the
/// answer.
#[derive(Debug)]
pub struct Session {
    machine_runner: MachineRunner<Client, Link, NoStore, SessionObserver>,
    keys: Keys,
    /// The time at which the client finds the addresses of this machine again, if the session is not live then.
    addresses_due: Instant,
    watched: Option<OwnedFd>,
    /// The end of the lease when the last [`Wake::Renewed`] was returned.
    reported_lease: Option<Instant>,
    resolver: Option<Resolver>,
    socket_is_v4: bool,
}

/// The resolution of the servers' names during the session.
#[derive(Debug)]
enum Resolver {
    /// The thread that resolves the names starts at this time. Most sessions end before this time, and need no thread.
    Starts(Instant, Hosts),
    Running(PeriodicValue<Resolution>),
}

impl Session {
    /// Opens a socket and requests a session, but does not wait for the session. If `client_timeout` is below 0.2 s,
    /// every session ends before a server confirms it. `introduction` should describe the program. Lists of tokens show
    /// the first [`INTRODUCTION_BYTES_MAX`] bytes of this text.
    ///
    /// # Errors
    /// Fails if no socket can be created.
    pub fn open(
        servers: Servers,
        client_timeout: Duration,
        introduction: &str,
    ) -> Result<Self, Error> {
        Self::open_with(servers, client_timeout, introduction, Keys::none())
    }

    /// Opens a session as [`open`](Self::open) does. The session signs its messages with the first key, and accepts
    /// only signed messages.
    ///
    /// # Errors
    /// Fails if no socket can be created, or if the kernel has no random source.
    #[cfg(feature = "signatures")]
    pub fn open_signed(
        servers: Servers,
        client_timeout: Duration,
        introduction: &str,
        keys: ring_trust::ClientKeys,
    ) -> Result<Self, Error> {
        Self::open_with(servers, client_timeout, introduction, Keys(Some(keys)))
    }

    fn open_with(
        servers: Servers,
        client_timeout: Duration,
        introduction: &str,
        keys: Keys,
    ) -> Result<Self, Error> {
        let client = Client::new(Options {
            servers,
            client_timeout,
            introduction: truncate_to_bytes(introduction, INTRODUCTION_BYTES_MAX).to_owned(),
        });
        let driver = Driver::with_batches(
            client,
            datagrams::merged_receive_batch(DATAGRAM_BYTES_MAX + SIGNATURE_LEN_MAX),
            datagrams::transmit_batch(DATAGRAM_BYTES_MAX),
        );
        let mut session = Self {
            machine_runner: MachineRunner::new(driver, NoStore, SessionObserver::default())?,
            keys,
            addresses_due: clock::now().monotonic + ADDRESSES_INTERVAL,
            watched: None,
            reported_lease: None,
            resolver: None,
            socket_is_v4: true,
        };
        session.replace_socket()?;
        session.apply_socket_requests()?;
        Ok(session)
    }

    /// Resolves the servers' names repeatedly during the session. So the session can reach a server even after the
    /// server's address changes. A server without an address gets an address as soon as its name is resolved.
    pub fn resolving(mut self, hosts: Hosts) -> Self {
        let servers = self.servers();
        let has_all = (0..servers.len()).all(|index| servers.address(index).is_some());
        let delay = if has_all {
            RESOLVE_INTERVAL
        } else {
            Duration::ZERO
        };
        let at = clock::now().monotonic + delay;
        self.resolver = hosts.has_names().then_some(Resolver::Starts(at, hosts));
        self
    }

    /// Applies newly resolved addresses.
    ///
    /// # Errors
    /// Fails if a new socket is needed and cannot be created. The session needs a new socket if the addresses change
    /// from IPv4 to IPv6, or from IPv6 to IPv4.
    fn apply_resolved_names(&mut self) -> Result<(), Error> {
        self.resolver = match self.resolver.take() {
            Some(Resolver::Starts(at, hosts)) if at <= clock::now().monotonic => {
                let resolve = move || hosts.resolve();
                let run = PeriodicValue::start("names", Duration::ZERO, RESOLVE_INTERVAL, resolve);
                // If no thread can be started, the addresses stay as they are.
                run.ok().map(Resolver::Running)
            }
            other => other,
        };
        if let Some(Resolver::Running(resolver)) = &self.resolver
            && let Some(Resolution { addresses, .. }) = resolver.take()
        {
            self.machine_runner.command(Command::Addresses(addresses));
            self.update_addresses();
            if self.is_v4() != self.socket_is_v4 {
                self.replace_socket()?;
            }
        }
        Ok(())
    }

    /// Finds the addresses of this machine again, because the signatures contain them.
    fn update_addresses(&mut self) {
        let servers = self.servers().clone();
        link::update_addresses(self.machine_runner.link(), &servers);
    }

    /// Whether the servers have IPv4 addresses; also `true` if no server has an address.
    fn is_v4(&self) -> bool {
        let servers = self.servers();
        let mut known = (0..servers.len()).filter_map(|index| servers.address(index));
        known.next().is_none_or(|to| to.is_ipv4())
    }

    /// Replaces the socket. The new socket is bound before the old socket is closed, so the new socket gets a different
    /// port.
    fn replace_socket(&mut self) -> Result<(), Error> {
        self.socket_is_v4 = self.is_v4();
        let any: SocketAddr = if self.socket_is_v4 {
            (Ipv4Addr::UNSPECIFIED, 0).into()
        } else {
            (Ipv6Addr::UNSPECIFIED, 0).into()
        };
        let options = UdpOptions {
            merges: true,
            ..UdpOptions::default()
        };
        let link = UdpLink::bind(any, &options)?;
        let port = link.address()?.port();
        let link = self.keys.link(link, self.servers())?;
        let register = |link: &Link, waiting: &ring_runtime::wait::Reactor| {
            waiting.add(link::socket(link), LINK)
        };
        self.machine_runner
            .set_link(link, SocketState::Up { port }, register)?;
        Ok(())
    }

    /// Replaces the socket each time the state machine requests a new socket.
    fn apply_socket_requests(&mut self) -> Result<(), Error> {
        while mem::take(&mut self.machine_runner.observer().needs_socket) {
            self.replace_socket()?;
        }
        Ok(())
    }

    /// Watches a descriptor. When the descriptor becomes readable, a wait of this session ends. A session watches only
    /// one descriptor, so a new descriptor replaces the earlier descriptor.
    ///
    /// # Errors
    /// Fails if too many files are open.
    pub fn watch(&mut self, fd: impl AsFd) -> Result<(), Error> {
        self.unwatch()?;
        let fd = fd.as_fd().try_clone_to_owned().map_err(Error::Socket)?;
        self.machine_runner.add(&fd, WATCHED)?;
        self.watched = Some(fd);
        Ok(())
    }

    /// Stops watching the descriptor.
    ///
    /// # Errors
    /// Fails only if a system call fails.
    pub fn unwatch(&mut self) -> Result<(), Error> {
        self.take_watched().map(drop)
    }

    /// Stops watching the descriptor, and returns it. The caller can later watch the descriptor again.
    pub(super) fn take_watched(&mut self) -> Result<Option<OwnedFd>, Error> {
        let fd = self.watched.take();
        if let Some(fd) = &fd {
            self.machine_runner.remove(fd)?;
        }
        Ok(fd)
    }

    /// Passes a command to the state machine. The result of the command comes later as an [event](Self::next), such as
    /// [`Event::Refused`].
    ///
    /// # Errors
    /// Fails if no new socket can be created after the loss of a session. Also fails if the key of this program does
    /// not permit a requested token.
    pub fn command(&mut self, command: Command) -> Result<(), Error> {
        if let Command::Request { name, .. } = &command {
            self.keys.check_name(name)?;
        }
        self.machine_runner.command(command);
        self.apply_socket_requests()
    }

    /// Requests a token, with a fencing number.
    ///
    /// # Errors
    /// Fails with the errors of [`command`](Self::command).
    pub fn request(&mut self, name: &[u8], access: Access) -> Result<(), Error> {
        self.command(Command::Request {
            name: name.into(),
            access,
            fence: true,
        })
    }

    /// Waits for the next event, at most until `until`. Returns the event, or a different reason for the end of the
    /// wait.
    ///
    /// # Errors
    /// Fails if a system call fails, or if no new socket can be created after the loss of a session.
    pub fn next(&mut self, until: Option<Instant>) -> Result<Wake, Error> {
        loop {
            if let Some(event) = self.take(|_| true) {
                return Ok(Wake::Event(event));
            }
            match self.step(until)? {
                None => {}
                // First return the events that this step received.
                Some(Wake::Ready | Wake::TimedOut)
                    if !self.machine_runner.observer().events.is_empty() => {}
                Some(wake) => return Ok(wake),
            }
        }
    }

    /// Searches the queue for the first event that `is_wanted` accepts. Removes this event, and returns it.
    pub(super) fn take(&mut self, is_wanted: impl FnMut(&Event) -> bool) -> Option<Event> {
        if self.lease().is_none() {
            // The state machine may not know yet that the lease has ended.
            self.machine_runner.observer().drop_grants();
        }
        let events = &mut self.machine_runner.observer().events;
        let place = events.iter().position(is_wanted)?;
        events.remove(place)
    }

    /// Runs the session's loop once, and waits at most until `until`. Returns `None` if the caller should wait again.
    pub(super) fn step(&mut self, until: Option<Instant>) -> Result<Option<Wake>, Error> {
        self.apply_resolved_names()?;
        let now = clock::now().monotonic;
        if self.addresses_due <= now {
            self.addresses_due = now + ADDRESSES_INTERVAL;
            if self.live_since().is_none() {
                self.update_addresses();
            }
        }
        let step = self.machine_runner.step(until)?;
        if step.link_failed.is_some() {
            self.replace_socket()?;
        }
        self.apply_socket_requests()?;
        let lease = self.machine_runner.machine().lease();
        if lease > self.reported_lease {
            self.reported_lease = lease;
            return Ok(Some(Wake::Renewed));
        }
        if step.is_ready(WATCHED) {
            return Ok(Some(Wake::Ready));
        }
        let is_late = until.is_some_and(|until| until <= step.now.monotonic);
        Ok(is_late.then_some(Wake::TimedOut))
    }

    /// Returns the end of the lease on `CLOCK_BOOTTIME`. Until then, all held tokens are safe. Work under the tokens
    /// must end before the end of the lease. Returns `None` if there is no live session.
    pub fn lease(&self) -> Option<Instant> {
        let now = clock::now().monotonic;
        self.machine_runner
            .machine()
            .lease()
            .filter(|&end| now < end)
    }

    /// Returns the held token with this name, unless its release has begun. Returns `None` if there is no such token,
    /// or after the end of the lease.
    pub fn holding(&self, name: &[u8]) -> Option<HeldToken<'_>> {
        self.lease()?;
        self.machine_runner.machine().held_token(name)
    }

    /// Returns the time at which the session became live. Returns `None` if the session is not live.
    pub fn live_since(&self) -> Option<Instant> {
        self.lease()?;
        self.machine_runner.machine().live_since()
    }

    /// Returns the session's id in the form in which servers show it. Returns `None` if there is no live session.
    pub fn id(&self) -> Option<i32> {
        match self.standing() {
            ClientState::Live { session } => Some(session),
            _ => None,
        }
    }

    /// Returns the state of the client's session.
    pub fn standing(&self) -> ClientState {
        self.machine_runner.machine().state()
    }

    /// Returns the last known configuration: the leader, and the servers that are up.
    pub fn configuration(&self) -> Option<&Configuration> {
        self.machine_runner.machine().configuration()
    }

    /// Returns the list of servers.
    pub fn servers(&self) -> &Servers {
        &self.machine_runner.machine().options().servers
    }

    /// Returns the reason why the client has no session.
    pub fn obstacle(&mut self) -> Obstacle {
        let (trouble, other, short) = {
            let seen = self.machine_runner.observer();
            (seen.trouble, seen.other_list, seen.short_timeout)
        };
        let signature = self.servers().signature();
        let key = self.keys.id();
        let answered = match self.standing() {
            ClientState::Login { answered, .. } => answered,
            ClientState::Proving { .. } | ClientState::Live { .. } => {
                return Obstacle::NotConfirmed;
            }
            ClientState::NoSocket | ClientState::LoggingOut | ClientState::Ended => 0,
        };
        let unsigned = link::unsigned_server(self.machine_runner.link());
        if let (Some(server), Some(key)) = (unsigned, key) {
            return Obstacle::Unsigned { server, key };
        }
        if let Some((server, timeout)) = short {
            return Obstacle::ShortTimeout {
                server: self.servers().address(server),
                timeout,
            };
        }
        if answered > 0 || trouble == Some(LoginFailure::NoLeader) {
            return Obstacle::NoLeader;
        }
        if let Some((from, theirs)) = other {
            return Obstacle::OtherList {
                from,
                theirs,
                signature,
            };
        }
        let servers = self.servers();
        let asked = (0..servers.len()).filter_map(|index| servers.address(index));
        let asked: Vec<SocketAddr> = asked.collect();
        if asked.is_empty() {
            return Obstacle::NoAddress;
        }
        Obstacle::NoAnswer {
            asked,
            signature,
            key,
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.standing() != ClientState::Ended {
            self.machine_runner.command(Command::Logout);
        }
    }
}
