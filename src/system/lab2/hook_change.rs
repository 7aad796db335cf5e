//! The changes for which hooks run.

use ring_client::fencing::FencingToken;
use ring_codec::MacAddr;
use ring_codec::lab2::Token;
use ring_host::announced_host_name;
use ring_host::hooks::{self, Head, event};

use ring_proto::lab2::{Grade, State};

use super::named_locks::ProgramLock;
use crate::system::lab2::observe::PauseNews;

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
    /// The named lock that a program of this machine got, released or lost.
    pub lock: Option<ProgramLock>,
    /// End and reason of the pause that the event is about.
    pub pause: Option<PauseNews>,
    /// Number of earlier changes that are merged into this change.
    pub merged: u64,
}

impl Change {
    fn is_about_state(&self) -> bool {
        [event::STATE, event::STARTED, event::STOPPED].contains(&self.event)
    }
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

    /// The merged change has the last change of state. If there is none, it has the last event about a lock. Otherwise,
    /// it has the first event.
    fn after(self, earlier: Self) -> Self {
        let source = match (self.is_about_state(), self.lock) {
            (true, _) => self,
            (false, Some(_)) if !earlier.is_about_state() => self,
            (false, _) => earlier,
        };
        Self {
            event: source.event,
            reason: source.reason,
            member: source.member,
            lock: source.lock,
            pause: source.pause,
            from: earlier.from,
            merged: earlier.merged + self.merged + 1,
            ..self
        }
    }

    fn system_variables(&self) -> impl IntoIterator<Item = (&'static str, String)> {
        let text = |text: Option<String>| text.unwrap_or_default();
        let name = |mac: Option<MacAddr>| text(mac.and_then(|mac| announced_host_name(mac.0)));
        let left = self.pause.and_then(|pause| pause.left);
        let reason = self.reason.unwrap_or_default();
        let token = self.token.map(FencingToken::from);
        let (member, others) = self.member.unzip();
        let progress = self.token.map(|token| token.progress.to_string());
        let lock = self.lock;
        let fence = lock.and_then(|lock| lock.fence).map(FencingToken::from);
        let program = lock.map(|lock| lock.program.as_str().to_owned());
        [
            ("RINGD_REASON", reason.to_owned()),
            ("RINGD_TOKEN", text(token.map(|token| token.to_string()))),
            ("RINGD_PROGRESS", text(progress)),
            ("RINGD_OWNER", text(self.owner.map(|it| it.to_string()))),
            ("RINGD_OWNER_NAME", name(self.owner)),
            ("RINGD_GRADE", self.grade.name().to_owned()),
            ("RINGD_MEMBER", text(member.map(|mac| mac.to_string()))),
            ("RINGD_MEMBER_NAME", name(member)),
            ("RINGD_OTHERS", text(others.map(|count| count.to_string()))),
            (
                "RINGD_LOCK_NAME",
                text(lock.map(|lock| lock.name.to_string())),
            ),
            (
                "RINGD_LOCK_MODE",
                text(lock.map(|lock| lock.mode.name().to_owned())),
            ),
            (
                "RINGD_LOCK_GRADE",
                text(lock.map(|lock| lock.grade.name().to_owned())),
            ),
            (
                "RINGD_LOCK_TOKEN",
                text(fence.map(|fence| fence.to_string())),
            ),
            ("RINGD_LOCK_PROGRAM", text(program)),
            (
                "RINGD_PAUSE_REASON",
                text(self.pause.and_then(|pause| pause.reason_text())),
            ),
            (
                "RINGD_PAUSE_SECONDS",
                text(left.map(|left| left.as_secs().to_string())),
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use ring_control::lab2::{Grade as LockGrade, LockMode};
    use ring_proto::lab2::{Grade, LockName, LockProgram, State};

    use super::{Change, ProgramLock};
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
            lock: None,
            pause: None,
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
    fn the_last_event_about_a_lock_remains_unless_the_state_changed() {
        let lock = |number, name| Change {
            event: "lock_granted",
            lock: Some(ProgramLock {
                name: LockName::new(name).unwrap(),
                mode: LockMode::Exclusive,
                grade: LockGrade::Alone,
                program: LockProgram::new("copy"),
                fence: None,
            }),
            ..change(number)
        };
        let graded = |number| Change {
            event: "grade_changed",
            ..change(number)
        };
        let cases = [
            (vec![lock(0, "a"), lock(1, "b"), graded(2)], 1),
            (vec![graded(0), lock(1, "a"), graded(2)], 1),
            (vec![graded(0), change(1), lock(2, "a")], 1),
            (vec![lock(0, "a"), lock(1, "b"), change(2)], 2),
        ];
        for (changes, remaining) in cases {
            let mut queue = Queue::default();
            for &change in &changes {
                queue.push(change);
            }
            queue.merge();
            let merged = drain(&mut queue)[0];
            let expected = changes[remaining];
            assert_eq!(
                (merged.event, merged.lock),
                (expected.event, expected.lock),
                "{changes:?}"
            );
            assert_eq!((merged.number, merged.merged), (2, 2));
        }
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
