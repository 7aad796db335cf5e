//! Announcements of options, and the values that follow from them (`docs/token-service/protocol/conventions.md` O9 to
//! O13).

use std::time::Duration;

use ring_codec::ftn::Terms;

use super::Server;
use crate::ftn::server::{Event, OptionDifference};

impl Server {
    /// Handles the announcement of another server.
    pub(super) fn on_terms(&mut self, server: usize, terms: Terms) {
        if let Some(differences) = self.peer_options.record(&self.options, server, terms) {
            // Clients have to renew their leases before any server would end their sessions.
            let shortest = self.peer_options.shortest_timeout(&self.options);
            self.out.announce_to_clients(shortest);
            self.out.report(Event::OptionsCompared {
                server,
                differences,
            });
        }
    }

    /// For each other server whose options differ from this server's options, returns its index and the differences.
    pub fn differences(&self) -> Vec<(usize, Vec<OptionDifference>)> {
        self.peer_options.differences(&self.options)
    }

    /// Returns Q: the largest announced quorum, but at most a majority.
    pub fn quorum(&self) -> usize {
        self.peer_options.quorum(&self.options)
    }

    /// Returns the silence after which a session ends.
    pub(super) fn client_timeout(&self) -> Duration {
        self.peer_options.client_timeout(&self.options)
    }

    /// Returns the time for which this server and the server `server` may rely on each other.
    pub(super) fn lease_with(&self, server: usize) -> Duration {
        self.peer_options.lease_with(&self.options, server)
    }
}
