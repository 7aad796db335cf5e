//! The only source of random numbers. The numbers follow from the seed, and are the same on every machine.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};

/// The kinds of independent random sequences that one seed gives.
#[derive(Debug, Clone, Copy)]
pub enum Stream {
    /// Random numbers that select the faults and their times.
    Plan = 1,
    /// Random numbers that select the effects on each message.
    World = 2,
    /// Random numbers for values that only one system needs. The sequence is independent of the other two sequences.
    System = 3,
    /// Random numbers for kinds of fault that were added later, so that the other faults of a seed stay the same.
    Added = 4,
    /// Random numbers for keys and for the attacker.
    Keys = 5,
    /// Random numbers of the handshakes of encrypted connections.
    Handshakes = 6,
    /// Random numbers of the guardians of crashed processes.
    Guardians = 7,
}

/// A xoshiro256++ generator. This generator returns the same numbers in every version, and it needs no floating point.
#[derive(Debug, Clone)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// Returns one sequence of a seed.
    pub fn new(seed: u64, stream: Stream) -> Self {
        let apart = (stream as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self(Xoshiro256PlusPlus::seed_from_u64(seed ^ apart))
    }

    /// Returns the next number, of 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a number below `bound`, or 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The result is the high half of the product. Its bias of bound / 2^64 is too small to matter.
        let wide = u128::from(self.draw()) * u128::from(bound);
        u64::try_from(wide >> 64).unwrap_or(0)
    }

    /// Returns a number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }

    /// Returns a random index below `len`, or 0 if `len` is 0.
    pub fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).unwrap_or(0)
    }

    /// Returns `true` with a probability of `of_1000` per thousand. If `of_1000` is 0, draws no number.
    pub fn chance(&mut self, of_1000: u16) -> bool {
        of_1000 > 0 && self.below(1_000) < u64::from(of_1000)
    }

    /// Returns one of the values, each with the same probability.
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
