//! What the daemon runs on, and the daemon's loop as far as it has to do with the machine. That a
//! shutdown has a last moment is the daemon's own rule, for tests of the daemon.

use std::time::Duration;

use ring_proto::lab2::{Command, Constants, Durable, Lab2};
use ring_proto::{LinkState, Stored};
use ring_runtime::driver::{Driver, Environment, Store};
use ring_segment::Timing;
use ringd::system::lab2::observe::{Log, Observers, Tally};

use super::clock;
use super::segment::{DAEMON, Port, Segment, mac};

/// The longest payload of a frame.
const MTU: usize = 1500;

/// The state file.
#[derive(Debug, Default)]
pub(crate) struct Disk(pub Option<Durable>);

impl Store<Durable> for Disk {
    fn store(&mut self, durable: &Durable) -> Stored {
        self.0 = Some(*durable);
        Stored::Done
    }
}

/// What runs.
#[derive(Debug)]
pub(crate) struct Process {
    pub driver: Driver<Lab2>,
    pub observers: Observers,
    pub is_stopped: bool,
}

/// The daemon's machine.
#[derive(Debug)]
pub(crate) struct Host {
    constants: Constants,
    ip: [u8; 16],
    pub disk: Disk,
    /// `None`: it was killed, or has ended.
    pub process: Option<Process>,
    /// Whether the last process has ended by itself.
    pub has_ended: bool,
}

/// The constants that the daemon makes of its options.
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
        constants.check().expect("constants that work");
        Self {
            constants,
            ip,
            disk: Disk::default(),
            process: None,
            has_ended: false,
        }
    }

    /// Starts the daemon; its interface is up.
    pub(crate) fn start(&mut self, segment: &mut Segment) {
        assert!(self.process.is_none(), "the daemon runs already");
        // What came before was for nobody.
        segment.queue(DAEMON).clear();
        let durable = self.disk.0.unwrap_or(Durable {
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

    /// As SIGTERM does.
    pub(crate) fn shut_down(&mut self, segment: &mut Segment) {
        assert!(self.is_running(), "a stopped process heeds no signal");
        let at = segment.now();
        self.with(segment, |driver, environment| {
            driver.command(clock::now(at), Command::ShutDown, environment);
        });
        self.end_if_over();
    }

    /// The process, if it has its turns.
    fn running(&self) -> Option<&Process> {
        self.process.as_ref().filter(|process| !process.is_stopped)
    }

    pub(crate) fn is_running(&self) -> bool {
        self.running().is_some()
    }

    /// When the daemon wakes up by itself.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        let process = self.running()?;
        process.driver.deadline().map(clock::at)
    }

    /// Handles what has arrived or is due.
    pub(crate) fn turn(&mut self, segment: &mut Segment) {
        if !self.is_running() {
            return;
        }
        let now = clock::now(segment.now());
        let arrived = !segment.queue(DAEMON).is_empty();
        self.with(segment, |driver, environment| {
            let turned = driver.turn(now, arrived, || now, environment);
            turned.expect("this link never fails");
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
