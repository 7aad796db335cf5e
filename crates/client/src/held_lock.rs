//! The holder's side of a lock. The holder requests the lock. Then it gets messages about the grant, the renewals and
//! the loss of the lock.
//!
//! The granter is the process that grants the lock: a daemon, or a process that grants locks over a pair of sockets. In
//! both cases the granter sends the replies of `docs/reference/control.md` over [`Lines`].

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use ring_control::{BootClock, Grant, Loss, NoRequest, RawJson, Refusal, Reply, Request};
use ring_proto::time::Instant;
use ring_runtime::clock;
use serde::Serialize;

use crate::lease::{Lease, Margins};
use crate::lines::Lines;

/// Maximum time to wait for the granter's confirmation of a release.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(1);

/// A message of the granter about the lock.
#[derive(Debug)]
pub enum LockMessage {
    /// The lock is granted.
    Granted(Grant),
    /// The lock is refused.
    Refused(Refusal),
    /// The request for the lock failed: the reason, as a sentence.
    Error(String),
    /// The granter has extended the lease.
    Renewed,
    /// The lock is lost. The holder must end its work before the lease ends.
    Lost(Loss),
    /// A later request of the holder succeeded.
    Done,
    /// A later request of the holder failed: the reason, as a sentence.
    Failed(String),
}

/// A lock that was requested, and, after the grant, is held.
#[derive(Debug)]
pub struct HeldLock {
    lines: Lines,
    answer_deadline: Option<Instant>,
    margins: Margins,
    lease: Option<Lease>,
    /// The clocks of the granter and of this process. `None` if the granter did not send its clock. Then times need no
    /// conversion.
    clocks: Option<(BootClock, BootClock)>,
}

impl HeldLock {
    /// Requests the lock. If `answer_deadline` is given, the granter must answer before this time.
    pub fn request(
        mut lines: Lines,
        request: &impl Serialize,
        answer_deadline: Option<Instant>,
        margins: Margins,
    ) -> Self {
        // A daemon that cannot serve another client sends an error before it reads the request, and closes the
        // connection. So ignore a failure to send, and read the daemon's message.
        let _ = lines.send(request);
        Self {
            lines,
            answer_deadline,
            margins,
            lease: None,
            clocks: None,
        }
    }

    /// Creates the value for a lock that this process already holds.
    pub const fn already_held(lines: Lines, lease: Lease) -> Self {
        Self {
            lines,
            answer_deadline: None,
            margins: lease.margins(),
            lease: Some(lease),
            clocks: None,
        }
    }

    /// Returns the lease. Returns `None` before the grant.
    pub const fn lease(&self) -> Option<Lease> {
        self.lease
    }

    /// Returns the time until which the caller may wait for the next message. After the grant, this is the time at
    /// which the work must be warned. Before the grant, this is the deadline for the answer.
    pub fn deadline(&self) -> Option<Instant> {
        self.lease
            .map_or(self.answer_deadline, |lease| Some(lease.warn_at()))
    }

    /// Whether the work must be warned, because the messages that were read have not renewed the lease in time.
    pub fn is_overdue(&self, now: Instant) -> bool {
        self.lease.is_some_and(|lease| now >= lease.warn_at())
    }

    /// Whether the granter has not answered the request for the lock before the deadline.
    pub fn is_unanswered(&self, now: Instant) -> bool {
        self.lease.is_none() && self.answer_deadline.is_some_and(|by| now >= by)
    }

    /// Whether the connection ended. Then no more messages will arrive.
    pub const fn has_ended(&self) -> bool {
        self.lines.has_ended()
    }

    /// Reads available bytes. If no bytes are available, waits for bytes.
    pub fn fill(&mut self) {
        self.lines.fill();
    }

    /// Reads available bytes. If no bytes are available, waits for bytes. If `by` is given, waits at most until `by`,
    /// and does not wait if `by` has passed. Returns whether any bytes came.
    ///
    /// # Errors
    /// Fails if the system cannot wait.
    pub fn fill_by(&mut self, by: Option<Instant>) -> io::Result<bool> {
        self.lines.fill_by(by)
    }

