//! The control socket: clients that can neither stall nor bloat the loop.
//!
//! All its descriptors are in a poller of its own, which the loop waits for as one; while the
//! clients have had their share of the time, it is taken out as a whole.

#[cfg(test)]
mod tests;

use std::io::{self, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use ring_control::{FramingError, OwnRequest, Reply, Request, to_line};
use ring_process::handed;
use ring_proto::time::Instant;
use ring_runtime::wait::{Interest, Poller, Ready};
use tracing::warn;

use super::complaints::Complaints;
use super::connection::{Connection, Next};
use super::endpoint::Endpoint;
use super::{Error, Program, WorkBudget};
use crate::observe::RateLimit;
use ring_process::{Client, ClientId};

/// The most clients that are accepted in one round.
const ACCEPTED: usize = 16;
/// How long nobody is accepted after the system had no descriptor for it.
const PAUSE: Duration = Duration::from_millis(100);
/// How often that is said.
const COMPLAINT: Duration = Duration::from_secs(60);
/// The listener's key; a client's is its place.
const LISTENER: u64 = u64::MAX;
/// A client's number is its place and, above that, how many came before it.
const PLACES: u64 = 1 << 16;

/// The control socket and its clients.
#[derive(Debug)]
pub struct Server {
    program: Program,
    endpoint: Endpoint,
    poller: Poller,
    clients: Vec<Option<(ClientId, Connection)>>,
    /// The most clients at a time; a further one is told so and closed.
    most: usize,
    /// When clients are accepted again; `None`: they are.
    accepts_at: Option<Instant>,
    complaints: RateLimit,
    /// What keeps the socket from being made again.
    misplaced: Complaints,
    /// How many clients have come.
    came: u64,
    /// Clients that are gone, and nobody was told yet.
    gone: Vec<ClientId>,
    /// The earliest deadline of all clients.
    expiry: Option<Instant>,
    budget: WorkBudget,
}

impl Server {
    /// Listens at `path` for `most` clients at a time; takes the place of a socket without a listener.
    ///
    /// # Errors
    /// The path cannot be used, or somebody else listens there.
    pub fn listen(program: Program, path: &Path, most: usize) -> Result<Self, Error> {
        let endpoint = Endpoint::bind(path)?;
        let poller = Poller::new().map_err(Error::system("make a poller"))?;
        poller
            .add(endpoint.listener(), LISTENER, Interest::Read)
            .map_err(Error::system("wait for clients"))?;
        Ok(Self {
            program,
            endpoint,
            poller,
            clients: Vec::new(),
            most,
            accepts_at: None,
            complaints: RateLimit::new(1, COMPLAINT),
            misplaced: Complaints::default(),
            came: 0,
            gone: Vec::new(),
            expiry: None,
            budget: WorkBudget::default(),
        })
    }

    /// Readable when there is something to do, unless [`resume`](Self::resume) says not yet.
    #[must_use]
    pub const fn poller(&self) -> &Poller {
        &self.poller
    }

    /// Looks whether clients still find the socket. If it was removed or replaced, listens anew; those that are
    /// connected stay so.
    pub fn look_after_socket(&mut self) {
        if self.endpoint.is_in_place() {
            return;
        }
        let path = self.endpoint.path().display().to_string();
        match self.listen_again() {
            Ok(()) => {
                self.misplaced.forget();
                warn!(
                    event = "control_socket_made_again",
                    "the control socket {path} was removed or replaced: it was made again; find out by what"
                );
            }
            Err(error) => {
                let text = format!(
                    "the control socket {path} was removed or replaced, and no new client is served: {error}"
                );
                if self.misplaced.is_new(&text) {
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
            .add(endpoint.listener(), LISTENER, interest)
            .map_err(Error::system("wait for clients"))?;
        // It was added, and closing it would take it out as well.
        let _ = self.poller.remove(self.endpoint.listener());
        self.endpoint = endpoint;
        Ok(())
    }

    /// When clients may have a share of the time again; `None`: at any time.
    pub fn resume(&self) -> Option<Instant> {
        self.budget.resume()
    }

    /// When [`serve`](Self::serve) is to be called at the latest.
    pub fn deadline(&self) -> Option<Instant> {
        let accepts_at = self.accepts_at.into_iter();
        self.budget
            .resume()
            .or_else(|| accepts_at.chain(self.expiry).min())
    }

    /// Serves every client that is ready, a bounded step each, if the poller is `ready` and the
    /// share of time is not used up. `answer` gives the reply to a client's request and the descriptors
    /// that came with it, from which it takes what it keeps, unless that comes later, through
    /// [`tell`](Self::tell). All who ask for the
    /// status in one round share it.
    /// What the round costs is read off `clock`, of which `now` is an earlier reading.
    pub fn serve<O: OwnRequest>(
        &mut self,
        now: Instant,
        ready: bool,
        clock: impl Fn() -> Instant,
        mut answer: impl FnMut(Client, Request<O>, &mut Vec<OwnedFd>) -> Option<Reply>,
    ) {
        let is_over = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        let (expired, accepts) = (is_over(self.expiry), is_over(self.accepts_at));
        if !self.budget.is_due(now) || !(ready || expired || accepts) {
            return;
        }
        if accepts {
            self.accepts_at = None;
            self.wait_for_clients(Interest::Read);
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
        // Cannot fail once it has worked, and if it did, nothing would be ready.
        if self.poller.wait(Some(Duration::ZERO)).is_ok() {
            let ready: Vec<Ready> = self.poller.ready().collect();
            for Ready { key, hangup, .. } in ready {
                match usize::try_from(key).ok().filter(|_| key != LISTENER) {
                    Some(place) => self.step(place, |client, id| {
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

    /// Tells a client something unasked, or the answer that comes late. Nothing if it is gone.
    pub fn tell(&mut self, now: Instant, client: ClientId, reply: &Reply) {
        self.with(client, |client| {
            if matches!(reply, Reply::Granted(_)) {
                client.accept_descriptors();
            }
            client.tell(now, line(reply))
        });
    }

    /// Whether a client may be silent for as long as it likes.
    pub fn set_lasting(&mut self, now: Instant, client: ClientId, lasting: bool) {
        if let Some(client) = self.client_mut(client) {
            client.set_lasting(lasting, now);
        }
        self.find_expiry();
    }

    /// A client that has gone since it was last asked.
    pub fn take_gone(&mut self) -> Option<ClientId> {
        self.gone.pop()
    }

    /// Who a client is, unless it is gone.
    pub fn client(&self, client: ClientId) -> Option<Client> {
        let (id, found) = self.clients.get(place(client))?.as_ref()?;
        (*id == client).then(|| found.client(client))
    }

    fn client_mut(&mut self, client: ClientId) -> Option<&mut Connection> {
        let (id, found) = self.clients.get_mut(place(client))?.as_mut()?;
        (*id == client).then_some(found)
    }

    fn with(&mut self, client: ClientId, act: impl FnOnce(&mut Connection) -> Next) {
        if self.client_mut(client).is_some() {
            self.step(place(client), |client, _| act(client));
            self.find_expiry();
        }
    }

    /// Lets a client do something, and waits for it or lets it go.
    fn step(&mut self, place: usize, act: impl FnOnce(&mut Connection, ClientId) -> Next) {
        let Some(Some((id, client))) = self.clients.get_mut(place) else {
            return;
        };
        let kept = match act(client, *id) {
            Next::Wait(interest) => {
                let key = place as u64;
                self.poller.modify(client.stream(), key, interest).is_ok()
            }
            Next::Close => false,
        };
        if !kept {
            self.gone.push(*id);
            forget(&self.poller, client);
            self.clients[place] = None;
        }
    }

    /// Accepts what has come, a bounded number.
    fn accept(&mut self, now: Instant) {
        for _ in 0..ACCEPTED {
            if handed::is_full() {
                let why = "too much of others is slow to close";
                return self.accept_later(now, &io::Error::other(why));
            }
            let stream = match self.endpoint.listener().accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // The client is gone again.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return self.accept_later(now, &error),
            };
            let free = self.clients.iter().position(Option::is_none);
            let place = free.unwrap_or(self.clients.len());
            let Ok(client) = Connection::new(stream, now) else {
                continue;
            };
            if place >= self.most {
                refuse(self.program, client.stream(), self.most);
                continue;
            }
            let waited_for = self
                .poller
                .add(client.stream(), place as u64, Interest::Read);
            if waited_for.is_err() {
                continue;
            }
            self.came += 1;
            let entry = Some((self.came * PLACES + place as u64, client));
            match free {
                Some(place) => self.clients[place] = entry,
                None => self.clients.push(entry),
            }
        }
    }

    /// The system has no descriptor for a client. The listener would be ready for as long as that lasts.
    fn accept_later(&mut self, now: Instant, error: &io::Error) {
        self.wait_for_clients(Interest::Nothing);
        self.accepts_at = Some(now + PAUSE);
        if self.complaints.allow(now) {
            warn!(
                event = "accept_failed",
                "clients of the control socket have to wait: {error}; they are tried again every {PAUSE:?}"
            );
        }
    }

    fn wait_for_clients(&self, interest: Interest) {
        let listener = self.endpoint.listener();
        // It was added once, which is all that this needs.
        let _ = self.poller.modify(listener, LISTENER, interest);
    }

    fn expire(&mut self, now: Instant) {
        let over = |client: &Connection| client.deadline().is_some_and(|at| at <= now);
        for place in &mut self.clients {
            if let Some((id, client)) = place.take_if(|(_, client)| over(client)) {
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

/// Waits for a client no longer: its connection may be closed a little later.
fn forget(poller: &Poller, client: &Connection) {
    // It was added.
    let _ = poller.remove(client.stream());
}

fn place(client: ClientId) -> usize {
    usize::try_from(client % PLACES).unwrap_or(usize::MAX)
}

/// Tells a client that there is no room, if it takes that without being waited for.
fn refuse(program: Program, mut stream: &UnixStream, most: usize) {
    let reply = Reply::Error(format!(
        "{program} serves {most} clients already: try again later"
    ));
    // It is closed in any case.
    let _ = stream.write(&line(&reply));
}

fn line(reply: &Reply) -> Rc<[u8]> {
    // Strings, numbers and maps with string keys: nothing that JSON lacks.
    to_line(reply).unwrap_or_default().into()
}
