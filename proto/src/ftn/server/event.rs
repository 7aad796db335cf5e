//! Events that a server reports to its observers. Frequent events are only counted, in [`Counters`](super::Counters).

use std::net::SocketAddr;

use ring_codec::ftn::{Kind, ServerState};

use crate::ftn::server::{DropReason, OptionDifference, RoleKind, TokenHold};

/// An event of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The server has another role.
    RoleChanged {
        /// The new role.
        role: RoleKind,
        /// Index of the leader, if there is one.
        leader: Option<usize>,
    },
    /// The server has become the leader.
    TookOver {
        /// Number of its first configuration.
        configuration: u64,
        /// Whether the leader knew sessions and states from its predecessor. A cold leader knows nothing.
        warm: bool,
    },
    /// A new configuration is in force.
    ConfigurationChanged {
        /// Number of the configuration.
        configuration: u64,
        /// The state of each server.
        states: Box<[ServerState]>,
    },
    /// The server announces another state of itself.
    StateChanged {
        /// The new state.
        state: ServerState,
    },
    /// The leader has gained or lost its authority.
    AuthorityChanged {
        /// Whether it has authority.
        is_held: bool,
    },
    /// The time in which a leader adopts sessions has ended.
    GraceEnded,
    /// A client has logged in.
    SessionBegun {
        /// Id of the session.
        id: i32,
        /// Address of its client.
        address: SocketAddr,
    },
    /// A leader in its grace has adopted a session of an earlier run.
    SessionAdopted {
        /// Id of the session.
        id: i32,
        /// Address of its client.
        address: SocketAddr,
    },
    /// A session has ended because its client was silent for CT.
    SessionExpired {
        /// Id of the session.
        id: i32,
        /// Address of its client.
        address: SocketAddr,
    },
    /// A client has ended its session.
    SessionLoggedOut {
        /// Id of the session.
        id: i32,
        /// Address of its client.
        address: SocketAddr,
    },
    /// The program of a session has introduced itself, or has changed its introduction.
    SessionIntroduced {
        /// Id of the session.
        id: i32,
        /// Address of its client.
        address: SocketAddr,
        /// Text of the introduction.
        program: Box<str>,
    },
    /// A session has been granted a token.
    TokenGranted(Box<TokenHold>),
    /// A session has returned a token.
    TokenReturned(Box<TokenHold>),
    /// A session that held a token has ended.
    TokenLost(Box<TokenHold>),
    /// The server has begun to ask all clients which tokens they hold.
    SurveyBegun {
        /// Configuration of the survey.
        configuration: u64,
        /// Number of sessions whose answers it awaits.
        sessions: usize,
    },
    /// The survey has ended, and the server knows all its tokens.
    SurveyEnded {
        /// Configuration of the survey.
        configuration: u64,
    },
    /// A survey was stopped because a later configuration came, or because the server forgot its tokens.
    SurveyAborted {
        /// Configuration of the survey.
        configuration: u64,
    },
    /// The server now serves tokens that clients hold and another server served before.
    TookOverTokens {
        /// The former server; `None` if this server has just started, or if its leader was in doubt.
        server: Option<usize>,
        /// Number of held tokens. Other tokens of a crashed server are lost.
        held: usize,
    },
    /// A STATE has shown this server DOWN, and it has forgotten its tokens.
    Reset {
        /// Number of forgotten tokens.
        tokens_forgotten: usize,
    },
    /// All tokens for another server have been handed over.
    Transferred {
        /// Index of the server that serves them now.
        server: usize,
        /// Number of tokens.
        tokens: usize,
    },
    /// Clients claim a token in ways that exclude each other, and now share it.
    Conflict {
        /// Name of the token.
        name: Box<[u8]>,
    },
    /// Clients have different data of a token.
    ConflictingData {
        /// Name of the token.
        name: Box<[u8]>,
    },
    /// The options of another server differ in another way than before, or no longer differ.
    OptionsCompared {
        /// Index of the other server.
        server: usize,
        /// The options that differ; empty if all are equal.
        differences: Box<[OptionDifference]>,
    },
    /// A sender has another list of servers. Reported once for each of up to 1,024 senders.
    OtherList {
        /// Address of the sender.
        from: SocketAddr,
        /// Signature of the sender's list.
        signature: i32,
    },
    /// A sender claims to be another server, but does not have that server's address. Reported once for each of up to
    /// 1,024 senders.
    SenderMisplaced {
        /// Index of the server that it claims to be.
        server: usize,
        /// Address of the sender.
        from: SocketAddr,
        /// Address of that server; `None` if its name is not resolved.
        listed: Option<SocketAddr>,
    },
    /// A datagram was dropped.
    Dropped {
        /// Source address of the datagram.
        from: SocketAddr,
        /// Type of the message, if it decodes.
        kind: Option<Kind>,
        /// Reason of the drop.
        reason: DropReason,
    },
    /// Storing the configuration number has begun to fail, or works again. In between the server sends nothing.
    StorageChanged {
        /// Whether storing failed.
        failed: bool,
    },
    /// Another server names a configuration far beyond the known one. The clock or the state file of one of the two is
    /// wrong. Reported once per server.
    NumberAhead {
        /// Index of the other server.
        server: usize,
        /// The number that it names.
        configuration: u64,
    },
    /// The server cannot lead, because there is no larger configuration number.
    NumbersExhausted,
    /// The server has left.
    ShutDown {
        /// Number of tokens with data that no client holds and no other server has taken.
        left_behind: usize,
    },
}
