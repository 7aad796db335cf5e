//! The highest configuration number seen, which is stored before it is used (`docs/ftn.md`, section 1).

use super::Server;
use crate::Stored;
use crate::ftn::server::Event;
use crate::time::Instant;

impl Server {
    /// How much of the number that another server names counts: all of it, as far as a step goes, or nothing of it.
    pub(super) fn reach(&mut self, server: usize, number: u64) -> u64 {
        let (period, servers) = (self.options.heartbeat, self.servers.len());
        let seen = self.storage.seen();
        self.steps.begin(self.now, period, servers, seen);
        let reach = self.steps.reach(servers, server, number);
        if reach.is_news {
            self.out.event(Event::NumberAhead {
                server,
                configuration: number,
            });
        }
        reach.number
    }

    /// What could not be stored has not left this server: it is mute until it can, as if it were cut off.
    pub(super) fn on_stored(&mut self, now: Instant, stored: Stored) {
        let failed = stored == Stored::Failed;
        if failed {
            self.storage.on_failed(now + self.options.heartbeat);
            self.out.clear();
        } else {
            self.storage.on_stored();
        }
        if self.out.set_mute(failed) {
            self.out.event(Event::StorageChanged { failed });
        }
    }
}
