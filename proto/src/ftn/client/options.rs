//! What a client is started with, and the times that follow from it.

use std::time::Duration;

use crate::ftn::Servers;

/// What a client is started with (`docs/ftn.md`, section 1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The servers.
    pub servers: Servers,
    /// CT: not longer than the servers' own, or they end the session before the client knows.
    pub client_timeout: Duration,
}

impl Options {
    /// How long a session lives after the sending of the last confirmed renewal: ¾ CT (section 5).
    #[must_use]
    pub fn lease(&self) -> Duration {
        self.client_timeout * 3 / 4
    }
}
