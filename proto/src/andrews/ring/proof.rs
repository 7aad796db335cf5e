//! Proof that the network works, and the connections that look for this proof (`docs/board/protocol/failures.md` A5 and
//! A6).

use std::collections::BTreeMap;

use crate::StreamId;
use crate::time::Instant;

// Every node that is cut off looks for proof. More connections would load the nodes that still run.
const PROBES_MAX: usize = 4;

#[derive(Debug, Default)]
pub(crate) struct Proof {
    /// The last time at which a message of another node arrived, or at which another node accepted or refused a
    /// connection from this node.
    last: Option<Instant>,
    targets: Vec<u32>,
    /// The open connections, with the time at which the node gives each connection up.
    open: BTreeMap<StreamId, Instant>,
}

impl Proof {
    pub(crate) const fn note_contact(&mut self, now: Instant) {
        self.last = Some(now);
    }

    pub(crate) fn has_contact_since(&self, since: Instant) -> bool {
        // Equal times count: the refusal by which a successor was lost is itself proof.
        self.last.is_some_and(|last| last >= since)
    }

    /// Returns the number of connections for proof, open or requested.
    pub(crate) fn probe_count(&self) -> usize {
        self.targets.len() + self.open.len()
    }

    pub(crate) fn is_within_limit(&self) -> bool {
        self.probe_count() <= PROBES_MAX
    }

    /// Requests a connection to a node.
    pub(crate) fn request_probe(&mut self, id: u32) {
        // One connection per node is enough, because each repeat of the request asks again.
        if self.probe_count() < PROBES_MAX && !self.targets.contains(&id) {
            self.targets.push(id);
        }
    }

    /// Removes and returns the next node to connect to.
    pub(crate) fn take_next_target(&mut self) -> Option<u32> {
        self.targets.pop()
    }

    pub(crate) fn on_opened(&mut self, id: StreamId, until: Instant) {
        self.open.insert(id, until);
    }

    /// Removes a connection. Returns whether the connection was opened to look for proof.
    pub(crate) fn remove(&mut self, id: StreamId) -> bool {
        self.open.remove(&id).is_some()
    }

    pub(crate) fn streams(&self) -> impl Iterator<Item = StreamId> {
        self.open.keys().copied()
    }

    /// Removes and returns the connections that exceed their time limit.
    pub(crate) fn take_late(&mut self, now: Instant) -> Vec<StreamId> {
        let late = self.open.iter().filter(|(_, until)| **until <= now);
        let late = late.map(|(&id, _)| id).collect();
        self.open.retain(|_, until| *until > now);
        late
    }

    pub(crate) fn due(&self) -> Option<Instant> {
        self.open.values().copied().min()
    }

    pub(crate) fn clear(&mut self) {
        self.targets.clear();
        self.open.clear();
    }
}

#[cfg(test)]
impl Proof {
    /// Exceeds the limit.
    pub(crate) fn spoil(&mut self) {
        self.targets = vec![1; PROBES_MAX + 1];
    }
}
