//! The daemon under test, from the view of its operator.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_control::lab2::Counters;
use ring_proto::lab2::Lab2;
use ring_segment::{Digest, MacAddr};

use super::host::{Disk, Process};
use super::simulation::Simulation;

/// Handle of the daemon. The daemon is already running when the handle is made.
#[derive(Debug)]
pub(crate) struct Daemon {
    simulation: Simulation,
}

impl Daemon {
    pub(crate) fn new(simulation: &Simulation) -> Self {
        let simulation = simulation.clone();
        simulation.with(|inner| inner.host.start(&mut inner.segment));
        Self { simulation }
    }

    /// Ends the process, as SIGKILL does.
    pub(crate) fn kill(&self) {
        self.simulation.with(|inner| inner.host.process = None);
    }

    /// Starts the daemon again after its end, with the same options and state.
    pub(crate) fn start(&self) {
        self.simulation
            .with(|inner| inner.host.start(&mut inner.segment));
    }

    pub(crate) fn lose_state(&self) {
        self.simulation
            .with(|inner| inner.host.disk = Disk::default());
    }

    /// Stops the process, as SIGSTOP does. Frames wait in the queue, and timeouts of the daemon pass.
    pub(crate) fn stop(&self) {
        self.process(|process| process.is_stopped = true);
    }

    /// Continues the process, as SIGCONT does.
    pub(crate) fn resume(&self) {
        self.process(|process| process.is_stopped = false);
    }

    /// Asks the daemon to shut down, as SIGTERM does.
    pub(crate) fn shut_down(&self) {
        self.simulation
            .with(|inner| inner.host.shut_down(&mut inner.segment));
    }

    /// Waits until the process ends. Returns the time at which the process ended.
    pub(crate) fn wait_exit(&self, timeout: Duration) -> Result<Duration> {
        let ended = self
            .simulation
            .wait(timeout, |inner| inner.host.has_ended.then_some(()));
        ended.with_context(|| format!("the daemon did not end in {timeout:?}"))?;
        Ok(self.simulation.now())
    }

    pub(crate) fn state(&self) -> &'static str {
        self.machine(|machine| machine.state().name())
    }

    /// Returns the daemon's counters since its start.
    pub(crate) fn counters(&self) -> Counters {
        self.process(|process| process.observers.tally.counters(0))
    }

    pub(crate) fn digest(&self) -> Digest {
        let digest = self.machine(Lab2::digest);
        Digest {
            size: digest.size,
            hash: digest.hash,
        }
    }

    pub(crate) fn members(&self) -> usize {
        self.machine(|machine| machine.members().len())
    }

    /// Returns the number of turns during which the daemon will skip a member.
    pub(crate) fn penalty(&self, member: MacAddr) -> Result<u32> {
        let penalty = self.machine(|machine| {
            let mut members = machine.members();
            let found = members.find(|view| view.mac.0 == member.octets());
            found.map(|view| view.penalty)
        });
        penalty.with_context(|| format!("{member} is not in the table"))
    }

    pub(crate) fn expect_state(&self, state: &str) -> Result<()> {
        let found = self.state();
        ensure!(found == state, "the state is {found} instead of {state}");
        Ok(())
    }

    fn machine<T>(&self, look: impl FnOnce(&Lab2) -> T) -> T {
        self.process(|process| look(process.driver.machine()))
    }

    fn process<T>(&self, act: impl FnOnce(&mut Process) -> T) -> T {
        self.simulation.with(|inner| {
            let process = inner.host.process.as_mut();
            act(process.expect("the daemon runs"))
        })
    }
}
