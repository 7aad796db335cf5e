//! Options that servers announce to each other, and the values that a server uses if options differ. The rules are O11
//! to O13 of `docs/token-service/protocol/conventions.md`.

use std::time::Duration;

use ring_codec::ftn::{ServerTerms, Terms};

use crate::ftn::CLIENT_TIMEOUT_MIN;
use crate::ftn::server::{OptionDifference, OptionValue, Options, majority};

/// Largest factor by which a server lengthens its timeouts when another server announces longer timeouts. The limit
/// keeps a wrong option of one server from stopping all servers.
const LENGTHENING_MAX: u32 = 4;

/// The last announcement of each other server whose options differ from this server's, by index.
#[derive(Debug, Clone, Hash)]
pub(crate) struct PeerOptions(Vec<Option<Announcement>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Announcement {
    heartbeat: Duration,
    server_timeout: Duration,
    client_timeout: Duration,
    grace: Duration,
    quorum: usize,
}

impl Announcement {
    /// Returns `None` if the announcement lacks a value, or if a value is negative.
    fn of(terms: Terms) -> Option<Self> {
        let time = |micros: i64| u64::try_from(micros).ok().map(Duration::from_micros);
        // Only an announcement to clients lacks the pace.
        let pace = terms.pace?;
        Some(Self {
            heartbeat: time(pace.heartbeat)?,
            server_timeout: time(pace.server_timeout)?,
            client_timeout: time(terms.client_timeout)?,
            grace: time(pace.grace)?,
            quorum: usize::try_from(terms.quorum).ok()?,
        })
    }

    fn differences(&self, own: &Options) -> Vec<OptionDifference> {
        // Announcements are in microseconds, so this server's times are compared without their nanoseconds.
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
        let times = times.map(|(option, own, theirs)| OptionDifference {
            option,
            own: OptionValue::Time(own),
            theirs: OptionValue::Time(theirs),
        });
        let quorum = (own.quorum != self.quorum).then_some(OptionDifference {
            option: "--quorum",
            own: OptionValue::Count(own.quorum),
            theirs: OptionValue::Count(self.quorum),
        });
        times.chain(quorum).collect()
    }
}

impl PeerOptions {
    pub(crate) fn new(servers: usize) -> Self {
        Self(vec![None; servers])
    }

    fn iter(&self) -> impl Iterator<Item = &Announcement> {
        self.0.iter().flatten()
    }

    /// Records an announcement of another server. Returns the options that differ from this server's options. Returns
    /// `None` if the earlier announcement had the same values.
    pub(crate) fn record(
        &mut self,
        own: &Options,
        server: usize,
        terms: Terms,
    ) -> Option<Box<[OptionDifference]>> {
        let (new, known) = (Announcement::of(terms)?, self.0.get_mut(server)?);
        let differences = new.differences(own);
        // Equal options change no result, so they are not kept.
        let new = (!differences.is_empty()).then_some(new);
        (std::mem::replace(known, new) != new).then(|| differences.into())
    }

    /// Returns the options that differ from this server's options, by server.
    pub(crate) fn differences(&self, own: &Options) -> Vec<(usize, Vec<OptionDifference>)> {
        let announced = (0..).zip(&self.0);
        let differing =
            announced.filter_map(|(server, it)| Some((server, it.as_ref()?.differences(own))));
        differing.collect()
    }

    /// Returns Q: the largest announced quorum, but at most a majority. So a server with a smaller quorum does not lead
    /// in a split if it knows the other servers' announcements.
    pub(crate) fn quorum(&self, own: &Options) -> usize {
        let others = self.iter().map(|it| it.quorum).max();
        // A majority is enough for safety, so one wrong option must not demand more.
        let most = others.unwrap_or(own.quorum).min(majority(self.0.len()));
        own.quorum.max(most)
    }

    /// Returns the silence after which a session ends. This silence is the longest client timeout of all servers: a
    /// client's lease may depend on its former leader's timeout.
    pub(crate) fn client_timeout(&self, own: &Options) -> Duration {
        let own = own.client_timeout;
        let others = self.iter().map(|it| it.client_timeout).max();
        others.map_or(own, |longest| longest.min(own * LENGTHENING_MAX).max(own))
    }

    /// Returns the shortest usable client timeout of all servers, in microseconds. This server announces the shortest
    /// timeout to clients for two reasons. Any server may be the next leader, and a leader ends sessions after the
    /// leader's own timeout. Possibly a client has not received the announcement of the next leader.
    pub(crate) fn shortest_timeout(&self, own: &Options) -> i64 {
        let others = self.iter().map(|it| it.client_timeout);
        // A server with a shorter timeout counts as DOWN, so it ends no sessions.
        let usable = others.filter(|timeout| *timeout >= CLIENT_TIMEOUT_MIN);
        micros(usable.fold(own.client_timeout, Duration::min))
    }

    /// Returns the grace: a leader that is cold or in doubt adopts returning sessions for this time.
    pub(crate) fn grace(&self, own: &Options) -> Duration {
        let others = self.iter().map(|it| it.grace).max();
        // The limit is a multiple of CT, because this server's grace may be zero.
        let most = own.client_timeout * LENGTHENING_MAX;
        others.map_or(own.grace, |longest| longest.min(most).max(own.grace))
    }

    /// Returns the time for which this server and another server may rely on each other: ¾ of the shorter ST. A
    /// follower with a shorter ST looks for another leader earlier.
    pub(crate) fn lease_with(&self, own: &Options, server: usize) -> Duration {
        let own = own.server_lease();
        let theirs = self.0.get(server).copied().flatten();
        theirs.map_or(own, |it| own.min(it.server_timeout * 3 / 4))
    }
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

/// Returns the announcement of a server with these options.
pub(crate) fn terms_of(options: &Options) -> Terms {
    Terms {
        client_timeout: micros(options.client_timeout),
        quorum: i32::try_from(options.quorum).unwrap_or(i32::MAX),
        pace: Some(ServerTerms {
            heartbeat: micros(options.heartbeat),
            server_timeout: micros(options.server_timeout),
            grace: micros(options.grace),
        }),
    }
}

/// Whether a server announces a client timeout that is too short for a session.
pub(crate) fn has_short_client_timeout(terms: Terms) -> bool {
    terms.client_timeout < micros(CLIENT_TIMEOUT_MIN)
}
