//! The control socket. Its clients can neither delay the loop nor use unbounded memory.
//!
//! Its descriptors have their own poller, which the loop waits for as one descriptor. When clients have used their
//! share of the time, the loop stops waiting for that poller. Start with [`Server::serve`].

#[cfg(test)]
mod tests;

use std::io::{self, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use ring_control::{FramingError, Reply, Request, SystemRequest, to_line};
use ring_process::passed_descriptors;
use ring_proto::time::Instant;
use ring_runtime::wait::{Interest, Poller, ReadyDescriptor};
use tracing::warn;

use super::connection::{Connection, NextAction};
use super::endpoint::Endpoint;
use super::last_failure::LastFailure;
use super::{Error, Program, WorkBudget};
use crate::observe::RateLimit;
use ring_process::{Client, ClientId};

/// Maximum clients accepted in one round.
const ACCEPTS_PER_ROUND: usize = 16;
/// How long no client is accepted after the system had no descriptor for one.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Interval of the warnings about that.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);
/// The listener's key. A client's key is its slot.
const LISTENER_KEY: u64 = u64::MAX;
/// A client's id is its slot, plus this factor times the number of clients before it.
const SLOTS_MAX: u64 = 1 << 16;

/// The control socket and its clients.
#[derive(Debug)]
pub struct Server {
    program: Program,
    endpoint: Endpoint,
    poller: Poller,
    clients: Vec<Option<(ClientId, Connection)>>,
    /// Maximum number of clients. A further one gets an error and is closed.
    clients_max: usize,
    /// When clients are accepted again; `None`: they are accepted.
    accepts_at: Option<Instant>,
    last_failure: RateLimit,
    /// The reason why the socket cannot be made again, as logged last.
    missing_socket: LastFailure,
    /// Number of all clients since the start.
    clients_total: u64,
    /// Disconnected clients that the system does not know of yet.
    gone: Vec<ClientId>,
    /// The earliest deadline of all clients.
    expiry: Option<Instant>,
    budget: WorkBudget,
}

impl Server {
    /// Listens at `path` for at most `clients_max` clients. Replaces a socket that nobody listens at.
    ///
    /// # Errors
    /// The path cannot be used, or another process listens there.
    pub fn listen(program: Program, path: &Path, clients_max: usize) -> Result<Self, Error> {
        let endpoint = Endpoint::bind(path)?;
        let poller = Poller::new().map_err(Error::system("make a poller"))?;
        poller
            .add(endpoint.listener(), LISTENER_KEY, Interest::Read)
            .map_err(Error::system("wait for clients"))?;
        Ok(Self {
            program,
            endpoint,
            poller,
            clients: Vec::new(),
            clients_max,
            accepts_at: None,
            last_failure: RateLimit::new(1, WARNING_INTERVAL),
            missing_socket: LastFailure::default(),
            clients_total: 0,
            gone: Vec::new(),
            expiry: None,
            budget: WorkBudget::default(),
        })
    }

    /// Returns the poller. It is readable when there is work, which must wait until [`resume`](Self::resume).
    #[must_use]
    pub const fn poller(&self) -> &Poller {
        &self.poller
    }

    /// Checks that clients can find the socket. If it was removed or replaced, makes it again. Connected clients stay
    /// connected.
    pub fn check_socket(&mut self) {
        if self.endpoint.is_in_place() {
            return;
        }
        let path = self.endpoint.path().display().to_string();
        match self.listen_again() {
            Ok(()) => {
                self.missing_socket.clear();
                warn!(
                    event = "control_socket_recreated",
                    "the control socket {path} was removed or replaced, and was made again; find out which program \
                     did it"
                );
            }
            Err(error) => {
                let text = format!(
                    "the control socket {path} was removed or replaced, and new clients cannot connect: {error}"
                );
                if self.missing_socket.record(&text) {
                    warn!(event = "control_socket_missing", "{text}");
                }
            }
        }
    }

    fn listen_again(&mut self) -> Result<(), Error> {
        let endpoint = Endpoint::bind(self.endpoint.path())?;
        let interest = if self.accepts_at.is_some() {
            Interest::Nothing
        } else {
            Interest::Read
        };
        self.poller
            .add(endpoint.listener(), LISTENER_KEY, interest)
            .map_err(Error::system("wait for clients"))?;
        // It was added before. Removing it explicitly is needed while other copies of it may be open.
        let _ = self.poller.remove(self.endpoint.listener());
        self.endpoint = endpoint;
        Ok(())
    }

    /// Returns when clients may be served again; `None`: at any time.
    pub fn resume(&self) -> Option<Instant> {
        self.budget.resume()
    }

    /// Returns when to call [`serve`](Self::serve) at the latest.
    pub fn deadline(&self) -> Option<Instant> {
        let accepts_at = self.accepts_at.into_iter();
        self.budget
            .resume()
            .or_else(|| accepts_at.chain(self.expiry).min())
    }

    /// Does a bounded step for each client that is ready, if the poller is `ready` and the share of time is not used
    /// up.
    ///
    /// `answer` gets a request and its descriptors, takes the descriptors that it keeps, and returns the reply. It
    /// returns `None` if the reply comes later, through [`send`](Self::send). All clients that ask for the status in
    /// one round get the same reply. The cost of the round is measured with `clock`, of which `now` is an earlier
    /// reading.
    pub fn serve<O: SystemRequest>(
        &mut self,
        now: Instant,
        ready: bool,
        clock: impl Fn() -> Instant,
        mut answer: impl FnMut(Client, Request<O>, &mut Vec<OwnedFd>) -> Option<Reply>,
    ) {
        let is_over = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        let (expired, accepts) = (is_over(self.expiry), is_over(self.accepts_at));
        if !self.budget.end_pause(now) || !(ready || expired || accepts) {
            return;
        }
        if accepts {
            self.accepts_at = None;
            self.set_listener_interest(Interest::Read);
        }
        let start = clock();
        let mut status: Option<Rc<[u8]>> = None;
        let mut reply = |peer,
                         request: Result<Request<O>, FramingError>,
                         descriptors: &mut Vec<OwnedFd>| match request {
            Ok(request @ Request::Status) => {
                if status.is_none() {
                    status = answer(peer, request, descriptors).map(|reply| line(&reply));
                }
                status.clone()
            }
            Ok(request) => answer(peer, request, descriptors).map(|reply| line(&reply)),
            Err(error) => Some(line(&Reply::Error(error.to_string()))),
        };
        // The wait does not fail on a healthy system. If it fails, no client is ready.
        if self.poller.wait(Some(Duration::ZERO)).is_ok() {
            let ready: Vec<ReadyDescriptor> = self.poller.ready().collect();
            for ReadyDescriptor { key, hangup, .. } in ready {
                match usize::try_from(key).ok().filter(|_| key != LISTENER_KEY) {
                    Some(slot) => self.serve_slot(slot, |client, id| {
                        let peer = client.client(id);
                        client.serve(now, hangup, |request, descriptors| {
                            reply(peer, request, descriptors)
                        })
                    }),
                    None => self.accept(now),
                }
            }
        }
        self.expire(now);
        self.budget.charge(start, clock());
    }

    /// Sends a client an unsolicited message or a late reply. Does nothing if it has disconnected.
    pub fn send(&mut self, now: Instant, client: ClientId, reply: &Reply) {
        self.serve_client(client, |client| {
            if matches!(reply, Reply::Granted(_)) {
                client.accept_descriptors();
            }
            client.send(now, line(reply))
        });
    }

    /// Sets whether a client may be silent for any time.
    pub fn set_lasting(&mut self, now: Instant, client: ClientId, lasting: bool) {
        if let Some(client) = self.client_mut(client) {
            client.set_lasting(lasting, now);
        }
        self.find_expiry();
    }

    /// Returns a client that has disconnected, each once.
    pub fn take_gone(&mut self) -> Option<ClientId> {
        self.gone.pop()
    }

    /// Returns a client's process and user, unless it has disconnected.
    pub fn client(&self, client: ClientId) -> Option<Client> {
        let (id, found) = self.clients.get(slot(client))?.as_ref()?;
        (*id == client).then(|| found.client(client))
    }

    fn client_mut(&mut self, client: ClientId) -> Option<&mut Connection> {
        let (id, found) = self.clients.get_mut(slot(client))?.as_mut()?;
        (*id == client).then_some(found)
    }

    fn serve_client(&mut self, client: ClientId, act: impl FnOnce(&mut Connection) -> NextAction) {
        if self.client_mut(client).is_some() {
            self.serve_slot(slot(client), |client, _| act(client));
            self.find_expiry();
        }
    }

    /// Calls `act` for a client, and then waits for the client or closes its connection.
    fn serve_slot(
        &mut self,
        slot: usize,
        act: impl FnOnce(&mut Connection, ClientId) -> NextAction,
    ) {
        let Some(Some((id, client))) = self.clients.get_mut(slot) else {
            return;
        };
        let kept = match act(client, *id) {
            NextAction::Wait(interest) => {
                let key = slot as u64;
                self.poller.modify(client.stream(), key, interest).is_ok()
            }
            NextAction::Close => false,
        };
        if !kept {
            self.gone.push(*id);
            forget(&self.poller, client);
            self.clients[slot] = None;
        }
    }

    /// Accepts waiting clients, up to a maximum.
    fn accept(&mut self, now: Instant) {
        for _ in 0..ACCEPTS_PER_ROUND {
            if passed_descriptors::is_full() {
                let why = "too many descriptors are still being closed";
                return self.pause_accepting(now, &io::Error::other(why));
            }
            let stream = match self.endpoint.listener().accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // The client has disconnected already.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return self.pause_accepting(now, &error),
            };
            let free = self.clients.iter().position(Option::is_none);
            let slot = free.unwrap_or(self.clients.len());
            let Ok(client) = Connection::new(stream, now) else {
                continue;
            };
            if slot >= self.clients_max {
                refuse(self.program, client.stream(), self.clients_max);
                continue;
            }
            let waited_for = self
                .poller
                .add(client.stream(), slot as u64, Interest::Read);
            if waited_for.is_err() {
                continue;
            }
            self.clients_total += 1;
            let entry = Some((self.clients_total * SLOTS_MAX + slot as u64, client));
            match free {
                Some(slot) => self.clients[slot] = entry,
                None => self.clients.push(entry),
            }
        }
    }

    /// Stops accepting for a while: the system has no descriptor for a client, and the listener would stay ready.
    fn pause_accepting(&mut self, now: Instant, error: &io::Error) {
        self.set_listener_interest(Interest::Nothing);
        self.accepts_at = Some(now + ACCEPT_PAUSE);
        if self.last_failure.allow(now) {
            warn!(
                event = "accept_failed",
                "clients of the control socket have to wait: {error}; the daemon retries every {ACCEPT_PAUSE:?}"
            );
        }
    }

    fn set_listener_interest(&self, interest: Interest) {
        let listener = self.endpoint.listener();
        // The listener was added to the poller, so this cannot fail.
        let _ = self.poller.modify(listener, LISTENER_KEY, interest);
    }

    fn expire(&mut self, now: Instant) {
        let over = |client: &Connection| client.deadline().is_some_and(|at| at <= now);
        for slot in &mut self.clients {
            if let Some((id, client)) = slot.take_if(|(_, client)| over(client)) {
                self.gone.push(id);
                forget(&self.poller, &client);
            }
        }
        self.find_expiry();
    }

    fn find_expiry(&mut self) {
        let clients = self.clients.iter().flatten();
        self.expiry = clients.filter_map(|(_, client)| client.deadline()).min();
    }
}

/// Stops waiting for a client: its connection may be closed later.
fn forget(poller: &Poller, client: &Connection) {
    // The client was added to the poller, so this cannot fail.
    let _ = poller.remove(client.stream());
}

fn slot(client: ClientId) -> usize {
    usize::try_from(client % SLOTS_MAX).unwrap_or(usize::MAX)
}

/// Refuses a client because there are too many, if the reply can be written without waiting.
fn refuse(program: Program, mut stream: &UnixStream, clients_max: usize) {
    let reply = Reply::Error(format!(
        "{program} already serves {clients_max} clients; try again later"
    ));
    // The connection is closed in any case.
    let _ = stream.write(&line(&reply));
}

fn line(reply: &Reply) -> Rc<[u8]> {
    // Only strings, numbers and maps with string keys, so this cannot fail.
    to_line(reply).unwrap_or_default().into()
}
