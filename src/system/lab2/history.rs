//! The latest events with their numbers, for watchers and hooks.

mod entry;

use std::time::Duration;

use ring_codec::MacAddr;
use ring_host::hooks::{Change as _, Changes, event};
use ring_host::{Priority, Recent};
use ring_proto::lab2::{Event, JobName, Pause, Reason, State};
use ring_proto::time::Now;
use ring_runtime::driver::Observe;

use super::hook_change::Change;
use super::named_locks::ProgramLock;
use crate::system::lab2::events;
use crate::system::lab2::observe::{Audience, PauseNews, RingState, Routine, describe};
pub(super) use entry::HistoryEntry;

/// The retained events, and the node's state after the latest event.
#[derive(Debug)]
pub(super) struct History {
    recent: Recent<HistoryEntry>,
    routine: Routine,
    ring_state: RingState,
    /// The reason why this node last stopped being OWNER.
    last_loss: Option<Reason>,
}

/// A client's label for its lock, and the lock.
#[derive(Debug, Clone, Copy)]
pub(super) struct LockLabel<'a> {
    pub label: &'a str,
    /// The named lock; `None` for the token.
    pub lock: Option<ProgramLock>,
}

impl<'a> LockLabel<'a> {
    /// Creates the label of the token's lock.
    pub(super) const fn of_token(label: &'a str) -> Self {
        Self { label, lock: None }
    }
}

impl History {
    pub(super) fn new(now: Now) -> Self {
        Self {
            recent: Recent::new(now),
            routine: Routine::new(),
            ring_state: RingState::default(),
            last_loss: None,
        }
    }

    pub(super) const fn recent(&self) -> &Recent<HistoryEntry> {
        &self.recent
    }

    /// Returns the reason why this node last stopped being OWNER.
    pub(super) const fn last_loss(&self) -> Option<Reason> {
        self.last_loss
    }

    /// Returns the current state as a change with equal old and new states.
    fn ring_state(&self, now: Now) -> Change {
        let state = Some(self.ring_state.state);
        Change {
            number: self.recent.latest(),
            time_ms: now.wall / 1_000_000,
            event: event::STATE,
            from: state,
            state,
            reason: None,
            token: self.ring_state.token,
            owner: self.ring_state.owner,
            grade: self.ring_state.grade,
            member: None,
            lock: None,
            pause: None,
            merged: 0,
        }
    }

    /// Adds the loss of a local lock.
    pub(super) fn add_lock_loss(&mut self, now: Now, lock: LockLabel<'_>, why: &'static str) {
        self.add_lock_event(now, "lock_lost", lock, Some(why), Priority::News);
    }

    /// Adds a grant of a local lock, or a refusal with its reason. The daemon keeps grants and refusals separate from
    /// other events. If lock answers were among the other events, thousands of grants per second would push all other
    /// events out of the history.
    pub(super) fn add_lock_answer(
        &mut self,
        now: Now,
        lock: LockLabel<'_>,
        refused: Option<&'static str>,
    ) {
        let event = refused.map_or("lock_granted", |_| "lock_refused");
        self.add_lock_event(now, event, lock, refused, Priority::Passing);
    }

    pub(super) fn add_lock_release(&mut self, now: Now, lock: LockLabel<'_>) {
        self.add_lock_event(now, "lock_released", lock, None, Priority::Passing);
    }

    fn add_lock_event(
        &mut self,
        now: Now,
        event: &'static str,
        LockLabel { label, lock }: LockLabel<'_>,
        reason: Option<&'static str>,
        priority: Priority,
    ) {
        let entry = HistoryEntry {
            // For the token, hooks run when the state changes. A refused program has no fencing token.
            is_for_hooks: lock.is_some_and(|lock| lock.fence.is_some()),
            label: Some(label.into()),
            lock,
            reason,
            ..HistoryEntry::new(now, event, self.ring_state)
        };
        self.recent.remember(entry, priority);
    }

