//! The server of the control socket and of the monitor socket. Clients cannot delay the loop for long, and cannot use
//! unlimited memory.
//!
//! Clients of the monitor socket may only read. The permissions of the socket files decide which users may connect to
//! which socket. Each socket has its own limit of clients, so monitors cannot keep out programs that use locks.
//!
//! The server has a separate poller for its descriptors. The loop waits for this poller as for a single descriptor. If
//! clients have used up their share of the time, the loop does not wait for the poller for a while. Start with
//! [`Server::serve`].

mod socket;
#[cfg(test)]
mod tests;

use std::io::{self, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use ring_control::{
    FramingError, Reply, Request, Right, SystemRequest, monitor_socket_path, to_line,
};
use ring_process::passed_descriptors;
use ring_proto::time::Instant;
use ring_runtime::wait::{Poller, ReadyDescriptor};
use tracing::warn;

use super::connection::{Connection, NextAction, client_kind};
use super::{Error, Program, WorkBudget};
use crate::observe::RateLimit;
use crate::observe::events;
use ring_process::{Client, ClientId};
use socket::Socket;

/// Maximum number of clients that the server accepts in one round.
const ACCEPTS_PER_ROUND: usize = 16;
/// If no descriptor is available for a new client, the server accepts no clients for this time.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Interval of the warnings about missing descriptors.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);
/// The keys of the listeners. A client's key is its slot.
const CONTROL_KEY: u64 = u64::MAX;
const MONITOR_KEY: u64 = u64::MAX - 1;
/// The id of a client is its slot, plus this number times the number of earlier clients.
const SLOTS_MAX: u64 = 1 << 16;

/// Maximum numbers of clients. The server sends an error to each further client, and closes that client's connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientLimits {
    /// Maximum number of clients of the control socket.
    pub control: usize,
    /// Maximum number of clients of the monitor socket.
    pub monitor: usize,
}

/// The control socket, the monitor socket, and their clients.
#[derive(Debug)]
pub struct Server {
    program: Program,
    sockets: [Socket; 2],
    /// Answer to a request that clients of the monitor socket may not send.
    no_right: Rc<[u8]>,
    poller: Poller,
    clients: Vec<Option<(ClientId, Connection)>>,
    last_failure: RateLimit,
    /// Number of all clients since the server's start.
    clients_total: u64,
    /// Disconnected clients that were not yet reported to the system.
    gone: Vec<ClientId>,
    /// A lower bound for the deadlines of all clients. Most requests move a deadline to a later time. So the server
    /// looks for the earliest deadline only when this time has come.
    expiry: Option<Instant>,
    budget: WorkBudget,
}

impl Server {
    /// Listens at the control socket `path` and at its monitor socket. Replaces an existing socket if no process
    /// listens at it.
    ///
    /// # Errors
    /// Fails if a path cannot be used, or if a different process listens at a path.
    pub(crate) fn listen(
        program: Program,
        path: &Path,
        limits: ClientLimits,
    ) -> Result<Self, Error> {
        let sockets = [
            Socket::control(path, CONTROL_KEY, limits.control)?,
            Socket::monitor(&monitor_socket_path(path), MONITOR_KEY, limits.monitor)?,
        ];
        let poller = Poller::new().map_err(Error::system("make a poller"))?;
        for socket in &sockets {
            socket.add_to(&poller)?;
        }
        Ok(Self {
            program,
            sockets,
            no_right: line(&Reply::Error(format!(
                "this socket only answers questions; use {}, which is for its owner and the members of its group",
                path.display()
            ))),
            poller,
            clients: Vec::new(),
            last_failure: RateLimit::new(1, WARNING_INTERVAL),
            clients_total: 0,
            gone: Vec::new(),
            expiry: None,
            budget: WorkBudget::default(),
        })
    }

    /// Returns the poller. The poller is readable when clients have work for the server. The loop must not wait for the
    /// poller before the time that [`resume`](Self::resume) returns.
    #[must_use]
    pub const fn poller(&self) -> &Poller {
        &self.poller
    }

    /// Checks that clients can find the sockets. If the file of a socket was removed or replaced, makes the socket
    /// again. Connected clients stay connected.
    pub fn check_sockets(&mut self) {
        for socket in &mut self.sockets {
            socket.check(&self.poller);
        }
    }

    /// Returns the time at which the server may serve clients again. Returns `None` if it may serve them now.
    pub fn resume(&self) -> Option<Instant> {
        self.budget.resume()
    }

    /// Returns the latest time for the next call of [`serve`](Self::serve).
    pub fn deadline(&self) -> Option<Instant> {
        let accepts_at = self.sockets.iter().filter_map(Socket::accepts_at);
        self.budget
            .resume()
            .or_else(|| accepts_at.chain(self.expiry).min())
    }

