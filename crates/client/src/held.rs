//! A lock as its holder sees it: asked for, granted, renewed, lost.
//!
//! Whoever grants it speaks as a daemon does, in the replies of `docs/control.md`, over any [`Lines`]: a
//! daemon's socket, or a pair of sockets to a process that grants locks in another way.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use ring_control::{BootClock, Grant, Loss, NoRequest, OwnJson, Refusal, Reply, Request};
use ring_proto::time::Instant;
use ring_runtime::clock;
use serde::Serialize;

use crate::lease::{Lease, Margins};
use crate::lines::Lines;

/// Maximum time for the confirmation that the lock is given back.
const PATIENCE: Duration = Duration::from_secs(1);

/// What was said of the lock.
#[derive(Debug)]
pub enum Said {
    /// It is held.
    Granted(Grant),
    /// It is not to be had.
    Refused(Refusal),
    /// The request was not understood, or not carried out: why, as a sentence.
    Error(String),
    /// It is safe for longer.
    Renewed,
    /// It is over, and what remains of the lease is for ending the work.
    Lost(Loss),
    /// Another request of its holder's was carried out.
    Done,
    /// Another request of its holder's was not: why, as a sentence.
    Failed(String),
}

/// A lock that was asked for, and is held from its grant on.
#[derive(Debug)]
pub struct HeldLock {
    lines: Lines,
    /// The deadline for the first answer, if there is one.
    answers_by: Option<Instant>,
    margins: Margins,
    lease: Option<Lease>,
    /// The clock of the granter, and that of this process; `None`: both have the clock without an offset.
    clocks: Option<(BootClock, BootClock)>,
}

impl HeldLock {
    /// Asks for the lock. Whoever grants it has until `answers_by`, if that is bounded.
    pub fn ask(
        mut lines: Lines,
        request: &impl Serialize,
        answers_by: Option<Instant>,
        margins: Margins,
    ) -> Self {
        // A daemon without room for one more client says so and hangs up without reading.
        let _ = lines.send(request);
        Self {
            lines,
            answers_by,
            margins,
            lease: None,
            clocks: None,
        }
    }

    /// A lock that is held already.
    pub const fn held(lines: Lines, lease: Lease) -> Self {
        Self {
            lines,
            answers_by: None,
            margins: lease.margins(),
            lease: Some(lease),
            clocks: None,
        }
    }

    /// The lease, once the lock was granted.
    pub const fn lease(&self) -> Option<Lease> {
        self.lease
    }

    /// Returns when to look at the lock again if nothing is said of it: when its work must be warned, or when the
    /// answer is late.
    pub fn deadline(&self) -> Option<Instant> {
        self.lease
            .map_or(self.answers_by, |lease| Some(lease.warn_at()))
    }

    /// Whether the lease has not been renewed in time, as far as was heard.
    pub fn is_overdue(&self, now: Instant) -> bool {
        self.lease.is_some_and(|lease| now >= lease.warn_at())
    }

    /// Whether the deadline for the first answer has passed without one.
    pub fn is_unanswered(&self, now: Instant) -> bool {
        self.lease.is_none() && self.answers_by.is_some_and(|by| now >= by)
    }

    /// Whether nothing more will be said.
    pub const fn has_ended(&self) -> bool {
        self.lines.has_ended()
    }

    /// Reads what there is, or waits for something.
    pub fn fill(&mut self) {
        self.lines.fill();
    }

    /// Reads what there is, or waits for something until `by`, if there is such a time. Returns whether anything came: with a
    /// time that is past it does not wait.
    ///
    /// # Errors
    /// The system cannot wait.
    pub fn fill_by(&mut self, by: Option<Instant>) -> io::Result<bool> {
        self.lines.fill_by(by)
    }

    /// Returns what was said next, of what was read. The lease is what it is after that.
    pub fn next_said(&mut self) -> Option<Said> {
        while let Some(reply) = self.lines.next_message() {
            if let (Reply::Granted(Grant { clock, .. }), None) = (&reply, self.lease) {
                match compare(clock.clone()) {
                    Ok(clocks) => self.clocks = clocks,
                    Err(why) => return Some(Said::Error(why)),
                }
            }
            let now = clock::now().monotonic;
            let time = |ns| Instant::from_nanos(by_own_clock(self.clocks.as_ref(), ns));
            let lease = |until_ns| Lease::new(time(until_ns), now, self.margins);
            let said = match (reply, self.lease) {
                (Reply::Granted(grant), None) => {
                    self.lease = Some(lease(grant.until_ns));
                    Said::Granted(grant)
                }
                (Reply::Refused(refusal), None) => Said::Refused(refusal),
                (Reply::Error(text), None) => Said::Error(text),
                (Reply::Renewed(renewal), Some(mut held)) => {
                    held.renew(time(renewal.until_ns), now);
                    self.lease = Some(held);
                    Said::Renewed
                }
                (Reply::Lost(loss), Some(_)) => {
                    self.lease = Some(lease(loss.until_ns));
                    Said::Lost(loss)
                }
                (Reply::Done {}, Some(_)) => Said::Done,
                (Reply::Error(text), Some(_)) => Said::Failed(text),
                // An answer to something else.
                _ => continue,
            };
            return Some(said);
        }
        None
    }