    /// Adds a step of a pause: the pause began but still waits, is complete, or ended.
    pub(super) fn add_pause_event(
        &mut self,
        now: Now,
        event: &'static str,
        reason: Option<&'static str>,
        pause: Option<&Pause>,
    ) {
        let entry = HistoryEntry {
            reason,
            // Hooks run when the node owns nothing, and when it may own the token again.
            is_for_hooks: reason.is_none(),
            pause: pause.map(|pause| PauseNews::new(pause, now.monotonic)),
            ..HistoryEntry::new(now, event, self.ring_state)
        };
        self.recent.remember(entry, Priority::News);
    }

    /// Adds the end or loss of a run of a job.
    pub(super) fn add_run_event(
        &mut self,
        now: Now,
        event: &'static str,
        (name, runner): (JobName, MacAddr),
        text: Option<&str>,
    ) {
        let entry = HistoryEntry {
            label: Some(name.to_string().into()),
            member: Some(runner),
            cause: text.map(Into::into),
            ..HistoryEntry::new(now, event, self.ring_state)
        };
        self.recent.remember(entry, Priority::News);
    }

    /// Adds a problem of this machine, or the end of the problem.
    pub(super) fn add_problem(&mut self, now: Now, event: &'static str, text: String) {
        let entry = HistoryEntry {
            cause: Some(text.into()),
            ..HistoryEntry::new(now, event, self.ring_state)
        };
        self.recent.remember(entry, Priority::News);
    }
}

impl Changes for History {
    type Change = Change;

    fn latest(&self) -> u64 {
        self.recent.latest()
    }

    fn change(&self, number: u64) -> Option<Change> {
        let entry = self.recent.get(number).filter(|it| it.is_for_hooks)?;
        // The change of owner that belongs to a change of state comes after this change of state.
        let after = self.recent.get(number + 1);
        let owned = after.filter(|after| after.event == events::OWNER_CHANGED);
        let RingState {
            state,
            token,
            grade,
            ..
        } = entry.ring_state;
        Some(Change {
            number,
            time_ms: entry.time_ms,
            event: entry.event,
            from: Some(entry.from.unwrap_or(state)),
            state: Some(state),
            reason: entry.reason,
            token,
            owner: owned.unwrap_or(entry).ring_state.owner,
            grade,
            member: entry.member.map(|mac| (mac, entry.others)),
            lock: entry.lock,
            pause: entry.pause,
            merged: 0,
        })
    }

    fn merged_change_since(&self, number: u64) -> Option<Change> {
        let changes = (number..=self.latest()).filter_map(|number| self.change(number));
        changes.reduce(|earlier, later| later.after(earlier))
    }

    fn start_change(&self, now: Now) -> Change {
        Change {
            event: event::STARTED,
            from: None,
            ..self.ring_state(now)
        }
    }

    fn stop_change(&self, now: Now) -> Change {
        Change {
            number: self.latest() + 1,
            event: event::STOPPED,
            state: None,
            ..self.ring_state(now)
        }
    }
}

impl Observe<Event> for History {
    fn observe(&mut self, now: Now, event: &Event) {
        let routine = self.routine.check_routine(now.monotonic, event);
        if let Event::StateChanged {
            from: State::Owner,
            to,
            reason,
            ..
        } = *event
            && to != State::Owner
        {
            self.last_loss = Some(reason);
        }
        let before = self.ring_state;
        describe(event, &before, routine, Duration::ZERO, |description| {
            self.ring_state = description.after.unwrap_or(before);
            let priority = match (description.audience, routine) {
                (Audience::Log, _) => return,
                (_, true) => Priority::Routine,
                (_, false) => Priority::News,
            };
            let entry = HistoryEntry::describing(now, &description, self.ring_state);
            self.recent.remember(entry, priority);
        });
    }
}

#[cfg(test)]
mod tests {
    use ring_proto::lab2::{Event, Reason, State};
    use ring_proto::time::{Instant, Now};

    use super::{History, LockLabel};
    use ring_codec::MacAddr;
    use ring_host::RETAINED_EVENTS_MAX;
    use ring_host::hooks::Changes;
    use ring_runtime::driver::Observe;
    use std::iter;

