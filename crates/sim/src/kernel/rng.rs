//! The only source of chance: numbers that follow from the seed, the same on every machine.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};

/// What tells the sequences of one seed apart.
#[derive(Debug, Clone, Copy)]
pub enum Stream {
    /// What goes wrong, and when.
    Plan = 1,
    /// What becomes of each message.
    World = 2,
    /// What a system draws beside the others.
    System = 3,
}

/// xoshiro256++, whose authors fix its numbers for good. No floating point is involved in any
/// decision.
#[derive(Debug, Clone)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The numbers of one sequence of a seed.
    pub fn new(seed: u64, stream: Stream) -> Self {
        let apart = (stream as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self(Xoshiro256PlusPlus::seed_from_u64(seed ^ apart))
    }

    /// The next number, of 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`; 0 if there is none.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The high half of the product; its bias of bound / 2^64 matters to no test.
        let wide = u128::from(self.draw()) * u128::from(bound);
        u64::try_from(wide >> 64).unwrap_or(0)
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }

    /// An index below `len`; 0 if there is none.
    pub fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).unwrap_or(0)
    }

    /// Whether something happens that does so `of_1000` times in a thousand. Draws nothing if it
    /// never does.
    pub fn chance(&mut self, of_1000: u16) -> bool {
        of_1000 > 0 && self.below(1_000) < u64::from(of_1000)
    }

    /// One of them, each as likely as the others.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.index(of.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::{Rng, Stream};

    #[test]
    fn a_seed_gives_the_same_numbers_on_every_machine() {
        let mut rng = Rng::new(1, Stream::World);
        let numbers: Vec<u64> = (0..4).map(|_| rng.below(1_000_000)).collect();
        assert_eq!(numbers, [436_909, 201_823, 126_708, 195_505]);
        let mut other = Rng::new(1, Stream::Plan);
        assert_ne!(other.draw(), Rng::new(1, Stream::World).draw());
    }

    #[test]
    fn numbers_stay_within_their_bounds_and_reach_them() {
        let mut rng = Rng::new(7, Stream::Plan);
        let drawn: Vec<u64> = (0..1_000).map(|_| rng.between(3, 6)).collect();
        for n in 0..10 {
            assert_eq!(drawn.contains(&n), (3..=6).contains(&n), "{n}");
        }
        assert!((0..100).all(|_| !rng.chance(0) && rng.chance(1_000)));
        assert_eq!((rng.below(0), rng.index(0)), (0, 0));
    }
}
