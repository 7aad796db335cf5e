//! The keys with which a node signs and verifies.

use crate::keyring::{Key, KeyId, Keyring};
use crate::mac::MacKeys;

/// The keys of the ring, and the keys that only clients use.
#[cfg_attr(test, derive(Clone))]
pub(crate) struct NodeKeys {
    /// The first key signs.
    ring: Vec<MacKeys>,
    /// Sorted by id.
    clients: Vec<MacKeys>,
}

impl NodeKeys {
    pub(crate) fn new(keyring: &Keyring) -> Self {
        Self {
            ring: mac_keys(keyring.keys()),
            clients: Vec::new(),
        }
    }

    /// Replaces the keys of the ring.
    pub(crate) fn set_ring(&mut self, keyring: &Keyring) {
        self.ring = mac_keys(keyring.keys());
    }

    /// Replaces the keys of clients. Ignores each key whose id is also a ring key's id.
    pub(crate) fn set_clients(&mut self, keys: &[Key]) {
        self.clients = mac_keys(keys);
        self.clients.sort_unstable_by_key(MacKeys::id);
    }

    /// Returns the ids of the ring's keys. The first key signs.
    pub(crate) fn ring_ids(&self) -> impl ExactSizeIterator<Item = KeyId> {
        self.ring.iter().map(MacKeys::id)
    }

    /// Returns the key with this id. Returns a client key only if `is_client` is `true`.
    pub(crate) fn get(&self, id: u32, is_client: bool) -> Option<&MacKeys> {
        let ring_key = self.ring.iter().find(|key| key.id().get() == id);
        ring_key.or_else(|| {
            let keys = Some(&self.clients).filter(|_| is_client)?;
            let at = keys.binary_search_by_key(&id, |key| key.id().get()).ok()?;
            keys.get(at)
        })
    }

    /// Whether a key with this id is a client key.
    pub(crate) fn is_client_key(&self, id: KeyId) -> bool {
        let keys = &self.clients;
        keys.binary_search_by_key(&id, MacKeys::id).is_ok()
    }
}

fn mac_keys(keys: &[Key]) -> Vec<MacKeys> {
    keys.iter().map(MacKeys::new).collect()
}
