//! Runs of jobs that were lost: begun, and nobody will say how they have ended.

use std::time::Duration;

use ring_codec::lab2::RunOutcome;
use ring_proto::lab2::{Constants, Lab2, OnceStanding, RunView, Stamp};
use ring_proto::time::Instant;

/// An OWNER tells all stamps once in so many heartbeats, and who knows a newer one answers.
const TELLING: u32 = 64;

/// Whether a run is over, though nobody has said so: who works on it holds the token.
pub fn is_lost(run: &RunView, machine: &Lab2) -> bool {
    let runner = run.stamp.runner;
    if run.stamp.outcome != RunOutcome::Begun {
        return false;
    }
    if machine.is_own(runner) {
        // It works on one job at most.
        let standing = machine.once().map(|(_, standing)| standing);
        return !matches!(standing, Some(OnceStanding::Begun | OnceStanding::Asking));
    }
    machine.owner().is_some_and(|owner| owner != runner)
}

/// A run that seems to be lost.
#[derive(Debug)]
struct Suspect {
    stamp: Stamp,
    since: Instant,
    told: bool,
}

/// The runs that seem to be lost, so that each is told of once.
#[derive(Debug, Default)]
pub struct LostRuns(Vec<Suspect>);

impl LostRuns {
    /// Returns a run that was lost, once, if this node holds the token. A frame that says how the run has ended
    /// may have been lost: it is waited for.
    pub fn look(&mut self, now: Instant, machine: &Lab2) -> Option<RunView> {
        let mut runs = machine.runs().peekable();
        if runs.peek().is_none() && self.0.is_empty() {
            return None;
        }
        self.0
            .retain(|suspect| machine.runs().any(|run| run.stamp == suspect.stamp));
        let patience = patience(machine.constants());
        let lost = runs.filter(|run| is_lost(run, machine) && run.age < run.stamp.period);
        for run in lost {
            let known = self.0.iter_mut().find(|it| it.stamp == run.stamp);
            match known {
                Some(suspect) if suspect.told => {}
                Some(suspect) => {
                    if now.since(suspect.since) >= patience && machine.may_use_token() {
                        suspect.told = true;
                        return Some(run);
                    }
                }
                None => self.0.push(Suspect {
                    stamp: run.stamp,
                    since: now,
                    told: false,
                }),
            }
        }
        None
    }
}

fn patience(constants: &Constants) -> Duration {
    constants.heartbeat.saturating_mul(TELLING) + constants.waiter_timeout()
}
