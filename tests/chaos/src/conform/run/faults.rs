//! The faults of a judgment.

use std::thread;
use std::time::Duration;

use anyhow::Result;
use nix::sys::signal::Signal;
use ring_segment::{Rng, Seen, is_heartbeat, now};

use super::{BOUND_MARGIN, CANDIDATE, DAEMONS, Judgment, Level, RING};

/// Number of times that the run stops the program while the program is the owner.
const STOPS: usize = 4;
/// Number of times that the program hears another owner.
const MEETINGS: usize = 8;

#[derive(Debug, Clone)]
pub(super) enum Fault {
    /// Splits the segment; the list contains the side of each node.
    Split([usize; RING]),
    KillProgram,
    StopProgram,
    KillDaemon(usize),
    StopDaemon(usize),
    Deaf,
    Mute,
    Loss,
}

impl Fault {
    pub(super) fn all() -> Vec<Self> {
        vec![
            Self::Split([0, 1, 1]),
            Self::Split([1, 0, 1]),
            Self::Split([0, 0, 1]),
            Self::Split([0, 1, 2]),
            Self::KillProgram,
            Self::StopProgram,
            Self::KillDaemon(0),
            Self::KillDaemon(1),
            Self::StopDaemon(0),
            Self::StopDaemon(1),
            Self::Deaf,
            Self::Mute,
            Self::Loss,
        ]
    }

    pub(super) fn text(&self) -> String {
        match self {
            Self::Split(sides) => format!("split {sides:?}"),
            Self::KillProgram => "kill the program".to_owned(),
            Self::StopProgram => "stop the program".to_owned(),
            Self::KillDaemon(at) => format!("kill ringd {at}"),
            Self::StopDaemon(at) => format!("stop ringd {at}"),
            Self::Deaf => "the program hears nothing".to_owned(),
            Self::Mute => "the program is not heard".to_owned(),
            Self::Loss => "20 % of all frames are lost".to_owned(),
        }
    }
}

impl Judgment<'_> {
    /// Isolates all members, so that each `ringd` elects itself. Then connects the program with each of these two
    /// owners in turn. The heartbeats of the two owners ask for confirmations that exclude each other.
    pub(super) fn meet_owners(&mut self) {
        let from = now();
        self.split([0, 1, 2]);
        thread::sleep(self.timing().new_owner_bound() + BOUND_MARGIN);
        self.lonely.push((from, now()));
        for meeting in 0..MEETINGS {
            self.split([0, 1, meeting % 2]);
            thread::sleep(self.timing().heartbeat.mul_f64(2.5));
        }
        self.split([0; RING]);
        self.heal("two owners");
    }

    pub(super) fn split(&self, sides: [usize; RING]) {
        let switch = self.segment.rules();
        switch.set(|rules| rules.partition[..RING].copy_from_slice(&sides));
    }

    /// Stops the program while it is the owner.
    pub(super) fn stop_owner(&mut self) -> Result<()> {
        if self.options.level == Level::Voter {
            return Ok(());
        }
        for _ in 0..STOPS {
            let owns = |seen: &Seen| seen.port == CANDIDATE && is_heartbeat(seen);
            if self.segment.capture().wait_for(self.bound(), owns).is_err() {
                return Ok(());
            }
            self.stop_program(2 * self.timing().waiter_timeout())?;
            self.heal("stop the owner");
        }
        Ok(())
    }

    pub(super) fn stop_program(&mut self, lasts: Duration) -> Result<()> {
        self.candidate.stop()?;
        let from = now();
        thread::sleep(lasts);
        self.stops.push((from, now()));
        self.candidate.resume()
    }

    /// Causes a fault and ends it.
    pub(super) fn cause(&mut self, fault: &Fault, rng: &mut Rng) -> Result<()> {
        let waiter_timeout = self.timing().waiter_timeout();
        // Half of the faults last longer than an election, and half of them are too short for one.
        let lasts = waiter_timeout.mul_f64(if rng.bool() { 0.2 } else { 2.0 } + rng.f64());
        let rules = self.segment.rules();
        match fault {
            Fault::Split(sides) => {
                self.split(*sides);
                thread::sleep(lasts);
                self.split([0; RING]);
            }
            Fault::Deaf | Fault::Mute => {
                let links = DAEMONS.map(|place| match fault {
                    Fault::Deaf => (place, CANDIDATE),
                    _ => (CANDIDATE, place),
                });
                rules.set(|rules| rules.blocked.extend(links));
                thread::sleep(lasts);
                rules.set(|rules| rules.blocked.clear());
            }
            Fault::Loss => {
                rules.set(|rules| rules.loss = 0.2);
                thread::sleep(lasts);
                rules.set(|rules| rules.loss = 0.0);
            }
            Fault::KillProgram => {
                self.candidate.kill()?;
                thread::sleep(lasts);
                self.candidate.start()?;
            }
            Fault::StopProgram => self.stop_program(lasts)?,
            Fault::KillDaemon(at) => {
                self.daemons[*at].kill()?;
                thread::sleep(lasts);
                self.daemons[*at].start()?;
            }
            Fault::StopDaemon(at) => {
                self.daemons[*at].signal(Signal::SIGSTOP)?;
                thread::sleep(lasts);
                self.daemons[*at].signal(Signal::SIGCONT)?;
            }
        }
        Ok(())
    }
}
