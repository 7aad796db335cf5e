//! Penalties for members that do not take the token. A member with a penalty is skipped for some rotations, but not
//! forgotten (the Jitterbug document, "Candidate selection and penalties").

/// The maximum number of successive rotations in which a member is skipped.
const SKIPS_MAX: u16 = 1 << 10;

/// A node's record of failed handovers to one member.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize,
)]
pub struct Penalty {
    failures: u16,
    turns: u16,
}

impl Penalty {
    /// Records a failed handover. After the k-th failure in a row the member is skipped 2^k − 1 times.
    pub fn on_failure(&mut self) {
        self.on_failure_up_to(u16::MAX);
    }

    /// Records a failed handover. The number of failures in a row grows to at most `most`.
    pub fn on_failure_up_to(&mut self, most: u16) {
        self.failures = self.failures.saturating_add(1).min(most);
        self.turns = skips_after(self.failures);
    }

    /// Records a handover that succeeded. Removes one failure from the count. From now on, only the remaining failures
    /// determine how often the member is skipped.
    pub fn forget_one_failure(&mut self) {
        self.failures = self.failures.saturating_sub(1);
        self.turns = skips_after(self.failures);
    }

    /// Records a handover that succeeded. Forgets all failures.
    pub fn forget_failures(&mut self) {
        *self = Self::default();
    }

    /// Records a sign of life. The member is eligible at once, but its failures still count.
    pub fn on_heard(&mut self) {
        // The failures stay, because a frame does not show that the member can take the token.
        self.turns = 0;
    }

    /// Records that the member announced its departure. Skips the member as often as possible.
    pub fn on_departure(&mut self) {
        // The member is not forgotten, because it may return without an announcement.
        self.turns = SKIPS_MAX;
    }

    /// Returns whether to skip the member this time. Counts each skip.
    pub fn take_skip(&mut self) -> bool {
        let over = self.turns > 0;
        self.turns = self.turns.saturating_sub(1);
        over
    }

    /// Returns how many more times the member is skipped.
    pub const fn skips(&self) -> u32 {
        self.turns as u32
    }

    /// Returns the number of successive failed handovers.
    pub const fn failures(&self) -> u32 {
        self.failures as u32
    }
}

/// Returns how many times a member is skipped after this number of failures in a row.
fn skips_after(failures: u16) -> u16 {
    // From the 16th failure on, the shift would overflow.
    1_u16
        .checked_shl(failures.into())
        .map_or(SKIPS_MAX, |doubled| SKIPS_MAX.min(doubled - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kth_failure_in_a_row_costs_two_to_the_k_less_one_skips_up_to_the_cap() {
        let mut penalty = Penalty::default();
        let turns: Vec<u32> = (0..40)
            .map(|_| {
                penalty.on_failure();
                penalty.skips()
            })
            .collect();
        assert_eq!(turns[..10], [1, 3, 7, 15, 31, 63, 127, 255, 511, 1023]);
        assert!(turns[10..].iter().all(|&t| t == 1024));
    }

    #[test]
    fn each_skip_is_counted() {
        let mut penalty = Penalty::default();
        penalty.on_failure();
        penalty.on_failure();
        let over: Vec<bool> = (0..5).map(|_| penalty.take_skip()).collect();
        assert_eq!(over, [true, true, true, false, false]);
    }

    #[test]
    fn a_sign_of_life_ends_the_skips_but_only_success_forgets_failures() {
        let mut penalty = Penalty::default();
        penalty.on_failure();
        penalty.on_heard();
        assert!(!penalty.take_skip());
        penalty.on_failure();
        assert_eq!(penalty.skips(), 3);
        penalty.forget_failures();
        penalty.on_failure();
        assert_eq!(penalty.skips(), 1);
    }

    #[test]
    fn failures_are_limited_and_each_success_forgets_one() {
        let mut penalty = Penalty::default();
        for _ in 0..5 {
            penalty.on_failure_up_to(3);
        }
        assert_eq!((penalty.failures(), penalty.skips()), (3, 7));
        let after: Vec<_> = (0..4)
            .map(|_| {
                penalty.forget_one_failure();
                (penalty.failures(), penalty.skips())
            })
            .collect();
        assert_eq!(after, [(2, 3), (1, 1), (0, 0), (0, 0)]);
    }
}
