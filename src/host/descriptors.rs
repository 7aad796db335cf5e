//! How the process's descriptors are shared out: those that the ring needs are never a client's.

use tracing::warn;

use crate::sys::descriptors::raise_limit;

/// The most clients at a time, however many descriptors there may be.
const MAX_CLIENTS: u64 = 512;
/// What a client takes: its connection, two descriptors that it has handed over, and two that are to take
/// their place.
const A_CLIENT: u64 = 5;
/// What all else takes: the ring, while its interface is looked up and opened anew, the log, the state
/// file, a hook that runs, and the life lines of holders that are gone.
const THE_REST: u64 = 56;

/// How many clients there is room for.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    limit: u64,
    clients: u64,
}

impl Room {
    /// Has the process have as many descriptors as it needs, or as the system lets it have.
    pub fn make() -> Self {
        let limit = raise_limit(THE_REST + MAX_CLIENTS * A_CLIENT);
        let clients = clients(limit);
        Self { limit, clients }
    }

    /// The most clients at a time.
    pub fn clients(self) -> usize {
        usize::try_from(self.clients).unwrap_or(usize::MAX)
    }

    /// Says if there is little.
    pub fn say(self) {
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

/// One at least, or nobody could be told of it.
fn clients(limit: u64) -> u64 {
    (limit.saturating_sub(THE_REST) / A_CLIENT).clamp(1, MAX_CLIENTS)
}

#[cfg(test)]
mod tests {
    use super::clients;

    #[test]
    fn clients_have_what_the_ring_leaves() {
        let limits = [16, 96, 1024, 4096, u64::MAX];
        assert_eq!(limits.map(clients), [1, 8, 193, 512, 512]);
    }
}
