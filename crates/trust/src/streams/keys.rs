//! The keys of a node's streams.

use zeroize::Zeroizing;

use crate::keyring::{KeyId, Keyring};

/// Keys that open streams, and the rule for streams without encryption.
pub struct StreamKeys {
    /// The first key opens streams, and all keys accept streams.
    keys: Vec<(KeyId, Zeroizing<[u8; 32]>)>,
    accepts_plain: bool,
}

impl StreamKeys {
    /// Context from which the keys of streams are derived.
    pub(super) const CONTEXT: &str = "ringd 2026-11 stream";

    /// Derives the keys of streams. If `accepts_unsigned`, the node also accepts streams without encryption.
    pub fn new(keyring: &Keyring, accepts_unsigned: bool) -> Self {
        let keys = keyring.keys().iter();
        Self {
            keys: keys
                .map(|key| (key.id(), key.derive(Self::CONTEXT)))
                .collect(),
            accepts_plain: accepts_unsigned,
        }
    }

    /// Returns the keys of a node without a key file: all its streams are without encryption.
    pub const fn none() -> Self {
        Self {
            keys: Vec::new(),
            accepts_plain: true,
        }
    }

    /// Whether the node has no keys.
    pub const fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Whether a stream with this key may continue. `None` stands for a stream without encryption.
    pub fn permits(&self, key: Option<KeyId>) -> bool {
        match key {
            None => self.accepts_plain,
            Some(id) => self.get(id.get()).is_some(),
        }
    }

    pub(super) const fn accepts_plain(&self) -> bool {
        self.accepts_plain
    }

    /// Returns the key that opens streams; `None` without keys.
    pub(super) fn first(&self) -> Option<(KeyId, &[u8; 32])> {
        let (id, key) = self.keys.first()?;
        Some((*id, key))
    }

    pub(super) fn get(&self, id: u32) -> Option<(KeyId, &[u8; 32])> {
        let (id, key) = self.keys.iter().find(|(key, _)| key.get() == id)?;
        Some((*id, key))
    }
}
