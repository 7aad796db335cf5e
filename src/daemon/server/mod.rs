//! The control socket: a few clients that can neither stall nor bloat the loop.
//!
//! All its descriptors are in a poller of its own, which the loop waits for as one; while the
//! clients have had their share of the time, it is taken out as a whole.

#[cfg(test)]
mod tests;

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use super::Error;
use super::client::{Client, Next};
use super::endpoint::Endpoint;
use super::share::Share;
use crate::control::{FramingError, Reply, Request, to_line};
use crate::proto::time::Instant;
use crate::sys::{Interest, Poller, clock};

/// The most clients at a time; a further one is told so and closed.
const MAX_CLIENTS: usize = 16;
/// The listener's key; a client's is its place.
const LISTENER: u64 = u64::MAX;

/// The control socket and its clients.
#[derive(Debug)]
pub struct Server {
    endpoint: Endpoint,
    poller: Poller,
    clients: [Option<Client>; MAX_CLIENTS],
    /// The earliest deadline of all clients.
    expiry: Option<Instant>,
    share: Share,
}

impl Server {
    /// Listens at `path`; takes the place of a socket that nobody listens at any more.
    ///
    /// # Errors
    /// The path cannot be used, or somebody else listens there.
    pub fn listen(path: &Path) -> Result<Self, Error> {
        let endpoint = Endpoint::bind(path)?;
        let poller = Poller::new().map_err(Error::system("make a poller"))?;
        poller
            .add(endpoint.listener(), LISTENER, Interest::Read)
            .map_err(Error::system("wait for clients"))?;
        Ok(Self {
            endpoint,
            poller,
            clients: Default::default(),
            expiry: None,
            share: Share::default(),
        })
    }

    /// Readable when there is something to do, unless [`resume`](Self::resume) says not yet.
    pub const fn poller(&self) -> &Poller {
        &self.poller
    }

    /// When clients may have a share of the time again; `None`: at any time.
    pub const fn resume(&self) -> Option<Instant> {
        self.share.resume()
    }

    /// When [`serve`](Self::serve) is to be called at the latest.
    pub fn deadline(&self) -> Option<Instant> {
        self.share.resume().or(self.expiry)
    }

    /// Serves every client that is ready, a bounded step each, if the poller is `ready` and the
    /// share of time is not used up. `answer` is asked once a round at most: all who ask for the
    /// same in one round share the reply.
    pub fn serve(&mut self, now: Instant, ready: bool, mut answer: impl FnMut(Request) -> Reply) {
        let expired = self.expiry.is_some_and(|expiry| expiry <= now);
        if !self.share.is_due(now) || !(ready || expired) {
            return;
        }
        let start = clock::now().monotonic;
        let mut status: Option<Rc<[u8]>> = None;
        let mut reply = |request: Result<Request, FramingError>| match request {
            Ok(request @ Request::Status) => {
                status.get_or_insert_with(|| line(&answer(request))).clone()
            }
            Ok(request) => line(&answer(request)),
            Err(error) => line(&Reply::Error(error.to_string())),
        };
        // Cannot fail once it has worked, and if it did, nothing would be ready.
        if self.poller.wait(Some(Duration::ZERO)).is_ok() {
            for ready in self.poller.ready() {
                match usize::try_from(ready.key)
                    .ok()
                    .filter(|&at| at < MAX_CLIENTS)
                {
                    Some(at) => serve(&self.poller, &mut self.clients[at], at, now, &mut reply),
                    None => accept(&self.endpoint, &self.poller, &mut self.clients, now),
                }
            }
        }
        self.expire(now);
        self.share.charge(start, clock::now().monotonic);
    }

    fn expire(&mut self, now: Instant) {
        for place in &mut self.clients {
            if place
                .as_ref()
                .is_some_and(|client| client.deadline() <= now)
            {
                *place = None;
            }
        }
        self.expiry = self.clients.iter().flatten().map(Client::deadline).min();
    }
}

fn serve(
    poller: &Poller,
    place: &mut Option<Client>,
    at: usize,
    now: Instant,
    reply: &mut impl FnMut(Result<Request, FramingError>) -> Rc<[u8]>,
) {
    let Some(client) = place else {
        return;
    };
    let kept = match client.serve(now, reply) {
        Next::Wait(interest) => poller.modify(client.stream(), at as u64, interest).is_ok(),
        Next::Close => false,
    };
    if !kept {
        *place = None;
    }
}

/// Accepts what has come, a bounded number.
fn accept(endpoint: &Endpoint, poller: &Poller, clients: &mut [Option<Client>], now: Instant) {
    for _ in 0..MAX_CLIENTS {
        // Any error: the client is gone again, or the process has no descriptor left for it. The
        // listener stays ready if there are more, and a share of the time is all that it gets.
        let Ok((stream, _)) = endpoint.listener().accept() else {
            return;
        };
        let Some(at) = clients.iter().position(Option::is_none) else {
            refuse(&stream);
            continue;
        };
        let client = Client::new(stream, now).and_then(|client| {
            poller.add(client.stream(), at as u64, Interest::Read)?;
            Ok(client)
        });
        clients[at] = client.ok();
    }
}

/// Tells a client that there is no room, if it takes that without being waited for.
fn refuse(mut stream: &UnixStream) {
    let reply = Reply::Error(format!("{MAX_CLIENTS} clients are being served: try again"));
    if stream.set_nonblocking(true).is_ok() {
        // It is closed in any case.
        let _ = stream.write(&line(&reply));
    }
}

fn line(reply: &Reply) -> Rc<[u8]> {
    // Strings, numbers and maps with string keys: nothing that JSON lacks.
    to_line(reply).unwrap_or_default().into()
}
