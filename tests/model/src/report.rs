//! Running an exploration, and telling what it found.

use std::fmt::{self, Write as _};
use std::time::{Duration, Instant};

use ring_proto::lab2::Lab2;
use stateright::{Checker, HasDiscoveries, Model, Path};

use crate::action::Action;
use crate::explore::{Exploration, RECOVERS};
use crate::fair::Fair;
use crate::machine::Snapshot;
use crate::scenario::Scenario;
use crate::state::Ring;

/// What an exploration came to.
#[derive(Debug, Clone)]
pub struct Report {
    /// What was explored.
    pub scenario: Scenario,
    /// States that differ.
    pub unique: usize,
    /// States that were reached, by whatever way.
    pub generated: usize,
    /// The longest run, in events.
    pub depth: usize,
    /// How long it took.
    pub took: Duration,
    /// From how many states the ring had to recover.
    pub recoveries: u64,
    /// How long the slowest recovery took, in the ring's time.
    pub slowest: Duration,
    /// The rule that is broken, and how that comes about.
    pub found: Option<String>,
}

/// Explores a scenario with machines of the kind `M`.
///
/// # Panics
/// If a thread of the checker panics: a machine has.
#[must_use]
pub fn explore<M: Snapshot>(scenario: &Scenario, threads: usize) -> Report {
    run(Exploration::of::<M>(scenario.clone()), threads)
}

fn run(exploration: Exploration, threads: usize) -> Report {
    let scenario = exploration.scenario.clone();
    let began = Instant::now();
    // A state at the checker's greatest depth is no longer looked at.
    let depth = scenario.bounds.depth + 2;
    let checker = exploration
        .checker()
        .threads(threads)
        .target_max_depth(depth)
        .finish_when(HasDiscoveries::AnyFailures)
        .spawn_bfs()
        .join();
    let (recoveries, slowest) = checker.model().recoveries();
    let discoveries = checker.discoveries();
    let found = discoveries.into_iter().min_by_key(|&(name, _)| name);
    Report {
        scenario,
        unique: checker.unique_state_count(),
        generated: checker.state_count(),
        depth: checker.max_depth().min(depth - 1) - 1,
        took: began.elapsed(),
        recoveries,
        slowest,
        found: found.map(|(name, path)| tell(checker.model(), name, path)),
    }
}

/// Explores a scenario with the machine that ships, on one thread: the same every time.
#[must_use]
pub fn explore_shipping(scenario: &Scenario) -> Report {
    explore::<Lab2>(scenario, 1)
}

/// A run in words.
fn tell(model: &Exploration, name: &str, path: Path<Ring, Action>) -> String {
    let mut told = String::new();
    let steps = path.into_vec();
    for (ring, action) in &steps {
        let _ = writeln!(told, "    {ring:?}");
        if let Some(action) = action {
            let _ = writeln!(told, "  {}", action.tell(ring));
        }
    }
    let last = steps.last().map(|(ring, _)| ring);
    let why = match last.and_then(|ring| ring.breach.clone()) {
        Some(breach) => Some(breach),
        None if name == RECOVERS => {
            last.and_then(|ring| Fair::from(&model.scenario, ring).recover().err())
        }
        None => None,
    };
    match why {
        Some(breach) => format!("{breach}:\n{told}"),
        None => format!("{name}: not so:\n{told}"),
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.scenario)?;
        write!(
            f,
            "  {} states, {} generated, {} events deep, in {:.1} s",
            self.unique,
            self.generated,
            self.depth,
            self.took.as_secs_f64()
        )?;
        if self.recoveries > 0 {
            let limit = self.scenario.recovery_limit();
            let (count, slowest) = (self.recoveries, self.slowest);
            write!(
                f,
                "; {count} recoveries, the slowest {slowest:?} of {limit:?}"
            )?;
        }
        match &self.found {
            Some(found) => write!(f, "\n  BROKEN: {found}"),
            None => write!(f, "\n  holds"),
        }
    }
}
