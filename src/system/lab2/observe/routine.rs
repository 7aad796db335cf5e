//! Which events are no more than the token's way round the ring.

use std::time::Duration;

use ring_codec::lab2::Token;
use ring_proto::lab2::{Event, Grade, Reason, State};
use ring_proto::time::Instant;

/// An owner of this long leads: that its token goes on is news.
const LEADS: Duration = Duration::from_secs(10);
/// A chain that was minted after a failed hand-over is ahead of the one before by its steps. One that
/// was generated is ahead by the nanoseconds that the clock has gone on since, which are more.
const MINTED: u64 = 1 << 20;

/// Follows the token, and tells its plain rotation from news.
#[derive(Debug)]
pub(crate) struct Routine {
    /// The token when its owner was heard of last; `None`: no owner is known.
    token: Option<Token>,
    owned_since: Instant,
    /// The grade that was news last.
    grade: Grade,
}

impl Routine {
    /// Nothing was heard of yet.
    pub(crate) const fn new() -> Self {
        Self {
            token: None,
            owned_since: Instant::from_nanos(0),
            grade: Grade::Alone,
        }
    }

    /// Whether the event is routine. To be asked once about every event, in order.
    pub(crate) fn includes(&mut self, now: Instant, event: &Event) -> bool {
        match *event {
            Event::StateChanged {
                from, to, reason, ..
            } => is_turn(from, to, reason) && !self.led(now),
            Event::OwnerChanged { owner, token } => {
                let led = self.led(now);
                let before = std::mem::replace(&mut self.token, owner.and(token));
                self.owned_since = now;
                let continued = before.zip(self.token).is_some_and(continues);
                continued && !led
            }
            Event::GradeChanged { grade, .. } => std::mem::replace(&mut self.grade, grade) == grade,
            Event::HandOverFailed { in_a_row, .. } => in_a_row > 1,
            _ => false,
        }
    }

    /// The node has been OWNER for long without a grade: whether that is news.
    pub(crate) fn ungraded(&mut self) -> bool {
        std::mem::replace(&mut self.grade, Grade::Alone) != Grade::Alone
    }

    /// Whether the owner that is known last has led the ring.
    fn led(&self, now: Instant) -> bool {
        self.token.is_some() && now.since(self.owned_since) >= LEADS
    }
}

const fn is_turn(from: State, to: State, why: Reason) -> bool {
    matches!(
        (from, to, why),
        (State::Waiter, State::Owner, Reason::TokenTaken)
            | (State::Owner, State::Waiter, Reason::TokenHandedOver)
    )
}

/// Whether the second token is the first one, some hand-overs later.
fn continues((before, now): (Token, Token)) -> bool {
    before.same_chain(&now) || before.progress.abs_diff(now.progress) < MINTED
}

#[cfg(test)]
mod tests {
    use ring_proto::lab2::{Event, Grade, Reason, State};
    use ring_proto::time::Instant;

    use super::{LEADS, Routine};
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

    /// A ring that rotates, and its next moment.
    fn rotating() -> (Routine, Instant) {
        let mut routine = Routine::new();
        let mut now = Instant::from_nanos(60_000_000_000);
        assert!(!routine.includes(now, &owned_by(0, token(1, 1))));
        for turn in 2..50 {
            now = now + TURN;
            let at = usize::from(turn % 2 == 0);
            assert!(routine.includes(now, &owned_by(at, token(turn, 1))));
        }
        (routine, now + TURN)
    }

    #[test]
    fn a_token_that_goes_round_is_routine_and_one_that_is_lost_and_found_is_not() {
        let (mut routine, now) = rotating();
        let nobody = Event::OwnerChanged {
            owner: None,
            token: Some(token(50, 1)),
        };
        assert!(!routine.includes(now, &nobody));
        assert!(!routine.includes(now + TURN, &owned_by(0, token(51, 1))));
        assert!(routine.includes(now + TURN * 2, &owned_by(1, token(52, 1))));
    }

    #[test]
    fn a_chain_that_was_generated_is_news_and_one_that_was_minted_is_not() {
        let (mut routine, now) = rotating();
        assert!(routine.includes(now, &owned_by(0, token(51, 2))));
        let generated = token(1_700_000_000_000_000_000, 3);
        assert!(!routine.includes(now + TURN, &owned_by(1, generated)));
    }

    #[test]
    fn the_turn_that_ends_a_long_tenure_is_news() {
        let (mut routine, now) = rotating();
        assert!(routine.includes(now, &owned_by(0, token(51, 1))));
        let later = now + LEADS;
        assert!(!routine.includes(later, &handed_over(token(52, 1))));
        assert!(!routine.includes(later, &owned_by(1, token(52, 1))));
        let soon = later + TURN;
        assert!(routine.includes(soon, &owned_by(0, token(53, 1))));
        assert!(routine.includes(soon + TURN, &handed_over(token(54, 1))));
    }

    #[test]
    fn a_grade_is_news_when_it_is_another_one() {
        let mut routine = Routine::new();
        let now = Instant::from_nanos(1);
        let told = [
            Grade::Quorum,
            Grade::Quorum,
            Grade::View,
            Grade::View,
            Grade::Quorum,
        ]
        .map(|grade| {
            let token = token(1, 1);
            !routine.includes(now, &Event::GradeChanged { grade, token })
        });
        assert_eq!(told, [true, false, true, false, true]);
        assert!(routine.ungraded() && !routine.ungraded());
    }

    #[test]
    fn of_a_member_that_takes_nothing_the_first_time_is_news() {
        let mut routine = Routine::new();
        let failed = |in_a_row| Event::HandOverFailed {
            to: MACS[1],
            in_a_row,
            minted: Some(token(3, 2)),
        };
        assert!(!routine.includes(Instant::from_nanos(1), &failed(1)));
        assert!(routine.includes(Instant::from_nanos(2), &failed(2)));
    }
}
