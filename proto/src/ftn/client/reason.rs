//! Why a datagram changed nothing.

/// Why a client dropped a datagram (`docs/ftn.md`, section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// It does not decode.
    Malformed,
    /// Its name is longer than 1 KiB, or its data than 32 KiB.
    TooLong,
    /// Its sender has another list of servers.
    Ssig,
    /// It is of a type that only servers receive.
    NotForClients,
    /// It did not come from the listed address of the server that it names.
    NotAServer,
    /// It is to another session.
    NotForMe,
    /// The client has no session, and this is no answer to LOGIN.
    NoSession,
    /// It is older than what the client knows: a lower configuration, or the number of something that is no
    /// longer outstanding.
    Late,
    /// Another server is responsible for the token, or leads.
    NotResponsible,
    /// A REQUEST or a RETURN for the token is outstanding, and will be answered.
    Outstanding,
    /// A configuration of another number of servers, a marker in place of a token, or a grant without the
    /// fencing number that was asked for.
    Illegal,
    /// Its sender ends sessions before their renewals are confirmed.
    ShortTimeout,
    /// A login was answered with the id of a session that this client has had: it never uses that again.
    FormerSession,
}

impl Reason {
    /// Every reason.
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

    /// Its name, as counters spell it.
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
