//! The state that decides a state machine's future, as bytes. Two state machines of one ring with equal snapshots
//! behave equally from then on, so a model checker recognizes a state.
//!
//! Points in time are written as the time that is left or has passed. An age is cut off where no rule asks for more.
//! Constants are left out, since all members share them, and so is everything that only people see.
//!
//! Every structure is destructured in full, without `..`. So a new field does not compile before its effect on the
//! future was decided.

use std::hash::{Hash, Hasher};
use std::time::Duration;

use crate::lab2::Lab2;
use crate::time::Instant;

impl Lab2 {
    /// Returns the state that decides the future, as bytes. Only equality has a meaning: the encoding may change.
    pub fn snapshot(&self) -> Vec<u8> {
        let Self {
            context,
            role,
            known,
            rivals,
            local_work,
            fitness,
            members,
            confidence,
            jobs,
            // Only people and applications see it; no rule reads it.
            diagnostics: _,
            shutdown,
            out,
        } = self;
        let mut writer = Writer {
            now: context.now(), // every input sets the wall clock again
            bytes: Vec::with_capacity(512),
        };
        context.link.snapshot(&mut writer);
        role.snapshot(&mut writer, context, members.silent_after(context));
        known.snapshot(&mut writer, context, fitness.is_unstored());
        rivals.snapshot(&mut writer, context);
        local_work.snapshot(&mut writer, context.waiter_timeout());
        fitness.snapshot(&mut writer);
        members.snapshot(&mut writer, context);
        confidence.snapshot(&mut writer, (context, members), role.tenure());
        jobs.snapshot(&mut writer, context);
        shutdown.hash(&mut writer);
        out.snapshot(&mut writer);
        writer.bytes
    }
}

/// A [`Hasher`] that keeps all bytes that are hashed into it.
pub(crate) struct Writer {
    pub(crate) now: Instant,
    bytes: Vec<u8>,
}

impl Hasher for Writer {
    fn write(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

impl Writer {
    /// Writes a time of which rules only ask whether it is at most `limit` ago.
    pub(crate) fn within(&mut self, stamp: Option<Instant>, limit: Duration) {
        let age = stamp.map(|at| self.now.since(at));
        age.filter(|&age| age <= limit).hash(self);
    }

    /// Writes a time whose age counts up to `limit`. It differs from `None` at any age.
    pub(crate) fn age_up_to(&mut self, stamp: Option<Instant>, limit: Duration) {
        stamp.map(|at| self.now.since(at).min(limit)).hash(self);
    }
}
