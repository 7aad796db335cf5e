//! The latest events, numbered, for watchers.

mod entry;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;
use ring_host::hooks::{Change as _, Changes, event};
use ring_host::{Priority, Recent};
use ring_proto::lab2::{Event, Grade, JobName, Reason, State};
use ring_proto::time::Now;
use ring_runtime::driver::Observe;

use super::change::{Change, own_event};
use crate::system::lab2::observe::{Differs, Routine, TooLong, Wrong};
pub(super) use entry::Entry;
use entry::EventKind;

/// Retains events and the node's state after the latest.
#[derive(Debug)]
pub(super) struct History {
    recent: Recent<Entry>,
    routine: Routine,
    state: State,
    token: Option<Token>,
    owner: Option<MacAddr>,
    grade: Grade,
    /// Why this node was OWNER no longer when that happened last.
    last_loss: Option<Reason>,
}

impl History {
    /// A history without events.
    pub(super) fn new(now: Now) -> Self {
        Self {
            recent: Recent::new(now),
            routine: Routine::new(),
            state: State::Looser,
            token: None,
            owner: None,
            grade: Grade::Alone,
            last_loss: None,
        }
    }

    /// The events, by number.
    pub(super) const fn recent(&self) -> &Recent<Entry> {
        &self.recent
    }

    /// Why this node was OWNER no longer when that happened last.
    pub(super) const fn last_loss(&self) -> Option<Reason> {
        self.last_loss
    }

    /// Returns the node's state as a change that changes nothing.
    fn standing(&self, now: Now) -> Change {
        Change {
            number: self.recent.latest(),
            time_ms: now.wall / 1_000_000,
            event: event::STATE,
            from: Some(self.state),
            state: Some(self.state),
            reason: None,
            token: self.token,
            owner: self.owner,
            grade: self.grade,
            member: None,
            merged: 0,
        }
    }

    /// A local lock was lost.
    pub(super) fn lock_lost(&mut self, now: Now, label: &str, why: &'static str) {
        let kind = EventKind::Lock {
            event: "lock_lost",
            label: label.into(),
            why: Some(why),
        };
        self.remember(now, kind, Priority::News);
    }

    /// A local lock was granted, or refused for a reason. That may happen thousands of times a second, and would
    /// displace all news.
    pub(super) fn lock_answered(&mut self, now: Now, label: &str, refused: Option<&'static str>) {
        let kind = EventKind::Lock {
            event: refused.map_or("lock_granted", |_| "lock_refused"),
            label: label.into(),
            why: refused,
        };
        self.remember(now, kind, Priority::Passing);
    }

    /// A local lock was given back.
    pub(super) fn lock_released(&mut self, now: Now, label: &str) {
        let kind = EventKind::Lock {
            event: "lock_released",
            label: label.into(),
            why: None,
        };
        self.remember(now, kind, Priority::Passing);
    }

    /// A pause was asked for and waits for something, is complete, or has ended.
    pub(super) fn pause(&mut self, now: Now, event: &'static str, why: Option<&'static str>) {
        self.remember(now, EventKind::Pause { event, why }, Priority::News);
    }

    /// A run of a job has ended, or was lost.
    pub(super) fn run(
        &mut self,
        now: Now,
        event: &'static str,
        (name, runner): (JobName, MacAddr),
        text: Option<&str>,
    ) {
        let kind = EventKind::Run {
            event,
            name,
            runner,
            text: text.map(Into::into),
        };
        self.remember(now, kind, Priority::News);
    }

    /// Something is wrong with this machine, or no longer is.
    pub(super) fn trouble(&mut self, now: Now, event: &'static str, text: String) {
        let kind = EventKind::Trouble {
            event,
            member: None,
            text: text.into(),
        };
        self.remember(now, kind, Priority::News);
    }

    fn remember(&mut self, now: Now, kind: EventKind, priority: Priority) {
        let entry = Entry {
            time_ms: now.wall / 1_000_000,
            kind,
            state: self.state,
            token: self.token,
            owner: self.owner,
            grade: self.grade,
        };
        self.recent.remember(entry, priority);
    }
}

