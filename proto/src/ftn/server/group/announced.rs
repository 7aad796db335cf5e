//! Options that others rely on: servers announce them, and heed those that differ (`docs/ftn.md`, section 1).

use std::time::Duration;

use ring_codec::ftn::{Pace, Terms};

use crate::ftn::MIN_CLIENT_TIMEOUT;
use crate::ftn::server::{Difference, Options, Setting, majority};

/// A server lengthens its own timeouts to those of another one up to this factor: one wrong option is not to stop all.
const LONGER: u32 = 4;

/// The options of each of the others that differ from those of this server, by index, as they were announced last.
#[derive(Debug, Clone, Hash)]
pub(crate) struct Announced(Vec<Option<Announcement>>);

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
    pub(crate) fn new(servers: usize) -> Self {
        Self(vec![None; servers])
    }

    fn iter(&self) -> impl Iterator<Item = &Announcement> {
        self.0.iter().flatten()
    }

    /// Another server announces its options. Returns those that differ from its own, if they are not those of its last
    /// announcement.
    pub(crate) fn note(
        &mut self,
        own: &Options,
        server: usize,
        terms: Terms,
    ) -> Option<Box<[Difference]>> {
        let (new, known) = (Announcement::of(terms)?, self.0.get_mut(server)?);
        let differences = new.differences(own);
        let new = (!differences.is_empty()).then_some(new);
        (std::mem::replace(known, new) != new).then(|| differences.into())
    }

    /// The options of other servers that differ, by server.
    pub(crate) fn differences(&self, own: &Options) -> Vec<(usize, Vec<Difference>)> {
        let announced = (0..).zip(&self.0);
        let differing =
            announced.filter_map(|(server, it)| Some((server, it.as_ref()?.differences(own))));
        differing.collect()
    }

    /// Q: the largest that any server has, as far as a majority goes. So a server that was given less does not lead
    /// in a cut once it has heard of the others.
    pub(crate) fn quorum(&self, own: &Options) -> usize {
        let others = self.iter().map(|it| it.quorum).max();
        let most = others.unwrap_or(own.quorum).min(majority(self.0.len()));
        own.quorum.max(most)
    }

    /// The silence after which a session ends. A client whose leader was another server may have a lease by the
    /// timeout of that one.
    pub(crate) fn client_timeout(&self, own: &Options) -> Duration {
        let own = own.client_timeout;
        let others = self.iter().map(|it| it.client_timeout).max();
        others.map_or(own, |longest| longest.min(own * LONGER).max(own))
    }

    /// The shortest client timeout of all servers that clients may use, in microseconds: what this server announces to
    /// them. Another server may lead next, and end their sessions by its own, while its answer to their LOGIN was lost.
    pub(crate) fn shortest_timeout(&self, own: &Options) -> i64 {
        let others = self.iter().map(|it| it.client_timeout);
        let usable = others.filter(|timeout| *timeout >= MIN_CLIENT_TIMEOUT);
        micros(usable.fold(own.client_timeout, Duration::min))
    }

    /// The time in which a leader that is cold, or in doubt, lets sessions come back.
    pub(crate) fn grace(&self, own: &Options) -> Duration {
        let others = self.iter().map(|it| it.grace).max();
        let most = own.client_timeout * LONGER;
        others.map_or(own.grace, |longest| longest.min(most).max(own.grace))
    }

    /// ¾ ST of this server or of another one, whichever is shorter: the time for which one of the two may rely on the
    /// other. A follower with a shorter timeout looks for another leader earlier.
    pub(crate) fn lease_with(&self, own: &Options, server: usize) -> Duration {
        let own = own.server_lease();
        let theirs = self.0.get(server).copied().flatten();
        theirs.map_or(own, |it| own.min(it.server_timeout * 3 / 4))
    }
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

/// The announcement of a server with these options.
pub(crate) fn terms_of(options: &Options) -> Terms {
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
pub(crate) fn is_short(terms: Terms) -> bool {
    terms.client_timeout < micros(MIN_CLIENT_TIMEOUT)
}
