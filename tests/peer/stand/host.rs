//! The daemon's machine, and the part of the daemon's event loop that drives the state machine. The end of a shutdown
//! is not included, because tests of real daemons cover it.

use std::time::Duration;

use ring_proto::lab2::{Command, Constants, Lab2, StoredState};
use ring_proto::{LinkState, StoreOutcome};
use ring_runtime::driver::{Driver, Environment, Store};
use ring_segment::Timing;
use ringd::system::lab2::observe::{Log, Observers, Tally};

use super::clock;
use super::segment::{DAEMON, Port, Segment, mac};

/// Longest payload of a frame.
const MTU: usize = 1500;

/// Content of the state file.
#[derive(Debug, Default)]
pub(crate) struct Disk(pub Option<StoredState>);

impl Store<StoredState> for Disk {
    fn store(&mut self, durable: &StoredState) -> StoreOutcome {
        self.0 = Some(*durable);
        StoreOutcome::Done
    }
}

/// A running daemon process.
#[derive(Debug)]
pub(crate) struct Process {
    pub driver: Driver<Lab2>,
    pub observers: Observers,
    pub is_stopped: bool,
}

/// The machine on which the daemon runs.
#[derive(Debug)]
pub(crate) struct Host {
    constants: Constants,
    ip: [u8; 16],
    pub disk: Disk,
    /// The process is `None` if it was killed or ended.
    pub process: Option<Process>,
    /// Whether the last process ended without a kill.
    pub has_ended: bool,
}

pub(super) fn constants(timing: &Timing) -> Constants {
    Constants {
        take_timeout: timing.take_timeout,
        idle_hold: timing.idle_hold,
        waiter_intervals: timing.waiter_intervals,
        ..Constants::for_heartbeat(timing.heartbeat)
    }
}

impl Host {
    pub(crate) fn new(constants: Constants, ip: [u8; 16]) -> Self {
        constants.check().expect("valid constants");
        Self {
            constants,
            ip,
            disk: Disk::default(),
            process: None,
            has_ended: false,
        }
    }

    /// Starts the daemon with its interface up.
    pub(crate) fn start(&mut self, segment: &mut Segment) {
        assert!(self.process.is_none(), "the daemon is already running");
        // Frames that arrived before the start are lost.
        segment.queue(DAEMON).clear();
        let durable = self.disk.0.unwrap_or(StoredState {
            my_token_number: 0,
            known: None,
            stamp: None,
        });
        let machine = Lab2::new(self.constants.clone(), durable);
        self.has_ended = false;
        self.process = Some(Process {
            driver: Driver::new(machine),
            observers: Observers {
                tally: Tally::new(),
                log: Log::new(false, self.constants.waiter_timeout()),
            },
            is_stopped: false,
        });
        let up = LinkState::Up {
            mac: ring_codec::MacAddr(mac(DAEMON).octets()),
            ip: self.ip,
            mtu: MTU,
        };
        let now = clock::now(segment.now());
        self.with(segment, |driver, environment| {
            driver.link_changed(now, up, environment);
        });
    }

    /// Asks the process to end, as SIGTERM does.
    pub(crate) fn shut_down(&mut self, segment: &mut Segment) {
        assert!(self.is_running(), "a stopped process handles no signal");
        let at = segment.now();
        self.with(segment, |driver, environment| {
            driver.command(clock::now(at), Command::ShutDown, environment);
        });
        self.end_if_over();
    }

    /// Returns the process unless it is stopped.
    fn running(&self) -> Option<&Process> {
        self.process.as_ref().filter(|process| !process.is_stopped)
    }

    pub(crate) fn is_running(&self) -> bool {
        self.running().is_some()
    }

    /// Returns the time at which the daemon next wakes up without a frame.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        let process = self.running()?;
        process.driver.deadline().map(clock::at)
    }

    /// Handles the frames and timeouts that are due.
    pub(crate) fn turn(&mut self, segment: &mut Segment) {
        if !self.is_running() {
            return;
        }
        let now = clock::now(segment.now());
        let arrived = !segment.queue(DAEMON).is_empty();
        self.with(segment, |driver, environment| {
            let turned = driver.turn(now, arrived, || now, environment);
            turned.expect("the simulated link never fails");
        });
        self.end_if_over();
    }

    fn end_if_over(&mut self) {
        let process = self.process.as_ref();
        if process.is_some_and(|process| process.driver.machine().is_finished()) {
            self.process = None;
            self.has_ended = true;
        }
    }

    fn with(
        &mut self,
        segment: &mut Segment,
        act: impl FnOnce(&mut Driver<Lab2>, &mut Environment<'_, Port<'_>, Disk, Observers>),
    ) {
        let process = self.process.as_mut().expect("the daemon runs");
        let mut port = Port(segment);
        let mut environment = Environment {
            link: Some(&mut port),
            store: &mut self.disk,
            observer: &mut process.observers,
        };
        act(&mut process.driver, &mut environment);
    }
}
