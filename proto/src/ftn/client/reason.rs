//! Reasons for which the client drops a datagram.

/// Reason why a client dropped a datagram (`docs/ftn.md`, section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The datagram does not decode.
    Malformed,
    /// The name is longer than 1 KiB, or the data are longer than 32 KiB.
    TooLong,
    /// The sender has another list of servers.
    Ssig,
    /// The message is of a type that only servers receive.
    NotForClients,
    /// The datagram did not come from the listed address of the server that it names.
    NotAServer,
    /// The message is for another session.
    NotForMe,
    /// The client has no session, and the message is no answer to LOGIN.
    NoSession,
    /// The message is older than the client's state: it has a lower configuration number, or a msgnum that is no longer
    /// outstanding.
    Late,
    /// Another server is responsible for the token, or another server leads.
    NotResponsible,
    /// A REQUEST or RETURN for the token is outstanding, and its answer settles the matter.
    Outstanding,
    /// The configuration has another number of servers, a token has the empty name, or a grant lacks the fencing
    /// number.
    Illegal,
    /// The sender ends sessions before their renewals are confirmed.
    ShortTimeout,
    /// The answer to LOGIN has the id of a former session of this client, which it never uses again.
    FormerSession,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Self; 13] = [
        Self::Malformed,
        Self::TooLong,
        Self::Ssig,
        Self::NotForClients,
        Self::NotAServer,
        Self::NotForMe,
        Self::NoSession,
        Self::Late,
        Self::NotResponsible,
        Self::Outstanding,
        Self::Illegal,
        Self::ShortTimeout,
        Self::FormerSession,
    ];

    /// Returns the reason's name, as counters spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::TooLong => "too_long",
            Self::Ssig => "ssig",
            Self::NotForClients => "not_for_clients",
            Self::NotAServer => "not_a_server",
            Self::NotForMe => "not_for_me",
            Self::NoSession => "no_session",
            Self::Late => "late",
            Self::NotResponsible => "not_responsible",
            Self::Outstanding => "outstanding",
            Self::Illegal => "illegal",
            Self::ShortTimeout => "short_timeout",
            Self::FormerSession => "former_session",
        }
    }
}
