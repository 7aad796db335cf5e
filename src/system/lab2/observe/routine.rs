//! Distinguishes the routine rotation of the token from other changes ("news").

use std::time::Duration;

use ring_codec::lab2::Token;
use ring_proto::lab2::{Event, Grade, Reason, State};
use ring_proto::time::Instant;

/// The time after which an owner counts as a leader. The end of a leader's tenure is news.
const LEADER_TENURE_MIN: Duration = Duration::from_secs(10);
/// Maximum difference in progress between a token and the token that replaces it after failed handovers. The difference
/// is the number of steps. After an election, the difference is larger: it is the number of nanoseconds in between.
const RECREATED_STEPS_MAX: u64 = 1 << 20;

/// Follows the token, and distinguishes the token's routine rotation from news.
#[derive(Debug)]
pub(crate) struct Routine {
    /// The token at the last news about its owner; `None` if no owner is known.
    token: Option<Token>,
    owned_since: Instant,
    /// The last grade that was news.
    grade: Grade,
}

impl Routine {
    pub(crate) const fn new() -> Self {
        Self {
            token: None,
            owned_since: Instant::from_nanos(0),
            grade: Grade::Alone,
        }
    }

    /// Returns whether an event is routine. Call this function once for every event, in order.
    pub(crate) fn check_routine(&mut self, now: Instant, event: &Event) -> bool {
        match *event {
            Event::StateChanged {
                from, to, reason, ..
            } => is_turn(from, to, reason) && !self.has_led(now),
            Event::OwnerChanged { owner, token } => {
                let has_led = self.has_led(now);
                let before = std::mem::replace(&mut self.token, owner.and(token));
                self.owned_since = now;
                let continued = before.zip(self.token).is_some_and(is_same_token);
                continued && !has_led
            }
            Event::GradeChanged { grade, .. } => std::mem::replace(&mut self.grade, grade) == grade,
            Event::HandoverFailed { in_a_row, .. } => in_a_row > 1,
            _ => false,
        }
    }

    /// Handles a node that has been OWNER for a long time without any grade. Returns whether this is news.
    pub(crate) fn on_ungraded_tenure(&mut self) -> bool {
        std::mem::replace(&mut self.grade, Grade::Alone) != Grade::Alone
    }

    /// Whether the last known owner led the ring.
    fn has_led(&self, now: Instant) -> bool {
        self.token.is_some() && now.since(self.owned_since) >= LEADER_TENURE_MIN
    }
}

const fn is_turn(from: State, to: State, why: Reason) -> bool {
    matches!(
        (from, to, why),
        (State::Waiter, State::Owner, Reason::TokenTaken)
            | (State::Owner, State::Waiter, Reason::TokenHandedOver)
    )
}

/// Whether the token `now` is the token `before`, after any number of handovers.
fn is_same_token((before, now): (Token, Token)) -> bool {
    before.same_chain(&now) || before.progress.abs_diff(now.progress) < RECREATED_STEPS_MAX
}

#[cfg(test)]
mod tests {
    use ring_proto::lab2::{Event, Grade, Reason, State};
    use ring_proto::time::Instant;

    use super::{LEADER_TENURE_MIN, Routine};
    use ring_codec::MacAddr;
    use ring_codec::lab2::Token;
    use std::time::Duration;

    const MACS: [MacAddr; 2] = [MacAddr([2, 0, 0, 0, 0, 1]), MacAddr([2, 0, 0, 0, 0, 2])];
    const TURN: Duration = Duration::from_millis(100);

    fn token(progress: u64, number: u32) -> Token {
        Token {
            progress,
            author: MACS[0],
            number,
        }
    }

    fn owned_by(at: usize, token: Token) -> Event {
        Event::OwnerChanged {
            owner: Some(MACS[at]),
            token: Some(token),
        }
    }

    fn handed_over(token: Token) -> Event {
        Event::StateChanged {
            from: State::Owner,
            to: State::Waiter,
            reason: Reason::TokenHandedOver,
            token: Some(token),
        }
    }

    /// Simulates a rotating ring, and returns the time after the last event.
    fn rotating() -> (Routine, Instant) {
        let mut routine = Routine::new();
        let mut now = Instant::from_nanos(60_000_000_000);
        assert!(!routine.check_routine(now, &owned_by(0, token(1, 1))));
        for turn in 2..50 {
            now = now + TURN;
            let at = usize::from(turn % 2 == 0);
            assert!(routine.check_routine(now, &owned_by(at, token(turn, 1))));
        }
        (routine, now + TURN)
    }

    #[test]
    fn a_rotating_token_is_routine_but_a_lost_and_found_one_is_not() {
        let (mut routine, now) = rotating();
        let nobody = Event::OwnerChanged {
            owner: None,
            token: Some(token(50, 1)),
        };
        assert!(!routine.check_routine(now, &nobody));
        assert!(!routine.check_routine(now + TURN, &owned_by(0, token(51, 1))));
        assert!(routine.check_routine(now + TURN * 2, &owned_by(1, token(52, 1))));
    }

    #[test]
    fn a_token_created_after_an_election_is_news_but_a_recreated_one_is_not() {
        let (mut routine, now) = rotating();
        assert!(routine.check_routine(now, &owned_by(0, token(51, 2))));
        let generated = token(1_700_000_000_000_000_000, 3);
        assert!(!routine.check_routine(now + TURN, &owned_by(1, generated)));
    }

    #[test]
    fn the_turn_that_ends_a_long_tenure_is_news() {
        let (mut routine, now) = rotating();
        assert!(routine.check_routine(now, &owned_by(0, token(51, 1))));
        let later = now + LEADER_TENURE_MIN;
        assert!(!routine.check_routine(later, &handed_over(token(52, 1))));
        assert!(!routine.check_routine(later, &owned_by(1, token(52, 1))));
        let soon = later + TURN;
        assert!(routine.check_routine(soon, &owned_by(0, token(53, 1))));
        assert!(routine.check_routine(soon + TURN, &handed_over(token(54, 1))));
    }

    #[test]
    fn only_a_different_grade_is_news() {
        let mut routine = Routine::new();
        let now = Instant::from_nanos(1);
        let is_news = [
            Grade::Quorum,
            Grade::Quorum,
            Grade::AllHeard,
            Grade::AllHeard,
            Grade::Quorum,
        ]
        .map(|grade| {
            let token = token(1, 1);
            !routine.check_routine(now, &Event::GradeChanged { grade, token })
        });
        assert_eq!(is_news, [true, false, true, false, true]);
        assert!(routine.on_ungraded_tenure() && !routine.on_ungraded_tenure());
    }

    #[test]
    fn only_the_first_failed_hand_over_in_a_row_is_news() {
        let mut routine = Routine::new();
        let failed = |in_a_row| Event::HandoverFailed {
            to: MACS[1],
            in_a_row,
            minted: Some(token(3, 2)),
        };
        assert!(!routine.check_routine(Instant::from_nanos(1), &failed(1)));
        assert!(routine.check_routine(Instant::from_nanos(2), &failed(2)));
    }
}
