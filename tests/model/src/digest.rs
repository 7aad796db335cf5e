//! Digests that distinguish nodes.

use std::hash::Hasher;
use std::sync::OnceLock;

use xxhash_rust::xxh3::xxh3_128;

/// A digest of a node's key, computed at the first use. With 128 bits, two different nodes practically never have the
/// same digest. A cloned node has no digest, because the clone will change.
#[derive(Default)]
pub struct Digest(OnceLock<u128>);

impl Clone for Digest {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Digest {
    /// Returns the digest of this key.
    pub fn of(&self, key: impl FnOnce() -> Vec<u8>) -> u128 {
        *self.0.get_or_init(|| xxh3_128(&key()))
    }
}

/// A hasher that stores all bytes that it receives.
#[derive(Default)]
pub struct Key(pub Vec<u8>);

impl Hasher for Key {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Returns 0, because the result of this hasher is not a number but the stored bytes.
    fn finish(&self) -> u64 {
        0
    }
}
