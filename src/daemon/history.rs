//! The latest events, numbered, for those who watch.

use std::collections::VecDeque;
use std::rc::Rc;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

use super::change::{Change, event};
use super::status::token_status;
use crate::control::EventMessage;
use crate::driver::Observe;
use crate::observe::text;
use crate::proto::lab2::{Event, Grade, Reason, State};
use crate::proto::time::Now;

/// So many events are remembered.
const REMEMBERED: usize = 1024;

/// What happened.
#[derive(Debug, Clone)]
enum What {
    State {
        from: State,
        reason: Reason,
    },
    Owner,
    Grade,
    Member {
        event: &'static str,
        mac: MacAddr,
    },
    HandOverFailed {
        to: MacAddr,
    },
    Lock {
        event: &'static str,
        label: Rc<str>,
        why: Option<&'static str>,
    },
}

/// What happened, when, and how things were then.
#[derive(Debug, Clone)]
struct Entry {
    time_ms: u64,
    what: What,
    state: State,
    token: Option<Token>,
    owner: Option<MacAddr>,
    grade: Grade,
}

/// Remembers events. Their numbers grow by one, from the time of the daemon's start on, in
/// microseconds since 1970: who asks for what follows a number of an earlier life is not given
/// another's of this one.
#[derive(Debug)]
pub struct History {
    entries: VecDeque<Entry>,
    /// The number of the latest event.
    latest: u64,
    state: State,
    token: Option<Token>,
    owner: Option<MacAddr>,
    grade: Grade,
}

impl History {
    /// Nothing has happened yet.
    pub fn new(now: Now) -> Self {
        Self {
            entries: VecDeque::with_capacity(REMEMBERED),
            latest: now.wall / 1_000,
            state: State::Looser,
            token: None,
            owner: None,
            grade: Grade::Alone,
        }
    }

    /// The number of the latest event.
    pub const fn latest(&self) -> u64 {
        self.latest
    }

    /// Whether all events from this number on are remembered.
    pub fn has(&self, from: u64) -> bool {
        from > self.latest - self.entries.len() as u64 && from <= self.latest + 1
    }

    /// An event by its number, if it is remembered.
    pub fn event(&self, number: u64) -> Option<EventMessage> {
        let entry = self.entries.get(self.place(number)?)?;
        Some(entry.message(number))
    }

    /// The place of an event among those remembered, if it is not too old for that.
    fn place(&self, number: u64) -> Option<usize> {
        let first = self.latest + 1 - self.entries.len() as u64;
        usize::try_from(number.checked_sub(first)?).ok()
    }

    /// An event by its number as hooks are told of it, if it is remembered and they are.
    pub fn change(&self, number: u64) -> Option<Change> {
        let at = self.place(number)?;
        let entry = self.entries.get(at)?;
        let (event, from, reason) = match entry.what {
            What::State { from, reason } => (event::STATE, from, Some(reason)),
            What::Grade => (event::GRADE, entry.state, None),
            _ => return None,
        };
        // A change of state is told before the change of owner that comes with it.
        let after = self.entries.get(at + 1);
        let settled = after.filter(|after| matches!(after.what, What::Owner));
        Some(Change {
            number,
            time_ms: entry.time_ms,
            event,
            from: from.name(),
            state: entry.state.name(),
            reason: reason.map(|reason| text::reason(reason).0),
            token: entry.token,
            owner: settled.unwrap_or(entry).owner,
            grade: entry.grade.name(),
            merged: 0,
        })
    }

    /// How things are, as a change that changes nothing.
    pub fn standing(&self, now: Now) -> Change {
        Change {
            number: self.latest,
            time_ms: now.wall / 1_000_000,
            event: event::STATE,
            from: self.state.name(),
            state: self.state.name(),
            reason: None,
            token: self.token,
            owner: self.owner,
            grade: self.grade.name(),
            merged: 0,
        }
    }

    /// Something happened to a local lock.
    pub fn lock(&mut self, now: Now, event: &'static str, label: &str, why: Option<&'static str>) {
        let label = label.into();
        self.remember(now, What::Lock { event, label, why });
    }

    fn remember(&mut self, now: Now, what: What) {
        if self.entries.len() == REMEMBERED {
            self.entries.pop_front();
        }
        self.latest += 1;
        self.entries.push_back(Entry {
            time_ms: now.wall / 1_000_000,
            what,
            state: self.state,
            token: self.token,
            owner: self.owner,
            grade: self.grade,
        });
    }
}

impl Observe<Event> for History {
    fn observe(&mut self, now: Now, event: &Event) {
        let what = match *event {
            Event::StateChanged {
                from,
                to,
                reason,
                token,
            } => {
                (self.state, self.token) = (to, token.or(self.token));
                self.grade = Grade::Alone;
                What::State { from, reason }
            }
            Event::OwnerChanged { owner, token } => {
                (self.owner, self.token) = (owner, token.or(self.token));
                What::Owner
            }
            Event::GradeChanged { grade, .. } => {
                self.grade = grade;
                What::Grade
            }
            Event::HandOverFailed { to, minted, .. } => {
                self.grade = Grade::Alone;
                self.token = Some(minted);
                What::HandOverFailed { to }
            }
            Event::MemberAdded { mac, .. } => What::Member {
                event: "member_added",
                mac,
            },
            Event::MemberMoved { mac, .. } => What::Member {
                event: "member_moved",
                mac,
            },
            Event::MemberLeft { mac } => What::Member {
                event: "member_left",
                mac,
            },
            _ => return,
        };
        self.remember(now, what);
    }
}

impl Entry {
    fn message(&self, number: u64) -> EventMessage {
        let mut message = EventMessage {
            number,
            time_ms: self.time_ms,
            event: String::new(),
            from: None,
            state: self.state.name().to_owned(),
            reason: None,
            token: self.token.map(token_status),
            owner: self.owner.map(|owner| owner.to_string()),
            grade: self.grade.name().to_owned(),
            member: None,
            label: None,
        };
        let event = match &self.what {
            What::State { from, reason } => {
                message.from = Some(from.name().to_owned());
                message.reason = Some(text::reason(*reason).0.to_owned());
                "state_changed"
            }
            What::Owner => "owner_changed",
            What::Grade => "grade_changed",
            What::Member { event, mac } => {
                message.member = Some(mac.to_string());
                event
            }
            What::HandOverFailed { to } => {
                message.member = Some(to.to_string());
                "hand_over_failed"
            }
            What::Lock { event, label, why } => {
                message.label = Some(label.as_ref().to_owned());
                message.reason = why.map(str::to_owned);
                event
            }
        };
        event.clone_into(&mut message.event);
        message
    }
}

#[cfg(test)]
mod tests {
    use super::History;
    use crate::proto::time::{Instant, Now};

    fn started_at(seconds: u64) -> (History, Now) {
        let now = Now {
            monotonic: Instant::from_nanos(1),
            wall: seconds * 1_000_000_000,
        };
        (History::new(now), now)
    }

    #[test]
    fn a_number_of_an_earlier_life_is_none_of_this_one() {
        let (mut earlier, then) = started_at(1_700_000_000);
        let (mut this, now) = started_at(1_700_000_001);
        for _ in 0..100 {
            earlier.lock(then, "lock_granted", "backup", None);
            this.lock(now, "lock_granted", "backup", None);
        }
        let next = earlier.latest() + 1;
        assert!(earlier.has(next) && !this.has(next));
        assert!(this.has(this.latest() - 99) && !this.has(this.latest() - 100));
    }
}
