//! A session with the servers.

use std::mem;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use ring_codec::ftn::Access;
use ring_proto::ftn::client::{Client, Command, Event, Holding, Net, Options, Standing, Trouble};
use ring_proto::ftn::{Configuration, LONGEST, MAX_INTRODUCTION, Servers};
use ring_proto::time::Instant;
use ring_runtime::Errand;
use ring_runtime::clock;
use ring_runtime::driver::{Driver, NoStore, datagrams};
use ring_runtime::net::{UdpLink, UdpOptions};
use ring_runtime::wait::LINK;
use ring_runtime::worker::Repeated;
use ring_text::first_bytes;

use super::hosts::{Hosts, RESOLVED_EVERY, Resolution};
use super::seen::Seen;
use super::{Error, Obstacle};

/// The key of the descriptor that ends waits.
const WATCHED: u8 = 0;

/// What has ended a wait.
#[derive(Debug, PartialEq, Eq)]
pub enum Wake {
    /// Something happened. A [grant](Event::Granted) is told only while the lease lasts.
    Event(Event),
    /// The [lease](Session::lease) lasts longer.
    Renewed,
    /// The [watched](Session::watch) descriptor is readable.
    Ready,
    /// It is as late as the wait may last.
    Late,
}

/// One client of the service: a socket and at most one session, in which it holds and awaits as many tokens as it
/// likes. A session that is lost is followed by another by itself; its tokens are not.
///
/// Dropping it sends LOGOUT once, without waiting; [`log_out`](Self::log_out) waits for the answer.
#[derive(Debug)]
pub struct Session {
    runs: Errand<Client, UdpLink, NoStore, Seen>,
    watched: Option<OwnedFd>,
    /// The end of the lease that was told last.
    told: Option<Instant>,
    resolver: Option<Resolver>,
    /// Whether the socket is one of IPv4.
    socket_is_v4: bool,
}

/// What resolves the names of the servers again.
#[derive(Debug)]
enum Resolver {
    /// It starts then: most sessions are over before.
    Starts(Instant, Hosts),
    Runs(Repeated<Resolution>),
}

impl Session {
    /// Opens a socket and asks the servers for a session, without waiting for it. With a
    /// `client_timeout` below 0.2 s the session ends before it is confirmed. `introduction` says in a list of tokens what holds
    /// them; of a longer one the first [`MAX_INTRODUCTION`] bytes.
    ///
    /// # Errors
    /// The system has no room for another socket.
    pub fn open(
        servers: Servers,
        client_timeout: Duration,
        introduction: &str,
    ) -> Result<Self, Error> {
        let client = Client::new(Options {
            servers,
            client_timeout,
            introduction: first_bytes(introduction, MAX_INTRODUCTION).to_owned(),
        });
        let driver = Driver::with_batches(
            client,
            datagrams::receive_batch(LONGEST),
            datagrams::transmit_batch(LONGEST),
        );
        let mut session = Self {
            runs: Errand::new(driver, NoStore, Seen::default())?,
            watched: None,
            told: None,
            resolver: None,
            socket_is_v4: true,
        };
        session.use_new_socket()?;
        session.follow()?;
        Ok(session)
    }

    /// Resolves the names of the servers again for as long as the session lasts, so that it follows one that moves. A server that
    /// has no address yet gets one as soon as its name is resolved.
    pub fn resolving(mut self, hosts: Hosts) -> Self {
        let servers = self.servers();
        let has_all = (0..servers.len()).all(|index| servers.address(index).is_some());
        let rest = if has_all {
            RESOLVED_EVERY
        } else {
            Duration::ZERO
        };
        let at = clock::now().monotonic + rest;
        self.resolver = hosts.has_names().then_some(Resolver::Starts(at, hosts));
        self
    }

    /// Takes over what names were resolved to.
    ///
    /// # Errors
    /// There is no socket for addresses of another kind.
    fn follow_names(&mut self) -> Result<(), Error> {
        self.resolver = match self.resolver.take() {
            Some(Resolver::Starts(at, hosts)) if at <= clock::now().monotonic => {
                let resolve = move || hosts.resolve();
                let run = Repeated::start("names", Duration::ZERO, RESOLVED_EVERY, resolve);
                // Without a thread the addresses stay as they are.
                run.ok().map(Resolver::Runs)
            }
            other => other,
        };
        if let Some(Resolver::Runs(resolver)) = &self.resolver
            && let Some(Resolution { addresses, .. }) = resolver.take()
        {
            self.runs.command(Command::Addresses(addresses));
            if self.is_v4() != self.socket_is_v4 {
                self.use_new_socket()?;
            }
        }
        Ok(())
    }

    /// Whether the servers have addresses of IPv4, or none yet.
    fn is_v4(&self) -> bool {
        let servers = self.servers();
        let mut known = (0..servers.len()).filter_map(|index| servers.address(index));
        known.next().is_none_or(|to| to.is_ipv4())
    }

    /// The new one is bound before the old one is closed, so that the ports differ.
    fn use_new_socket(&mut self) -> Result<(), Error> {
        self.socket_is_v4 = self.is_v4();
        let any: SocketAddr = if self.socket_is_v4 {
            (Ipv4Addr::UNSPECIFIED, 0).into()
        } else {
            (Ipv6Addr::UNSPECIFIED, 0).into()
        };
        let link = UdpLink::bind(any, &UdpOptions::default())?;
        let port = link.address()?.port();
        let register =
            |link: &UdpLink, waiting: &ring_runtime::wait::Waiting| waiting.add(link, LINK);
        self.runs.set_link(link, Net::Up { port }, register)?;
        Ok(())
    }

