//! Checks of named locks (`docs/reference/lab2/locks.md`), through the public interface. The module also makes the
//! locks, records and frames of scripts.

use std::collections::BTreeMap;

use ring_codec::lab2::{
    Frame, LOCK_SUMS, LOCKS_PER_FRAME_MAX, LockMode, LockRecord, LockState, LocksPurpose,
    LocksStanding, Message, NO_AGE, PROGRESS_MAX, Token,
};
use ring_codec::{MacAddr, U64};
use ring_proto::lab2::{Event, Grade, Lab2, LockName, LockProgram, LockRequest};
use ring_proto::time::{Instant, Now};
use xxhash_rust::xxh3::xxh3_64;
use zerocopy::IntoBytes;

use super::harness::station_address;
use super::script::{ScriptedLocks, ScriptedQuestion, ScriptedRecord, ScriptedStanding, Take};

/// The maximum number of sessions at the same time.
const SESSIONS_MAX: usize = 6;
/// The length of a lease, as a multiple of WAITER_TIMEOUT.
const LEASE_PERIODS: u32 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    Granted,
}

/// The sessions of the node, and the values of its last frames about locks.
#[derive(Default)]
pub(super) struct NamedLocks {
    /// The number of the last session. A node does not use a number again, even after a restart.
    last: u64,
    open: BTreeMap<u64, (LockRequest, Stage)>,
    /// The serial number of the node's last renewal.
    serial: u64,
    /// The hash of each table in the node's last frame about this table.
    hashes: [u64; 2],
    /// The latest time of an input. Scripts may set the clock back, so the last input may have an earlier time.
    latest: Instant,
}

impl NamedLocks {
    /// Returns the request of a new session. Returns `None` if the node has the maximum number of sessions.
    pub(super) fn take(&mut self, take: &Take) -> Option<LockRequest> {
        if self.open.len() >= SESSIONS_MAX {
            return None;
        }
        self.last += 1;
        let request = LockRequest {
            session: self.last,
            name: LockName::new(&name(take.name)).expect("a name"),
            mode: mode(take.shared),
            grade: [Grade::Alone, Grade::AllHeard, Grade::Quorum][usize::from(take.grade % 3)],
            program: LockProgram::new("scripted"),
        };
        self.open.insert(self.last, (request, Stage::Waiting));
        Some(request)
    }

    /// Returns the number of the session that began `ago` sessions before the last one. The session ends.
    pub(super) fn release(&mut self, ago: u8) -> u64 {
        let session = self.session(ago);
        self.open.remove(&session);
        session
    }

    fn session(&self, ago: u8) -> u64 {
        self.last.saturating_sub(u64::from(ago % 8))
    }

    /// Ends all sessions, because the process of the node has ended.
    pub(super) fn on_restart(&mut self) {
        self.open.clear();
    }

    /// Checks a frame that the node hands to the link.
    pub(super) fn check_sent(&mut self, bytes: &[u8], me: MacAddr, known: Option<Token>) {
        let frame = Frame::decode(bytes).expect("the node sends only frames that can be decoded");
        if let Some(standing) = frame.locks {
            self.hashes = [standing.others, standing.quorum];
        }
        let Message::Locks {
            token,
            serial,
            purpose,
            grade,
            digest,
            locks,
            ..
        } = frame.message
        else {
            return;
        };
        match purpose {
            LocksPurpose::Request | LocksPurpose::Release => {
                assert!(locks.iter().all(|lock| lock.member == me));
                let is_claim =
                    |lock: &LockRecord| lock.state() == Some(LockState::Held) && lock.grade < 2;
                // A frame has several records only if the node claims all its locks of lower grades.
                assert!(
                    locks.len() == 1
                        || purpose == LocksPurpose::Request && locks.iter().all(is_claim),
                    "one record in a request or release: {locks:?}"
                );
            }
            LocksPurpose::Renew => self.serial = serial,
            LocksPurpose::Change | LocksPurpose::Agree | LocksPurpose::Part => {
                self.hashes[usize::from(grade / 2)] = digest;
            }
            LocksPurpose::Renewed => {}
        }
        // A change may be repeated with the token of an earlier owner, and a forged part may name any token.
        if matches!(purpose, LocksPurpose::Request | LocksPurpose::Renew) {
            let known = known.expect("a token is stored before it is sent");
            assert!(
                !token.is_stronger_than(&known),
                "the node sends {token:?} before it stores the token"
            );
        }
        for lock in locks {
            let is_of_table = (lock.grade == 2) == (grade == 2);
            assert!(is_of_table, "a record of the other table: {lock:?}");
        }
    }

