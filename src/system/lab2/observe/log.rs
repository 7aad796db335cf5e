//! Logs each change as one line.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_host::observe::{HiddenLines, RateLimit};
use ring_proto::lab2::{Difference, Event, Grade, State};
use ring_proto::time::{Instant, Now, nanos};
use ring_runtime::driver::Observe;
use tracing::field::display;
use tracing::{Level, debug, error, info, warn};

use super::Routine;
use super::describe::{Description, RingState, describe};
use super::display::{Ip, KnownToken};
use crate::system::lab2::events;

/// The limit for dropped frames.
const DROPS_LIMIT: RateLimit = RateLimit::new(1, Duration::from_secs(1));
/// If no member confirms an OWNER for this time, the OWNER has lost its grade. Shorter tenures may end without a
/// confirmation.
const UNCONFIRMED_MIN: Duration = Duration::from_secs(1);

/// Logs each change through `tracing`: routine rotation at the level DEBUG, and all other changes at INFO or above.
#[derive(Debug)]
pub struct Log {
    verbose: bool,
    /// The time without a heartbeat after which members elect a new owner.
    failure_timeout: Duration,
    routine: Routine,
    ring_state: RingState,
    /// The time at which this node began to hold a token that no member has confirmed.
    unconfirmed: Option<Instant>,
    drops: RateLimit,
    /// Members that expect a different number of members than this node, and for which the log has a line about this.
    other_numbers: BTreeSet<MacAddr>,
}

impl Log {
    /// Creates a log. With `verbose`, the log also contains routine turns, and reasons for dropped frames. The level of
    /// a late event depends on `failure_timeout`.
    pub fn new(verbose: bool, failure_timeout: Duration) -> Self {
        Self {
            verbose,
            failure_timeout,
            routine: Routine::new(),
            ring_state: RingState::default(),
            unconfirmed: None,
            drops: DROPS_LIMIT,
            other_numbers: BTreeSet::new(),
        }
    }

    /// Includes routine turns and reasons for dropped frames from now on, or omits them.
    pub const fn set_verbose(&mut self, verbose: bool) {
        self.verbose = verbose;
    }

    /// Returns the level of an event. A ring that grows gets a new number on one machine after another. So only the
    /// first member with another number causes a warning, until all members have the same number again.
    fn level(&mut self, event: &Event, level: Level) -> Level {
        let is_first = self.other_numbers.is_empty();
        let is_news = match *event {
            Event::MemberDiffers { mac, difference } if has_only_another_number(&difference) => {
                self.other_numbers.insert(mac);
                is_first
            }
            Event::MemberAgrees { mac } => {
                !self.other_numbers.remove(&mac) || self.other_numbers.is_empty()
            }
            Event::MemberLeft { mac } | Event::MemberForgotten { mac, .. } => {
                self.other_numbers.remove(&mac);
                true
            }
            _ => true,
        };
        if is_news { level } else { Level::DEBUG }
    }

    /// If no later tenure reached the lost grade, logs its loss. A grade that only ends together with its tenure is not
    /// lost.
    fn log_lost_grade(&mut self, now: Instant) {
        let Some(since) = self.unconfirmed else {
            return;
        };
        if now.since(since) < UNCONFIRMED_MIN {
            return;
        }
        self.unconfirmed = None;
        if self.routine.on_ungraded_tenure() {
            let token = self.ring_state.token;
            let (grade, shown) = (Grade::Alone.name(), KnownToken(token));
            let token = token.map(display);
            info!(
                event = events::GRADE_CHANGED,
                grade,
                token,
                "grade is {grade}: no member has confirmed the token for {UNCONFIRMED_MIN:?}; {shown}"
            );
        }
    }

    /// Tracks the time since which no member confirms the token.
    const fn track_confirmation(&mut self, now: Instant, event: &Event) {
        match *event {
            Event::StateChanged {
                to: State::Owner, ..
            }
            | Event::GradeChanged {
                grade: Grade::Alone,
                ..
            } => self.unconfirmed = Some(now),
            Event::StateChanged { .. } | Event::GradeChanged { .. } => self.unconfirmed = None,
            Event::HandoverFailed { .. } if self.unconfirmed.is_none() => {
                self.unconfirmed = Some(now);
            }
            _ => {}
        }
    }
}

impl Observe<Event> for Log {
    fn observe(&mut self, now: Now, event: &Event) {
        let now = now.monotonic;
        let routine = self.routine.check_routine(now, event);
        self.log_lost_grade(now);
        self.track_confirmation(now, event);
        let before = self.ring_state;
        describe(event, &before, routine, self.failure_timeout, |line| {
            self.ring_state = line.after.unwrap_or(before);
            let level = line.level.map(|level| self.level(event, level));
            let Some(level) = level.filter(|&level| self.verbose || level < Level::DEBUG) else {
                return;
            };
            if line.event != events::DROPPED {
                print(&line, level, 0);
            } else if self.drops.allow(now) {
                print(&line, level, self.drops.take_refused());
            }
        });
    }
}

fn has_only_another_number(difference: &Difference) -> bool {
    let Difference { theirs, ours } = difference;
    theirs.expect != ours.expect
        && theirs.waiter_timeout == ours.waiter_timeout
        && theirs.take_timeout == ours.take_timeout
}

/// Logs an event's line, after `hidden` similar lines that were not logged.
fn print(line: &Description<'_>, level: Level, hidden: u64) {
    let Description {
        event, text, keys, ..
    } = line;
    let hidden = HiddenLines(hidden);
    let receiver = keys.receiver.map(|mac| mac.to_string());
    let to = keys.to.map(State::name).or(receiver.as_deref());
    macro_rules! print {
        ($level:ident) => {
            $level!(
                event,
                from = keys.from.map(State::name),
                to,
                reason = keys.reason,
                owner = keys.owner.map(display),
                grade = keys.grade.map(Grade::name),
                in_a_row = keys.in_a_row,
                latency_ns = keys.latency.map(nanos),
                token = keys.token.map(display),
                mac = keys.mac.map(display),
                members = keys.members,
                ip = keys.ip.map(Ip).map(display),
                others = keys.others,
                len = keys.len,
                mtu = keys.mtu,
                author = keys.author.map(display),
                job = keys.job.map(display),
                "{text}{hidden}"
            )
        };
    }
    match level {
        Level::ERROR => print!(error),
        Level::WARN => print!(warn),
        Level::INFO => print!(info),
        _ => print!(debug),
    }
}
