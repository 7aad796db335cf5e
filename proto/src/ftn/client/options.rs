//! Options of a client, and times that follow from them.

use std::time::Duration;

use crate::ftn::{RETRY, RETRY_MAX, Servers};

/// Options of a client (`docs/ftn.md`, section 1).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Options {
    /// The servers.
    pub servers: Servers,
    /// CT. The client uses a shorter one if servers announce it, because servers end sessions by their own.
    pub client_timeout: Duration,
    /// Introduction of the session to people (section 6), at most [`INTRODUCTION_BYTES_MAX`](crate::ftn::INTRODUCTION_BYTES_MAX)
    /// bytes. Empty: none.
    pub introduction: String,
}

impl Options {
    /// Returns how long a session lives after the sending of the last confirmed renewal: ¾ CT (section 5).
    pub fn lease(&self) -> Duration {
        self.client_timeout * 3 / 4
    }

    /// Returns how long after a confirmed renewal the next one is sent: CT / 5.
    pub(super) fn renewal_interval(&self) -> Duration {
        self.client_timeout / 5
    }

    /// Returns the first interval between unconfirmed renewals.
    pub(super) fn renewal_retry(&self) -> Duration {
        RETRY.min(self.renewal_retry_max())
    }

    /// Returns the longest interval between unconfirmed renewals: at most CT / 8.
    pub(super) fn renewal_retry_max(&self) -> Duration {
        RETRY_MAX.min(self.client_timeout / 8)
    }

    /// Returns how long the client waits for the first confirmation: CT.
    pub(super) const fn proving_timeout(&self) -> Duration {
        self.client_timeout
    }
}