    /// Checks the events and the sessions after an input.
    pub(super) fn check(&mut self, machine: &Lab2, events: &[Event], now: Now) {
        self.latest = self.latest.max(now.monotonic);
        for event in events {
            match *event {
                Event::LockQueued { session } => {
                    let stage = self.stage(session);
                    assert_eq!(stage, Some(Stage::Waiting), "session {session} waits");
                }
                Event::LockGranted { session, .. } => {
                    let Some((_, stage @ Stage::Waiting)) = self.open.get_mut(&session) else {
                        panic!("session {session} has its lock although it does not wait");
                    };
                    *stage = Stage::Granted;
                    // A lock that is lost within the same input does not count.
                    let end = machine.lock_lease_end(session);
                    assert!(
                        end.is_none_or(|end| end > now.monotonic),
                        "the lease of session {session} ended before its lock was granted"
                    );
                }
                Event::LockRefused { session } => {
                    let ended = self.open.remove(&session);
                    let stage = ended.map(|(_, stage)| stage);
                    assert_eq!(stage, Some(Stage::Waiting), "session {session} waits");
                }
                Event::LockLost { session } => {
                    let ended = self.open.remove(&session);
                    let stage = ended.map(|(_, stage)| stage);
                    assert_eq!(
                        stage,
                        Some(Stage::Granted),
                        "session {session} has its lock"
                    );
                }
                _ => {}
            }
        }
        let lease = machine.constants().waiter_timeout() * LEASE_PERIODS;
        for &session in self.open.keys() {
            let end = machine.lock_lease_end(session);
            let is_granted = self.stage(session) == Some(Stage::Granted);
            assert_eq!(end.is_some(), is_granted, "session {session} has a lease");
            assert!(
                end.is_none_or(|end| end < self.latest + lease),
                "the lease of session {session} is too long"
            );
        }
    }

    fn stage(&self, session: u64) -> Option<Stage> {
        self.open.get(&session).map(|(_, stage)| *stage)
    }

    /// Returns the records of a scripted frame about named locks. The records belong to the table of the frame.
    pub(super) fn records(
        &self,
        heard: &ScriptedLocks,
        me: MacAddr,
        progress: u64,
    ) -> Vec<LockRecord> {
        let records = heard.records.iter().take(LOCKS_PER_FRAME_MAX);
        let record = |it: &ScriptedRecord| self.record(it, me, progress, heard.quorum);
        records.map(record).collect()
    }

    fn record(&self, it: &ScriptedRecord, me: MacAddr, progress: u64, quorum: bool) -> LockRecord {
        let member = station_address(it.member);
        let (name, mode) = (name(it.name), mode(it.shared));
        let session = self.session(it.session);
        let own = self.open.get(&session).filter(|_| member == me);
        // A record of the node repeats the request of its session.
        let (name, mode) = own.map_or((name, mode), |(request, _)| {
            (request.name.to_string(), request.mode)
        });
        let progress = progress.saturating_add_signed(it.more.into());
        let nanos = |seconds| u64::from(seconds) * 1_000_000_000;
        LockRecord {
            name: padded(name.as_bytes()),
            member,
            session: session.into(),
            mode: mode as u8,
            grade: if quorum { 2 } else { it.grade % 2 },
            state: it.state % 4,
            ticket: u64::from(it.ticket).into(),
            progress: progress.min(PROGRESS_MAX).into(),
            author: station_address(it.author),
            number: u32::from(it.number).into(),
            flag: u64::from(it.flag).into(),
            age: it.age.map_or(NO_AGE, nanos).into(),
            program: padded(b"scripted"),
        }
    }

    /// Returns the message that a script describes.
    pub(super) fn message<'a>(
        &self,
        heard: &ScriptedLocks,
        token: Token,
        locks: &'a [LockRecord],
    ) -> Message<'a> {
        let hash = self.hashes[usize::from(heard.quorum)];
        let digest = match heard.hash % 4 {
            0 => hash,
            1 => hash.wrapping_add(hash_of(locks)),
            2 => hash_of(locks),
            _ => !hash,
        };
        let middle = 1 << 63;
        let (from, to) = match heard.range % 4 {
            0 => (0, 0),
            1 => (0, u64::MAX),
            2 => (middle, u64::MAX),
            _ => (0, middle - 1),
        };
        Message::Locks {
            token,
            serial: heard.serial.map_or(self.serial, u64::from),
            purpose: LocksPurpose::from_wire(heard.purpose % 7).expect("a purpose"),
            grade: if heard.quorum { 2 } else { 0 },
            digest,
            from,
            to,
            locks,
        }
    }

    /// Returns the standing that a script describes. If the script demands equal hashes, the standing has the hashes of
    /// the node's last frames about locks.
    pub(super) fn standing(&self, said: &ScriptedStanding, token: Token) -> LocksStanding {
        let hash = |side: usize, same| {
            let hash = self.hashes[side];
            if same { hash } else { !hash }
        };
        LocksStanding {
            token,
            change: said.change.into(),
            quorum: hash(1, said.same_quorum),
            others: hash(0, said.same_others),
            settles: said
                .settles
                .map_or(LocksStanding::NOT_KNOWN, |ms| u64::from(ms) * 4_000_000),
        }
    }
}

/// Returns the sums that a scripted question contains.
pub(super) fn sums(question: &ScriptedQuestion) -> [U64; LOCK_SUMS] {
    [U64::from(u64::from(question.sum)); LOCK_SUMS]
}

/// Returns the hash of a table that has only these records.
fn hash_of(locks: &[LockRecord]) -> u64 {
    let hashes = locks.iter().map(|lock| {
        let lock = LockRecord {
            age: 0.into(),
            ..*lock
        };
        xxh3_64(lock.as_bytes())
    });
    hashes.fold(0, u64::wrapping_add)
}

/// Returns the name of lock number `n`. Few names make conflicts likely.
fn name(n: u8) -> String {
    format!("lock-{}", n % 3)
}

const fn mode(shared: bool) -> LockMode {
    if shared {
        LockMode::Shared
    } else {
        LockMode::Exclusive
    }
}

fn padded<const N: usize>(text: &[u8]) -> [u8; N] {
    let mut padded = [0; N];
    padded[..text.len()].copy_from_slice(text);
    padded
}