    /// Says something else of the lock, with descriptors.
    ///
    /// # Errors
    /// The other end is gone, or there are too many descriptors.
    pub fn say_with(
        &mut self,
        request: &impl Serialize,
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        self.lines.send_with(request, descriptors)
    }

    /// Gives the lock back, after a `report` if there is one, with the exit code of its command, and waits a moment for the confirmation: the next
    /// who asks must not find it still held. Nobody works under it, so there is nothing that silence could spoil.
    ///
    /// # Errors
    /// The system refuses what every process may do.
    pub fn give_back(&mut self, report: Option<&OwnJson>, exit: Option<u8>) -> io::Result<()> {
        if let Some(report) = report {
            // One who is gone is found out by the next request.
            let _ = self.lines.send(report);
        }
        if self
            .lines
            .send(&Request::<NoRequest>::Unlock { exit })
            .is_ok()
        {
            self.lines
                .wait_for(PATIENCE, |reply| matches!(reply, Reply::Unlocked {}))?;
        }
        Ok(())
    }
}

/// Returns the clock of the granter and that of this process; `None`: the granter does not know its clock, and this
/// process has the one without an offset.
///
/// # Errors
/// The two clocks cannot be compared, so the end of a lease is unknown: why, as a sentence.
fn compare(theirs: Option<BootClock>) -> Result<Option<(BootClock, BootClock)>, String> {
    let unknown = |why: &str| {
        format!(
            "the lock cannot be held, since its lease ends by a clock that is not known here: {why}; run ringctl where \
             ringd runs"
        )
    };
    let own = clock::of_boot().map_err(|error| unknown(&error.to_string()))?;
    let own = BootClock {
        boot: own.0,
        offset_ns: own.1,
    };
    match theirs {
        Some(theirs) if own.may_share_kernel(&theirs) => Ok(Some((theirs, own))),
        Some(_) => Err(unknown("ringd runs on another kernel")),
        None if own.offset_ns == 0 => Ok(None),
        None => Err(unknown(
            "ringd does not know its clock, and ringctl's has the offset of a time namespace",
        )),
    }
}

/// Returns a time of the granter's clock by this process's.
fn by_own_clock(clocks: Option<&(BootClock, BootClock)>, ns: u64) -> u64 {
    clocks.map_or(ns, |(theirs, own)| own.when(theirs, ns))
}

impl AsFd for HeldLock {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.lines.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use ring_proto::time::Instant;

    use super::{HeldLock, Said};
    use crate::lease::{Margin, Margins};
    use crate::lines::Lines;
    use ring_control::{BootClock, Grant, Loss, OwnJson, Refusal, Renewal, Reply, to_line};
    use ring_runtime::clock;

    const MARGINS: Margins = Margins {
        warning: Margin::at_most(Duration::from_secs(2)),
        kill: Margin::at_most(Duration::ZERO),
    };

    /// A lock that was asked for, and the end of who grants it: no daemon.
    fn asked(answers_by: Option<Instant>) -> (HeldLock, UnixStream) {
        let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
        let request = OwnJson::of(&"a lock");
        let lock = HeldLock::ask(Lines::new(ours), &request, answers_by, MARGINS);
        (lock, theirs)
    }

    fn say(lock: &mut HeldLock, to: &mut UnixStream, reply: &Reply) -> Option<Said> {
        let line = to_line(reply).expect("it fits");
        to.write_all(&line).expect("the socket has room");
        lock.fill();
        lock.next_said()
    }

    fn grant(until: Instant) -> Reply {
        Reply::Granted(Grant {
            token: None,
            fencing: "7".to_owned(),
            grade: None,
            data: String::new(),
            until_ns: until.as_nanos(),
            clock: None,
        })
    }

    fn later(seconds: u64) -> Instant {
        clock::now().monotonic + Duration::from_secs(seconds)
    }

