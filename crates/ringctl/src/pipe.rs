//! `ringctl lock --pipe`: a lock that lasts as long as a descriptor.

use std::io::{self, Write};
use std::os::fd::AsFd;

use ring_control::OwnJson;
use ring_runtime::clock;
use ring_runtime::wait::{Alarm, Interest, Poller};

use super::connection::Connection;
use super::keeper::NotAcquired;
use super::kill_timer::KillTimer;
use super::{Error, client};
use ring_client::held::{HeldLock, Said};
use ring_client::lease::{Margins, OVERDUE};

const DAEMON: u64 = 0;
const READER: u64 = 1;
const ALARM: u64 = 2;

/// Asks the daemon for the lock on a new connection, waits `wait_ms` for it, and prints its fencing token. Then holds it for
/// as long as any process has the other end of standard output open.
///
/// # Errors
/// The lock is not granted, for which `not_acquired` has the error, or it is lost.
pub(super) fn while_read(
    connection: Connection<'_>,
    request: &OwnJson,
    wait_ms: Option<u64>,
    margins: Margins,
    not_acquired: impl Fn(NotAcquired) -> Error,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let answers_by = client::answers_by(wait_ms);
    let mut poller = Poller::new()?;
    let mut alarm = Alarm::new()?;
    // Ends this process, and so closes the descriptor, at the end of the lease at the latest.
    let mut kill_timer = KillTimer::new().map_err(io::Error::from)?;
    poller.add(&connection, DAEMON, Interest::Read)?;
    poller.add(&alarm, ALARM, Interest::Read)?;
    // The write end of a pipe: the poller reports only its closing.
    let stdout = io::stdout();
    poller
        .add(stdout.as_fd(), READER, Interest::Nothing)
        .map_err(|_| Error::NoPipe)?;
    let (lines, mut prober) = connection.into_parts();
    let mut lock = HeldLock::ask(lines, request, answers_by, margins);
    loop {
        if lock.is_overdue(clock::now().monotonic) {
            return Err(Error::Lost(OVERDUE.to_owned()).into());
        }
        alarm.by(lock.deadline())?;
        if lock.lease().is_none() {
            prober.wait(&poller, None)?;
        }
        poller.wait(None)?;
        let ready: Vec<u64> = poller.ready().map(|ready| ready.key).collect();
        if ready.contains(&READER) {
            drop(kill_timer);
            return Ok(lock.give_back(None, None)?);
        }
        if ready.contains(&ALARM) {
            alarm.went_off();
        }
        if ready.contains(&DAEMON) {
            lock.fill();
        }
        while let Some(said) = lock.next_said() {
            if let Some(lease) = lock.lease() {
                kill_timer.set(lease.until());
            }
            match said {
                Said::Granted(grant) => {
                    writeln!(output, "{}", grant.fencing)?;
                    output.flush()?;
                }
                Said::Renewed | Said::Done | Said::Failed(_) => {}
                Said::Refused(refusal) => {
                    return Err(not_acquired(NotAcquired::Refused(refusal)).into());
                }
                Said::Lost(loss) => return Err(Error::Lost(loss.text).into()),
                Said::Error(why) => return Err(Error::Refused(why).into()),
            }
        }
        if lock.is_unanswered(clock::now().monotonic) {
            return Err(Error::Gone(client::silent()).into());
        }
        if lock.has_ended() {
            return Err(Error::Gone("ringd has ended, and the lock with it".to_owned()).into());
        }
    }
}