impl Changes for History {
    type Change = Change;

    fn latest(&self) -> u64 {
        self.recent.latest()
    }

    fn change(&self, number: u64) -> Option<Change> {
        let entry = self.recent.get(number)?;
        let now = entry.state;
        let (event, from, reason, member) = match entry.kind {
            EventKind::State { from, reason } => (event::STATE, from, Some(reason), None),
            EventKind::Grade => (own_event::GRADE, now, None, None),
            EventKind::Members { event, mac, others } => (event, now, None, Some((mac, others))),
            _ => return None,
        };
        // A change of state is told before the change of owner that comes with it.
        let after = self.recent.get(number + 1);
        let owned = after.filter(|after| matches!(after.kind, EventKind::Owner));
        Some(Change {
            number,
            time_ms: entry.time_ms,
            event,
            from: Some(from),
            state: Some(entry.state),
            reason,
            token: entry.token,
            owner: owned.unwrap_or(entry).owner,
            grade: entry.grade,
            member,
            merged: 0,
        })
    }

    /// The first, the last and the last change of state are enough.
    fn change_since(&self, number: u64) -> Option<Change> {
        let kind = |number: u64| Some(&self.recent.get(number)?.kind);
        let mut told =
            (number..=self.latest()).filter(|&it| kind(it).is_some_and(EventKind::is_told));
        let first = told.next()?;
        let (mut state, mut last, mut merged) = (first, first, 0);
        for number in told {
            (last, merged) = (number, merged + 1);
            if let Some(EventKind::State { .. }) = kind(number) {
                state = number;
            }
        }
        let state = (state != first).then_some(state);
        let last = (last != state.unwrap_or(first)).then_some(last);
        let numbers = [Some(first), state, last].into_iter().flatten();
        let changes = numbers.filter_map(|number| self.change(number));
        let one = changes.reduce(|earlier, later| later.after(earlier))?;
        Some(Change { merged, ..one })
    }

    fn started(&self, now: Now) -> Change {
        Change {
            event: event::STARTED,
            from: None,
            ..self.standing(now)
        }
    }

    fn stopped(&self, now: Now) -> Change {
        Change {
            number: self.latest() + 1,
            event: event::STOPPED,
            state: None,
            ..self.standing(now)
        }
    }
}

impl Observe<Event> for History {
    fn observe(&mut self, now: Now, event: &Event) {
        let routine = self.routine.includes(now.monotonic, event);
        let kind = match *event {
            Event::StateChanged {
                from,
                to,
                reason,
                token,
            } => {
                (self.state, self.token) = (to, token.or(self.token));
                self.grade = Grade::Alone;
                if from == State::Owner && to != State::Owner {
                    self.last_loss = Some(reason);
                }
                EventKind::State { from, reason }
            }
            Event::OwnerChanged { owner, token } => {
                (self.owner, self.token) = (owner, token.or(self.token));
                EventKind::Owner
            }
            Event::GradeChanged { grade, .. } => {
                self.grade = grade;
                EventKind::Grade
            }
            Event::HandOverFailed { to, minted, .. } => {
                self.grade = minted.map_or(self.grade, |_| Grade::Alone);
                self.token = minted.or(self.token);
                EventKind::HandOverFailed { to }
            }
            Event::MemberAdded { mac, .. } => EventKind::Member {
                event: "member_added",
                mac,
            },
            Event::MemberMoved { mac, .. } => EventKind::Member {
                event: "member_moved",
                mac,
            },
            Event::MemberLeft { mac } => EventKind::Member {
                event: "member_left",
                mac,
            },
            Event::MemberSilent { mac, others, .. } => EventKind::Members {
                event: own_event::SILENT,
                mac,
                others,
            },
            Event::MemberAlive { mac, others } => EventKind::Members {
                event: own_event::ALIVE,
                mac,
                others,
            },
            Event::HearingChanged { deaf, .. } => EventKind::Trouble {
                event: if deaf { "deaf" } else { "hears" },
                member: None,
                text: "hearing".into(),
            },
            Event::FitnessChanged { unfit } => EventKind::Trouble {
                event: if unfit { "unfit" } else { "fit" },
                member: None,
                text: "hand_over".into(),
            },
            Event::Trouble { trouble, over } => EventKind::Trouble {
                event: Wrong { trouble, over }.event(),
                member: Wrong { trouble, over }.member(),
                text: Wrong { trouble, over }.to_string().into(),
            },
            Event::TooLong { kind, mtu } => EventKind::Trouble {
                event: "too_long",
                member: None,
                text: TooLong { kind, mtu }.to_string().into(),
            },
            Event::StorageChanged { failed } => EventKind::Trouble {
                event: if failed {
                    "state_not_stored"
                } else {
                    "state_stored"
                },
                member: None,
                text: "state_file".into(),
            },
            Event::MemberDiffers { mac, difference } => EventKind::Trouble {
                event: "member_differs",
                member: Some(mac),
                text: Differs(difference).to_string().into(),
            },
            Event::MemberAgrees { mac } => EventKind::Member {
                event: "member_agrees",
                mac,
            },
            Event::MemberForgotten { mac, .. } => EventKind::Member {
                event: "member_forgotten",
                mac,
            },
            _ => return,
        };
        let priority = if routine {
            Priority::Routine
        } else {
            Priority::News
        };
        self.remember(now, kind, priority);
    }
}

