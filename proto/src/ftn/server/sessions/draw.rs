//! Session ids, drawn from a seed.

use crate::draw;
use crate::ftn::MIN_SESSION;

/// How many ids there are: from 2^20 to 2^31 - 1.
const IDS: u64 = (1 << 31) - MIN_SESSION as u64;

/// Ids that nobody guesses who does not know the seed.
#[derive(Debug, Clone, Hash)]
pub(crate) struct Draw(draw::Draw);

impl Draw {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(draw::Draw::new(seed))
    }

    /// The next session id.
    pub(crate) fn session(&mut self) -> i32 {
        let number = self.0.number() % IDS;
        // Below 2^31 - 2^20.
        MIN_SESSION + i32::try_from(number).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_random_from_2_to_the_20_on() {
        let mut draw = Draw::new(7);
        let ids: Vec<i32> = (0..1000).map(|_| draw.session()).collect();
        assert!(ids.iter().all(|&id| id >= MIN_SESSION));
        assert!(ids.iter().any(|&id| id > 1 << 30) && ids.iter().any(|&id| id < 1 << 30));
        assert_ne!(
            ids,
            (0..1000)
                .map(|_| Draw::new(8).session())
                .collect::<Vec<_>>()
        );
    }
}
