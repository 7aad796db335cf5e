//! The explorations of all systems, and their reports.

use std::fmt::{self, Debug, Display, Write as _};
use std::hash::Hash;
use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries, Model, Path, Property};

use crate::recoveries::Recoveries;

/// The name of the property that every step must have.
const SAFE: &str = "no step breaks a rule";

/// A system with a scenario. The checker explores all its runs.
pub trait System: Send + Sync + 'static {
    /// A state of the system.
    type State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static;
    /// An event.
    type Action: Copy + Debug + PartialEq + Send + Sync + 'static;
    /// A broken rule.
    type Breach: Display;

    /// The name of the property "the system recovers from every selected state".
    const RECOVERS: &'static str;

    /// Returns the scenario in one line.
    fn title(&self) -> String;
    /// Returns the maximum number of events in a run.
    fn depth(&self) -> usize;
    /// Returns the maximum duration of a recovery.
    fn recovery_limit(&self) -> Duration;
    /// Returns the number N: the checker tries a recovery from one state in N states. 0 selects no state.
    fn recover_one_in(&self) -> u64;

    /// Returns the state at the beginning.
    fn first(&self) -> Self::State;
    /// Adds the events that may happen in a state.
    fn actions(&self, state: &Self::State, actions: &mut Vec<Self::Action>);
    /// Changes a state according to an event.
    fn apply(&self, state: &mut Self::State, action: Self::Action);
    /// Returns the rule that the last event broke; `None` if the event broke no rule.
    fn breach(state: &Self::State) -> Option<&Self::Breach>;
    /// Ends the faults, and runs until the system has recovered. Returns the duration of the recovery.
    ///
    /// # Errors
    /// Returns the first broken rule.
    fn recover(&self, state: &Self::State) -> Result<Duration, Self::Breach>;
    /// Whether a state is within the bounds of the scenario.
    fn is_within_bounds(&self, _state: &Self::State) -> bool {
        true
    }
    /// Describes an event in the state `state`, in which it happens.
    fn describe(&self, state: &Self::State, action: Self::Action) -> String;
}

/// All runs of a system. The checker explores these runs.
pub struct Exploration<S> {
    system: S,
    recoveries: Recoveries,
}

impl<S: System> Exploration<S> {
    /// Returns all runs of a system.
    pub fn of(system: S) -> Self {
        Self {
            system,
            recoveries: Recoveries::default(),
        }
    }

    /// Explains why a property does not hold in a state.
    fn explain(&self, property: &str, state: &S::State) -> Option<String> {
        if let Some(breach) = S::breach(state) {
            return Some(breach.to_string());
        }
        let recovery = || self.system.recover(state).err();
        let breach = (property == S::RECOVERS).then(recovery).flatten()?;
        Some(breach.to_string())
    }
}

impl<S: System> Model for Exploration<S> {
    type State = S::State;
    type Action = S::Action;

    fn init_states(&self) -> Vec<S::State> {
        vec![self.system.first()]
    }

    fn actions(&self, state: &S::State, actions: &mut Vec<S::Action>) {
        if S::breach(state).is_none() {
            self.system.actions(state, actions);
        }
    }

    fn next_state(&self, state: &S::State, action: S::Action) -> Option<S::State> {
        let mut next = state.clone();
        self.system.apply(&mut next, action);
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(SAFE, |_, state| S::breach(state).is_none()),
            Property::always(S::RECOVERS, |model: &Self, state| {
                let one_in = model.system.recover_one_in();
                let recover = || model.system.recover(state);
                S::breach(state).is_some() || model.recoveries.run(state, one_in, recover)
            }),
        ]
    }

    fn within_boundary(&self, state: &S::State) -> bool {
        self.system.is_within_bounds(state)
    }
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
    pub duration: Duration,
    /// The number of states from which the checker tried a recovery.
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
/// Panics if a state machine panics.
pub fn run<S: System>(system: S, threads: usize) -> Report {
    let (title, limit) = (system.title(), system.recovery_limit());
    let began = Instant::now();
    // The checker does not evaluate the states at its greatest depth.
    let depth = system.depth() + 2;
    let exploration = Exploration::of(system);
    let checker = exploration
        .checker()
        .threads(threads)
        .target_max_depth(depth)
        .finish_when(HasDiscoveries::AnyFailures)
        .spawn_bfs()
        .join();
    let (recoveries, slowest) = checker.model().recoveries.summary();
    let discoveries = checker.discoveries();
    let found = discoveries.into_iter().min_by_key(|&(name, _)| name);
    Report {
        title,
        unique: checker.unique_state_count(),
        generated: checker.state_count(),
        depth: checker.max_depth().min(depth - 1) - 1,
        duration: began.elapsed(),
        recoveries,
        slowest,
        limit,
        found: found.map(|(name, path)| describe_run(checker.model(), name, path)),
    }
}

/// Describes the run that led to a violation.
fn describe_run<S: System>(
    model: &Exploration<S>,
    name: &str,
    path: Path<S::State, S::Action>,
) -> String {
    let mut text = String::new();
    let steps = path.into_vec();
    for (state, action) in &steps {
        let _ = writeln!(text, "    {state:?}");
        if let Some(action) = action {
            let _ = writeln!(text, "  {}", model.system.describe(state, *action));
        }
    }
    let last = steps.last().map(|(state, _)| state);
    match last.and_then(|state| model.explain(name, state)) {
        Some(breach) => format!("{breach}:\n{text}"),
        None => format!("{name}: not so:\n{text}"),
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        write!(
            f,
            "  {} states, {} generated, up to {} events per run, in {:.1} s",
            self.unique,
            self.generated,
            self.depth,
            self.duration.as_secs_f64()
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
