//! The server of the control socket. Clients can neither delay the loop nor use unlimited memory.
//!
//! The server's descriptors have a separate poller. For the loop, this poller is a single descriptor. If clients have
//! used up their share of the time, the loop stops waiting for the poller. Start with [`Server::serve`].

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
use crate::observe::events;
use ring_process::{Client, ClientId};

/// Maximum number of clients that the server accepts in one round.
const ACCEPTS_PER_ROUND: usize = 16;
/// Length of the server's pause if the system has no descriptor for a client. The server accepts clients again after
/// the pause.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Interval of the warnings about missing descriptors.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);
/// The listener's key. A client's key is its slot.
const LISTENER_KEY: u64 = u64::MAX;
/// The factor in a client's id. The id is the client's slot, plus this factor times the number of earlier clients.
const SLOTS_MAX: u64 = 1 << 16;

/// The control socket and its clients.
#[derive(Debug)]
pub struct Server {
    program: Program,
    endpoint: Endpoint,
    poller: Poller,
    clients: Vec<Option<(ClientId, Connection)>>,
    /// Maximum number of clients. The server sends an error to each further client, and closes that client's
    /// connection.
    clients_max: usize,
    /// End of the server's pause; `None` if the server accepts clients now.
    accepts_at: Option<Instant>,
    last_failure: RateLimit,
    /// Last logged reason why the socket cannot be made again.
    missing_socket: LastFailure,
    /// Number of all clients since the server's start.
    clients_total: u64,
    /// Disconnected clients that were not yet reported to the system.
    gone: Vec<ClientId>,
    /// Earliest deadline of all clients.
    expiry: Option<Instant>,
    budget: WorkBudget,
}

impl Server {
    /// Listens at `path` for at most `clients_max` clients. Replaces an existing socket if no process listens at it.
    ///
    /// # Errors
    /// Fails if the path cannot be used, or if a different process listens at the path.
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

    /// Returns the poller. The poller is readable when there is work. The loop must not do the work before the time
    /// that [`resume`](Self::resume) returns.
    #[must_use]
    pub const fn poller(&self) -> &Poller {
        &self.poller
    }

    /// Checks that clients can find the socket. If the socket was removed or replaced, makes it again. Connected
    /// clients stay connected.
    pub fn check_socket(&mut self) {
        if self.endpoint.is_in_place() {
            return;
        }
        let path = self.endpoint.path().display().to_string();
        match self.listen_again() {
            Ok(()) => {
                self.missing_socket.clear();
                warn!(
                    event = events::CONTROL_SOCKET_RECREATED,
                    "the control socket {path} was removed or replaced, and the daemon has made it again; find out \
                     which program removed it"
                );
            }
            Err(error) => {
                let text = format!(
                    "the control socket {path} was removed or replaced, and new clients cannot connect: {error}"
                );
                if self.missing_socket.record(&text) {
                    warn!(event = events::CONTROL_SOCKET_MISSING, "{text}");
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
        // The listener was added before. An explicit removal is necessary, because other copies of the descriptor may
        // be open.
        let _ = self.poller.remove(self.endpoint.listener());
        self.endpoint = endpoint;
        Ok(())
    }

    /// Returns the time at which the server may serve clients again; `None` if it may serve them at any time.
    pub fn resume(&self) -> Option<Instant> {
        self.budget.resume()
    }

    /// Returns the latest time for the next call of [`serve`](Self::serve).
    pub fn deadline(&self) -> Option<Instant> {
        let accepts_at = self.accepts_at.into_iter();
        self.budget
            .resume()
            .or_else(|| accepts_at.chain(self.expiry).min())
    }

    /// Does a limited step for each client that is ready. Does nothing if the clients have used up their share of the
    /// time. `ready` tells whether the poller is readable.
    ///
    /// `answer` gets a request with its descriptors, takes the descriptors that it keeps, and returns the reply.
    /// `answer` returns `None` if the reply follows later through [`send`](Self::send). All clients that ask for the
    /// status in one round get the same reply. This function measures the cost of the round with `clock`. `now` is an
    /// earlier reading of this clock.
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

    /// Sends a client an unsolicited message or a late reply. If the client disconnected, does nothing.
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

    /// Returns the next client that disconnected. Each client is returned only once.
    pub fn take_gone(&mut self) -> Option<ClientId> {
        self.gone.pop()
    }

    /// Returns a client's process and user, unless the client disconnected.
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

    /// Calls `act` for a client. After the call, registers the client with the poller, or closes the client's
    /// connection.
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
                // The client has already disconnected.
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

    /// Stops accepting for a while, because the system has no descriptor for a client. Without the pause, the listener
    /// would stay ready and the loop would spin.
    fn pause_accepting(&mut self, now: Instant, error: &io::Error) {
        self.set_listener_interest(Interest::Nothing);
        self.accepts_at = Some(now + ACCEPT_PAUSE);
        if self.last_failure.allow(now) {
            warn!(
                event = events::ACCEPT_FAILED,
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

/// Removes a client from the poller. The removal is necessary because the descriptor of the connection may stay open
/// for a while.
fn forget(poller: &Poller, client: &Connection) {
    // The client was added to the poller, so this cannot fail.
    let _ = poller.remove(client.stream());
}

fn slot(client: ClientId) -> usize {
    usize::try_from(client % SLOTS_MAX).unwrap_or(usize::MAX)
}

/// Refuses a client because there are too many clients. Sends the reply if this is possible without waiting.
fn refuse(program: Program, mut stream: &UnixStream, clients_max: usize) {
    let reply = Reply::Error(format!(
        "{program} already serves {clients_max} clients; try again later"
    ));
    // The connection is closed in any case.
    let _ = stream.write(&line(&reply));
}

fn line(reply: &Reply) -> Rc<[u8]> {
    // The reply has only strings, numbers and maps with string keys, so this cannot fail.
    to_line(reply).unwrap_or_default().into()
}
