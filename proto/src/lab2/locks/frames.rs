//! The frames of locks. A frame that waits in the queue contains only numbers. Its records wait in [`Payloads`].

use std::collections::BTreeMap;
use std::hash::Hash;

use ring_codec::lab2::{self, ETHERNET_HEADER_LEN, LOCKS_PER_FRAME_MAX, LocksPurpose, Token};
use ring_codec::{MacAddr, U64};

use super::record::{NO_TOKEN, Record};
use super::table::Version;
use super::{Locks, LocksAction, LocksContext, Side};
use crate::lab2::machine::Writer;
use crate::time::Instant;

/// A LOCKS frame to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(crate) struct LocksFrame {
    pub(super) token: Token,
    pub(super) serial: u64,
    pub(super) purpose: LocksPurpose,
    pub(super) side: Side,
    pub(super) digest: u64,
    pub(super) from: u64,
    pub(super) to: u64,
    /// The number under which the frame's records wait in [`Payloads`]; 0 if the frame has no records.
    pub(super) payload: u32,
}

/// A LOCKS frame that was received.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReceivedLocks<'a> {
    pub(crate) token: Token,
    pub(crate) serial: u64,
    pub(crate) purpose: LocksPurpose,
    /// The number of the table, which is the number of its lowest grade.
    pub(crate) grade: u8,
    pub(crate) digest: u64,
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) records: &'a [lab2::LockRecord],
    /// Whether this node has promised to confirm only the tenure of the author's token.
    pub(crate) is_bound: bool,
}

impl ReceivedLocks<'_> {
    /// Returns the version of the author's table, in a change, an agreement or a part.
    pub(super) const fn version(&self) -> Version {
        Version {
            token: self.token,
            change: self.serial,
        }
    }
}

/// A LOCKS_QUESTION frame to send. Its sums are computed when it is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(crate) struct QuestionFrame {
    pub(super) side: Side,
    /// The first key that this node wants.
    pub(super) from: u64,
}

/// A LOCKS_QUESTION frame that was received.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReceivedQuestion<'a> {
    /// The number of the table, which is the number of its lowest grade.
    pub(crate) grade: u8,
    /// The first key that the author wants.
    pub(crate) from: u64,
    /// The sums of the hashes of the author's records, [`LOCK_SUMS`](lab2::LOCK_SUMS) numbers.
    pub(crate) sums: &'a [U64],
}

/// The records of the frames that wait for the link.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Payloads {
    waiting: BTreeMap<u32, Vec<Record>>,
    last: u32,
    /// The records of the frame that is being encoded.
    #[serde(skip)]
    encoded: Vec<lab2::LockRecord>,
    /// The sums of the question that is being encoded.
    #[serde(skip)]
    sums: Vec<U64>,
}

impl Payloads {
    fn add(&mut self, records: &[Record]) -> u32 {
        if records.is_empty() {
            return 0;
        }
        self.last = self.last.checked_add(1).unwrap_or(1);
        self.waiting.insert(self.last, records.to_vec());
        self.last
    }
}

impl Locks {
    /// Returns a frame with the present values of a table, and without records.
    pub(super) fn frame(
        &self,
        locks: &LocksContext<'_>,
        purpose: LocksPurpose,
        side: Side,
    ) -> LocksFrame {
        LocksFrame {
            token: locks.tenure.held.or(locks.tenure.known).unwrap_or(NO_TOKEN),
            serial: 0,
            purpose,
            side,
            digest: self.table(side).digest(),
            from: 0,
            to: 0,
            payload: 0,
        }
    }

    /// Sends records in as many frames as they need. In frames with the purpose CHANGE, `to` is the number of records
    /// in later frames.
    pub(super) fn send(
        &mut self,
        locks: &LocksContext<'_>,
        to: MacAddr,
        frame: LocksFrame,
        records: &[Record],
    ) {
        // A node that knows no token has not joined a ring yet.
        if locks.tenure.known.is_none() {
            return;
        }
        if records.is_empty() {
            self.actions.push_back(LocksAction::Send(to, frame));
            return;
        }
        let per_frame = per_frame(locks);
        if per_frame == 0 {
            return;
        }
        let mut later = records.len();
        for records in records.chunks(per_frame) {
            later -= records.len();
            let payload = self.payloads.add(records);
            let to_field = if frame.purpose == LocksPurpose::Change {
                later as u64
            } else {
                frame.to
            };
            let frame = LocksFrame {
                payload,
                to: to_field,
                ..frame
            };
            self.actions.push_back(LocksAction::Send(to, frame));
        }
    }

