//! Divides the descriptors of the process between clients and other uses. So clients never use the descriptors that the
//! ring needs.

use ring_process::descriptors::raise_limit;
use tracing::warn;

use super::server::ClientLimits;
use crate::observe::events;

/// Maximum number of clients of the control socket. This maximum also applies if the process has enough descriptors for
/// more clients.
const CLIENTS_MAX: u64 = 512;
/// Number of descriptors per client. One is the connection. The client may pass two descriptors, and may later replace
/// them by two others.
const DESCRIPTORS_PER_CLIENT: u64 = 5;
/// Maximum number of clients of the monitor socket. Each of them needs one descriptor.
const MONITORS_MAX: u64 = 64;
/// The part of the clients' descriptors that clients of the monitor socket may use: at most one divided by this number.
const MONITOR_SHARE_DIVISOR: u64 = 8;
/// Number of descriptors for all other uses: the interface, a new interface that replaces it, the log, the state file,
/// and a running hook. It includes the life lines of past holders, and descriptors that take long to close.
const OTHER_DESCRIPTORS: u64 = 72;

/// The limit of descriptors, and the number of clients that this limit allows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DescriptorBudget {
    limit: u64,
    clients: u64,
    monitors: u64,
}

impl DescriptorBudget {
    /// Raises the limit of descriptors to the number that the process needs. If the system does not allow this number,
    /// raises the limit as far as possible.
    pub(crate) fn raise_limit_for_clients() -> Self {
        let limit =
            raise_limit(OTHER_DESCRIPTORS + MONITORS_MAX + CLIENTS_MAX * DESCRIPTORS_PER_CLIENT);
        Self::new(limit)
    }

    /// Divides the descriptors. Each socket may have at least one client, so that the daemon can send this client an
    /// error.
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
