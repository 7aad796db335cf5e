//! Starts a station's process on its CPU and in its namespace.

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

/// Distribution of the stations over CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Placement {
    /// Neighbors are on different CPUs. Every hop wakes a different CPU, as between machines.
    Apart,
    /// All stations are on one CPU. A hop only switches between two processes on this CPU, so kernel and hardware have
    /// the least work.
    Together,
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Apart => "Neighbors on different CPUs",
            Self::Together => "All stations on one CPU",
        })
    }
}

impl Placement {
    fn cpu(self, station: usize) -> usize {
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        match self {
            Self::Apart => station % cpus,
            // The first CPU usually handles the interrupts.
            Self::Together => cpus - 1,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Start {
    /// Placement on CPUs, or `None` if the kernel chooses.
    pub placement: Option<Placement>,
    /// Command that starts the program. If it is empty, the program is started directly.
    pub through: Vec<String>,
}

impl Start {
    /// Starts `program` as the process of `station`, on its CPU and in its namespace.
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
                // Pid 0 is the calling thread. Processes that it starts inherit its CPU.
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
