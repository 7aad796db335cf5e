//! How the process shares out its descriptors: clients never get those that the ring needs.

use ring_process::descriptors::raise_limit;
use tracing::warn;

/// Maximum clients at a time, however many descriptors there may be.
const MAX_CLIENTS: u64 = 512;
/// Descriptors of one client: its connection, two that it has handed over, and two that are about to replace
/// them.
const A_CLIENT: u64 = 5;
/// Descriptors of everything else: the ring while its interface is looked up and opened anew, the log, the
/// state file, a running hook, the life lines of holders that are gone, and what is slow to close.
const THE_REST: u64 = 72;

/// The room for clients.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    limit: u64,
    clients: u64,
}

impl Room {
    /// Raises the process's limit of descriptors to what it needs, or to what the system allows.
    pub(crate) fn make() -> Self {
        let limit = raise_limit(THE_REST + MAX_CLIENTS * A_CLIENT);
        let clients = clients(limit);
        Self { limit, clients }
    }

    /// Maximum clients at a time.
    pub(crate) fn clients(self) -> usize {
        usize::try_from(self.clients).unwrap_or(usize::MAX)
    }

    /// Logs that there is little room.
    pub(crate) fn say(self) {
        let Self { limit, clients } = self;
        if clients < MAX_CLIENTS {
            warn!(
                event = "few_descriptors",
                limit,
                clients,
                "serving {clients} clients at a time at most, since the limit of open files is {limit}: \
                 raise it by ulimit -n or LimitNOFILE="
            );
        }
    }
}

/// At least one, or nobody could be told.
fn clients(limit: u64) -> u64 {
    (limit.saturating_sub(THE_REST) / A_CLIENT).clamp(1, MAX_CLIENTS)
}

#[cfg(test)]
mod tests {
    use super::clients;

    #[test]
    fn clients_have_what_the_ring_leaves() {
        let limits = [16, 96, 1024, 4096, u64::MAX];
        assert_eq!(limits.map(clients), [1, 4, 190, 512, 512]);
    }
}
