//! Random session ids.

use crate::ftn::SESSION_ID_MIN;
use crate::random;

/// Number of ids: from 2^20 to 2^31 - 1.
const IDS: u64 = (1 << 31) - SESSION_ID_MIN as u64;

/// Generator of session ids. The next id is unpredictable for everyone who does not know the seed.
#[derive(Debug, Clone, Hash)]
pub(crate) struct IdGenerator(random::RandomNumbers);

impl IdGenerator {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(random::RandomNumbers::new(seed))
    }

    /// Returns the next session id.
    pub(crate) fn next_id(&mut self) -> i32 {
        let number = self.0.next_u64() % IDS;
        // Cannot fail: the number is below 2^31 - 2^20.
        SESSION_ID_MIN + i32::try_from(number).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_random_from_2_to_the_20_on() {
        let mut ids_of_seed = IdGenerator::new(7);
        let ids: Vec<i32> = (0..1000).map(|_| ids_of_seed.next_id()).collect();
        assert!(ids.iter().all(|&id| id >= SESSION_ID_MIN));
        assert!(ids.iter().any(|&id| id > 1 << 30) && ids.iter().any(|&id| id < 1 << 30));
        assert_ne!(
            ids,
            (0..1000)
                .map(|_| IdGenerator::new(8).next_id())
                .collect::<Vec<_>>()
        );
    }
}
