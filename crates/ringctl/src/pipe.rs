//! `ringctl lock --pipe`: holds a lock while any other process has the other end of a pipe open.

use std::io::{self, Write};
use std::os::fd::AsFd;

use ring_control::RawJson;
use ring_runtime::clock;
use ring_runtime::wait::{Alarm, Interest, Poller};

use super::connection::Connection;
use super::keeper::NotAcquired;
use super::kill_timer::KillTimer;
use super::{Error, client};
use ring_client::held_lock::{HeldLock, LockMessage};
use ring_client::lease::{Margins, OVERDUE_TEXT};

const DAEMON: u64 = 0;
const READER: u64 = 1;
const ALARM: u64 = 2;

/// Requests the lock, and waits up to `wait_ms` for it. Prints the fencing token of the lock. Then holds the lock until
/// all processes have closed the other end of standard output.
///
/// # Errors
/// If the lock is not granted, fails with the error that `not_acquired` returns. Also fails if the lock is lost.
pub(super) fn hold_while_read(
    connection: Connection<'_>,
    request: &RawJson,
    wait_ms: Option<u64>,
    margins: Margins,
    not_acquired: impl Fn(NotAcquired) -> Error,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let answer_deadline = client::answer_deadline(wait_ms);
    let mut poller = Poller::new()?;
    let mut alarm = Alarm::new()?;
    // At the end of the lease, the timer kills this process. So the kernel closes the pipe.
    let mut kill_timer = KillTimer::new().map_err(io::Error::from)?;
    poller.add(&connection, DAEMON, Interest::Read)?;
    poller.add(&alarm, ALARM, Interest::Read)?;
    // The poller reports the write end of a pipe when all read ends are closed.
    let stdout = io::stdout();
    poller
        .add(stdout.as_fd(), READER, Interest::Nothing)
        .map_err(|_| Error::NoPipe)?;
    let (lines, mut prober) = connection.into_parts();
    let mut lock = HeldLock::request(lines, request, answer_deadline, margins);
    loop {
        if lock.is_overdue(clock::now().monotonic) {
            return Err(Error::Lost(OVERDUE_TEXT.to_owned()).into());
        }
        alarm.set_deadline(lock.deadline())?;
        if lock.lease().is_none() {
            prober.wait(&poller, None)?;
        }
        poller.wait(None)?;
        let ready: Vec<u64> = poller.ready().map(|ready| ready.key).collect();
        if ready.contains(&READER) {
            drop(kill_timer);
            return Ok(lock.release(None, None)?);
        }
        if ready.contains(&ALARM) {
            alarm.on_went_off();
        }
        if ready.contains(&DAEMON) {
            lock.fill();
        }
        while let Some(message) = lock.next_message() {
            if let Some(lease) = lock.lease() {
                kill_timer.set(lease.until());
            }
            match message {
                LockMessage::Granted(grant) => {
                    writeln!(output, "{}", grant.fencing)?;
                    output.flush()?;
                }
                LockMessage::Renewed | LockMessage::Done | LockMessage::Failed(_) => {}
                LockMessage::Refused(refusal) => {
                    return Err(not_acquired(NotAcquired::Refused(refusal)).into());
                }
                LockMessage::Lost(loss) => return Err(Error::Lost(loss.text).into()),
                LockMessage::Error(why) => return Err(Error::Refused(why).into()),
            }
        }
        if lock.is_unanswered(clock::now().monotonic) {
            return Err(Error::Gone(client::no_answer_text()).into());
        }
        if lock.has_ended() {
            return Err(Error::Gone("ringd has ended, so the lock is lost".to_owned()).into());
        }
    }
}
