//! What is explored: which group, which faults how often, and for how long.

use std::fmt;
use std::time::Duration;

use ring_codec::ftn::Access;
use ring_proto::time::{Instant, nanos};

use crate::counts::counts;

/// HB, ST, CT: in small proportions, so there are few events. A session outlives a change of leader.
pub const HEARTBEAT: Duration = Duration::from_millis(300);
/// See [`HEARTBEAT`].
pub const SERVER_TIMEOUT: Duration = Duration::from_millis(900);
/// See [`HEARTBEAT`].
pub const CLIENT_TIMEOUT: Duration = Duration::from_millis(4_200);
/// The longest time between two repetitions.
const RETRY_MAX: Duration = Duration::from_secs(1);
/// When every clock begins.
pub const EPOCH: Instant = Instant::from_nanos(1 << 40);
/// The speed of a right clock.
const RIGHT: u32 = 1_000;

/// One exploration.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// What it is for.
    pub name: &'static str,
    /// How many servers there are. Server 0 leads at the beginning.
    pub servers: usize,
    /// How each client wants the token.
    pub clients: &'static [Access],
    /// Which server the token is at.
    pub at: usize,
    /// Whether the first client holds it at the beginning.
    pub is_held: bool,
    /// How many nodes do not run at the beginning: the last ones.
    pub absent: usize,
    /// Q.
    pub quorum: usize,
    /// How fast each node's clock goes, servers first, in thousandths; right is what none is said of.
    pub speeds: &'static [u32],
    /// How often what may go wrong.
    pub faults: Faults,
    /// How often programs want what.
    pub wishes: Wishes,
    /// For how long it goes on.
    pub lasts: Duration,
    /// The most events in a run.
    pub depth: usize,
    /// From one in so many states, chosen by the state alone, the faults end and the group must recover; 0: from none.
    pub recover_one_in: u64,
}

counts! {
    /// How often each thing may happen in one run.
    Faults {
        /// A datagram is lost.
        lost "lost",
        /// A datagram comes twice, the second time whenever it likes.
        doubled "doubled",
        /// A datagram comes whenever it likes.
        late "late",
        /// A server crashes.
        crashes "crashes",
        /// A server is shut down.
        leaves "leave",
        /// A client crashes.
        deaths "clients crash",
        /// What has died starts again; a server with what it had stored.
        returns "start again",
        /// A server stands still for ST and a little more.
        server_stops "servers stop",
        /// A client stands still for CT and a little more.
        client_stops "clients stop",
    }
}

counts! {
    /// How often programs may want what.
    Wishes {
        /// A client asks for the token.
        asks "asks",
        /// A client that holds it gives it back, with new data if it holds it alone.
        gives "gives",
        /// A client that holds it alone sets its data, and goes on.
        updates "updates",
        /// A client that holds it asks for the other access.
        changes "changes",
    }
}

impl Scenario {
    /// Two servers and two clients that want the token for themselves, Q = 1, with no faults.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            servers: 2,
            clients: &[Access::Exclusive, Access::Exclusive],
            at: 0,
            is_held: false,
            absent: 0,
            quorum: 1,
            speeds: &[],
            faults: Faults::NONE,
            wishes: Wishes::NONE.asks(2).gives(2),
            lasts: Duration::from_secs(1),
            depth: 1_000,
            recover_one_in: 0,
        }
    }

    /// With these faults.
    pub const fn faults(self, faults: Faults) -> Self {
        Self { faults, ..self }
    }

    /// With the token at this server, and held by the first client.
    pub const fn held_at(self, at: usize) -> Self {
        let is_held = true;
        Self {
            at,
            is_held,
            ..self
        }
    }

    /// With these wishes.
    pub const fn wishes(self, wishes: Wishes) -> Self {
        Self { wishes, ..self }
    }

    /// For so long, and with a recovery from one in so many states.
    pub const fn lasts(self, millis: u64, recover_one_in: u64) -> Self {
        let lasts = Duration::from_millis(millis);
        Self {
            lasts,
            recover_one_in,
            ..self
        }
    }

    /// How many nodes there are, servers and clients.
    pub const fn nodes(&self) -> usize {
        self.servers + self.clients.len()
    }

    /// Whether a node is a server.
    pub const fn is_server(&self, node: usize) -> bool {
        node < self.servers
    }

    /// How a client wants the token.
    pub fn access(&self, node: usize) -> Access {
        self.clients[node - self.servers]
    }

    fn speed(&self, node: usize) -> u64 {
        self.speeds.get(node).copied().unwrap_or(RIGHT).into()
    }

    /// What a node's clock shows at a time of the group's.
    pub fn local(&self, node: usize, time: Instant) -> Instant {
        let since = nanos(time.since(EPOCH));
        EPOCH + Duration::from_nanos(since * self.speed(node) / u64::from(RIGHT))
    }

    /// The first time of the group's at which a node's clock shows that.
    pub fn time(&self, node: usize, local: Instant) -> Instant {
        let since = nanos(local.since(EPOCH)) * u64::from(RIGHT);
        EPOCH + Duration::from_nanos(since.div_ceil(self.speed(node)))
    }

    /// How long a node is away that stands still: so long that others go on without it.
    pub fn stop(&self, node: usize) -> Duration {
        let silence = if self.is_server(node) {
            SERVER_TIMEOUT + 2 * HEARTBEAT
        } else {
            CLIENT_TIMEOUT
        };
        silence + Duration::from_millis(50)
    }

    /// How soon after the faults every client must have had the token: after a leader, a grace, a survey that waits
    /// for the end of dead sessions, and sessions of their own.
    pub fn recovery_limit(&self) -> Duration {
        2 * SERVER_TIMEOUT + 8 * HEARTBEAT + 4 * CLIENT_TIMEOUT + 8 * RETRY_MAX
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            servers,
            clients,
            quorum,
            ..
        } = self;
        let clients = clients.len();
        write!(
            f,
            "{name}: {servers} servers, {clients} clients{}, a token at s{}{}, Q = {quorum}",
            if self.absent > 0 {
                ", not all at first"
            } else {
                ""
            },
            self.at,
            if self.is_held { ", held" } else { "" },
        )?;
        write!(f, "{}{}", self.faults, self.wishes)?;
        if !self.speeds.is_empty() {
            write!(f, ", clocks at {:?} thousandths", self.speeds)?;
        }
        write!(f, "; {:?}", self.lasts)?;
        match self.recover_one_in {
            0 => Ok(()),
            one_in => write!(f, "; recovery from one state in {one_in}"),
        }
    }
}
