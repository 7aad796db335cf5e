//! Records of named locks (`docs/reference/lab2/locks.md`).

use std::hash::Hash;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{self, LockMode, LockState, MAX_LOCK_NAME_LEN, Token};
use xxhash_rust::xxh3::xxh3_64;
use zerocopy::IntoBytes;

use super::fence;
use super::kept::REUSES_MAX;
use crate::lab2::machine::Writer;
use crate::lab2::{Grade, LockName, LockProgram, LockRequest};
use crate::time::{Instant, nanos};

/// The token in a frame that names no token.
pub(super) const NO_TOKEN: Token = Token {
    progress: 0,
    author: MacAddr([0; 6]),
    number: 0,
};
/// The bit of a flag that is set after a majority has stored the flag.
pub(super) const FLAG_CONFIRMED: u64 = 1;

/// Identifies a record: the table is sorted by this number.
pub(super) type Key = u64;

/// A lock that a session holds, or that it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(super) struct Record {
    pub(super) member: MacAddr,
    pub(super) request: LockRequest,
    pub(super) state: LockState,
    /// The place in the queue of this name: smaller tickets come first.
    pub(super) ticket: u64,
    /// The fencing token. It has a meaning only while the lock is held.
    pub(super) fence: Token,
    /// A unique number if the owner has not heard the member's renewals; 0 if it has heard them. The number has the bit
    /// [`FLAG_CONFIRMED`] if every later owner knows the flag.
    pub(super) flag: u64,
    /// The time of the request, by the clock of this node.
    pub(super) since: Instant,
    /// The time at which this node first saw the flag. It is the time of the record's arrival if there is no flag.
    pub(super) flag_seen: Instant,
}

impl Record {
    /// Creates the record of a session that waits.
    pub(super) fn new(member: MacAddr, request: LockRequest, now: Instant) -> Self {
        Self {
            member,
            request,
            state: LockState::Waiting,
            ticket: 0,
            fence: NO_TOKEN,
            flag: 0,
            since: now,
            flag_seen: now,
        }
    }

    /// Decodes a record of a frame that has just arrived. Returns `None` if the record is not valid.
    pub(super) fn decode(wire: &lab2::LockRecord, now: Instant) -> Option<Self> {
        let age = Duration::from_nanos(wire.age.get());
        Some(Self {
            member: wire.member,
            request: LockRequest {
                session: wire.session.get(),
                name: LockName::from_bytes(wire.name)?,
                mode: wire.mode()?,
                grade: grade_from_wire(wire.grade)?,
                program: LockProgram::from_bytes(wire.program),
            },
            state: wire.state()?,
            ticket: wire.ticket.get(),
            fence: Token {
                progress: wire.progress.get(),
                author: wire.author,
                number: wire.number.get(),
            },
            flag: wire.flag.get(),
            since: now.before(age),
            flag_seen: now,
        })
    }

    /// Returns the record in the encoding of frames.
    pub(super) fn encode(&self, now: Instant) -> lab2::LockRecord {
        self.encode_with_age(nanos(now.since(self.since)))
    }

    fn encode_with_age(&self, age: u64) -> lab2::LockRecord {
        let request = &self.request;
        lab2::LockRecord {
            name: *request.name.bytes(),
            member: self.member,
            session: request.session.into(),
            mode: request.mode as u8,
            grade: grade_to_wire(request.grade),
            state: self.state as u8,
            ticket: self.ticket.into(),
            progress: self.fence.progress.into(),
            author: self.fence.author,
            number: self.fence.number.into(),
            flag: self.flag.into(),
            age: age.into(),
            program: *request.program.bytes(),
        }
    }

    /// Returns a hash of all fields except the age. The age does not count, because it differs between members.
    pub(super) fn hash(&self) -> u64 {
        xxh3_64(self.encode_with_age(0).as_bytes())
    }

    pub(super) fn key(&self) -> Key {
        key(self.member, &self.request.name, self.request.session)
    }

    /// Returns the record with the strongest fencing token that the programs of its session can have.
    pub(super) fn after_last_reuse(&self) -> Self {
        Self {
            fence: fence::later(self.fence, REUSES_MAX.into()),
            ..*self
        }
    }

    pub(super) fn is_held(&self) -> bool {
        self.state == LockState::Held
    }

    pub(super) fn is_exclusive(&self) -> bool {
        self.request.mode == LockMode::Exclusive
    }

    /// Whether at most one of the two records may be held. The records have the same name.
    pub(super) fn excludes(&self, other: &Self) -> bool {
        self.is_exclusive() || other.is_exclusive()
    }

    /// Whether the record has a flag, and a majority has stored the flag.
    pub(super) const fn is_flag_confirmed(&self) -> bool {
        self.flag & FLAG_CONFIRMED != 0
    }
}

/// Returns the key of a session's record.
pub(super) fn key(member: MacAddr, name: &LockName, session: u64) -> Key {
    let mut bytes = [0; MAX_LOCK_NAME_LEN + 14];
    bytes[..MAX_LOCK_NAME_LEN].copy_from_slice(name.bytes());
    bytes[MAX_LOCK_NAME_LEN..][..6].copy_from_slice(&member.0);
    bytes[MAX_LOCK_NAME_LEN + 6..].copy_from_slice(&session.to_be_bytes());
    xxh3_64(&bytes)
}

/// Returns the number of a grade in frames.
pub(super) const fn grade_to_wire(grade: Grade) -> u8 {
    match grade {
        Grade::Alone => 0,
        Grade::AllHeard => 1,
        Grade::Quorum => 2,
    }
}

/// Returns the grade with this number in frames.
pub(super) const fn grade_from_wire(grade: u8) -> Option<Grade> {
    match grade {
        0 => Some(Grade::Alone),
        1 => Some(Grade::AllHeard),
        2 => Some(Grade::Quorum),
        _ => None,
    }
}

impl Record {
    pub(super) fn snapshot(&self, writer: &mut Writer) {
        // Only people see the age, so the hash does not contain it.
        let hash = self.encode_with_age(0);
        hash.as_bytes().hash(writer);
        writer.now.since(self.flag_seen).hash(writer);
    }
}
