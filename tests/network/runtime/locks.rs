//! Locks that permit at most one daemon for each ring on a machine.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use nix::unistd::{getpid, getuid};
use ring_process::{LockError, RingLock};
use ring_segment::{NetNs, Segment, Test, tests};

use crate::runtime::helpers;

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_lock_is_held_until_it_is_dropped,
        the_same_name_in_another_network_is_another_lock,
        a_killed_holder_leaves_no_lock,
    ]
}

fn acquire(ns: &NetNs) -> Result<Result<RingLock, LockError>> {
    ns.run(|| RingLock::acquire(Path::new(helpers::LOCKS_DIR), "eth0", Duration::ZERO))
}

fn check_held_by(ns: &NetNs, pid: u32) -> Result<()> {
    match acquire(ns)? {
        Err(LockError::Held { ring, holder }) => {
            ensure!(ring == "eth0", "{ring}");
            ensure!(holder.pid == i32::try_from(pid).ok(), "{holder}, not {pid}");
            ensure!(holder.uid == getuid().as_raw(), "{holder}");
            Ok(())
        }
        other => bail!("{other:?}"),
    }
}

fn a_lock_is_held_until_it_is_dropped() -> Result<()> {
    let ns = NetNs::new()?;
    let lock = acquire(&ns)??;
    let own = getpid().as_raw().unsigned_abs();
    check_held_by(&ns, own)?;
    let Err(error) = acquire(&ns)? else {
        bail!("the ring was locked twice");
    };
    let text = error.to_string();
    ensure!(
        text.contains("eth0") && text.contains(&own.to_string()),
        "{text}"
    );
    drop(lock);
    acquire(&ns)??;
    Ok(())
}

fn the_same_name_in_another_network_is_another_lock() -> Result<()> {
    let [left, right] = Segment::pair()?;
    let _left = acquire(left.ns())??;
    acquire(right.ns())??;
    Ok(())
}

fn a_killed_holder_leaves_no_lock() -> Result<()> {
    let ns = NetNs::new()?;
    let (name, value) = helpers::lock("eth0");
    let mut command = Command::new(std::env::current_exe()?);
    command
        .env(name, value)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = ns.spawn(&mut command)?;
    let mut line = String::new();
    let stdout = child.stdout.take().context("no standard output")?;
    BufReader::new(stdout).read_line(&mut line)?;
    ensure!(line == "held\n", "the child printed {line:?}");
    check_held_by(&ns, child.id())?;
    child.kill()?;
    child.wait()?;
    acquire(&ns)??;
    Ok(())
}
