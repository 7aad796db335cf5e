//! Options that others rely on: servers announce them, and heed those that differ (`docs/ftn.md`, section 1).

use std::time::Duration;

use ring_codec::ftn::Terms;

use super::Server;
use crate::ftn::server::{Difference, Event};

impl Server {
    /// Another server announces its options.
    pub(super) fn on_terms(&mut self, server: usize, terms: Terms) {
        if let Some(differences) = self.announced.note(&self.options, server, terms) {
            let shortest = self.announced.shortest_timeout(&self.options);
            self.out.announce_to_clients(shortest);
            self.out.event(Event::OptionsCompared {
                server,
                differences,
            });
        }
    }

    /// The options of other servers that differ from those of this one, by server.
    pub fn differences(&self) -> Vec<(usize, Vec<Difference>)> {
        self.announced.differences(&self.options)
    }

    /// Q: the largest that any server has, as far as a majority goes.
    pub fn quorum(&self) -> usize {
        self.announced.quorum(&self.options)
    }

    /// The silence after which a session ends.
    pub(super) fn client_timeout(&self) -> Duration {
        self.announced.client_timeout(&self.options)
    }

    /// The time for which this server and another one may rely on each other.
    pub(super) fn lease_with(&self, server: usize) -> Duration {
        self.announced.lease_with(&self.options, server)
    }
}