    #[test]
    fn a_lock_is_granted_renewed_and_lost() {
        let (mut lock, mut granter) = asked(None);
        assert!(lock.lease().is_none() && lock.deadline().is_none());
        let early = Reply::Renewed(Renewal { until_ns: 1 });
        assert!(say(&mut lock, &mut granter, &early).is_none());
        let until = later(60);
        let said = say(&mut lock, &mut granter, &grant(until));
        assert!(matches!(said, Some(Said::Granted(grant)) if grant.fencing == "7"));
        assert_eq!(lock.deadline(), Some(until.before(MARGINS.warning.most())));
        assert!(!lock.is_overdue(clock::now().monotonic));
        let renewal = Reply::Renewed(Renewal {
            until_ns: later(90).as_nanos(),
        });
        let said = say(&mut lock, &mut granter, &renewal);
        assert!(matches!(said, Some(Said::Renewed)));
        assert!(lock.deadline() > Some(until));
        // A loss leaves less time, and an error is no answer to the request for the lock.
        let error = Reply::Error("no such thing".to_owned());
        let said = say(&mut lock, &mut granter, &error);
        assert!(matches!(said, Some(Said::Failed(_))));
        let loss = Reply::Lost(Loss {
            why: "lease".to_owned(),
            text: "it is over".to_owned(),
            until_ns: later(1).as_nanos(),
        });
        let said = say(&mut lock, &mut granter, &loss);
        assert!(matches!(said, Some(Said::Lost(_))));
        assert!(lock.is_overdue(clock::now().monotonic));
    }

    /// A grant until then by a clock that is ahead of this process's.
    fn grant_by_another_clock(until: Instant, ahead_ns: i64, boot: Option<&str>) -> Reply {
        let (own, offset_ns) = clock::of_boot().expect("it is known");
        let Reply::Granted(grant) = grant(until) else {
            unreachable!("it is a grant")
        };
        Reply::Granted(Grant {
            clock: Some(BootClock {
                boot: boot.map(str::to_owned).or(own),
                offset_ns: offset_ns + ahead_ns,
            }),
            ..grant
        })
    }

    #[test]
    fn a_lease_of_another_time_namespace_ends_when_the_granter_says_so() {
        let (mut lock, mut granter) = asked(None);
        // Both ends are the same moment: by the granter's clock, and by this one.
        let (theirs, own) = (later(1060), later(60));
        let ahead = 1_000_000_000_000;
        let said = say(
            &mut lock,
            &mut granter,
            &grant_by_another_clock(theirs, ahead, None),
        );
        assert!(matches!(said, Some(Said::Granted(_))));
        let is_right = |until: Instant, own: Instant| {
            until <= own + Duration::from_millis(1) && own <= until + Duration::from_secs(1)
        };
        assert!(is_right(lock.lease().expect("it is held").until(), own));
        let renewal = Reply::Renewed(Renewal {
            until_ns: later(1090).as_nanos(),
        });
        say(&mut lock, &mut granter, &renewal);
        assert!(is_right(
            lock.lease().expect("it is held").until(),
            later(90)
        ));
        let loss = Reply::Lost(Loss {
            why: "lease".to_owned(),
            text: "it is over".to_owned(),
            until_ns: later(1001).as_nanos(),
        });
        say(&mut lock, &mut granter, &loss);
        assert!(is_right(
            lock.lease().expect("it is held").until(),
            later(1)
        ));
    }

    #[test]
    fn a_lease_of_another_kernel_is_not_held() {
        let (mut lock, mut granter) = asked(None);
        let grant = grant_by_another_clock(later(60), 0, Some("another"));
        let said = say(&mut lock, &mut granter, &grant);
        let Some(Said::Error(why)) = said else {
            panic!("{said:?}")
        };
        assert!(why.contains("another kernel"), "{why}");
        assert!(lock.lease().is_none());
    }

    #[test]
    fn a_refusal_is_the_end_and_silence_is_noticed() {
        let (mut lock, mut granter) = asked(Some(later(60)));
        let now = clock::now().monotonic;
        assert!(!lock.is_unanswered(now) && lock.is_unanswered(later(61)));
        let refusal = Reply::Refused(Refusal {
            why: "busy".to_owned(),
            text: "somebody has it".to_owned(),
            lost: false,
        });
        let said = say(&mut lock, &mut granter, &refusal);
        assert!(matches!(said, Some(Said::Refused(_))));
        drop(granter);
        lock.fill();
        assert!(lock.has_ended() && lock.lease().is_none());
    }
}
