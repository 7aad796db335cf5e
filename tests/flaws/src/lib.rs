#![forbid(unsafe_code)]
//! State machines whose rules tests can break on purpose.
//!
//! The state machines are copies of the systems' folders in `proto/src`. Each function that a patch in `patches/`
//! changes has two bodies: the original body and the patch's body. The first line of a patch names the rule that the
//! patch breaks. The build makes the copies, so the real sources contain no switch for flaws.
//!
//! Lab2's simulator can run any state machine. The simulators of the other systems, and the model of the token service,
//! name the type of one state machine. So the build also copies the other simulators and the model.
//!
//! `tests/caught.rs` checks that the simulator or the model checker detects each flaw.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ring_model::{Report, Scenario, Snapshot};
use ring_sim::lab2::{Outcome, Schedule, Settings};
use ring_sim::recording::{self, Repetition};
use ring_sim::{andrews as circle, ftn as world, jitterbug as segment, lab2};

pub use machine::Lab2;

// Parts of `proto` that the copied systems use together.
#[path = "../../../proto/src/buffer.rs"]
mod buffer;
#[path = "../../../proto/src/counter_macros.rs"]
mod counter_macros;
#[cfg_attr(test, expect(dead_code, reason = "this crate has no unit tests"))]
#[path = "../../../proto/src/invariants.rs"]
mod invariants;

include!(concat!(env!("OUT_DIR"), "/flaws.rs"));

/// The number of the broken rule: its position in [`FLAWS`], counted from 1, or 0 if no rule is broken.
static BROKEN: AtomicUsize = AtomicUsize::new(0);

fn broken_index() -> usize {
    BROKEN.load(Ordering::Relaxed)
}

/// A flaw. Until this value is dropped, all state machines of this crate break one rule, on all threads.
#[must_use = "the rule holds again when this value is dropped"]
pub struct Flaw(
    #[expect(dead_code, reason = "the lock makes other tests wait")] MutexGuard<'static, ()>,
);

impl Flaw {
    /// Breaks the rule of the patch with this name. Returns `None` if there is no such patch. Waits until no other test
    /// breaks a rule.
    pub fn by_name(name: &str) -> Option<Self> {
        let place = FLAWS.iter().position(|(_, flaw, _)| *flaw == name)?;
        Some(Self::by_number(place + 1))
    }

    /// Returns a value that breaks no rule. Until the value is dropped, other tests cannot break a rule.
    pub fn none() -> Self {
        Self::by_number(0)
    }

    fn by_number(number: usize) -> Self {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        BROKEN.store(number, Ordering::Relaxed);
        Self(turn)
    }

    /// Runs the model checker with this flaw.
    pub fn explore(&self, scenario: &Scenario) -> Report {
        ring_model::explore::<Lab2>(scenario, 1)
    }

    /// Runs Lab2's simulator with this flaw.
    pub fn simulate(&self, settings: &Settings) -> Outcome {
        lab2::run::<Lab2>(settings)
    }

    /// Runs a schedule of Lab2 with this flaw.
    pub fn replay(&self, schedule: &Schedule) -> Outcome {
        lab2::replay::<Lab2>(schedule, None)
    }

    /// Repeats a recording of a real daemon with this flaw. Returns `None` if the file is not a recording.
    pub fn repeat(&self, file: &[u8]) -> Option<Repetition> {
        let recording = recording::read::<Lab2>(file).ok()?;
        Some(recording::repeat(&recording))
    }

    /// Runs the token service's simulator with this flaw.
    pub fn simulate_ftn(&self, settings: &world::Settings) -> world::Outcome {
        sim::ftn::run(settings)
    }

    /// Runs the token service's model checker with this flaw.
    pub fn explore_ftn(&self, scenario: &ring_model::ftn::Scenario) -> Report {
        model::ftn::explore(scenario, 1)
    }

    /// Runs Jitterbug's simulator with this flaw.
    pub fn simulate_jitterbug(&self, settings: &segment::Settings) -> segment::Outcome {
        sim::jitterbug::run(settings)
    }

    /// Runs the coordinated ring's simulator with this flaw.
    pub fn simulate_andrews(&self, settings: &circle::Settings) -> circle::Outcome {
        sim::andrews::run(settings)
    }

    /// Carries out the steps of an attack on nodes with keys. The input describes the steps.
    ///
    /// # Errors
    /// Returns the effect of the attack.
    pub fn attack(&self, input: &[u8]) -> Result<(), &'static str> {
        attack::World::run(input)
    }

    /// Carries out the steps of an attack on an encrypted stream. The input describes the steps.
    ///
    /// # Errors
    /// Returns the effect of the attack.
    pub fn attack_stream(&self, input: &[u8]) -> Result<(), &'static str> {
        stream_attack::World::run(input)
    }

    /// Runs a kept schedule of Jitterbug with this flaw. Returns `None` if the text is not a valid schedule.
    pub fn replay_jitterbug(&self, schedule: &str) -> Option<segment::Outcome> {
        let schedule: sim::jitterbug::Schedule = serde_json::from_str(schedule).ok()?;
        schedule.check().ok()?;
        Some(sim::jitterbug::replay(&schedule))
    }

    /// Runs a kept schedule of the token service with this flaw. Returns `None` if the text is not a valid
    /// schedule.
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
