//! The window of counters. It detects messages that were already delivered.

/// Number of counters in the window. A message with an older counter counts as delivered.
const WINDOW_LEN: u64 = u128::BITS as u64;

/// The highest delivered counter of a boot, and the delivered counters among those just below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReplayWindow {
    highest: u64,
    /// Bit n is set if the counter `highest - n` was delivered.
    delivered: u128,
}

impl ReplayWindow {
    /// Makes a window in which all counters up to `counter` count as delivered.
    pub(crate) fn starting_at(counter: u64) -> Self {
        Self {
            highest: counter,
            delivered: u128::MAX,
        }
    }

    /// Returns the highest delivered counter.
    pub(crate) fn highest(&self) -> u64 {
        self.highest
    }

    /// Whether no message with this counter was delivered. A counter below the window counts as delivered.
    #[inline]
    pub(crate) fn is_new(&self, counter: u64) -> bool {
        match self.highest.checked_sub(counter) {
            None => true,
            Some(below) => below < WINDOW_LEN && self.delivered >> below & 1 == 0,
        }
    }

    /// Marks a new counter as delivered, and moves the window if necessary.
    #[inline]
    pub(crate) fn mark_delivered(&mut self, counter: u64) {
        let below = if let Some(below) = self.highest.checked_sub(counter) {
            below
        } else {
            let ahead = counter - self.highest;
            let shifted = u32::try_from(ahead).ok();
            let shifted = shifted.and_then(|ahead| self.delivered.checked_shl(ahead));
            self.delivered = shifted.unwrap_or_default();
            self.highest = counter;
            0
        };
        if below < WINDOW_LEN {
            self.delivered |= 1 << below;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::{ReplayWindow, WINDOW_LEN};

    /// Returns counters that are near each other, with a few large steps.
    fn counters() -> impl Strategy<Value = Vec<u64>> {
        let base = prop_oneof![Just(0), Just(1 << 40), Just(u64::MAX - 2000)];
        let step = prop_oneof![9 => 0..300_u64, 1 => 0..2000_u64];
        (base, vec(step, 1..200)).prop_map(|(base, steps)| {
            let counters = steps.into_iter().map(|step| base + step);
            counters.collect()
        })
    }

    proptest! {
        #[test]
        fn each_counter_of_the_window_is_new_once(start in 0..500_u64, counters in counters()) {
            let mut window = ReplayWindow::starting_at(start);
            let mut delivered = BTreeSet::new();
            let mut highest = start;
            for counter in counters {
                let is_in_window = counter > highest || highest - counter < WINDOW_LEN;
                let expected = counter > start && is_in_window && !delivered.contains(&counter);
                prop_assert_eq!(window.is_new(counter), expected, "{}", counter);
                if expected {
                    window.mark_delivered(counter);
                    delivered.insert(counter);
                    highest = highest.max(counter);
                }
            }
        }
    }

    #[test]
    fn the_window_has_128_counters() {
        let mut window = ReplayWindow::starting_at(0);
        window.mark_delivered(1000);
        assert!(window.is_new(1001) && window.is_new(873));
        assert!(!window.is_new(1000) && !window.is_new(872));
        window.mark_delivered(u64::MAX);
        assert!(!window.is_new(1001) && window.is_new(u64::MAX - 127));
    }
}
