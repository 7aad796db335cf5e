//! Checks of jobs that run once in a period (`docs/reference/lab2/once.md`), through the public interface.

use std::collections::BTreeMap;

use ring_codec::MacAddr;
use ring_codec::lab2::{Frame, Message};
use ring_proto::lab2::{JobName, Lab2, OnceProgress, OnceRequest, RunEnd, StoredStamp};
use ring_proto::time::{Instant, Now};

#[derive(Default)]
pub(super) struct Jobs {
    /// The last requested job.
    pub request: Option<OnceRequest>,
    begun: Option<(u64, JobName)>,
    /// The start of each job's last run. The map is cleared when another node announces runs.
    runs: BTreeMap<JobName, Instant>,
}

impl Jobs {
    /// Handles a received frame. After a STAMPS message, the recorded runs do not count, because the frame's author may
    /// know other runs, or invent runs.
    pub(super) fn on_frame(&mut self, frame: &Frame<'_>) {
        if let Message::Stamps { .. } = frame.message {
            self.runs.clear();
        }
    }

    /// Whether a run of a job has begun but not ended.
    pub(super) fn is_at_work(machine: &Lab2) -> bool {
        matches!(machine.once_progress(), Some((_, OnceProgress::Begun)))
    }

    pub(super) fn on_run_ended(&mut self, end: RunEnd) {
        if let (RunEnd::NotRun, Some((_, name))) = (end, &self.begun) {
            self.runs.remove(name);
        }
    }

    /// Checks the state machine after an input.
    pub(super) fn check<'a>(
        &mut self,
        machine: &Lab2,
        mut stored: impl Iterator<Item = &'a StoredStamp>,
        now: Now,
        me: MacAddr,
    ) {
        let Some((id, OnceProgress::Begun)) = machine.once_progress() else {
            return;
        };
        let request = self.request.filter(|request| request.id == id);
        let request = request.expect("the job that begins was requested");
        if self.begun == Some((id, request.name)) {
            return;
        }
        self.begun = Some((id, request.name));
        assert!(
            machine.may_use_token(),
            "the job begins although the node does not have the token"
        );
        let is_known = stored.any(|it| it.stamp.name == request.name && it.stamp.runner == me);
        assert!(is_known, "the job begins before its stamp is stored");
        let before = self.runs.insert(request.name, now.monotonic);
        if let Some(before) = before.filter(|_| !request.retry) {
            let age = now.monotonic.since(before);
            assert!(
                age >= request.every.saturating_sub(request.every / 100),
                "the job begins again after {age:?}"
            );
        }
    }
}
