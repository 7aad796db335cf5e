//! Which CPU a station runs on: the same for the floor's and the ring's.

use std::fmt;
use std::thread;

use anyhow::{Context, Result};
use clap::ValueEnum;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

/// How the stations are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Placement {
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
    /// Runs `start` on the CPU that belongs to `station`. The processes that it starts stay there.
    pub fn at<T: Send>(
        self,
        station: usize,
        start: impl FnOnce() -> Result<T> + Send,
    ) -> Result<T> {
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        let cpu = match self {
            Self::Apart => station % cpus,
            // Interrupts tend to go to the first.
            Self::Together => cpus - 1,
        };
        let pinned = || {
            let mut set = CpuSet::new();
            set.set(cpu)?;
            // 0 is the calling thread, which is a new one.
            sched_setaffinity(Pid::from_raw(0), &set)
                .with_context(|| format!("cannot run on CPU {cpu}"))?;
            start()
        };
        match thread::scope(|scope| scope.spawn(pinned).join()) {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}