    /// Drops the frames that wait for the link. Programs and members repeat their requests.
    pub(crate) fn drop_frames(&mut self) {
        self.payloads.waiting.clear();
        self.drop_actions();
    }

    /// Drops the frames that are not in the queue of the link yet.
    pub(crate) fn drop_actions(&mut self) {
        let reports = |action: &LocksAction| matches!(action, LocksAction::Report(_));
        self.actions.retain(reports);
    }

    /// Encodes the records that a frame will contain.
    pub(crate) fn encode_records(&mut self, now: Instant, frame: &LocksFrame) {
        let records = self
            .payloads
            .waiting
            .remove(&frame.payload)
            .unwrap_or_default();
        self.payloads.encoded.clear();
        let encoded = records.iter().map(|record| record.encode(now));
        self.payloads.encoded.extend(encoded);
    }

    /// Returns the message of a frame. It contains the records from [`encode_records`](Self::encode_records).
    pub(crate) fn message(&self, frame: &LocksFrame) -> lab2::Message<'_> {
        lab2::Message::Locks {
            token: frame.token,
            serial: frame.serial,
            purpose: frame.purpose,
            grade: frame.side.to_wire(),
            digest: frame.digest,
            from: frame.from,
            to: frame.to,
            locks: &self.payloads.encoded,
        }
    }
}

impl Locks {
    /// Computes the sums that a question will contain.
    pub(crate) fn encode_sums(&mut self, question: &QuestionFrame) {
        let sums = self.table(question.side).sums();
        self.payloads.sums = sums.map(U64::from).to_vec();
    }

    /// Returns the message of a question. It contains the sums from [`encode_sums`](Self::encode_sums).
    pub(crate) fn question(&self, question: &QuestionFrame) -> lab2::Message<'_> {
        lab2::Message::LocksQuestion {
            grade: question.side.to_wire(),
            from: question.from,
            sums: &self.payloads.sums,
        }
    }
}

/// Returns the number of records in a frame that fits the MTU of every member.
pub(super) fn per_frame(locks: &LocksContext<'_>) -> usize {
    let none = lab2::Message::Locks {
        token: NO_TOKEN,
        serial: 0,
        purpose: LocksPurpose::Part,
        grade: 0,
        digest: 0,
        from: 0,
        to: 0,
        locks: &[],
    };
    let room = room_after(locks, none).unwrap_or(0);
    (room / size_of::<lab2::LockRecord>()).min(LOCKS_PER_FRAME_MAX)
}

/// Whether a question fits the MTU of every member.
pub(super) fn may_ask(locks: &LocksContext<'_>) -> bool {
    let question = lab2::Message::LocksQuestion {
        grade: 0,
        from: 0,
        sums: &[U64::ZERO; lab2::LOCK_SUMS],
    };
    room_after(locks, question).is_some()
}

/// Returns the number of bytes that remain after the message in a frame that fits the MTU of every member. Returns
/// `None` if the message does not fit.
fn room_after(locks: &LocksContext<'_>, message: lab2::Message<'_>) -> Option<usize> {
    let frame = lab2::Frame {
        destination: MacAddr::default(),
        author: MacAddr([2, 0, 0, 0, 0, 1]),
        message,
        profile: None,
        card: None,
        locks: None,
        preference: 0,
    };
    let (mtu, _) = locks.members.smallest_mtu(locks.context);
    (mtu + ETHERNET_HEADER_LEN).checked_sub(frame.encoded_len())
}

impl Payloads {
    pub(super) fn snapshot(&self, writer: &mut Writer) {
        let Self {
            waiting,
            last,
            // Every frame sets these buffers again.
            encoded: _,
            sums: _,
        } = self;
        for (number, records) in waiting {
            (last.wrapping_sub(*number), records.len()).hash(writer);
            for record in records {
                record.snapshot(writer);
            }
        }
    }
}
