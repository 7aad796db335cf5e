#![forbid(unsafe_code)]
//! The machine that ships, with rules that can be broken on purpose: a copy of `proto/src/lab2` in which each
//! function that a patch of `patches/` changes has the patch's body besides its own. A patch breaks
//! the rule which its head names. The build makes the copy, so the sources that ship have no
//! switch for it; with one flaw the machine here is the one that ships but for a few lines.
//!
//! `tests/caught.rs` proves that the simulator or the model checker finds each of them out.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ring_codec::lab2::{Digest, Token};
use ring_model::{Report, Scenario, Snapshot};
use ring_proto::lab2::{
    Constants, Durable, Grade, JobName, OnceStanding, RunView, State, StoredStamp,
};
use ring_proto::time::Instant;
use ringd::sim::lab2::{self as sim, Outcome, Settings, Subject};

pub use machine::Lab2;

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
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let place = FLAWS.iter().position(|(flaw, _)| *flaw == name)?;
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        BROKEN.store(place + 1, Ordering::Relaxed);
        Some(Self(turn))
    }

    /// What the model checker finds out of the machine with this flaw.
    #[must_use]
    pub fn explore(&self, scenario: &Scenario) -> Report {
        ring_model::explore::<Lab2>(scenario, 1)
    }

    /// What the simulator finds out of it.
    #[must_use]
    pub fn simulate(&self, settings: &Settings) -> Outcome {
        sim::run::<Lab2>(settings)
    }
}

impl Drop for Flaw {
    fn drop(&mut self) {
        BROKEN.store(0, Ordering::Relaxed);
    }
}

impl Subject for Lab2 {
    fn start(constants: Constants, durable: Durable) -> Self {
        Self::new(constants, durable)
    }

    fn recall(self, stamps: Vec<StoredStamp>) -> Self {
        self.with_stamps(stamps)
    }

    fn once(&self) -> Option<(u64, OnceStanding)> {
        self.once()
    }

    fn run_of(&self, job: JobName) -> Option<RunView> {
        self.runs().find(|run| run.stamp.name == job)
    }

    fn state(&self) -> State {
        self.state()
    }

    fn held(&self) -> Option<Token> {
        let owner = self.state() == State::Owner;
        self.token().filter(|_| owner)
    }

    fn may_use(&self) -> bool {
        self.may_use_token()
    }

    fn lease_until(&self, now: Instant) -> Option<Instant> {
        let settled = self.settled_at().is_some_and(|at| at <= now);
        self.lease_until()
            .filter(|_| settled && self.may_use_token())
    }

    fn quorum_until(&self) -> Option<Instant> {
        let has_one = self.grade() == Grade::Quorum;
        self.grade_until().filter(|_| has_one)
    }

    fn is_unfit(&self) -> bool {
        self.is_unfit()
    }

    fn digest(&self) -> Digest {
        self.digest()
    }

    fn members_in_order(&self) -> Option<usize> {
        let members: Vec<_> = self.members().map(|member| member.mac).collect();
        members.is_sorted_by(|a, b| a < b).then_some(members.len())
    }

    fn is_finished(&self) -> bool {
        self.is_finished()
    }
}

impl Snapshot for Lab2 {
    fn snapshot(&self) -> Vec<u8> {
        self.snapshot()
    }
}