    fn started_at(seconds: u64) -> (History, Now) {
        let now = Now {
            monotonic: Instant::from_nanos(1),
            wall: seconds * 1_000_000_000,
        };
        (History::new(now), now)
    }

    fn take_token(history: &mut History, now: Now) {
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

    /// Returns the numbers of all events, beginning with `from`.
    fn numbers(history: &History, from: u64, turns: bool) -> Vec<u64> {
        let next = |from| history.recent().next(from, turns).map(|(number, _)| number);
        iter::successors(next(from), |number| next(number + 1)).collect()
    }

    #[test]
    fn a_number_of_an_earlier_run_is_unknown() {
        let (mut earlier, then) = started_at(1_700_000_000);
        let (mut this, now) = started_at(1_700_000_001);
        for _ in 0..100 {
            earlier.add_lock_loss(then, LockLabel::of_token("backup"), "yield");
            this.add_lock_loss(now, LockLabel::of_token("backup"), "yield");
        }
        let next = earlier.latest() + 1;
        for turns in [true, false] {
            assert!(
                earlier.recent().retains_from(next, turns)
                    && !this.recent().retains_from(next, turns)
            );
            assert!(
                this.recent().retains_from(this.latest() - 99, turns)
                    && !this.recent().retains_from(this.latest() - 100, turns)
            );
        }
    }

    #[test]
    fn the_reason_of_the_last_loss_is_kept() {
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
    fn turns_displace_only_turns() {
        let (mut history, now) = started_at(1);
        let first = history.latest() + 1;
        let mac = MacAddr([2, 0, 0, 0, 0, 2]);
        history.observe(now, &Event::MemberLeft { mac });
        for _ in 0..3 * RETAINED_EVENTS_MAX {
            take_token(&mut history, now);
        }
        history.add_lock_loss(now, LockLabel::of_token("backup"), "yield");
        assert!(
            history.recent().retains_from(first, false)
                && !history.recent().retains_from(first, true)
        );
        assert_eq!(numbers(&history, first, false), [first, history.latest()]);
        let oldest = history.latest() - RETAINED_EVENTS_MAX as u64 + 1;
        assert!(history.recent().retains_from(oldest, true));
        assert_eq!(numbers(&history, oldest, true).len(), RETAINED_EVENTS_MAX);
        for _ in 0..RETAINED_EVENTS_MAX {
            history.add_lock_loss(now, LockLabel::of_token("backup"), "yield");
        }
        assert!(
            !history.recent().retains_from(first, false)
                && history
                    .recent()
                    .retains_from(first + 3 * RETAINED_EVENTS_MAX as u64 + 2, false)
        );
    }

    #[test]
    fn locks_are_shown_while_recent_and_displace_no_news() {
        let (mut history, now) = started_at(1);
        let first = history.latest() + 1;
        let mac = MacAddr([2, 0, 0, 0, 0, 2]);
        history.observe(now, &Event::MemberLeft { mac });
        for _ in 0..RETAINED_EVENTS_MAX {
            history.add_lock_answer(now, LockLabel::of_token("backup"), None);
        }
        history.add_lock_answer(now, LockLabel::of_token("backup"), Some("timeout"));
        let recent = history.recent();
        assert!(recent.retains_from(first, false) && !recent.retains_from(first, true));
        let numbers_seen = numbers(&history, first, false);
        assert_eq!(numbers_seen.len(), 1 + RETAINED_EVENTS_MAX);
        assert_eq!((numbers_seen[0], numbers_seen[1]), (first, first + 2));
        let (number, refused) = recent.next(history.latest(), false).expect("it is there");
        let message = refused.message(number);
        let text = serde_json::to_string(&message).expect("it is JSON");
        assert!(text.contains(r#""event":"lock_refused""#), "{text}");
        assert!(text.contains(r#""reason":"timeout""#), "{text}");
        history.add_lock_loss(now, LockLabel::of_token("backup"), "yield");
        assert_eq!(
            numbers(&history, first, false).len(),
            RETAINED_EVENTS_MAX + 1
        );
    }
}
