//! What a server tells its observers. What happens with every datagram is counted, in
//! [`Counters`](super::Counters), rather than told.

use std::net::SocketAddr;

use ring_codec::ftn::{Kind, ServerState};

use crate::ftn::server::{Difference, Holding, Reason, RoleKind};

/// Something happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The server has another role.
    RoleChanged {
        /// The role from now on.
        role: RoleKind,
        /// Who leads, if anybody does.
        leader: Option<usize>,
    },
    /// The server leads from now on.
    TookOver {
        /// The number of its first configuration.
        configuration: u64,
        /// Whether it knew sessions and states from its predecessor; a cold leader knows nothing.
        warm: bool,
    },
    /// A new configuration is in force.
    ConfigurationChanged {
        /// Its number.
        configuration: u64,
        /// The state of each server.
        states: Box<[ServerState]>,
    },
    /// The state that the server says to be in has changed.
    StateChanged {
        /// The state from now on.
        state: ServerState,
    },
    /// The leader has, or has no longer, the quorum behind it.
    AuthorityChanged {
        /// Whether it has.
        has: bool,
    },
    /// The time in which a cold leader adopts sessions is over.
    GraceEnded,
    /// A client has logged in.
    SessionBegun {
        /// The session.
        id: i32,
        /// Its client.
        address: SocketAddr,
    },
    /// A cold leader has taken in the session of an earlier run.
    SessionAdopted {
        /// The session.
        id: i32,
        /// Its client.
        address: SocketAddr,
    },
    /// A session ended because its client was silent for CT.
    SessionExpired {
        /// The session.
        id: i32,
        /// Its client.
        address: SocketAddr,
    },
    /// A client has ended its session.
    SessionLoggedOut {
        /// The session.
        id: i32,
        /// Its client.
        address: SocketAddr,
    },
    /// A session's program has given itself a name, or a new one.
    SessionIntroduced {
        /// The session.
        id: i32,
        /// Its client.
        address: SocketAddr,
        /// The name.
        program: Box<str>,
    },
    /// A session holds a token from now on.
    TokenGranted(Box<Holding>),
    /// A session has returned a token.
    TokenReturned(Box<Holding>),
    /// A session ended while it held a token.
    TokenLost(Box<Holding>),
    /// The server asks all clients what they hold.
    SurveyBegun {
        /// The configuration that it is for.
        configuration: u64,
        /// How many sessions it waits for.
        sessions: usize,
    },
    /// The server knows all its tokens.
    SurveyEnded {
        /// The configuration that it was for.
        configuration: u64,
    },
    /// A survey was given up for that of a later configuration, or with what the server knew.
    SurveyAborted {
        /// The configuration that it was for.
        configuration: u64,
    },
    /// Tokens that clients hold are served here from now on.
    TookOverTokens {
        /// Who served them before; `None`: not known, since the server has just started, or its leader doubts what was known.
        server: Option<usize>,
        /// How many of them are held. Those that nobody held are lost with a server that crashed.
        held: usize,
    },
    /// A STATE has shown the server DOWN: it has forgotten what it knew.
    Reset {
        /// How many tokens it knew.
        tokens_forgotten: usize,
    },
    /// All tokens of another server have gone there.
    Transferred {
        /// The server that serves them now.
        server: usize,
        /// How many they were.
        tokens: usize,
    },
    /// Clients claim a token in ways that exclude each other; all of them share it now.
    Conflict {
        /// The token.
        name: Box<[u8]>,
    },
    /// Clients have different data of a token.
    ConflictingData {
        /// The token.
        name: Box<[u8]>,
    },
    /// Options that must be equal on all servers differ from those of another one, or no longer do.
    OptionsCompared {
        /// The other server.
        server: usize,
        /// The options that differ; empty: none does any longer.
        differences: Box<[Difference]>,
    },
    /// Somebody has another list of servers. Told once for each of up to 1,024 senders.
    OtherList {
        /// Who.
        from: SocketAddr,
        /// The signature of its list.
        signature: i32,
    },
    /// Somebody says that it is another server, from an address that is not that server's. Told once for each of up to
    /// 1,024 senders.
    Misplaced {
        /// The server that it says to be.
        server: usize,
        /// Who.
        from: SocketAddr,
        /// The server's address; `None`: its name is not resolved.
        listed: Option<SocketAddr>,
    },
    /// A datagram was dropped.
    Dropped {
        /// Its source address.
        from: SocketAddr,
        /// Its type, if it decodes.
        kind: Option<Kind>,
        /// Why.
        reason: Reason,
    },
    /// The highest configuration number cannot be stored, or can again. Until it can the server is mute.
    StorageChanged {
        /// Whether storing failed.
        failed: bool,
    },
    /// Another server names a configuration far beyond the known one: its clock or its state file is wrong, or this server's. Told
    /// once for each.
    NumberAhead {
        /// The server.
        server: usize,
        /// The number that it names.
        configuration: u64,
    },
    /// There is no larger configuration number left: the server cannot lead.
    NumbersExhausted,
    /// The server has left.
    ShutDown {
        /// How many tokens with data, which nobody holds, could not be handed over to another server.
        left_behind: usize,
    },
}
