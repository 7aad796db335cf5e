//! Passing over members that do not take the token, without forgetting them (the Jitterbug
//! document, "Candidate selection and penalties").

/// The most turns that a member is passed over, whatever it did.
const CAP: u16 = 1 << 10;

/// One member's record with this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Penalty {
    failures: u16,
    turns: u16,
}

impl Penalty {
    /// A hand-over failed: after the k-th in a row, 2^k − 1 turns are passed over.
    pub fn fail(&mut self) {
        self.fail_up_to(u16::MAX);
    }

    /// The same, but no more than `most` failures are remembered.
    pub fn fail_up_to(&mut self, most: u16) {
        self.failures = self.failures.saturating_add(1).min(most);
        self.turns = cost(self.failures);
    }

    /// A hand-over succeeded: one failure is forgotten, and the others cost what they cost.
    pub fn recover(&mut self) {
        self.failures = self.failures.saturating_sub(1);
        self.turns = cost(self.failures);
    }

    /// A hand-over succeeded: all is forgotten.
    pub fn succeed(&mut self) {
        *self = Self::default();
    }

    /// The member was heard: it is eligible at once, but what it failed is remembered.
    pub fn heard(&mut self) {
        self.turns = 0;
    }

    /// The member said that it leaves.
    pub fn leave(&mut self) {
        self.turns = CAP;
    }

    /// Whether this turn is one to pass the member over; takes it off the count.
    pub fn pass_over(&mut self) -> bool {
        let over = self.turns > 0;
        self.turns = self.turns.saturating_sub(1);
        over
    }

    /// For how many more turns the member is passed over.
    pub const fn turns(&self) -> u32 {
        self.turns as u32
    }

    /// How many hand-overs have failed in a row.
    pub const fn failures(&self) -> u32 {
        self.failures as u32
    }
}

/// How many turns are passed over after so many failures.
fn cost(failures: u16) -> u16 {
    1_u16
        .checked_shl(failures.into())
        .map_or(CAP, |doubled| CAP.min(doubled - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kth_failure_in_a_row_costs_two_to_the_k_less_one_turns_up_to_the_cap() {
        let mut penalty = Penalty::default();
        let turns: Vec<u32> = (0..40)
            .map(|_| {
                penalty.fail();
                penalty.turns()
            })
            .collect();
        assert_eq!(turns[..10], [1, 3, 7, 15, 31, 63, 127, 255, 511, 1023]);
        assert!(turns[10..].iter().all(|&t| t == 1024));
    }

    #[test]
    fn a_turn_passed_over_is_taken_off() {
        let mut penalty = Penalty::default();
        penalty.fail();
        penalty.fail();
        let over: Vec<bool> = (0..5).map(|_| penalty.pass_over()).collect();
        assert_eq!(over, [true, true, true, false, false]);
    }

    #[test]
    fn a_sign_of_life_makes_eligible_but_only_success_forgets() {
        let mut penalty = Penalty::default();
        penalty.fail();
        penalty.heard();
        assert!(!penalty.pass_over());
        penalty.fail();
        assert_eq!(penalty.turns(), 3);
        penalty.succeed();
        penalty.fail();
        assert_eq!(penalty.turns(), 1);
    }

    #[test]
    fn no_more_failures_are_remembered_than_allowed_and_each_success_takes_one_off() {
        let mut penalty = Penalty::default();
        for _ in 0..5 {
            penalty.fail_up_to(3);
        }
        assert_eq!((penalty.failures(), penalty.turns()), (3, 7));
        let after: Vec<_> = (0..4)
            .map(|_| {
                penalty.recover();
                (penalty.failures(), penalty.turns())
            })
            .collect();
        assert_eq!(after, [(2, 3), (1, 1), (0, 0), (0, 0)]);
    }
}