#[cfg(test)]
mod tests {
    use ring_proto::lab2::{Event, Grade, Reason, State};
    use ring_proto::time::{Instant, Now};

    use super::History;
    use ring_codec::MacAddr;
    use ring_codec::lab2::Token;
    use ring_host::REMEMBERED;
    use ring_host::hooks::{Change as _, Changes};
    use ring_runtime::driver::Observe;
    use std::iter;
    use std::time::Duration;

    fn started_at(seconds: u64) -> (History, Now) {
        let now = Now {
            monotonic: Instant::from_nanos(1),
            wall: seconds * 1_000_000_000,
        };
        (History::new(now), now)
    }

    fn turn(history: &mut History, now: Now) {
        let (from, to) = (State::Waiter, State::Owner);
        let (reason, token) = (Reason::TokenTaken, None);
        let event = Event::StateChanged {
            from,
            to,
            reason,
            token,
        };
        history.observe(now, &event);
    }

    /// The numbers of all events from one on.
    fn numbers(history: &History, from: u64, turns: bool) -> Vec<u64> {
        let next = |from| history.recent().next(from, turns).map(|(number, _)| number);
        iter::successors(next(from), |number| next(number + 1)).collect()
    }

    #[test]
    fn a_number_of_an_earlier_life_is_none_of_this_one() {
        let (mut earlier, then) = started_at(1_700_000_000);
        let (mut this, now) = started_at(1_700_000_001);
        for _ in 0..100 {
            earlier.lock_lost(then, "backup", "yield");
            this.lock_lost(now, "backup", "yield");
        }
        let next = earlier.latest() + 1;
        for turns in [true, false] {
            assert!(earlier.recent().has(next, turns) && !this.recent().has(next, turns));
            assert!(
                this.recent().has(this.latest() - 99, turns)
                    && !this.recent().has(this.latest() - 100, turns)
            );
        }
    }

    #[test]
    fn the_last_loss_of_the_token_is_remembered_with_its_reason() {
        let (mut history, now) = started_at(1);
        let (owner, looser, waiter) = (State::Owner, State::Looser, State::Waiter);
        for (from, to, reason, expected) in [
            (waiter, owner, Reason::TokenTaken, None),
            (owner, owner, Reason::StrongerToken, None),
            (owner, looser, Reason::NotStored, Some(Reason::NotStored)),
            (looser, waiter, Reason::TokenHeard, Some(Reason::NotStored)),
        ] {
            let token = None;
            let event = Event::StateChanged {
                from,
                to,
                reason,
                token,
            };
            history.observe(now, &event);
            assert_eq!(history.last_loss(), expected);
        }
    }

