//! Whole runs: first the faults, then the recovery.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::conditions::Network;
use super::faults::{Fault, NetworkFault};
use super::node::Node;
use super::rng::{Rng, Stream};
use super::schedule::Schedule;
use super::simulation::Simulation;
use super::system::System;
use super::trace::Trace;
use super::violation;

/// A schedule that determines a whole run.
pub trait Run: Schedule {
    /// Runs a valid schedule to its end, and returns the outcome and the lines of the trace.
    ///
    /// # Panics
    /// Panics if the state machine panics.
    fn play(&self, trace: Trace) -> (Outcome<Self>, Vec<String>);
}

/// The outcome of a schedule's run.
pub type Outcome<S> = violation::Outcome<<S as Schedule>::Rule, <S as Schedule>::Stats>;

/// Runs a valid schedule. A panic of the state machine is a violation.
pub fn replay<S: Run>(schedule: &S) -> Outcome<S> {
    play(schedule, 0).0
}

/// Runs a valid schedule and also returns the last `most` lines of its trace.
pub fn play<S: Run>(schedule: &S, most: usize) -> (Outcome<S>, Vec<String>) {
    catch_panic(|| schedule.play(Trace::of(most))).unwrap_or_else(|what| {
        let time_us = schedule.parts().time_us;
        let outcome = Outcome::<S>::from_panic(time_us, S::PANIC, what);
        (outcome, Vec::new())
    })
}

/// Runs a simulation, and catches a panic of the state machine so that the simulator continues.
///
/// # Errors
/// Returns the message of the panic.
pub fn catch_panic<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| Some((*panic.downcast_ref::<&str>()?).into()));
        text.unwrap_or_default()
    })
}

impl<S: System> Simulation<S> {
    /// Creates a simulation of a schedule; its nodes are not started.
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
        let mut sim = Self::assemble(nodes, network, rng, system);
        // Capturing costs time and random numbers, so only runs with replays capture messages.
        let is_replay =
            |fault: &Fault<W>| matches!(fault, Fault::Network(NetworkFault::Replay { .. }));
        let mut actions = parts.actions.iter();
        sim.network.captures = actions.any(|action| is_replay(&action.fault));
        let is_attack =
            |fault: &Fault<W>| matches!(fault, Fault::Network(NetworkFault::Attack { .. }));
        if parts.actions.iter().any(|action| is_attack(&action.fault)) {
            sim.start_recording();
        }
        sim.set_first_keys(parts.keys);
        {
            let mut fabric = sim.fabric.borrow_mut();
            fabric.seeds = Rng::new(parts.seed, Stream::Handshakes);
            fabric.is_checked = schedule.has_keys();
        }
        sim.schedule(parts.actions.into());
        sim
    }
}
