//! Divides the process's descriptors, so that clients never get descriptors that the ring needs.

use ring_process::descriptors::raise_limit;
use tracing::warn;

use super::server::ClientLimits;
use crate::observe::events;

/// Maximum number of clients of the control socket, however many descriptors the process has.
const CLIENTS_MAX: u64 = 512;
/// Number of descriptors per client: its connection, two descriptors from the client, and two that will replace these
/// descriptors.
const DESCRIPTORS_PER_CLIENT: u64 = 5;
/// Maximum number of clients of the monitor socket. Each of them needs one descriptor.
const MONITORS_MAX: u64 = 64;
/// Divisor of the descriptors for clients. At most this share is for clients of the monitor socket.
const MONITOR_SHARE_DIVISOR: u64 = 8;
/// Number of descriptors for all other uses. The daemon needs these descriptors for the interface, a new interface that
/// replaces it, the log, the state file, and a running hook. The daemon also needs some of these descriptors for the
/// life lines of past holders, and for descriptors that take long to close.
const OTHER_DESCRIPTORS: u64 = 72;

/// The limit of descriptors, and the number of clients that this limit allows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DescriptorBudget {
    limit: u64,
    clients: u64,
    monitors: u64,
}

impl DescriptorBudget {
    /// Raises the process's limit of descriptors to the number that the process needs, or as far as the system allows.
    pub(crate) fn raise_limit_for_clients() -> Self {
        let limit =
            raise_limit(OTHER_DESCRIPTORS + MONITORS_MAX + CLIENTS_MAX * DESCRIPTORS_PER_CLIENT);
        Self::new(limit)
    }

    /// Divides the descriptors. Each socket has at least one client, so that the daemon can answer that a client must
    /// try again.
    fn new(limit: u64) -> Self {
        let spare = limit.saturating_sub(OTHER_DESCRIPTORS);
        let monitors = (spare / MONITOR_SHARE_DIVISOR).clamp(1, MONITORS_MAX);
        let for_clients = spare.saturating_sub(monitors);
        Self {
            limit,
            clients: (for_clients / DESCRIPTORS_PER_CLIENT).clamp(1, CLIENTS_MAX),
            monitors,
        }
    }

    pub(crate) fn clients(self) -> ClientLimits {
        let count = |count| usize::try_from(count).unwrap_or(usize::MAX);
        ClientLimits {
            control: count(self.clients),
            monitor: count(self.monitors),
        }
    }

    /// Logs a warning if the limit allows only few clients.
    pub(crate) fn log_limit(self) {
        let Self { limit, clients, .. } = self;
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

#[cfg(test)]
mod tests {
    use super::DescriptorBudget;

    #[test]
    fn clients_get_the_descriptors_that_the_ring_leaves() {
        let limits = [16, 96, 1024, 4096, u64::MAX];
        let clients = limits.map(|limit| {
            let DescriptorBudget {
                clients, monitors, ..
            } = DescriptorBudget::new(limit);
            (clients, monitors)
        });
        assert_eq!(clients, [(1, 1), (4, 3), (177, 64), (512, 64), (512, 64)]);
    }
}
