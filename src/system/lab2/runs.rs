//! Describes runs of jobs, and finds lost runs. A lost run has begun, but no member will report its end.

use std::time::Duration;

use ring_codec::lab2::RunOutcome;
use ring_proto::lab2::{Constants, JobName, Lab2, RunEnd, RunView, Stamp};
use ring_proto::time::Instant;
use ring_text::format_duration;
use tracing::{info, warn};

use super::status::outcome_text;
use crate::system::lab2::events;

/// Number of heartbeats in which an OWNER announces all stamps once. A member that knows a newer stamp answers.
const HEARTBEATS_PER_ANNOUNCEMENT: u32 = 64;

/// Describes a run of a job. The run may be lost.
pub(super) fn describe_run(&RunView { stamp, age, .. }: &RunView, lost: bool) -> String {
    let (name, runner, ago) = (stamp.name, stamp.runner, Duration::from_secs(age.as_secs()));
    let ago = format_duration(ago);
    match stamp.outcome {
        RunOutcome::Begun if lost => format!("{name}: lost, began {ago} ago on {runner}"),
        RunOutcome::Begun => format!("{name}: running on {runner} for {ago}"),
        outcome => {
            let outcome = outcome_text(outcome);
            format!("{name}: {outcome}, began {ago} ago on {runner}")
        }
    }
}

/// Logs the end of a run on this machine. Returns the event's name.
pub(super) fn log_end(name: JobName, end: RunEnd) -> &'static str {
    if end == RunEnd::Done {
        info!(event = events::RUN_DONE, job = %name, "{name}: done");
        return events::RUN_DONE;
    }
    warn!(event = events::RUN_FAILED, job = %name, "{name}: failed");
    events::RUN_FAILED
}

/// A run that may be lost.
#[derive(Debug)]
struct SuspectRun {
    stamp: Stamp,
    since: Instant,
    is_reported: bool,
}

#[derive(Debug, Default)]
pub(super) struct LostRuns(Vec<SuspectRun>);

impl LostRuns {
    /// Whether a run is lost, as this node knows it: its tenure ended at least WAITER_TIMEOUT ago.
    pub(super) fn contains(&self, run: &RunView, now: Instant, machine: &Lab2) -> bool {
        let report_delay = machine.constants().waiter_timeout();
        let mut suspects = self.0.iter().filter(|it| it.stamp == run.stamp);
        suspects.any(|suspect| now.since(suspect.since) >= report_delay)
    }

    /// Looks for lost runs. If this node holds the token, returns each lost run once. Waits before it returns a run,
    /// because a frame with the end of the run may have been lost.
    pub(super) fn find_lost(&mut self, now: Instant, machine: &Lab2) -> Option<RunView> {
        let mut runs = machine.runs().peekable();
        if runs.peek().is_none() && self.0.is_empty() {
            return None;
        }
        self.0.retain(|suspect| {
            let mut runs = machine.runs().filter(|run| run.stamp == suspect.stamp);
            runs.any(|run| machine.is_run_over(&run.stamp))
        });
        let report_delay = report_delay(machine.constants());
        for run in runs.filter(|run| machine.is_run_over(&run.stamp)) {
            let known = self.0.iter_mut().find(|it| it.stamp == run.stamp);
            let Some(suspect) = known else {
                self.0.push(SuspectRun {
                    stamp: run.stamp,
                    since: now,
                    is_reported: false,
                });
                continue;
            };
            let is_due = !suspect.is_reported && now.since(suspect.since) >= report_delay;
            if is_due && run.age < run.stamp.period && machine.may_use_token() {
                suspect.is_reported = true;
                return Some(run);
            }
        }
        None
    }
}

fn report_delay(constants: &Constants) -> Duration {
    constants
        .heartbeat
        .saturating_mul(HEARTBEATS_PER_ANNOUNCEMENT)
        + constants.waiter_timeout()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ring_codec::MacAddr;
    use ring_codec::lab2::RunOutcome;
    use ring_proto::lab2::{JobName, RunView, Stamp};

    use super::describe_run;

    #[test]
    fn a_run_is_described_with_its_machine_and_time() {
        let describe_nightly = |outcome, lost| {
            let run = RunView {
                stamp: Stamp {
                    name: JobName::new("nightly").expect("a name"),
                    progress: 1,
                    run: 0,
                    runner: MacAddr([2, 0, 0, 0, 0, 9]),
                    outcome,
                    period: Duration::from_secs(3600),
                },
                age: Duration::from_millis(3_700),
                before: None,
            };
            describe_run(&run, lost)
        };
        for (outcome, lost, expected) in [
            (
                RunOutcome::Begun,
                false,
                "nightly: running on 02:00:00:00:00:09 for 3 s",
            ),
            (
                RunOutcome::Begun,
                true,
                "nightly: lost, began 3 s ago on 02:00:00:00:00:09",
            ),
            (
                RunOutcome::Done,
                false,
                "nightly: done, began 3 s ago on 02:00:00:00:00:09",
            ),
            (
                RunOutcome::Failed,
                false,
                "nightly: failed, began 3 s ago on 02:00:00:00:00:09",
            ),
        ] {
            assert_eq!(describe_nightly(outcome, lost), expected);
        }
    }
}
