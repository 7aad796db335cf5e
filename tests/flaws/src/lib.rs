#![forbid(unsafe_code)]
//! The machines that ship, with rules that can be broken on purpose: copies of the systems' folders in `proto/src` in which each function that a patch of `patches/` changes has the patch's body besides its own. A patch breaks
//! the rule which its head names. The build makes the copies, so the sources that ship have no
//! switch for it; with one flaw a machine here is the one that ships but for a few lines.
//!
//! Lab2's world runs any machine. Those of the others name their machines, as does the model of the token service: their
//! copies name the copies.
//!
//! `tests/caught.rs` proves that the simulator or the model checker finds each of them out.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ring_model::{Report, Scenario, Snapshot};
use ring_sim::lab2::{Outcome, Settings};
use ring_sim::{andrews as circle, ftn as world, jitterbug as segment, lab2};

pub use machine::Lab2;

// What machines share within their crate, the copies share here.
#[path = "../../../proto/src/buffer.rs"]
mod buffer;
#[path = "../../../proto/src/counted.rs"]
mod counted;
#[cfg_attr(test, expect(dead_code, reason = "this crate has no unit tests"))]
#[path = "../../../proto/src/invariants.rs"]
mod invariants;

include!(concat!(env!("OUT_DIR"), "/flaws.rs"));

/// Which rule is broken: its place in [`FLAWS`], from 1; 0: none.
static BROKEN: AtomicUsize = AtomicUsize::new(0);

fn broken() -> usize {
    BROKEN.load(Ordering::Relaxed)
}

/// One rule is broken in all machines of this crate, on all threads, until this is dropped.
#[must_use = "the rule holds again when this is dropped"]
pub struct Flaw(#[expect(dead_code, reason = "held for others to wait")] MutexGuard<'static, ()>);

impl Flaw {
    /// Breaks the rule that the patch of this name breaks; `None`: there is no such patch. Waits until no other is broken.
    pub fn named(name: &str) -> Option<Self> {
        let place = FLAWS.iter().position(|(_, flaw, _)| *flaw == name)?;
        Some(Self::numbered(place + 1))
    }

    /// Breaks none, until this is dropped: what runs by it is what ships.
    pub fn none() -> Self {
        Self::numbered(0)
    }

    fn numbered(number: usize) -> Self {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        BROKEN.store(number, Ordering::Relaxed);
        Self(turn)
    }

    /// What the model checker finds out of the machine with this flaw.
    pub fn explore(&self, scenario: &Scenario) -> Report {
        ring_model::explore::<Lab2>(scenario, 1)
    }

    /// What the simulator finds out of it.
    pub fn simulate(&self, settings: &Settings) -> Outcome {
        lab2::run::<Lab2>(settings)
    }

    /// What the simulator of the token service finds out of its machines with it.
    pub fn simulate_ftn(&self, settings: &world::Settings) -> world::Outcome {
        sim::ftn::run(settings)
    }

    /// What the model checker finds out of its machines with it.
    pub fn explore_ftn(&self, scenario: &ring_model::ftn::Scenario) -> Report {
        model::ftn::explore(scenario, 1)
    }

    /// What the simulator of Jitterbug finds out of its machine with it.
    pub fn simulate_jitterbug(&self, settings: &segment::Settings) -> segment::Outcome {
        sim::jitterbug::run(settings)
    }

    /// What the simulator of the coordinated ring finds out of its machine with it.
    pub fn simulate_andrews(&self, settings: &circle::Settings) -> circle::Outcome {
        sim::andrews::run(settings)
    }

    /// What it finds out in a schedule that was kept; `None`: the text is none, or an unsound one.
    pub fn replay_jitterbug(&self, schedule: &str) -> Option<segment::Outcome> {
        let schedule: sim::jitterbug::Schedule = serde_json::from_str(schedule).ok()?;
        schedule.check().ok()?;
        Some(sim::jitterbug::replay(&schedule))
    }

    /// What that of the token service finds out in a schedule that was kept; `None`: the text is none, or an unsound one.
    pub fn replay_ftn(&self, schedule: &str) -> Option<world::Outcome> {
        let schedule: sim::ftn::Schedule = serde_json::from_str(schedule).ok()?;
        schedule.check().ok()?;
        Some(sim::ftn::replay(&schedule))
    }
}

impl Drop for Flaw {
    fn drop(&mut self) {
        BROKEN.store(0, Ordering::Relaxed);
    }
}

impl Snapshot for Lab2 {
    fn snapshot(&self) -> Vec<u8> {
        self.snapshot()
    }
}