    /// Takes the next message from the received bytes. If the message changes the lease, updates the lease. Returns the
    /// message.
    pub fn next_message(&mut self) -> Option<LockMessage> {
        while let Some(reply) = self.lines.next_message() {
            if let (Reply::Granted(Grant { clock, .. }), None) = (&reply, self.lease) {
                match compare_clocks(clock.clone()) {
                    Ok(clocks) => self.clocks = clocks,
                    Err(why) => return Some(LockMessage::Error(why)),
                }
            }
            let now = clock::now().monotonic;
            let time = |ns| Instant::from_nanos(to_own_clock(self.clocks.as_ref(), ns));
            let lease = |until_ns| Lease::new(time(until_ns), now, self.margins);
            let message = match (reply, self.lease) {
                (Reply::Granted(grant), None) => {
                    self.lease = Some(lease(grant.until_ns));
                    LockMessage::Granted(grant)
                }
                (Reply::Refused(refusal), None) => LockMessage::Refused(refusal),
                (Reply::Error(text), None) => LockMessage::Error(text),
                (Reply::Renewed(renewal), Some(mut held)) => {
                    held.renew(time(renewal.until_ns), now);
                    self.lease = Some(held);
                    LockMessage::Renewed
                }
                (Reply::Lost(loss), Some(mut held)) => {
                    held.end_by(time(loss.until_ns), now);
                    self.lease = Some(held);
                    LockMessage::Lost(loss)
                }
                (Reply::Done {}, Some(_)) => LockMessage::Done,
                (Reply::Error(text), Some(_)) => LockMessage::Failed(text),
                // This is the answer to another request of the holder.
                _ => continue,
            };
            return Some(message);
        }
        None
    }

    /// Sends a further request, together with descriptors.
    ///
    /// # Errors
    /// Fails if the granter closed the connection, or if there are too many descriptors.
    pub fn send_with(
        &mut self,
        request: &impl Serialize,
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        self.lines.send_with(request, descriptors)
    }

    /// Releases the lock, and waits up to a second for the confirmation. After the confirmation, another program can
    /// get the lock. If `report` is given, sends it before the release. The release also contains `exit`, the exit code
    /// of the lock's command. A missing confirmation is not an error, because the work is already over.
    ///
    /// # Errors
    /// Fails only if a basic system call fails.
    pub fn release(&mut self, report: Option<&RawJson>, exit: Option<u8>) -> io::Result<()> {
        if let Some(report) = report {
            // If the granter has ended, the next request fails too.
            let _ = self.lines.send(report);
        }
        if self
            .lines
            .send(&Request::<NoRequest>::Unlock { exit })
            .is_ok()
        {
            self.lines
                .wait_for(RELEASE_TIMEOUT, |reply| matches!(reply, Reply::Unlocked {}))?;
        }
        Ok(())
    }
}

/// Returns the clocks of the granter and of this process. Returns `None` if the granter sent no clock and the clock of
/// this process has no offset.
///
/// # Errors
/// Fails if the clocks cannot be compared. Then the end of the lease is unknown. The error is a sentence with the
/// reason.
fn compare_clocks(theirs: Option<BootClock>) -> Result<Option<(BootClock, BootClock)>, String> {
    let unknown = |why: &str| {
        format!(
            "cannot hold the lock: this process does not know the clock of the lock's lease ({why}); run ringctl in \
             the time namespace of ringd"
        )
    };
    let own = clock::boot_clock_offset().map_err(|error| unknown(&error.to_string()))?;
    let own = BootClock {
        boot: own.0,
        offset_ns: own.1,
    };
    match theirs {
        Some(theirs) if own.may_share_kernel(&theirs) => Ok(Some((theirs, own))),
        Some(_) => Err(unknown("ringd runs on another kernel")),
        None if own.offset_ns == 0 => Ok(None),
        None => Err(unknown(
            "ringd does not know its clock, and ringctl's clock has the offset of a time namespace",
        )),
    }
}

