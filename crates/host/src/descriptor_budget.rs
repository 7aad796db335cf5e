//! Divides the process's descriptors, so that clients never get descriptors that the ring needs.

use ring_process::descriptors::raise_limit;
use tracing::warn;

use crate::observe::events;

/// Maximum number of clients, however many descriptors the process has.
const CLIENTS_MAX: u64 = 512;
/// Number of descriptors per client: its connection, two descriptors from the client, and two that will replace these
/// descriptors.
const DESCRIPTORS_PER_CLIENT: u64 = 5;
/// Number of descriptors for all other uses. The daemon needs these descriptors for the interface, a new interface that
/// replaces it, the log, the state file, and a running hook. The daemon also needs some of these descriptors for the
/// life lines of past holders, and for descriptors that take long to close.
const OTHER_DESCRIPTORS: u64 = 72;

/// The limit of descriptors, and the number of clients that this limit allows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DescriptorBudget {
    limit: u64,
    clients: u64,
}

impl DescriptorBudget {
    /// Raises the process's limit of descriptors to the number that the process needs, or as far as the system allows.
    pub(crate) fn raise_limit_for_clients() -> Self {
        let limit = raise_limit(OTHER_DESCRIPTORS + CLIENTS_MAX * DESCRIPTORS_PER_CLIENT);
        let clients = clients(limit);
        Self { limit, clients }
    }

    pub(crate) fn clients(self) -> usize {
        usize::try_from(self.clients).unwrap_or(usize::MAX)
    }

    /// Logs a warning if the limit allows only few clients.
    pub(crate) fn log_limit(self) {
        let Self { limit, clients } = self;
        if clients < CLIENTS_MAX {
            warn!(
                event = events::FD_LIMIT_LOW,
                limit,
                clients,
                "only {clients} clients can connect at a time: the limit of open files is {limit}; \
                 raise this limit with ulimit -n or LimitNOFILE="
            );
        }
    }
}

/// Returns the number of clients that a limit of descriptors allows. The number is at least one, so that the daemon can
/// answer that a client must try again.
fn clients(limit: u64) -> u64 {
    (limit.saturating_sub(OTHER_DESCRIPTORS) / DESCRIPTORS_PER_CLIENT).clamp(1, CLIENTS_MAX)
}

#[cfg(test)]
mod tests {
    use super::clients;

    #[test]
    fn clients_get_the_descriptors_that_the_ring_leaves() {
        let limits = [16, 96, 1024, 4096, u64::MAX];
        assert_eq!(limits.map(clients), [1, 4, 190, 512, 512]);
    }
}
