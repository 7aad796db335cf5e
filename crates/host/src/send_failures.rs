//! The peers to which sending fails. Each lasting failure is logged once.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;

use tracing::{info, warn};

use crate::observe::events;

/// Maximum number of remembered peers.
const PEERS_MAX: usize = 64;

/// The peers to which the last message could not be sent, each with the reason.
#[derive(Debug, Default)]
pub struct SendFailures(BTreeMap<SocketAddr, String>);

impl SendFailures {
    /// Records that a message to a peer was refused.
    pub fn on_refused(&mut self, to: SocketAddr, error: &io::Error) {
        // Do not log a full queue, because it soon has room again.
        let is_passing = error.kind() == io::ErrorKind::WouldBlock;
        let is_known = self.0.contains_key(&to);
        if is_passing || (!is_known && self.0.len() >= PEERS_MAX) {
            return;
        }
        let why = error.to_string();
        if self.0.get(&to) != Some(&why) {
            warn!(
                event = events::SEND_FAILED, %to,
                "cannot send to {to}: {why}; check that address, and this machine's routes and \
                 packet filter"
            );
            self.0.insert(to, why);
        }
    }

    /// Records that a message to a peer was accepted.
    pub fn on_accepted(&mut self, to: SocketAddr) {
        if self.0.remove(&to).is_some() {
            info!(event = events::SEND_RESTORED, %to, "sending to {to} works again");
        }
    }

    /// Whether this node can send to all peers.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the peers to which sending fails, each with the reason.
    pub fn iter(&self) -> impl Iterator<Item = (SocketAddr, &str)> {
        self.0.iter().map(|(to, why)| (*to, &**why))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};
    use std::net::SocketAddr;

    use super::{PEERS_MAX, SendFailures};

    #[test]
    fn a_failing_peer_is_kept_with_the_last_reason_until_sending_works() {
        let peer = |port| SocketAddr::from(([192, 0, 2, 1], port));
        let mut failures = SendFailures::default();
        failures.on_refused(peer(1), &ErrorKind::WouldBlock.into());
        assert!(failures.is_empty());
        failures.on_refused(peer(1), &Error::from_raw_os_error(22));
        failures.on_refused(peer(1), &Error::from_raw_os_error(101));
        let known: Vec<_> = failures
            .iter()
            .map(|(to, why)| (to, why.to_owned()))
            .collect();
        assert_eq!(known.len(), 1);
        assert!(known[0].1.contains("101"), "{known:?}");
        failures.on_accepted(peer(1));
        assert!(failures.is_empty());
        for port in 0..200 {
            failures.on_refused(peer(port), &Error::from_raw_os_error(22));
        }
        assert_eq!(failures.iter().count(), PEERS_MAX);
    }
}