fn to_own_clock(clocks: Option<&(BootClock, BootClock)>, ns: u64) -> u64 {
    clocks.map_or(ns, |(theirs, own)| own.convert_from(theirs, ns))
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

    use super::{HeldLock, LockMessage};
    use crate::lease::{Margin, Margins};
    use crate::lines::Lines;
    use ring_control::{BootClock, Grant, Loss, RawJson, Refusal, Renewal, Reply, to_line};
    use ring_runtime::clock;

    const MARGINS: Margins = Margins {
        warning: Margin::at_most(Duration::from_secs(2)),
        kill: Margin::at_most(Duration::ZERO),
    };

    /// Returns a requested lock, and the granter's end of the connection.
    fn requested_lock(answer_deadline: Option<Instant>) -> (HeldLock, UnixStream) {
        let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
        let request = RawJson::encode(&"a lock");
        let lock = HeldLock::request(Lines::new(ours), &request, answer_deadline, MARGINS);
        (lock, theirs)
    }

    fn deliver(lock: &mut HeldLock, to: &mut UnixStream, reply: &Reply) -> Option<LockMessage> {
        let line = to_line(reply).expect("it fits");
        to.write_all(&line).expect("the socket has room");
        lock.fill();
        lock.next_message()
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
        let (mut lock, mut granter) = requested_lock(None);
        assert!(lock.lease().is_none() && lock.deadline().is_none());
        let early = Reply::Renewed(Renewal { until_ns: 1 });
        assert!(deliver(&mut lock, &mut granter, &early).is_none());
        let until = later(60);
        let message = deliver(&mut lock, &mut granter, &grant(until));
        assert!(matches!(message, Some(LockMessage::Granted(grant)) if grant.fencing == "7"));
        assert_eq!(lock.deadline(), Some(until.before(MARGINS.warning.max())));
        assert!(!lock.is_overdue(clock::now().monotonic));
        let renewal = Reply::Renewed(Renewal {
            until_ns: later(90).as_nanos(),
        });
        let message = deliver(&mut lock, &mut granter, &renewal);
        assert!(matches!(message, Some(LockMessage::Renewed)));
        assert!(lock.deadline() > Some(until));
        // After the grant, an error does not concern the request for the lock.
        let error = Reply::Error("no such thing".to_owned());
        let message = deliver(&mut lock, &mut granter, &error);
        assert!(matches!(message, Some(LockMessage::Failed(_))));
        let loss = Reply::Lost(Loss {
            why: "lease".to_owned(),
            text: "it is over".to_owned(),
            until_ns: later(1).as_nanos(),
        });
        let message = deliver(&mut lock, &mut granter, &loss);
        assert!(matches!(message, Some(LockMessage::Lost(_))));
        assert!(lock.is_overdue(clock::now().monotonic));
    }

    /// Returns a grant with times from a different clock. That clock is `ahead_ns` ahead of this process's clock.
    fn grant_by_another_clock(until: Instant, ahead_ns: i64, boot: Option<&str>) -> Reply {
        let (own, offset_ns) = clock::boot_clock_offset().expect("it is known");
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
    fn a_lease_of_another_time_namespace_is_converted() {
        let (mut lock, mut granter) = requested_lock(None);
        // Both values are the same moment: `theirs` on the granter's clock, and `own` on the clock of this process.
        let (theirs, own) = (later(1060), later(60));
        let ahead = 1_000_000_000_000;
        let message = deliver(
            &mut lock,
            &mut granter,
            &grant_by_another_clock(theirs, ahead, None),
        );
        assert!(matches!(message, Some(LockMessage::Granted(_))));
        let is_right = |until: Instant, own: Instant| {
            until <= own + Duration::from_millis(1) && own <= until + Duration::from_secs(1)
        };
        assert!(is_right(lock.lease().expect("it is held").until(), own));
        let renewal = Reply::Renewed(Renewal {
            until_ns: later(1090).as_nanos(),
        });
        deliver(&mut lock, &mut granter, &renewal);
        assert!(is_right(
            lock.lease().expect("it is held").until(),
            later(90)
        ));
        let loss = Reply::Lost(Loss {
            why: "lease".to_owned(),
            text: "it is over".to_owned(),
            until_ns: later(1001).as_nanos(),
        });
        deliver(&mut lock, &mut granter, &loss);
        assert!(is_right(
            lock.lease().expect("it is held").until(),
            later(1)
        ));
    }

    #[test]
    fn a_lease_of_another_kernel_is_not_held() {
        let (mut lock, mut granter) = requested_lock(None);
        let grant = grant_by_another_clock(later(60), 0, Some("another"));
        let message = deliver(&mut lock, &mut granter, &grant);
        let Some(LockMessage::Error(why)) = message else {
            panic!("{message:?}")
        };
        assert!(why.contains("another kernel"), "{why}");
        assert!(lock.lease().is_none());
    }

    #[test]
    fn a_refusal_ends_the_request_and_silence_is_noticed() {
        let (mut lock, mut granter) = requested_lock(Some(later(60)));
        let now = clock::now().monotonic;
        assert!(!lock.is_unanswered(now) && lock.is_unanswered(later(61)));
        let refusal = Reply::Refused(Refusal {
            why: "busy".to_owned(),
            text: "somebody has it".to_owned(),
            lost: false,
        });
        let message = deliver(&mut lock, &mut granter, &refusal);
        assert!(matches!(message, Some(LockMessage::Refused(_))));
        drop(granter);
        lock.fill();
        assert!(lock.has_ended() && lock.lease().is_none());
    }
}
