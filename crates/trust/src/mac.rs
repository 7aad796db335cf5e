//! Message authentication codes, and the keys that make them.

use constant_time_eq::constant_time_eq_16;
use zeroize::Zeroizing;

use crate::keyring::{Key, KeyId};
use crate::trailer::Kind;

pub(crate) const MAC_LEN: usize = 16;
/// Length of a derived key in bytes.
pub(crate) const KEY_LEN: usize = 32;

/// Keys that are derived from one key of the keyring. Each kind of message has a separate key, so a message of one kind
/// is never valid as a message of another kind.
#[cfg_attr(test, derive(Clone))]
pub(crate) struct MacKeys {
    id: KeyId,
    keys: [Zeroizing<[u8; KEY_LEN]>; Kind::ALL.len()],
}

impl MacKeys {
    pub(crate) fn new(key: &Key) -> Self {
        let context = |kind| match kind {
            Kind::Message => "ringd 2026-11 message",
            Kind::Challenge => "ringd 2026-11 challenge",
            Kind::Answer => "ringd 2026-11 answer",
            Kind::MessageToAll => "ringd 2026-11 message to all",
        };
        Self {
            id: key.id(),
            keys: Kind::ALL.map(|kind| key.derive(context(kind))),
        }
    }

    pub(crate) fn id(&self) -> KeyId {
        self.id
    }

    /// Signs a message and its addresses.
    #[inline]
    pub(crate) fn sign(&self, kind: Kind, addresses: &[u8], bytes: &[u8]) -> [u8; MAC_LEN] {
        let key = &self.keys[kind as usize];
        if addresses.is_empty() {
            return truncate(blake3::keyed_hash(key, bytes));
        }
        let mut hasher = blake3::Hasher::new_keyed(key);
        truncate(hasher.update(addresses).update(bytes).finalize())
    }

    /// Returns the key for messages of a kind.
    pub(crate) fn key(&self, kind: Kind) -> &Zeroizing<[u8; KEY_LEN]> {
        &self.keys[kind as usize]
    }

    /// Whether `mac` is the MAC of these bytes. The duration of the comparison does not depend on the values.
    #[inline]
    pub(crate) fn is_valid(
        &self,
        kind: Kind,
        addresses: &[u8],
        bytes: &[u8],
        mac: &[u8; MAC_LEN],
    ) -> bool {
        constant_time_eq_16(&self.sign(kind, addresses, bytes), mac)
    }
}

/// Returns the first 128 bits of a hash.
#[inline]
pub(crate) fn truncate(hash: blake3::Hash) -> [u8; MAC_LEN] {
    let mut first = [0; MAC_LEN];
    first.copy_from_slice(&hash.as_bytes()[..MAC_LEN]);
    first
}
