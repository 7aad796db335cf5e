//! Running an exploration, and telling what it found.

use std::fmt::{self, Debug, Write as _};
use std::hash::Hash;
use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries, Path};
pub use stateright::{Model, Property};

use crate::recoveries::Recoveries;

/// The names of the two properties.
pub const SAFE: &str = "no step breaks a rule";

/// All runs of a scenario, of whatever system.
pub trait Explored:
    Model<State: Clone + Debug + Hash + PartialEq + Send + Sync, Action: Clone + Debug + PartialEq>
    + Send
    + Sync
    + 'static
{
    /// What is explored, in a line.
    fn title(&self) -> String;
    /// The most events in a run.
    fn depth(&self) -> usize;
    /// What recoveries there were.
    fn recoveries(&self) -> &Recoveries;
    /// How long one may take.
    fn recovery_limit(&self) -> Duration;
    /// An action in words, in the state that it happens in.
    fn tell(&self, state: &Self::State, action: &Self::Action) -> String;
    /// What is wrong with a state in which this property does not hold.
    fn why(&self, property: &str, state: &Self::State) -> Option<String>;
}

/// What an exploration came to.
#[derive(Debug, Clone)]
pub struct Report {
    /// What was explored.
    pub title: String,
    /// States that differ.
    pub unique: usize,
    /// States that were reached, by whatever way.
    pub generated: usize,
    /// The longest run, in events.
    pub depth: usize,
    /// How long it took.
    pub took: Duration,
    /// From how many states the system had to recover.
    pub recoveries: u64,
    /// How long the slowest recovery took, in the system's time.
    pub slowest: Duration,
    /// How long it may take.
    pub limit: Duration,
    /// The rule that is broken, and how that comes about.
    pub found: Option<String>,
}

/// Explores, breadth first.
///
/// # Panics
/// If a thread of the checker panics: a machine has.
pub fn run<E: Explored>(exploration: E, threads: usize) -> Report {
    let (title, limit) = (exploration.title(), exploration.recovery_limit());
    let began = Instant::now();
    // A state at the checker's greatest depth is no longer looked at.
    let depth = exploration.depth() + 2;
    let checker = exploration
        .checker()
        .threads(threads)
        .target_max_depth(depth)
        .finish_when(HasDiscoveries::AnyFailures)
        .spawn_bfs()
        .join();
    let (recoveries, slowest) = checker.model().recoveries().so_far();
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
        found: found.map(|(name, path)| tell(checker.model(), name, path)),
    }
}

/// A run in words.
fn tell<E: Explored>(model: &E, name: &str, path: Path<E::State, E::Action>) -> String {
    let mut told = String::new();
    let steps = path.into_vec();
    for (state, action) in &steps {
        let _ = writeln!(told, "    {state:?}");
        if let Some(action) = action {
            let _ = writeln!(told, "  {}", model.tell(state, action));
        }
    }
    let last = steps.last().map(|(state, _)| state);
    match last.and_then(|state| model.why(name, state)) {
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