    /// Does a limited amount of work for each client that is ready. Does nothing if the clients have used up their
    /// share of the time. `ready` states whether the poller is readable.
    ///
    /// `answer` gets a request with its descriptors. It takes the descriptors that it wants to keep, and returns the
    /// reply. It returns `None` if the reply follows later through [`send`](Self::send). All clients that ask for the
    /// status in one round get the same reply. `now` is a recent time of `clock`. With this clock, the function
    /// measures the duration of the round.
    pub fn serve<O: SystemRequest>(
        &mut self,
        now: Instant,
        ready: bool,
        clock: impl Fn() -> Instant,
        mut answer: impl FnMut(Client, Request<O>, &mut Vec<OwnedFd>) -> Option<Reply>,
    ) {
        let is_over = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        let expired = is_over(self.expiry);
        let accepts = self.sockets.iter().any(|it| is_over(it.accepts_at()));
        if !self.budget.end_pause(now) || !(ready || expired || accepts) {
            return;
        }
        for socket in &mut self.sockets {
            socket.resume(&self.poller, now);
        }
        let start = clock();
        let no_right = Rc::clone(&self.no_right);
        let mut status: Option<Rc<[u8]>> = None;
        let mut reply = |peer,
                         right: Right,
                         request: Result<Request<O>, FramingError>,
                         descriptors: &mut Vec<OwnedFd>| match request {
            Ok(request) if request.right() > right => Some(Rc::clone(&no_right)),
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
                match self.sockets.iter().position(|socket| socket.key() == key) {
                    Some(socket) => self.accept(socket, now),
                    None => self.serve_slot(slot(key), |client, id| {
                        let (peer, right) = (client.client(id), client.right());
                        client.serve(now, hangup, |request, descriptors| {
                            reply(peer, right, request, descriptors)
                        })
                    }),
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

    /// Sends several clients the same late reply. The reply may be long, so the clients share its encoded line.
    pub fn send_to_all(&mut self, now: Instant, clients: &[ClientId], reply: &Reply) {
        let line = line(reply);
        for &client in clients {
            self.serve_client(client, |client| client.send(now, Rc::clone(&line)));
        }
    }

    /// Sets whether a client may be silent without a time limit.
    pub fn set_lasting(&mut self, now: Instant, client: ClientId, lasting: bool) {
        if let Some(client) = self.client_mut(client) {
            client.set_lasting(lasting, now);
            let deadline = client.deadline();
            self.note_deadline(deadline);
        }
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
        }
    }

    /// Calls `act` for the client in a slot. Then makes the poller wait for the client's next event, or closes the
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
            NextAction::Wait(event) => client.await_event(&self.poller, slot as u64, event).is_ok(),
            NextAction::Close => false,
        };
        if kept {
            let deadline = client.deadline();
            self.note_deadline(deadline);
        } else {
            self.gone.push(*id);
            forget(&self.poller, client);
            self.clients[slot] = None;
        }
    }

    fn note_deadline(&mut self, deadline: Option<Instant>) {
        self.expiry = self.expiry.into_iter().chain(deadline).min();
    }

    /// Accepts waiting clients of a socket, up to a maximum.
    fn accept(&mut self, at: usize, now: Instant) {
        for _ in 0..ACCEPTS_PER_ROUND {
            let socket = &self.sockets[at];
            if passed_descriptors::is_full(client_kind(socket.right())) {
                let why = "too many descriptors are still being closed";
                return self.pause_accepting(at, now, &io::Error::other(why));
            }
            let stream = match socket.endpoint().listener().accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // The client has already disconnected.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return self.pause_accepting(at, now, &error),
            };
            let free = self.clients.iter().position(Option::is_none);
            let slot = free.unwrap_or(self.clients.len());
            let Ok(client) = Connection::new(stream, socket.right(), now) else {
                continue;
            };
            let clients = self.clients.iter().flatten();
            let same = clients.filter(|(_, it)| it.right() == socket.right());
            if same.count() >= socket.clients_max() {
                refuse(self.program, client.stream(), socket.clients_max());
                continue;
            }
            if client.add_to(&self.poller, slot as u64).is_err() {
                continue;
            }
            self.clients_total += 1;
            self.note_deadline(client.deadline());
            let entry = Some((self.clients_total * SLOTS_MAX + slot as u64, client));
            match free {
                Some(slot) => self.clients[slot] = entry,
                None => self.clients.push(entry),
            }
        }
    }

    /// Stops accepting clients of a socket for a while, because there is no descriptor for a client.
    fn pause_accepting(&mut self, socket: usize, now: Instant, error: &io::Error) {
        self.sockets[socket].pause(&self.poller, now + ACCEPT_PAUSE);
        if self.last_failure.allow(now) {
            warn!(
                event = events::ACCEPT_FAILED,
                "clients have to wait: {error}; the daemon retries every {ACCEPT_PAUSE:?}"
            );
        }
    }

    fn expire(&mut self, now: Instant) {
        if self.expiry.is_none_or(|at| at > now) {
            return;
        }
        let over = |client: &Connection| client.deadline().is_some_and(|at| at <= now);
        for slot in &mut self.clients {
            if let Some((id, client)) = slot.take_if(|(_, client)| over(client)) {
                self.gone.push(id);
                forget(&self.poller, &client);
            }
        }
        let clients = self.clients.iter().flatten();
        self.expiry = clients.filter_map(|(_, client)| client.deadline()).min();
    }
}

/// Removes a client from the poller. Closing the connection is not enough, because its descriptor may stay open for a
/// while.
fn forget(poller: &Poller, client: &Connection) {
    // The client was added to the poller, so this cannot fail.
    let _ = poller.remove(client.stream());
}

fn slot(client: ClientId) -> usize {
    usize::try_from(client % SLOTS_MAX).unwrap_or(usize::MAX)
}

/// Refuses a client because its socket has too many clients. Sends the reply if this is possible without waiting.
fn refuse(program: Program, mut stream: &UnixStream, clients_max: usize) {
    let reply = Reply::Error(format!(
        "{program} already serves {clients_max} clients; try again later"
    ));
    // An error does not matter, because the connection is closed in any case.
    let _ = stream.write(&line(&reply));
}

fn line(reply: &Reply) -> Rc<[u8]> {
    // The reply has only strings, numbers and maps with string keys, so this cannot fail.
    to_line(reply).unwrap_or_default().into()
}