    #[test]
    fn hooks_are_told_of_a_member_that_falls_silent() {
        let (mut history, now) = started_at(1);
        let mac = MacAddr([2, 0, 0, 0, 0, 2]);
        let (quiet, others) = (Duration::from_secs(13), 7);
        history.observe(now, &Event::MemberSilent { mac, quiet, others });
        let change = history.change(history.latest()).expect("it is a change");
        assert_eq!(change.event, "member_silent");
        assert_eq!(change.member, Some((mac, others)));
        let told: Vec<_> = change.environment().collect();
        assert!(told.contains(&("RINGD_MEMBER", mac.to_string())));
        assert!(told.contains(&("RINGD_OTHERS", "7".to_owned())));
    }

    #[test]
    fn turns_displace_turns_and_nothing_else() {
        let (mut history, now) = started_at(1);
        let first = history.latest() + 1;
        let mac = MacAddr([2, 0, 0, 0, 0, 2]);
        history.observe(now, &Event::MemberLeft { mac });
        for _ in 0..3 * REMEMBERED {
            turn(&mut history, now);
        }
        history.lock_lost(now, "backup", "yield");
        assert!(history.recent().has(first, false) && !history.recent().has(first, true));
        assert_eq!(numbers(&history, first, false), [first, history.latest()]);
        let oldest = history.latest() - REMEMBERED as u64 + 1;
        assert!(history.recent().has(oldest, true));
        assert_eq!(numbers(&history, oldest, true).len(), REMEMBERED);
        for _ in 0..REMEMBERED {
            history.lock_lost(now, "backup", "yield");
        }
        assert!(
            !history.recent().has(first, false)
                && history
                    .recent()
                    .has(first + 3 * REMEMBERED as u64 + 2, false)
        );
    }

    #[test]
    fn locks_are_shown_while_they_are_fresh_and_displace_no_news() {
        let (mut history, now) = started_at(1);
        let first = history.latest() + 1;
        let mac = MacAddr([2, 0, 0, 0, 0, 2]);
        history.observe(now, &Event::MemberLeft { mac });
        for _ in 0..REMEMBERED {
            history.lock_answered(now, "backup", None);
        }
        history.lock_answered(now, "backup", Some("timeout"));
        let recent = history.recent();
        assert!(recent.has(first, false) && !recent.has(first, true));
        let told = numbers(&history, first, false);
        assert_eq!(told.len(), 1 + REMEMBERED);
        assert_eq!((told[0], told[1]), (first, first + 2));
        let (number, refused) = recent.next(history.latest(), false).expect("it is there");
        let message = refused.message(number);
        let text = serde_json::to_string(&message).expect("it is JSON");
        assert!(text.contains(r#""event":"lock_refused""#), "{text}");
        assert!(text.contains(r#""reason":"timeout""#), "{text}");
        history.lock_lost(now, "backup", "yield");
        assert_eq!(numbers(&history, first, false).len(), REMEMBERED + 1);
    }

    #[test]
    fn many_changes_are_one_as_if_they_were_merged_one_by_one() {
        let mac = MacAddr([2, 0, 0, 0, 0, 2]);
        let token = Token {
            progress: 1,
            author: mac,
            number: 1,
        };
        // Each number in base four is a history.
        for script in 1..4_u32.pow(6) {
            let (mut history, now) = started_at(1);
            let first = history.latest() + 1;
            let kinds = iter::successors(Some(script), |left| Some(left / 4));
            for kind in kinds.take_while(|&left| left > 0).map(|left| left % 4) {
                match kind {
                    0 => turn(&mut history, now),
                    1 => history.observe(
                        now,
                        &Event::GradeChanged {
                            grade: Grade::View,
                            token,
                        },
                    ),
                    2 => history.observe(
                        now,
                        &Event::MemberSilent {
                            mac,
                            quiet: Duration::ZERO,
                            others: 3,
                        },
                    ),
                    _ => history.lock_answered(now, "backup", None),
                }
            }
            let all = (first..=history.latest()).filter_map(|number| history.change(number));
            let merged = all.reduce(|earlier, later| later.after(earlier));
            assert_eq!(history.change_since(first), merged, "{script}");
        }
    }
}
