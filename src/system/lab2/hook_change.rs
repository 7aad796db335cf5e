//! The changes for which hooks run.

use ring_client::fencing::FencingToken;
use ring_codec::MacAddr;
use ring_codec::lab2::Token;
use ring_host::hooks::{self, Head, event};

use ring_proto::lab2::{Grade, State};

/// A change, and the state after it. The type is small, because each turn of the token causes changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Change {
    pub number: u64,
    /// The time of the event, in milliseconds since 1970.
    pub time_ms: u64,
    /// The event's name: one of the names in [`event`], or the name of another event for which hooks run.
    pub event: &'static str,
    /// The state before the change; `None` if the daemon did not run.
    pub from: Option<State>,
    /// The state after the change; `None` if the daemon no longer runs.
    pub state: Option<State>,
    pub reason: Option<&'static str>,
    /// The token that this node holds, or else the strongest known token.
    pub token: Option<Token>,
    /// The owner of the token, if it is known.
    pub owner: Option<MacAddr>,
    pub grade: Grade,
    /// The member that is silent or heard again, and the number of additional members with the same change.
    pub member: Option<(MacAddr, usize)>,
    /// Number of earlier changes that are merged into this change.
    pub merged: u64,
}

impl hooks::Change for Change {
    fn head(&self) -> Head {
        Head {
            number: self.number,
            time_ms: self.time_ms,
            event: self.event,
            from: self.from.map(State::name),
            state: self.state.map(State::name),
            merged: self.merged,
        }
    }

    fn after(self, earlier: Self) -> Self {
        let says_more = [event::STATE, event::STARTED, event::STOPPED].contains(&self.event);
        let (event, reason, member) = if says_more {
            (self.event, self.reason, self.member)
        } else {
            (earlier.event, earlier.reason, earlier.member)
        };
        Self {
            event,
            reason,
            member,
            from: earlier.from,
            merged: earlier.merged + self.merged + 1,
            ..self
        }
    }

    fn system_variables(&self) -> impl IntoIterator<Item = (&'static str, String)> {
        let text = |text: Option<String>| text.unwrap_or_default();
        let reason = self.reason.unwrap_or_default();
        let token = self.token.map(FencingToken::from);
        let (member, others) = self.member.unzip();
        let progress = self.token.map(|token| token.progress.to_string());
        [
            ("RINGD_REASON", reason.to_owned()),
            ("RINGD_TOKEN", text(token.map(|token| token.to_string()))),
            ("RINGD_PROGRESS", text(progress)),
            ("RINGD_OWNER", text(self.owner.map(|it| it.to_string()))),
            ("RINGD_GRADE", self.grade.name().to_owned()),
            ("RINGD_MEMBER", text(member.map(|mac| mac.to_string()))),
            ("RINGD_OTHERS", text(others.map(|count| count.to_string()))),
        ]
    }
}

#[cfg(test)]
mod tests {
    use ring_proto::lab2::{Grade, State};

    use super::Change;
    use ring_host::hooks::{Queue, WAITING_CHANGES_MAX, event};
    use ring_runtime::worker::Inbox as _;

    const STATES: [State; 3] = [State::Looser, State::Waiter, State::Owner];

    /// Returns the change with this number. Successive changes go through the states in a fixed order.
    fn change(number: u64) -> Change {
        let state = |number| Some(STATES[usize::try_from(number % 3).unwrap()]);
        Change {
            number,
            time_ms: 1000 + number,
            event: event::STATE,
            from: state(number),
            state: state(number + 1),
            reason: None,
            token: None,
            owner: None,
            grade: Grade::Alone,
            member: None,
            merged: 0,
        }
    }

    fn drain(queue: &mut Queue<Change>) -> Vec<Change> {
        std::iter::from_fn(|| queue.pop()).collect()
    }

    #[test]
    fn changes_that_fit_are_not_merged() {
        let mut queue = Queue::default();
        let changes: Vec<_> = (0..WAITING_CHANGES_MAX as u64).map(change).collect();
        for &change in &changes {
            queue.push(change);
        }
        assert_eq!(drain(&mut queue), changes);
        assert!(queue.is_empty());
    }

    #[test]
    fn changes_that_do_not_fit_are_merged_from_the_oldest_state_to_the_newest() {
        let mut queue = Queue::default();
        let last = 1000;
        for number in 0..=last {
            queue.push(change(number));
        }
        let changes = drain(&mut queue);
        assert!(changes.len() <= WAITING_CHANGES_MAX);
        assert_eq!(changes[0].from, change(0).from);
        for pair in changes.windows(2) {
            assert_eq!(pair[1].from, pair[0].state);
            assert!(pair[1].number > pair[0].number);
        }
        assert_eq!(changes.last(), Some(&change(last)));
        let all: u64 = changes.iter().map(|it| it.merged + 1).sum();
        assert_eq!(all, last + 1, "each is passed on or counted");
    }

    #[test]
    fn earlier_merges_count_on_both_sides() {
        let mut queue = Queue::default();
        for number in [0, 4] {
            let merged = number + 2;
            queue.push(Change {
                merged,
                ..change(number)
            });
        }
        queue.merge();
        let changes = drain(&mut queue);
        assert_eq!(changes[0].merged, 2 + 6 + 1);
    }

    #[test]
    fn a_change_of_grade_does_not_hide_a_change_of_state() {
        let mut queue = Queue::default();
        let reason = Some("elected");
        queue.push(Change {
            reason,
            ..change(0)
        });
        let graded = Change {
            event: "grade_changed",
            from: Some(State::Waiter),
            state: Some(State::Waiter),
            grade: Grade::Quorum,
            ..change(1)
        };
        queue.push(graded);
        queue.merge();
        let expected = Change {
            event: event::STATE,
            from: Some(State::Looser),
            reason,
            merged: 1,
            ..graded
        };
        assert_eq!(drain(&mut queue), [expected]);
    }
}
