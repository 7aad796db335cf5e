//! `ringctl lock --pipe`: a lock that lasts as long as a descriptor.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use ring_proto::time::Instant;

use super::keeper::{KillTimer, Lease, OVERDUE, Why};
use super::lines::Lines;
use super::options::LockOptions;
use super::prober::Prober;
use super::run::without_lock;
use super::{Error, client};
use crate::control::{Reply, Request};
use crate::sys::{Alarm, Interest, Poller, clock};

/// Maximum time for the daemon to confirm that the lock is given back.
const PATIENCE: Duration = Duration::from_secs(1);

const DAEMON: u64 = 0;
const READER: u64 = 1;
const ALARM: u64 = 2;

/// Holds the lock for as long as any process has the other end of standard output open.
///
/// # Errors
/// The lock is not granted, or it is lost.
pub(super) fn while_read(
    socket: &Path,
    options: &LockOptions,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let lock = options.request();
    let answers_by = client::answers_by(&lock);
    let mut daemon = client::endless(socket)?;
    let mut poller = Poller::new()?;
    let mut alarm = Alarm::new()?;
    poller.add(&daemon, DAEMON, Interest::Read)?;
    poller.add(&alarm, ALARM, Interest::Read)?;
    // The write end of a pipe: the poller reports only its closing.
    let stdout = io::stdout();
    poller
        .add(stdout.as_fd(), READER, Interest::Nothing)
        .map_err(|_| Error::NoPipe)?;
    // A daemon without room for one more client says so and hangs up without reading.
    let _ = daemon.send(&Request::Lock(lock));
    let mut prober = Prober::new(socket);
    let mut pipe = Pipe {
        options,
        output,
        lease: None,
        kill_timer: KillTimer::new().map_err(io::Error::from)?,
    };
    loop {
        let warn_at = pipe.lease.map(|lease| lease.warn_at());
        if warn_at.is_some_and(|at| at <= clock::now().monotonic) {
            return Err(Error::Lost(OVERDUE.to_owned()).into());
        }
        alarm.by(warn_at.or(answers_by))?;
        if pipe.lease.is_none() {
            prober.wait(&poller, None)?;
        }
        poller.wait(None)?;
        let ready: Vec<u64> = poller.ready().map(|ready| ready.key).collect();
        if ready.contains(&READER) {
            drop(pipe);
            give_back(&mut daemon)?;
            return Ok(());
        }
        if ready.contains(&ALARM) {
            alarm.went_off();
        }
        if ready.contains(&DAEMON) {
            daemon.fill();
        }
        while let Some(reply) = daemon.next() {
            pipe.hear(reply)?;
        }
        let is_late = answers_by.is_some_and(|by| by <= clock::now().monotonic);
        if pipe.lease.is_none() && is_late {
            return Err(Error::Gone(client::silent()).into());
        }
        if daemon.has_ended() {
            return Err(Error::Gone("ringd has ended, and the lock with it".to_owned()).into());
        }
    }
}

/// Nobody is told that it is given back; the answer is waited for all the same, if it comes soon:
/// nobody works any more, so there is nothing that a silent daemon could spoil.
fn give_back(daemon: &mut Lines) -> io::Result<()> {
    daemon.stream().set_read_timeout(Some(PATIENCE))?;
    let _ = daemon.send(&Request::Unlock);
    while daemon
        .wait::<Reply>()
        .is_some_and(|reply| reply != Reply::Unlocked {})
    {}
    Ok(())
}

/// The state of the lock.
struct Pipe<'a, W> {
    options: &'a LockOptions,
    output: &'a mut W,
    lease: Option<Lease>,
    /// Ends this process, and so closes the descriptor, at the end of the lease at the latest.
    kill_timer: KillTimer,
}

impl<W: Write> Pipe<'_, W> {
    fn hear(&mut self, reply: Reply) -> anyhow::Result<()> {
        let now = clock::now().monotonic;
        match (reply, &mut self.lease) {
            (Reply::Granted(grant), None) => {
                let lease = Lease::new(Instant::from_nanos(grant.until_ns), now);
                self.lease = Some(lease);
                self.kill_timer.set(lease.until());
                writeln!(self.output, "{}", grant.fencing)?;
                self.output.flush()?;
            }
            (Reply::Renewed(renewal), Some(lease)) => {
                lease.renew(Instant::from_nanos(renewal.until_ns), now);
                self.kill_timer.set(lease.until());
            }
            (Reply::Refused(refusal), _) => {
                return Err(without_lock(Why::of(refusal), &self.options.acquire).into());
            }
            (Reply::Lost(loss), _) => return Err(Error::Lost(loss.text).into()),
            (Reply::Error(why), _) => return Err(Error::Refused(why).into()),
            _ => {}
        }
        Ok(())
    }
}
