//! What a machine's future depends on, as bytes: two machines of one ring with equal snapshots do
//! the same from here on, whenever and by whatever way they got there. So a model checker knows a
//! state again.
//!
//! Points of time are told as time to go or time gone by, never as such: a machine has no sense
//! of the date. Where a rule asks only whether something was at least so long ago, what was longer
//! ago counts as never. Left out are the constants, which all members of a ring share, and what
//! only people see: when a member was last heard beyond the rules' own use of it, and how long a
//! hand-over took.
//!
//! Every structure is taken apart in full, without `..`, here or beside it where its fields are its own: a
//! new field does not compile until it is decided what it means for the future.

use std::hash::{Hash, Hasher};
use std::time::Duration;

use crate::lab2::Lab2;
use crate::time::Instant;

impl Lab2 {
    /// What the machine's future depends on. Equal bytes, equal future; in whole only, since the
    /// encoding is this module's own and may change.
    pub fn snapshot(&self) -> Vec<u8> {
        let Self {
            context,
            role,
            known,
            rivals,
            wish,
            fitness,
            members,
            confidence,
            jobs,
            // Which people and applications are told of, and no rule looks at.
            diagnostics: _,
            shutdown,
            out,
        } = self;
        let mut writer = Writer {
            now: context.now(), // the wall clock is told anew with every input
            bytes: Vec::with_capacity(512),
        };
        context.link.snapshot(&mut writer);
        role.snapshot(&mut writer, context, members.silence(context));
        known.snapshot(&mut writer, context, fitness.is_unstored());
        rivals.snapshot(&mut writer, context);
        wish.snapshot(&mut writer, context.waiter_timeout());
        fitness.snapshot(&mut writer);
        members.snapshot(&mut writer, context);
        confidence.snapshot(&mut writer, (context, members), role.tenure());
        jobs.snapshot(&mut writer, context);
        shutdown.hash(&mut writer);
        out.snapshot(&mut writer);
        writer.bytes
    }
}

/// Takes down all that is hashed into it, so that nothing is lost.
pub(crate) struct Writer {
    pub(crate) now: Instant,
    bytes: Vec<u8>,
}

impl Hasher for Writer {
    fn write(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Not a hash: whoever needs one takes it from the bytes.
    fn finish(&self) -> u64 {
        0
    }
}

impl Writer {
    /// A stamp of which a rule asks whether it is at most `limit` ago.
    pub(crate) fn within(&mut self, stamp: Option<Instant>, limit: Duration) {
        let age = stamp.map(|at| self.now.since(at));
        age.filter(|&age| age <= limit).hash(self);
    }

    /// A stamp that means something else than none at any age, but the same beyond `limit`.
    pub(crate) fn age_up_to(&mut self, stamp: Option<Instant>, limit: Duration) {
        stamp.map(|at| self.now.since(at).min(limit)).hash(self);
    }
}
