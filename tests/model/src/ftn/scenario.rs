//! A scenario: the group, its faults, and the duration of the exploration.

use std::fmt;
use std::time::Duration;

use ring_codec::ftn::Access;
use ring_proto::time::{Instant, nanos};

use crate::counts::counts;

/// HB, the period of heartbeats. The ratios between HB, ST and CT are small, so that there are few events. A session
/// outlives a change of leader.
pub const HEARTBEAT: Duration = Duration::from_millis(300);
/// ST.
pub const SERVER_TIMEOUT: Duration = Duration::from_millis(900);
/// CT.
pub const CLIENT_TIMEOUT: Duration = Duration::from_millis(4_200);
/// The longest time between two repetitions of a request.
const RETRY_MAX: Duration = Duration::from_secs(1);
/// The start of every clock.
pub const EPOCH: Instant = Instant::from_nanos(1 << 40);
/// The speed of a correct clock.
const CORRECT_SPEED: u32 = 1_000;

/// One exploration.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// The name.
    pub name: &'static str,
    /// The number of servers. Server 0 leads at the beginning.
    pub servers: usize,
    /// The access that each client wants.
    pub clients: &'static [Access],
    /// The server that manages the token.
    pub at: usize,
    /// Whether the first client holds the token at the beginning.
    pub is_held: bool,
    /// The number of nodes at the end of the list that do not run at the beginning.
    pub absent: usize,
    /// Q, the quorum of servers.
    pub quorum: usize,
    /// The speeds of the clocks in thousandths, servers first. A clock that is not in the list is correct.
    pub speeds: &'static [u32],
    /// The maximum number of faults of each kind.
    pub faults: Faults,
    /// The maximum number of each kind of action of the programs.
    pub wishes: Wishes,
    /// The time after which a run ends.
    pub lasts: Duration,
    /// The maximum number of events in a run.
    pub depth: usize,
    /// The number N: the checker tries a recovery without faults from one state in N states. The hashes of the states
    /// select these states. 0 selects no state.
    pub recover_one_in: u64,
}

counts! {
    /// The maximum number of each fault in one run.
    Faults {
        /// A datagram is lost.
        lost "lost",
        /// A datagram is duplicated. The copy may arrive at any later time.
        doubled "doubled",
        /// A datagram is late: it may arrive at any later time.
        late "late",
        /// A server crashes.
        crashes "crashes",
        /// A server is shut down.
        leaves "leave",
        /// A client crashes.
        deaths "clients crash",
        /// A dead process starts again. A server starts with its stored state.
        returns "start again",
        /// A server is stalled for a little more than ST.
        server_stops "servers stop",
        /// A client is stalled for a little more than CT.
        client_stops "clients stop",
    }
}

counts! {
    /// The maximum number of each action of the programs in one run.
    Wishes {
        /// A client requests the token.
        asks "asks",
        /// A client returns the token, with new data if its access is exclusive.
        gives "gives",
        /// A client with exclusive access sets the data and keeps the token.
        updates "updates",
        /// A client with exclusive access requests shared access, or a client with shared access requests exclusive
        /// access.
        changes "changes",
    }
}

impl Scenario {
    /// Returns two servers and two clients that want exclusive access, Q = 1, without faults.
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

    /// Sets the faults.
    pub const fn faults(self, faults: Faults) -> Self {
        Self { faults, ..self }
    }

    /// Places the token at a server, and makes the first client its holder.
    pub const fn held_at(self, at: usize) -> Self {
        let is_held = true;
        Self {
            at,
            is_held,
            ..self
        }
    }

    /// Sets the actions of the programs.
    pub const fn wishes(self, wishes: Wishes) -> Self {
        Self { wishes, ..self }
    }

    /// Sets the duration of the exploration. Makes the checker try a recovery from one state in `recover_one_in`
    /// states.
    pub const fn with_duration(self, millis: u64, recover_one_in: u64) -> Self {
        let lasts = Duration::from_millis(millis);
        Self {
            lasts,
            recover_one_in,
            ..self
        }
    }

    /// Returns the number of servers and clients.
    pub const fn nodes(&self) -> usize {
        self.servers + self.clients.len()
    }

    /// Whether a node is a server.
    pub const fn is_server(&self, node: usize) -> bool {
        node < self.servers
    }

    /// Returns the access that a client wants.
    pub fn access(&self, node: usize) -> Access {
        self.clients[node - self.servers]
    }

    fn speed(&self, node: usize) -> u64 {
        self.speeds
            .get(node)
            .copied()
            .unwrap_or(CORRECT_SPEED)
            .into()
    }

    /// Returns a node's clock at a time of the group.
    pub fn local(&self, node: usize, time: Instant) -> Instant {
        let since = nanos(time.since(EPOCH));
        EPOCH + Duration::from_nanos(since * self.speed(node) / u64::from(CORRECT_SPEED))
    }

    /// Returns the first time of the group at which the node's clock shows `local`.
    pub fn time(&self, node: usize, local: Instant) -> Instant {
        let since = nanos(local.since(EPOCH)) * u64::from(CORRECT_SPEED);
        EPOCH + Duration::from_nanos(since.div_ceil(self.speed(node)))
    }

    /// Returns the duration of a stall of a node. The stall is so long that the other nodes continue without this node.
    pub fn stall_duration(&self, node: usize) -> Duration {
        let silence = if self.is_server(node) {
            SERVER_TIMEOUT + 2 * HEARTBEAT
        } else {
            CLIENT_TIMEOUT
        };
        silence + Duration::from_millis(50)
    }

    /// Returns the time after the faults within which every client must get the token. The time includes an election, a
    /// grace period, a survey that waits for the end of dead sessions, and new sessions.
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
