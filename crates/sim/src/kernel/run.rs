//! Whole runs: first the faults, then the recovery from them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::faults::{Fault, NetworkFault};
use super::network::Network;
use super::node::Node;
use super::rng::Rng;
use super::schedule::Schedule;
use super::system::System;
use super::trace::Trace;
use super::violation;
use super::world::World;

/// A schedule from which a whole run follows.
pub trait Run: Schedule {
    /// Runs the schedule, which is sound, to its end, and returns the lines of the trace as well.
    ///
    /// # Panics
    /// A machine does.
    fn play(&self, trace: Trace) -> (Outcome<Self>, Vec<String>);
}

/// What a run has come to.
pub type Outcome<S> = violation::Outcome<<S as Schedule>::Rule, <S as Schedule>::Stats>;

/// Runs a schedule, which is sound. A machine that panics is a violation.
pub fn replay<S: Run>(schedule: &S) -> Outcome<S> {
    play(schedule, 0).0
}

/// The same, with the last lines of what happens in it, `most` at most.
pub fn play<S: Run>(schedule: &S, most: usize) -> (Outcome<S>, Vec<String>) {
    guarded(|| schedule.play(Trace::of(most))).unwrap_or_else(|what| {
        let time_us = schedule.parts().time_us;
        let outcome = Outcome::<S>::panicked(time_us, S::PANIC, what);
        (outcome, Vec::new())
    })
}

/// Runs a world. A machine that panics ends its run, not the simulator.
///
/// # Errors
/// It has panicked: with what message.
pub fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| Some((*panic.downcast_ref::<&str>()?).into()));
        text.unwrap_or_default()
    })
}

impl<S: System> World<S> {
    /// So many nodes that a schedule's actions happen to, none of them started.
    pub fn of_schedule<W: Clone>(
        nodes: Vec<Node<S>>,
        schedule: &impl Schedule<Fault = S::Fault>,
        rng: Rng,
        system: S,
    ) -> Self
    where
        S: System<Fault = Fault<W>>,
    {
        let parts = schedule.parts();
        let (least, more) = parts.latency_us;
        let network = Network::new((least * 1_000, more * 1_000));
        let mut world = Self::assemble(nodes, network, rng, system);
        let is_replay =
            |fault: &Fault<W>| matches!(fault, Fault::Network(NetworkFault::Replay { .. }));
        let mut actions = parts.actions.iter();
        world.network.captures = actions.any(|action| is_replay(&action.fault));
        world.schedule(parts.actions.into());
        world
    }
}
