//! Random numbers for challenges.

use zeroize::Zeroizing;

use crate::trailer::NONCE_LEN;

/// Source of unpredictable numbers. The numbers depend only on the seed, so that a simulation can repeat them.
#[cfg_attr(test, derive(Clone))]
pub(crate) struct Nonces {
    seed: Zeroizing<[u8; 32]>,
    drawn: u64,
}

impl Nonces {
    pub(crate) fn new(seed: [u8; 32]) -> Self {
        Self {
            seed: Zeroizing::new(seed),
            drawn: 0,
        }
    }

    pub(crate) fn draw(&mut self) -> [u8; NONCE_LEN] {
        self.drawn += 1;
        let hash = blake3::keyed_hash(&self.seed, &self.drawn.to_be_bytes());
        crate::mac::truncate(hash)
    }
}
