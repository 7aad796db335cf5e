//! The explorations of all systems, and their reports.

use std::fmt::{self, Debug, Write as _};
use std::hash::Hash;
use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries, Path};
pub use stateright::{Model, Property};

use crate::recoveries::Recoveries;

/// The name of the property that no step breaks a rule.
pub const SAFE: &str = "no step breaks a rule";

/// All runs of a scenario, of any system.
pub trait Explored:
    Model<State: Clone + Debug + Hash + PartialEq + Send + Sync, Action: Clone + Debug + PartialEq>
    + Send
    + Sync
    + 'static
{
    /// Returns the scenario in one line.
    fn title(&self) -> String;
    /// Returns the maximum number of events in a run.
    fn depth(&self) -> usize;
    /// Returns the recoveries.
    fn recoveries(&self) -> &Recoveries;
    /// Returns the maximum duration of a recovery.
    fn recovery_limit(&self) -> Duration;
    /// Describes an event in the state in which it happens.
    fn describe(&self, state: &Self::State, action: &Self::Action) -> String;
    /// Explains why a property does not hold in a state.
    fn explain(&self, property: &str, state: &Self::State) -> Option<String>;
}

/// The result of an exploration.
#[derive(Debug, Clone)]
pub struct Report {
    /// The scenario in one line.
    pub title: String,
    /// The number of different states.
    pub unique: usize,
    /// The number of generated states.
    pub generated: usize,
    /// The number of events in the longest run.
    pub depth: usize,
    /// The duration of the exploration.
    pub took: Duration,
    /// The number of states from which the system had to recover.
    pub recoveries: u64,
    /// The duration of the slowest recovery, in the system's time.
    pub slowest: Duration,
    /// The maximum duration of a recovery.
    pub limit: Duration,
    /// The broken rule, with the events that led to it.
    pub found: Option<String>,
}

/// Explores all states, breadth first.
///
/// # Panics
/// If a state machine panics.
pub fn run<E: Explored>(exploration: E, threads: usize) -> Report {
    let (title, limit) = (exploration.title(), exploration.recovery_limit());
    let began = Instant::now();
    // The checker does not evaluate the states at its greatest depth.
    let depth = exploration.depth() + 2;
    let checker = exploration
        .checker()
        .threads(threads)
        .target_max_depth(depth)
        .finish_when(HasDiscoveries::AnyFailures)
        .spawn_bfs()
        .join();
    let (recoveries, slowest) = checker.model().recoveries().summary();
    let discoveries = checker.discoveries();
    let found = discoveries.into_iter().min_by_key(|&(name, _)| name);
    Report {
        title,
        unique: checker.unique_state_count(),
        generated: checker.state_count(),
        depth: checker.max_depth().min(depth - 1) - 1,
        took: began.elapsed(),
        recoveries,
        slowest,
        limit,
        found: found.map(|(name, path)| describe_run(checker.model(), name, path)),
    }
}

/// Describes the run of a violation.
fn describe_run<E: Explored>(model: &E, name: &str, path: Path<E::State, E::Action>) -> String {
    let mut told = String::new();
    let steps = path.into_vec();
    for (state, action) in &steps {
        let _ = writeln!(told, "    {state:?}");
        if let Some(action) = action {
            let _ = writeln!(told, "  {}", model.describe(state, action));
        }
    }
    let last = steps.last().map(|(state, _)| state);
    match last.and_then(|state| model.explain(name, state)) {
        Some(breach) => format!("{breach}:\n{told}"),
        None => format!("{name}: not so:\n{told}"),
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        write!(
            f,
            "  {} states, {} generated, {} events deep, in {:.1} s",
            self.unique,
            self.generated,
            self.depth,
            self.took.as_secs_f64()
        )?;
        if self.recoveries > 0 {
            let (count, slowest, limit) = (self.recoveries, self.slowest, self.limit);
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
