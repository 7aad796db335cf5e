//! What a client is started with, and the times that follow from it.

use std::time::Duration;

use crate::ftn::{RETRY, RETRY_MAX, Servers};

/// What a client is started with (`docs/ftn.md`, section 1).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Options {
    /// The servers.
    pub servers: Servers,
    /// CT. A client uses a shorter one if servers announce that: they end sessions by their own.
    pub client_timeout: Duration,
    /// What a session says of itself to people (section 6), at most [`MAX_INTRODUCTION`](crate::ftn::MAX_INTRODUCTION) bytes;
    /// empty: nothing.
    pub introduction: String,
}

impl Options {
    /// How long a session lives after the sending of the last confirmed renewal: ¾ CT (section 5).
    pub fn lease(&self) -> Duration {
        self.client_timeout * 3 / 4
    }

    /// How long after a confirmed renewal the next one is sent: CT / 5.
    pub(super) fn renewal_interval(&self) -> Duration {
        self.client_timeout / 5
    }

    /// The first interval between two renewals while none is confirmed.
    pub(super) fn renewal_retry(&self) -> Duration {
        RETRY.min(self.renewal_retry_max())
    }

    /// The longest interval between two renewals while none is confirmed: CT / 8.
    pub(super) fn renewal_retry_max(&self) -> Duration {
        RETRY_MAX.min(self.client_timeout / 8)
    }

    /// How long a session may go unconfirmed before the client gives it up: CT.
    pub(super) const fn proving(&self) -> Duration {
        self.client_timeout
    }
}
