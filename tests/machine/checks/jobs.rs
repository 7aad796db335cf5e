//! What must hold of jobs that run once in a period (`docs/once.md`), kept from the machine's public face.

use std::collections::BTreeMap;

use ring_codec::MacAddr;
use ring_codec::lab2::{Frame, Message};
use ring_proto::lab2::{JobName, Lab2, OnceRequest, OnceStanding, RunEnd, StoredStamp};
use ring_proto::time::{Instant, Now};

#[derive(Default)]
pub(super) struct Jobs {
    /// What was asked for last.
    pub asked: Option<OnceRequest>,
    /// The number of the one that was last seen to begin, and its name.
    begun: Option<(u64, JobName)>,
    /// When jobs began, as far as nobody has said anything else of them.
    runs: BTreeMap<JobName, Instant>,
}

impl Jobs {
    /// Whoever speaks of jobs may know of other runs, or make them up.
    pub(super) fn hears(&mut self, frame: &Frame<'_>) {
        if let Message::Stamps { .. } = frame.message {
            self.runs.clear();
        }
    }

    /// Whether one has begun, and has not ended.
    pub(super) fn is_at_work(machine: &Lab2) -> bool {
        matches!(machine.once(), Some((_, OnceStanding::Begun)))
    }

    /// The one that has begun last has ended so.
    pub(super) fn ends(&mut self, end: RunEnd) {
        if let (RunEnd::NotRun, Some((_, name))) = (end, &self.begun) {
            self.runs.remove(name);
        }
    }

    /// The machine after an input.
    pub(super) fn look<'a>(
        &mut self,
        machine: &Lab2,
        mut stored: impl Iterator<Item = &'a StoredStamp>,
        now: Now,
        me: MacAddr,
    ) {
        let Some((id, OnceStanding::Begun)) = machine.once() else {
            return;
        };
        let asked = self.asked.filter(|asked| asked.id == id);
        let asked = asked.expect("only what was asked for begins");
        if self.begun == Some((id, asked.name)) {
            return;
        }
        self.begun = Some((id, asked.name));
        assert!(machine.may_use_token(), "it begins without the token");
        let is_known = stored.any(|it| it.stamp.name == asked.name && it.stamp.runner == me);
        assert!(is_known, "it begins, and nothing of that is stored");
        let before = self.runs.insert(asked.name, now.monotonic);
        if let Some(before) = before.filter(|_| !asked.retry) {
            let age = now.monotonic.since(before);
            assert!(
                age >= asked.every.saturating_sub(asked.every / 100),
                "it begins again after {age:?}"
            );
        }
    }
}
