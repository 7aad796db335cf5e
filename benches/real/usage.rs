//! Reads a daemon's use of memory and CPU time from `/proc`.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};
use ring_segment::proc;

use super::daemon::Daemon;
use super::fabric::Place;

/// The memory of a daemon, and its work so far.
#[derive(Debug)]
pub(crate) struct Usage {
    /// Resident memory (VmRSS) in KiB.
    pub resident: u32,
    /// Sum of user and system time.
    pub cpu: Duration,
    /// Voluntary context switches of all threads.
    pub sleeps: u32,
    /// Frames that the node has sent, and their total length.
    pub sent: [u32; 2],
}

impl Usage {
    pub(crate) fn of(daemon: &Daemon, place: &Place) -> Result<Self> {
        let pid = daemon.process.id();
        let mut sleeps = 0;
        for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
            let thread = format!("{pid}/task/{}", thread?.file_name().display());
            sleeps += u32::try_from(proc::status_field(thread, "voluntary_ctxt_switches:")?)?;
        }
        Ok(Self {
            resident: u32::try_from(proc::resident_kib(pid)?)?,
            cpu: daemon.cpu_time()?,
            sleeps,
            sent: sent(place)?,
        })
    }
}

/// Returns the number of frames that a node has sent, and their total length in bytes.
pub(crate) fn sent(place: &Place) -> Result<[u32; 2]> {
    let devices = place
        .ns()
        .run(|| fs::read_to_string("/proc/thread-self/net/dev"))??;
    let line = devices
        .lines()
        .find_map(|it| it.trim_start().strip_prefix("eth0:"));
    // Eight fields about received frames come first.
    let mut fields = line.context("there is no eth0")?.split_whitespace().skip(8);
    let mut next = || anyhow::Ok(fields.next().context("the line is too short")?.parse()?);
    let (bytes, frames) = (next()?, next()?);
    Ok([frames, bytes])
}
