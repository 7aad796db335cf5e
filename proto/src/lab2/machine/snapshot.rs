//! Encodes a state machine's state as bytes. The bytes contain everything that affects the future of the state machine.
//! If two state machines of one ring have equal snapshots, their future behavior is the same. So a model checker can
//! recognize a state that it already explored.
//!
//! A point in time is written as a duration: the time until this point, or the time since this point. If all rules
//! treat ages above a limit in the same way, a larger age is written as the limit. The constants are left out, because
//! all members share them. Data that only people see are also omitted.
//!
//! Every structure is destructured in full, without `..`. So if a developer adds a field, the code does not compile
//! until the developer decides whether the field affects the future.

use std::hash::{Hash, Hasher};
use std::time::Duration;

use crate::lab2::Lab2;
use crate::time::Instant;

impl Lab2 {
    /// Returns the part of the state that affects the future, as bytes. Compare snapshots only for equality, because
    /// the encoding may change.
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
            locks,
            // Only people and applications see the reports, and no rule reads them.
            diagnostics: _,
            // No rule of another part reads the surveys, and the model checker begins none.
            survey: _,
            shutdown,
            out,
        } = self;
        let mut writer = Writer {
            // Every input sets the wall clock again, so the wall clock is left out.
            now: context.now(),
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
        locks.snapshot(&mut writer);
        shutdown.hash(&mut writer);
        out.snapshot(&mut writer);
        writer.bytes
    }
}

/// A [`Hasher`] that only stores the bytes that it gets.
pub(crate) struct Writer {
    pub(crate) now: Instant,
    bytes: Vec<u8>,
}

impl Hasher for Writer {
    fn write(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        // The bytes are the result: two states with the same hash would look like one state.
        0
    }
}

impl Writer {
    /// Writes a time. The rules ask only whether the written time is at most `limit` ago. So an earlier time is written
    /// like `None`.
    pub(crate) fn within(&mut self, stamp: Option<Instant>, limit: Duration) {
        let age = stamp.map(|at| self.now.since(at));
        age.filter(|&age| age <= limit).hash(self);
    }

    /// Writes the age of a time, but at most `limit`. A time that is older than `limit` differs from `None`. In
    /// contrast, `within` writes such a time like `None`.
    pub(crate) fn age_up_to(&mut self, stamp: Option<Instant>, limit: Duration) {
        stamp.map(|at| self.now.since(at).min(limit)).hash(self);
    }
}
