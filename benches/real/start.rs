//! How a station's process is started.

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::process::{Child, Command};
use std::thread;

use anyhow::{Context, Result};
use clap::ValueEnum;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use super::fabric::Place;

/// How the stations are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Placement {
    /// Neighbours on different CPUs: every hop wakes another CPU up, as it does between machines.
    Apart,
    /// All on one CPU: every hop is a change of process, and the least of kernel and hardware is
    /// between two.
    Together,
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Apart => "Neighbours on different CPUs",
            Self::Together => "All stations on one CPU",
        })
    }
}

impl Placement {
    fn cpu(self, station: usize) -> usize {
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        match self {
            Self::Apart => station % cpus,
            // Interrupts tend to go to the first.
            Self::Together => cpus - 1,
        }
    }
}

/// How stations are started.
#[derive(Debug, Default)]
pub(crate) struct Start {
    /// On which CPUs; `None`: as the kernel likes.
    pub placement: Option<Placement>,
    /// Through which command, if any.
    pub through: Vec<String>,
}

impl Start {
    /// Starts `program` as the process of `station`, on its CPU and in its place.
    pub(crate) fn spawn(
        &self,
        station: usize,
        place: &Place,
        program: &Path,
        prepare: impl FnOnce(&mut Command) + Send,
    ) -> Result<Child> {
        let mut line = self
            .through
            .iter()
            .map(OsStr::new)
            .chain([program.as_os_str()]);
        let mut command = Command::new(line.next().context("there is a program")?);
        command.args(line);
        prepare(&mut command);
        let pinned = || {
            if let Some(placement) = self.placement {
                let mut cpus = CpuSet::new();
                cpus.set(placement.cpu(station))?;
                // 0 is the calling thread, a new one; the processes that it starts stay there.
                let pinned = sched_setaffinity(Pid::from_raw(0), &cpus);
                pinned.context("cannot choose a station's CPU")?;
            }
            place.ns().spawn(&mut command)
        };
        match thread::scope(|scope| scope.spawn(pinned).join()) {
            Ok(child) => child,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}
