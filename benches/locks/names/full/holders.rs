//! Programs that hold one named lock each, spread over all machines of a ring.

use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use ring_control::lab2::Grade;

use super::super::client::{Client, Subject};
use super::lists::List;
use crate::contest::Lock;
use crate::real::daemon::Daemon;

/// A program, and its lock.
struct Holder {
    client: Client,
    name: String,
    /// The fencing token, if the program holds the lock.
    fencing: Option<String>,
}

/// The programs of each machine.
pub(super) struct Holders {
    machines: Vec<Vec<Holder>>,
    grade: Grade,
}

impl Holders {
    pub(super) fn new(machines: usize, grade: Grade) -> Self {
        let machines = (0..machines).map(|_| Vec::new()).collect();
        Self { machines, grade }
    }

    /// Adds one program per name. The machines get programs in turn.
    pub(super) fn add(&mut self, daemons: &[Daemon], numbers: Range<u64>) -> Result<()> {
        let machines = (0..daemons.len()).cycle();
        for (number, at) in numbers.zip(machines) {
            let holder = Holder::new(&daemons[at], long_name(number), self.grade)?;
            self.machines[at].push(holder);
        }
        Ok(())
    }

    /// Replaces the programs of a machine whose daemon has restarted. The new programs hold no locks.
    pub(super) fn replace(&mut self, at: usize, daemon: &Daemon) -> Result<()> {
        for holder in &mut self.machines[at] {
            *holder = Holder::new(daemon, holder.name.clone(), self.grade)?;
        }
        Ok(())
    }

    /// Makes all programs without a lock take their locks. On each machine, one program after the other takes its lock.
    /// Returns the sorted times of the takes.
    pub(super) fn take_all(&mut self) -> Result<Vec<Duration>> {
        let mut took = self.for_each_machine(|holders| {
            let mut took = Vec::new();
            for holder in holders.iter_mut().filter(|it| it.fencing.is_none()) {
                let asked = Instant::now();
                holder.fencing = Some(holder.client.take()?);
                took.push(asked.elapsed());
            }
            Ok(took)
        })?;
        took.sort_unstable();
        Ok(took)
    }

    /// Makes every second program on each machine release its lock. Returns the number of these programs.
    pub(super) fn release_half(&mut self) -> Result<usize> {
        let before = self.list().len();
        self.for_each_machine(|holders| {
            let held = holders.iter_mut().filter(|it| it.fencing.is_some());
            for holder in held.step_by(2) {
                holder.client.unlock()?;
                holder.fencing = None;
            }
            Ok(Vec::new())
        })?;
        Ok(before - self.list().len())
    }

    /// Returns the locks that the programs hold.
    pub(super) fn list(&self) -> List {
        let held = self.machines.iter().flatten();
        let held = held.filter_map(|it| Some((it.name.clone(), it.fencing.clone()?)));
        held.collect()
    }

    /// Returns the number of locks that programs of this machine hold.
    pub(super) fn count_held(&self, at: usize) -> usize {
        let held = self.machines[at].iter().filter(|it| it.fencing.is_some());
        held.count()
    }

    /// Removes all lost locks from the list, and returns their number. The sockets have only little space, so this
    /// function must be called every few seconds.
    pub(super) fn drop_lost(&mut self) -> Result<usize> {
        let mut lost = 0;
        for holder in self.machines.iter_mut().flatten() {
            if holder.fencing.is_some() && holder.client.detect_loss()? {
                holder.fencing = None;
                lost += 1;
            }
        }
        Ok(lost)
    }

    /// Does the same work on all machines at the same time. Returns all results.
    fn for_each_machine(
        &mut self,
        work: impl Fn(&mut [Holder]) -> Result<Vec<Duration>> + Sync,
    ) -> Result<Vec<Duration>> {
        let results = thread::scope(|scope| {
            let work = &work;
            let start = |holders| scope.spawn(move || work(holders));
            let machines = self.machines.iter_mut().map(Vec::as_mut_slice);
            let workers: Vec<_> = machines.map(start).collect();
            let joined = workers.into_iter().map(thread::ScopedJoinHandle::join);
            let joined = joined.map(|result| result.expect("the thread does not panic"));
            joined.collect::<Result<Vec<_>>>()
        })?;
        Ok(results.concat())
    }
}

impl Holder {
    fn new(daemon: &Daemon, name: String, grade: Grade) -> Result<Self> {
        let mut client = Client::connect(&daemon.control(), Subject::Name, grade)?;
        client.rename(name.clone());
        Ok(Self {
            client,
            name,
            fencing: None,
        })
    }
}

/// Returns the name with this number. It has the maximum length.
pub(super) fn long_name(number: u64) -> String {
    format!("lock{number:060}")
}
