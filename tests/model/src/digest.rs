//! What tells one node from another, in short.

use std::hash::Hasher;
use std::sync::OnceLock;

use xxhash_rust::xxh3::xxh3_128;

/// A key in short: long enough that no two nodes share one by chance. Made when it is first asked for. A clone has
/// none: what is cloned is about to change.
#[derive(Default)]
pub struct Digest(OnceLock<u128>);

impl Clone for Digest {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Digest {
    /// The digest of this key.
    pub fn of(&self, key: impl FnOnce() -> Vec<u8>) -> u128 {
        *self.0.get_or_init(|| xxh3_128(&key()))
    }
}

/// Takes down all that is hashed into it.
#[derive(Default)]
pub struct Key(pub Vec<u8>);

impl Hasher for Key {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Not a hash: whoever needs one takes it from the bytes.
    fn finish(&self) -> u64 {
        0
    }
}
