//! Options of a client, and times that follow from them.

use std::time::Duration;

use crate::ftn::{RETRY, RETRY_MAX, Servers};

/// Options of a client (`docs/token-service/protocol/conventions.md` O10).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Options {
    /// The servers.
    pub servers: Servers,
    /// CT. If a server announces a shorter timeout, the client uses that timeout, because the server ends silent
    /// sessions after it.
    pub client_timeout: Duration,
    /// Text that describes the session to people (C4), or empty. The text has at most
    /// [`INTRODUCTION_BYTES_MAX`](crate::ftn::INTRODUCTION_BYTES_MAX) bytes.
    pub introduction: String,
}

impl Options {
    /// Returns the lease, ¾ CT (S19). When the leader confirms a renewal, the lease counts from the time at which
    /// the client sent this renewal.
    pub fn lease(&self) -> Duration {
        // The rest of CT allows for clocks whose rates differ by up to an eighth.
        self.client_timeout * 3 / 4
    }

    /// Returns the time between a confirmed renewal and the next renewal: CT / 5.
    pub(super) fn renewal_interval(&self) -> Duration {
        self.client_timeout / 5
    }

    /// Returns the first interval between unconfirmed renewals.
    pub(super) fn renewal_retry(&self) -> Duration {
        RETRY.min(self.renewal_retry_max())
    }

    /// Returns the longest interval between unconfirmed renewals: at most CT / 8.
    pub(super) fn renewal_retry_max(&self) -> Duration {
        // With a short CT several renewals must still fit into the lease.
        RETRY_MAX.min(self.client_timeout / 8)
    }

    /// Returns the time for which the client waits for the first confirmation: CT.
    pub(super) const fn proving_timeout(&self) -> Duration {
        self.client_timeout
    }
}
