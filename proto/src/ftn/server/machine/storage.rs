//! Stores the highest configuration number that the server has seen, before the server uses this number
//! (`docs/token-service/protocol/numbers.md` N5).

use super::Server;
use crate::StoreOutcome;
use crate::ftn::server::Event;
use crate::time::Instant;

impl Server {
    /// Returns the number that this server uses if another server names `number`. Reports `number` if it is above the
    /// limit.
    pub(super) fn limit_number(&mut self, server: usize, number: u64) -> u64 {
        let (period, servers) = (self.options.heartbeat, self.servers.len());
        let seen = self.storage.largest_seen();
        self.number_limits
            .begin_step(self.now, period, servers, seen);
        let limited = self.number_limits.limit(servers, server, number);
        if limited.is_news {
            self.out.report(Event::NumberAhead {
                server,
                configuration: number,
            });
        }
        limited.number
    }

    // Datagrams that depend on a number that is not stored are dropped. Until storing works, the server sends nothing,
    // as if its network were cut.
    pub(super) fn on_stored(&mut self, now: Instant, stored: StoreOutcome) {
        let failed = stored == StoreOutcome::Failed;
        if failed {
            self.storage.on_failed(now + self.options.heartbeat);
            self.out.clear();
        } else {
            self.storage.on_stored();
        }
        if self.out.set_stopped(failed) {
            self.out.report(Event::StorageChanged { failed });
        }
    }
}
