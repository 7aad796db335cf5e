//! Terms at the end of a datagram and in TP6, as `docs/jitterbug/datagrams.md` describes them.

use anyhow::{Context, Result, ensure};

pub(super) const TERMS_LEN: usize = 33;
/// Flag of a sender whose token is followed.
pub(super) const FOLLOWED: u8 = 1;
/// Policy of the computation `counter` and the decision `greater`.
pub(super) const POLICY_OF_COUNTER: u64 = 0x2366_c420_6b65_ab45;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Terms {
    pub lease_us: u32,
    pub shortest_us: u32,
    pub longest_us: u32,
    pub renew_ms: u32,
    pub pass_ms: u32,
    pub follows: u32,
    pub policy: u64,
    pub flags: u8,
}

impl Terms {
    /// Reads exactly the bytes of terms.
    pub(super) fn read(bytes: &[u8]) -> Result<Self> {
        ensure!(bytes.len() == TERMS_LEN, "{} bytes of terms", bytes.len());
        let word = |index: usize| -> Result<u32> {
            let bytes = bytes.get(4 * index..).and_then(|rest| rest.first_chunk());
            Ok(u32::from_be_bytes(*bytes.context("too short")?))
        };
        Ok(Self {
            lease_us: word(0)?,
            shortest_us: word(1)?,
            longest_us: word(2)?,
            renew_ms: word(3)?,
            pass_ms: word(4)?,
            follows: word(5)?,
            policy: u64::from(word(6)?) << 32 | u64::from(word(7)?),
            flags: bytes[TERMS_LEN - 1],
        })
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let words = [
            self.lease_us,
            self.shortest_us,
            self.longest_us,
            self.renew_ms,
            self.pass_ms,
            self.follows,
        ];
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u32::to_be_bytes).collect();
        bytes.extend(self.policy.to_be_bytes());
        bytes.push(self.flags);
        bytes
    }
}
