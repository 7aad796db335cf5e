//! `ringctl lock` and `ringctl unlock`: for scripts that cannot wrap a command.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use nix::unistd::getppid;

use super::keeper::{Bond, Keeper, Note, Order, Task, knock};
use super::options::LockOptions;
use super::run::granted;
use super::{Error, client, not_acquired};
use crate::control::{Reply, Request};
use crate::sys::{Interest, Poller};

/// What a lock is called that nobody has named.
const LABEL: &str = "lock";

/// Acquires the lock, prints its fencing token, and leaves a keeper behind that holds it.
///
/// # Errors
/// An [`Error`], or that `output` takes nothing.
pub(super) fn lock(
    socket: PathBuf,
    options: &LockOptions,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    if options.check {
        return Ok(check(&socket, pid(options.pid), output)?);
    }
    if options.pipe {
        return while_read(&socket, options, output);
    }
    let task = Task {
        socket,
        lock: options.acquire.request(LABEL),
        grace_ms: 0,
        bond: Bond::Process {
            pid: pid(options.pid),
            kill: options.kill,
        },
    };
    let mut keeper = Keeper::start(task).map_err(Error::System)?;
    let (grant, _) = granted(&mut keeper, &options.acquire)?;
    // If it cannot be printed, this ends, and the lock with it.
    writeln!(output, "{}", grant.fencing)?;
    output.flush()?;
    keeper.tell(&Order::StandAlone);
    match keeper.wait() {
        Some(Note::Held(_)) => Ok(()),
        Some(Note::Lost(why)) => Err(Error::Lost(why).into()),
        _ => Err(Error::Lost("its keeper is gone".to_owned()).into()),
    }
}

/// Ends the lock that is bound to a process.
///
/// # Errors
/// There is none.
pub(super) fn unlock(socket: &Path, of: Option<i32>) -> Result<(), Error> {
    let mut keeper = keeper_of(socket, pid(of))?;
    keeper.send(&Order::Ended).map_err(Error::System)?;
    match keeper.wait() {
        Some(Note::Released) => Ok(()),
        _ => Err(Error::NotHeld),
    }
}

fn check(socket: &Path, pid: i32, output: &mut impl Write) -> Result<(), Error> {
    let mut keeper = keeper_of(socket, pid)?;
    keeper.send(&Order::Check).map_err(Error::System)?;
    match keeper.wait() {
        Some(Note::Held(token)) => writeln!(output, "{token}").map_err(Error::System),
        _ => Err(Error::NotHeld),
    }
}

fn keeper_of(socket: &Path, pid: i32) -> Result<super::lines::Lines, Error> {
    let found = knock(pid, socket).map_err(Error::System)?;
    found.ok_or(Error::NotHeld)
}

/// A process, or the one that has started this one.
fn pid(given: Option<i32>) -> i32 {
    given.unwrap_or_else(|| getppid().as_raw())
}

/// Holds the lock as long as somebody has the other end of standard output open.
fn while_read(socket: &Path, options: &LockOptions, output: &mut impl Write) -> anyhow::Result<()> {
    const DAEMON: u64 = 0;
    let mut daemon = client::endless(socket)?;
    let mut poller = Poller::new()?;
    poller.add(&daemon, DAEMON, Interest::Read)?;
    // Of a pipe that is written to, only its end is waited for.
    let stdout = io::stdout();
    poller
        .add(stdout.as_fd(), 1, Interest::Nothing)
        .map_err(|_| Error::NoPipe)?;
    // A daemon that has no room for one more client says so and hangs up without reading.
    let _ = daemon.send(&Request::Lock(options.acquire.request(LABEL)));
    loop {
        poller.wait(None)?;
        let ready: Vec<u64> = poller.ready().map(|ready| ready.key).collect();
        if ready.iter().any(|&key| key != DAEMON) {
            // Nobody is told that it is given back; the answer is waited for all the same.
            let _ = daemon.send(&Request::Unlock);
            while daemon
                .wait::<Reply>()
                .is_some_and(|reply| reply != Reply::Unlocked {})
            {}
            return Ok(());
        }
        if ready.contains(&DAEMON) {
            daemon.fill();
        }
        while let Some(reply) = daemon.next() {
            match reply {
                Reply::Granted(grant) => {
                    writeln!(output, "{}", grant.fencing)?;
                    output.flush()?;
                }
                Reply::Refused(refusal) => {
                    return Err(not_acquired(refusal.text, &options.acquire).into());
                }
                Reply::Lost(loss) => return Err(Error::Lost(loss.text).into()),
                Reply::Error(why) => return Err(Error::Refused(why).into()),
                _ => {}
            }
        }
        if daemon.has_ended() {
            return Err(Error::Gone("ringd has ended, and the lock with it".to_owned()).into());
        }
    }
}
