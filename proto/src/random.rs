//! Pseudorandom numbers from a seed.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A sequence of numbers that other machines cannot guess unless they know the seed.
#[derive(Debug, Clone, Hash)]
pub struct RandomNumbers {
    seed: u64,
    drawn: u64,
}

impl RandomNumbers {
    /// Returns the sequence that belongs to a seed.
    pub const fn new(seed: u64) -> Self {
        Self { seed, drawn: 0 }
    }

    /// Returns the next number, uniform over 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.drawn += 1;
        xxh3_64_with_seed(&self.drawn.to_le_bytes(), self.seed)
    }

    /// Returns the next number, which is uniform from 0 to `end - 1`. Returns 0 if `end` is 0.
    pub fn next_below(&mut self, end: u32) -> u32 {
        // The remainder of a 64-bit number is almost uniform: the deviation is below one in 2^32.
        let rest = self.next_u64().checked_rem(end.into()).unwrap_or_default();
        // The conversion cannot fail, because the remainder is below `end`.
        u32::try_from(rest).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_uniform_and_differ_with_the_seed() {
        let mut draw = RandomNumbers::new(7);
        let drawn: Vec<u32> = (0..1000).map(|_| draw.next_below(10)).collect();
        for number in 0..10 {
            let count = drawn.iter().filter(|&&it| it == number).count();
            assert!((60..=140).contains(&count), "{number}: {count}");
        }
        let mut other = RandomNumbers::new(8);
        assert_ne!(
            drawn,
            (0..1000).map(|_| other.next_below(10)).collect::<Vec<_>>()
        );
        assert_eq!(draw.next_below(0), 0);
    }
}
