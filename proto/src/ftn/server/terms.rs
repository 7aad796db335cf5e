//! Options that others rely on: servers announce them, and heed those that differ (`docs/ftn.md`, section 1).

use std::time::Duration;

use ring_codec::ftn::{Pace, Terms};

use super::{Event, Options, Server, majority};
use crate::ftn::MIN_CLIENT_TIMEOUT;

/// A server lengthens its own timeouts to those of another one up to this factor: one wrong option is not to stop all.
const LONGER: u32 = 4;

/// An option that must be equal on all servers, and is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    /// The option.
    pub option: &'static str,
    /// The value of this server.
    pub own: Setting,
    /// The value of the other server.
    pub theirs: Setting,
}

/// The value of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// A time.
    Time(Duration),
    /// A number.
    Count(usize),
}

/// The options of each of the others that differ from those of this server, by index, as they were announced last.
#[derive(Debug, Clone, Hash)]
pub(super) struct Announced(Vec<Option<Announcement>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Announcement {
    heartbeat: Duration,
    server_timeout: Duration,
    client_timeout: Duration,
    grace: Duration,
    quorum: usize,
}

impl Announcement {
    /// `None`: it is not whole, or a value of it cannot be.
    fn of(terms: Terms) -> Option<Self> {
        let time = |micros: i64| u64::try_from(micros).ok().map(Duration::from_micros);
        let pace = terms.pace?;
        Some(Self {
            heartbeat: time(pace.heartbeat)?,
            server_timeout: time(pace.server_timeout)?,
            client_timeout: time(terms.client_timeout)?,
            grace: time(pace.grace)?,
            quorum: usize::try_from(terms.quorum).ok()?,
        })
    }

    fn differences(&self, own: &Options) -> Vec<Difference> {
        // What was announced is in microseconds.
        let whole = |time: Duration| Duration::from_micros(micros(time).unsigned_abs());
        let times = [
            ("--heartbeat", own.heartbeat, self.heartbeat),
            ("--server-timeout", own.server_timeout, self.server_timeout),
            ("--client-timeout", own.client_timeout, self.client_timeout),
            ("--grace", own.grace, self.grace),
        ];
        let times = times
            .into_iter()
            .filter(|(_, own, theirs)| whole(*own) != *theirs);
        let times = times.map(|(option, own, theirs)| Difference {
            option,
            own: Setting::Time(own),
            theirs: Setting::Time(theirs),
        });
        let quorum = (own.quorum != self.quorum).then_some(Difference {
            option: "--quorum",
            own: Setting::Count(own.quorum),
            theirs: Setting::Count(self.quorum),
        });
        times.chain(quorum).collect()
    }
}

impl Announced {
    pub(super) fn new(servers: usize) -> Self {
        Self(vec![None; servers])
    }

    fn iter(&self) -> impl Iterator<Item = &Announcement> {
        self.0.iter().flatten()
    }
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

/// The announcement of a server with these options.
pub(super) fn terms_of(options: &Options) -> Terms {
    Terms {
        client_timeout: micros(options.client_timeout),
        quorum: i32::try_from(options.quorum).unwrap_or(i32::MAX),
        pace: Some(Pace {
            heartbeat: micros(options.heartbeat),
            server_timeout: micros(options.server_timeout),
            grace: micros(options.grace),
        }),
    }
}

/// Whether a server announces a client timeout with which no session lasts.
pub(super) fn is_short(terms: Terms) -> bool {
    terms.client_timeout < micros(MIN_CLIENT_TIMEOUT)
}

impl Server {
    /// Another server announces its options.
    pub(super) fn on_terms(&mut self, server: usize, terms: Terms) {
        let (Some(new), Some(known)) = (Announcement::of(terms), self.announced.0.get_mut(server))
        else {
            return;
        };
        let differences = new.differences(&self.options);
        let new = (!differences.is_empty()).then_some(new);
        if std::mem::replace(known, new) != new {
            self.out.announce_to_clients(self.shortest_timeout());
            let differences = differences.into();
            self.out.event(Event::OptionsCompared {
                server,
                differences,
            });
        }
    }

    /// The options of other servers that differ from those of this one, by server.
    #[must_use]
    pub fn differences(&self) -> Vec<(usize, Vec<Difference>)> {
        let announced = (0..).zip(&self.announced.0);
        let differing = announced
            .filter_map(|(server, it)| Some((server, it.as_ref()?.differences(&self.options))));
        differing.collect()
    }

    /// Q: the largest that any server has, as far as a majority goes. So a server that was given less does not lead
    /// in a cut once it has heard of the others.
    #[must_use]
    pub fn quorum(&self) -> usize {
        let own = self.options.quorum;
        let others = self.announced.iter().map(|it| it.quorum).max();
        let most = others.unwrap_or(own).min(majority(self.servers.len()));
        own.max(most)
    }

    /// The silence after which a session ends. A client whose leader was another server may have a lease by the
    /// timeout of that one.
    pub(super) fn client_timeout(&self) -> Duration {
        let own = self.options.client_timeout;
        let others = self.announced.iter().map(|it| it.client_timeout).max();
        others.map_or(own, |longest| longest.min(own * LONGER).max(own))
    }

    /// The shortest client timeout of all servers that clients may use: what this server announces to them. Another server may
    /// lead next, and end their sessions by its own, while its answer to their LOGIN was lost.
    fn shortest_timeout(&self) -> i64 {
        let others = self.announced.iter().map(|it| it.client_timeout);
        let usable = others.filter(|timeout| *timeout >= MIN_CLIENT_TIMEOUT);
        let shortest = usable.fold(self.options.client_timeout, Duration::min);
        micros(shortest)
    }

    /// The time in which a leader that is cold, or in doubt, lets sessions come back.
    pub(super) fn grace(&self) -> Duration {
        let own = self.options.grace;
        let others = self.announced.iter().map(|it| it.grace).max();
        let most = self.options.client_timeout * LONGER;
        others.map_or(own, |longest| longest.min(most).max(own))
    }

    /// ¾ ST of this server or of another one, whichever is shorter: the time for which one of the two may rely on the
    /// other. A follower with a shorter timeout looks for another leader earlier.
    pub(super) fn lease_with(&self, server: usize) -> Duration {
        let own = self.options.server_lease();
        let theirs = self.announced.0.get(server).copied().flatten();
        theirs.map_or(own, |it| own.min(it.server_timeout * 3 / 4))
    }
}
