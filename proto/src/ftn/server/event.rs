//! Events that a server reports to its observers. Frequent events are only counted, see [`Counters`](super::Counters).

use std::net::SocketAddr;

use ring_codec::ftn::{Kind, ServerState};

use crate::ftn::server::{DropReason, OptionDifference, RoleKind, TokenHold};

/// An event of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The server's role changed.
    RoleChanged {
        /// The new role.
        role: RoleKind,
        /// Index of the leader; `None` if there is no leader.
        leader: Option<usize>,
    },
    /// The server became the leader.
    TookOver {
        /// Number of its first configuration.
        configuration: u64,
        /// Whether the leader is warm: a warm leader knows the sessions and the servers' states from the leader before
        /// it. A cold leader knows neither the sessions nor the states.
        warm: bool,
    },
    /// The server adopted a new configuration.
    ConfigurationChanged {
        /// Number of the configuration.
        configuration: u64,
        /// The state of each server.
        states: Box<[ServerState]>,
    },
    /// The state that the server announces about itself changed.
    StateChanged {
        /// The new state.
        state: ServerState,
    },
    /// The leader gained or lost its authority.
    AuthorityChanged {
        /// Whether the leader has authority.
        is_held: bool,
    },
    /// The grace of this leader ended. From now on, the leader adopts no sessions.
    GraceEnded,
    /// A client logged in.
    SessionBegun {
        /// Id of the session.
        id: i32,
        /// Address of the session's client.
        address: SocketAddr,
    },
    /// A leader in its grace adopted a session of an earlier run.
    SessionAdopted {
        /// Id of the session.
        id: i32,
        /// Address of the session's client.
        address: SocketAddr,
    },
    /// A session ended because its client was silent for CT.
    SessionExpired {
        /// Id of the session.
        id: i32,
        /// Address of the session's client.
        address: SocketAddr,
    },
    /// A client ended its session.
    SessionLoggedOut {
        /// Id of the session.
        id: i32,
        /// Address of the session's client.
        address: SocketAddr,
    },
    /// The program of a session introduced itself or changed its introduction.
    SessionIntroduced {
        /// Id of the session.
        id: i32,
        /// Address of the session's client.
        address: SocketAddr,
        /// Text of the introduction.
        program: Box<str>,
    },
    /// A session got a token.
    TokenGranted(Box<TokenHold>),
    /// A session returned a token.
    TokenReturned(Box<TokenHold>),
    /// A session ended while it held a token.
    TokenLost(Box<TokenHold>),
    /// The server began to ask all clients which tokens they hold.
    SurveyBegun {
        /// Configuration of the survey.
        configuration: u64,
        /// Number of sessions whose answers the survey waits for.
        sessions: usize,
    },
    /// The survey ended, and the server knows all its tokens.
    SurveyEnded {
        /// Configuration of the survey.
        configuration: u64,
    },
    /// A survey was stopped because a later configuration came, or because the server forgot its tokens.
    SurveyAborted {
        /// Configuration of the survey.
        configuration: u64,
    },
    /// The server took over tokens that clients hold. A different server served these tokens before.
    TookOverTokens {
        /// Index of the former server. The index is `None` in two cases: this server started just now, or its leader
        /// was in doubt.
        server: Option<usize>,
        /// Number of tokens that clients hold. If the former server crashed, its other tokens are lost.
        held: usize,
    },
    /// A STATE showed this server DOWN, and the server forgot its tokens.
    Reset {
        /// Number of forgotten tokens.
        tokens_forgotten: usize,
    },
    /// The server handed over all tokens for which a different server is now responsible.
    Transferred {
        /// Index of the server that serves these tokens now.
        server: usize,
        /// Number of tokens.
        tokens: usize,
    },
    /// Several clients claim a token, and at least one of them claims exclusive access. The clients now share the
    /// token.
    Conflict {
        /// Name of the token.
        name: Box<[u8]>,
    },
    /// Several clients hold the same token with different data.
    ConflictingData {
        /// Name of the token.
        name: Box<[u8]>,
    },
    /// The options of another server and this server's options differ in a new way, or are equal again.
    OptionsCompared {
        /// Index of the other server.
        server: usize,
        /// The differing options; empty if all options are equal.
        differences: Box<[OptionDifference]>,
    },
    /// A sender has a different list of servers. Each of up to 1,024 senders causes the event only once.
    OtherList {
        /// Address of the sender.
        from: SocketAddr,
        /// Signature of the sender's list.
        signature: i32,
    },
    /// A sender claims to be another server, but does not have that server's address. Each of up to 1,024 senders
    /// causes the event only once.
    SenderMisplaced {
        /// Index of the server that the sender claims to be.
        server: usize,
        /// Address of the sender.
        from: SocketAddr,
        /// Listed address of that server; `None` if its name is not resolved.
        listed: Option<SocketAddr>,
    },
    /// A datagram was dropped.
    Dropped {
        /// Source address of the datagram.
        from: SocketAddr,
        /// Type of the message, if the message decodes.
        kind: Option<Kind>,
        /// Reason of the drop.
        reason: DropReason,
    },
    /// The server can no longer store the configuration number, or can store it again. While it cannot store the
    /// number, the server sends nothing.
    StorageChanged {
        /// Whether storing failed.
        failed: bool,
    },
    /// Another server names a configuration number that is far larger than the largest number that this server knows.
    /// The clock or the state file of one of the two servers is wrong. This server reports the event once for each
    /// other server.
    NumberAhead {
        /// Index of the other server.
        server: usize,
        /// Number that the other server names.
        configuration: u64,
    },
    /// The server cannot lead, because no larger configuration number exists.
    NumbersExhausted,
    /// The server has left.
    ShutDown {
        /// Number of tokens with data that no client holds and that no other server accepted.
        left_behind: usize,
    },
}