    /// Does what the machine has asked for.
    fn follow(&mut self) -> Result<(), Error> {
        while mem::take(&mut self.runs.observer().needs_socket) {
            self.use_new_socket()?;
        }
        Ok(())
    }

    /// Ends waits when a descriptor is readable, in place of any other.
    ///
    /// # Errors
    /// Too many files are open.
    pub fn watch(&mut self, fd: impl AsFd) -> Result<(), Error> {
        self.unwatch()?;
        let fd = fd.as_fd().try_clone_to_owned().map_err(Error::Socket)?;
        self.runs.add(&fd, WATCHED)?;
        self.watched = Some(fd);
        Ok(())
    }

    /// Watches no descriptor.
    ///
    /// # Errors
    /// The system refuses.
    pub fn unwatch(&mut self) -> Result<(), Error> {
        self.lend_watched().map(drop)
    }

    /// Watches nothing until it is given back.
    pub(super) fn lend_watched(&mut self) -> Result<Option<OwnedFd>, Error> {
        let fd = self.watched.take();
        if let Some(fd) = &fd {
            self.runs.remove(fd)?;
        }
        Ok(fd)
    }

    /// Passes a command to the client. Its outcome is an [event](Self::next), [`Event::Refused`] among others.
    ///
    /// # Errors
    /// There is no new socket in place of one whose session is lost.
    pub fn command(&mut self, command: Command) -> Result<(), Error> {
        self.runs.command(command);
        self.follow()
    }

    /// Requests a token, with a fencing number.
    ///
    /// # Errors
    /// As [`command`](Self::command).
    pub fn request(&mut self, name: &[u8], access: Access) -> Result<(), Error> {
        self.command(Command::Request {
            name: name.into(),
            access,
            fence: true,
        })
    }

    /// Returns the next event, or what else has ended the wait, which lasts until `until` at most.
    ///
    /// # Errors
    /// The system refuses, or there is no new socket in place of one whose session is lost.
    pub fn next(&mut self, until: Option<Instant>) -> Result<Wake, Error> {
        loop {
            if let Some(event) = self.take(|_| true) {
                return Ok(Wake::Event(event));
            }
            match self.step(until)? {
                None => {}
                // What it has brought comes first.
                Some(Wake::Ready | Wake::Late) if !self.runs.observer().events.is_empty() => {}
                Some(wake) => return Ok(wake),
            }
        }
    }

    /// Takes the first event that is wanted, of those that were not taken yet.
    pub(super) fn take(&mut self, is_wanted: impl FnMut(&Event) -> bool) -> Option<Event> {
        if self.lease().is_none() {
            // The machine may not know yet that time has passed.
            self.runs.observer().lose();
        }
        let events = &mut self.runs.observer().events;
        let place = events.iter().position(is_wanted)?;
        events.remove(place)
    }

    /// Waits once, until `until` at most. `None`: something happened, or nothing that a program is to know.
    pub(super) fn step(&mut self, until: Option<Instant>) -> Result<Option<Wake>, Error> {
        self.follow_names()?;
        let step = self.runs.step(until)?;
        if step.link_failed.is_some() {
            self.use_new_socket()?;
        }
        self.follow()?;
        let lease = self.runs.machine().lease();
        if lease > self.told {
            self.told = lease;
            return Ok(Some(Wake::Renewed));
        }
        if step.is_ready(WATCHED) {
            return Ok(Some(Wake::Ready));
        }
        let is_late = until.is_some_and(|until| until <= step.now.monotonic);
        Ok(is_late.then_some(Wake::Late))
    }

    /// Returns until when all that is held is safe, unless the lease is renewed, on `CLOCK_BOOTTIME`: work under a token ends before. `None`: there
    /// is no live session, and nothing is held.
    pub fn lease(&self) -> Option<Instant> {
        let now = clock::now().monotonic;
        self.runs.machine().lease().filter(|&end| now < end)
    }

    /// Returns a token that is held and not on its way back; `None`: it is not, or the lease is over.
    pub fn holding(&self, name: &[u8]) -> Option<Holding<'_>> {
        self.lease()?;
        self.runs.machine().holding(name)
    }

    /// Returns since when the session is live; `None`: it is not.
    pub fn live_since(&self) -> Option<Instant> {
        self.lease()?;
        self.runs.machine().live_since()
    }

    /// Returns the session's id, as servers show it; `None`: there is no live session.
    pub fn id(&self) -> Option<i32> {
        match self.standing() {
            Standing::Live { session } => Some(session),
            _ => None,
        }
    }

    /// Returns what the client is doing.
    pub fn standing(&self) -> Standing {
        self.runs.machine().standing()
    }

    /// Returns who leads and which servers are up, as the session knows it.
    pub fn configuration(&self) -> Option<&Configuration> {
        self.runs.machine().configuration()
    }

    /// Returns the list of servers.
    pub fn servers(&self) -> &Servers {
        &self.runs.machine().options().servers
    }

    /// Returns what is in the way of a session.
    pub fn obstacle(&mut self) -> Obstacle {
        let (trouble, other, short) = {
            let seen = self.runs.observer();
            (seen.trouble, seen.other_list, seen.short_timeout)
        };
        let signature = self.servers().signature();
        let answered = match self.standing() {
            Standing::Login { answered, .. } => answered,
            Standing::Proving { .. } | Standing::Live { .. } => return Obstacle::NotConfirmed,
            Standing::NoSocket | Standing::LoggingOut | Standing::Ended => 0,
        };
        if let Some((server, timeout)) = short {
            return Obstacle::ShortTimeout {
                server: self.servers().address(server),
                timeout,
            };
        }
        if answered > 0 || trouble == Some(Trouble::NoLeader) {
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
        Obstacle::NoAnswer { asked, signature }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.standing() != Standing::Ended {
            self.runs.command(Command::Logout);
        }
    }
}
