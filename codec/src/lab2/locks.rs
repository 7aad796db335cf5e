//! LOCKS, kind 12: records of named locks.
//!
//! Members send records to request, change, renew and release named locks, and to copy their knowledge of locks to
//! other members. The key of a record is XXH3-64 (seed 0) of its name with the zeros, its member and its session. The
//! keys `from` and `to` are the first and the last key of the range that the frame describes. If the records do not fit
//! into one frame, they are sent in several frames. A node that does not know this kind may ignore it.
//!
//! ```text
//!   at  bytes  field
//!   14      1  kind              = 12
//!   15      1  reserved          = 0
//!   16      6  messageAuthorMAC  the Ethernet source
//!   22      8  progress          u64, below 2^63: the token of the one who tells or asks
//!   30      6  authorMAC
//!   36      4  authorTokenNum    u32
//!   40      8  serial            u64
//!   48      1  locksPurpose      0 request, 1 release, 2 change, 3 agree, 4 renew, 5 renewed, 6 part
//!   49      1  grade             the table: 0 the grades alone and all-heard, 2 the grade quorum
//!   50      8  locksHash         u64
//!   58      8  from              u64
//!   66      8  to                u64
//!   74      2  lockCount         u16, at most 9
//!   76  147 each  locks          lockCount times
//! ```
//! A record:
//! ```text
//!    0     64  lockName          1 to 64 printable ASCII characters without blanks, then zeros
//!   64      6  memberMAC         the unicast address of the holder's or waiter's member
//!   70      8  session           u64
//!   78      1  mode              0 exclusive, 1 shared
//!   79      1  grade             0: `alone`, 1: `all-heard`, 2: `quorum`
//!   80      1  state             0 waiting, 1 held, 2 gone, 3 refused
//!   81      8  ticket            u64
//!   89      8  progress          u64, below 2^63: with the next two fields, the fencing token
//!   97      6  authorMAC
//!  103      4  authorTokenNum    u32
//!  107      8  flag              u64
//!  115      8  age               u64, nanoseconds since the take was requested; 2^64 - 1: not known
//!  123     24  program           the program's name in UTF-8, then zeros
//! ```
//!
//! # Example
//! ```
//! use ring_codec::MacAddr;
//! use ring_codec::lab2::{self, Frame, LockMode, LockState, LocksPurpose, Message, Token};
//!
//! let bytes = hex_literal::hex!(
//!     "020000000002 020000000001 88b5" // destination, source, EtherType
//!     "0c 00 020000000001"                        // kind, reserved, messageAuthorMAC
//!     "0000000000000007 020000000001 00000003"    // token: progress, authorMAC, authorTokenNum
//!     "0000000000000005 02 02"                    // serial, locksPurpose: change, grade: quorum
//!     "0123456789abcdef"                          // locksHash
//!     "0000000000000000 ffffffffffffffff"         // from, to
//!     "0001"                                      // lockCount
//!     "64622f7072696d61727900000000000000000000000000000000000000000000" // lockName: db/primary
//!     "0000000000000000000000000000000000000000000000000000000000000000"
//!     "020000000004 0000000000000009"             // memberMAC, session
//!     "00 02 01"                                  // mode: exclusive, grade: quorum, state: held
//!     "0000000000000001"                          // ticket
//!     "0000000000000006 020000000001 00000003"    // fence: progress, authorMAC, authorTokenNum
//!     "0000000000000000 000000003b9aca00"         // flag, age: 1 s
//!     "6261636b7570000000000000000000000000000000000000" // program: backup
//! );
//! let frame = Frame::decode(&bytes)?;
//! let Message::Locks { token, serial: 5, purpose, grade: 2, digest, from: 0, to, locks: [lock] } =
//!     frame.message
//! else {
//!     panic!("{frame:?}");
//! };
//! let author = MacAddr([2, 0, 0, 0, 0, 1]);
//! assert_eq!(token, Token { progress: 7, author, number: 3 });
//! assert_eq!((purpose, to), (LocksPurpose::Change, u64::MAX));
//! assert_eq!(digest, 0x0123_4567_89ab_cdef);
//! assert_eq!((lock.name(), lock.program()), (Some("db/primary"), Some("backup")));
//! assert_eq!(lock.mode(), Some(LockMode::Exclusive));
//! assert_eq!(lock.state(), Some(LockState::Held));
//! assert_eq!(lock.fence(), Some(Token { progress: 6, author, number: 3 }));
//! assert_eq!(lock.age(), Some(1_000_000_000));
//! # let mut buf = [0xaa; lab2::FRAME_LEN_MAX];
//! # let len = frame.encode(lab2::ETHERTYPE, &mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use core::str;

use zerocopy::byteorder::network_endian::{U16, U32, U64};

use super::parts::TokenLayout;
use super::stamps::is_name;
use super::{LOCKS_PER_FRAME_MAX, NO_AGE, PROGRESS_MAX, Token};
use crate::layout::layout;
use crate::reader::Reader;
use crate::writer::Writer;
use crate::{DecodeError, Field, MacAddr, Problem};

/// Length of the longest name of a lock, in bytes.
pub const MAX_LOCK_NAME_LEN: usize = 64;
/// Length of the longest name of a program in a record, in bytes.
pub const MAX_LOCK_PROGRAM_LEN: usize = 24;
/// The largest number of a grade.
pub(super) const GRADE_MAX: u8 = 2;

layout! {
    /// The record of one lock that a session takes, 147 bytes.
    pub struct LockRecord {
        /// The lock's name: printable ASCII without blanks, then zeros.
        pub name: [u8; MAX_LOCK_NAME_LEN] = LockName,
        /// The member whose program holds the lock or waits for it.
        pub member: MacAddr = MemberMAC,
        /// The member's number for the session of this program.
        pub session: U64 = Session,
        /// The mode of the take, as a [`LockMode`].
        pub mode: u8 = Mode,
        /// The grade of the take: 0: `alone`, 1: `all-heard`, 2: `quorum`.
        pub grade: u8 = Grade,
        /// The state of the take, as a [`LockState`].
        pub state: u8 = State,
        /// The place of the take in the lock's queue.
        pub ticket: U64 = Ticket,
        /// Progress of the take's fencing token.
        pub progress: U64 = Progress,
        /// Author of the take's fencing token.
        pub author: MacAddr = AuthorMAC,
        /// Number of the take's fencing token.
        pub number: U32 = AuthorTokenNum,
        /// The lock's flag.
        pub flag: U64 = Flag,
        /// Time since the take was requested, in nanoseconds, or [`NO_AGE`].
        pub age: U64 = Age,
        /// Name of the program for people: UTF-8, then zeros.
        pub program: [u8; MAX_LOCK_PROGRAM_LEN] = Program,
    }
}

layout! {
    /// The part of LOCKS before the records, 54 bytes.
    struct LocksLayout {
        token: TokenLayout = Token,
        serial: U64 = Serial,
        purpose: u8 = LocksPurpose,
        grade: u8 = Grade,
        digest: U64 = LocksHash,
        from: U64 = From,
        to: U64 = To,
        count: U16 = LockCount,
    }
}

/// The purpose of a LOCKS frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[repr(u8)]
pub enum LocksPurpose {
    /// The author asks the owner of the token for these locks.
    Request,
    /// The author asks the owner of the token to release these locks.
    Release,
    /// The owner of the token announces changed records.
    Change,
    /// The author stored the change of the owner.
    Agree,
    /// The author is alive, and asks the owner of the token to renew the leases of the author's locks.
    Renew,
    /// The owner of the token renewed the leases of the receiver's locks. The records are locks that a majority has
    /// stored now, or requests that the owner refuses.
    Renewed,
    /// A part of the author's records, for a member that asked for them.
    Part,
}

impl LocksPurpose {
    /// Returns the purpose with this number on the wire.
    pub const fn from_wire(purpose: u8) -> Option<Self> {
        match purpose {
            0 => Some(Self::Request),
            1 => Some(Self::Release),
            2 => Some(Self::Change),
            3 => Some(Self::Agree),
            4 => Some(Self::Renew),
            5 => Some(Self::Renewed),
            6 => Some(Self::Part),
            _ => None,
        }
    }
}

/// The mode of a take.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[repr(u8)]
pub enum LockMode {
    /// No other session may hold the lock at the same time.
    Exclusive,
    /// Other sessions may hold the lock at the same time, in the same mode.
    Shared,
}

impl LockMode {
    /// Returns the mode with this number on the wire.
    pub const fn from_wire(mode: u8) -> Option<Self> {
        match mode {
            0 => Some(Self::Exclusive),
            1 => Some(Self::Shared),
            _ => None,
        }
    }
}

/// The state of a take.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[repr(u8)]
pub enum LockState {
    /// The session waits for the lock.
    Waiting,
    /// The session holds the lock.
    Held,
    /// The session neither holds the lock nor waits for it.
    Gone,
    /// The take was refused.
    Refused,
}

impl LockState {
    /// Returns the state with this number on the wire.
    pub const fn from_wire(state: u8) -> Option<Self> {
        match state {
            0 => Some(Self::Waiting),
            1 => Some(Self::Held),
            2 => Some(Self::Gone),
            3 => Some(Self::Refused),
            _ => None,
        }
    }
}

impl LockRecord {
    /// Returns the lock's name. The name is `None` only for a record that was not decoded from a frame.
    pub fn name(&self) -> Option<&str> {
        let name = is_name(&self.name).then(|| before_zeros(&self.name))?;
        str::from_utf8(name).ok()
    }

    /// Returns the mode of the take. The mode is `None` only for a record that was not decoded from a frame.
    pub const fn mode(&self) -> Option<LockMode> {
        LockMode::from_wire(self.mode)
    }

    /// Returns the state of the take. The state is `None` only for a record that was not decoded from a frame.
    pub const fn state(&self) -> Option<LockState> {
        LockState::from_wire(self.state)
    }

    /// Returns the take's fencing token. The token is `None` only for a record that was not decoded from a frame.
    pub fn fence(&self) -> Option<Token> {
        let progress = self.progress.get();
        (progress <= PROGRESS_MAX).then_some(Token {
            progress,
            author: self.author,
            number: self.number.get(),
        })
    }

    /// Returns the time since the take was requested, in nanoseconds. The time is `None` if it is not known.
    pub fn age(&self) -> Option<u64> {
        Some(self.age.get()).filter(|&age| age != NO_AGE)
    }

    /// Returns the program's name. The name is empty if no name is known. The name is `None` only for a record that was
    /// not decoded from a frame.
    pub fn program(&self) -> Option<&str> {
        let program = before_zeros(&self.program);
        let is_padded = self.program[program.len()..].iter().all(|&byte| byte == 0);
        is_padded.then(|| str::from_utf8(program).ok())?
    }

    /// Returns the field that makes the record invalid, with its offset and the problem.
    fn find_problem(&self) -> Option<(Field, usize, Problem)> {
        let illegal = |field, at, value: u8| {
            let value = value.into();
            Some((field, at, Problem::Illegal { value }))
        };
        if !is_name(&self.name) {
            return illegal(Field::LockName, 0, self.name[0]);
        }
        if !self.member.is_unicast() {
            return Some((Field::MemberMAC, 64, Problem::NotUnicast));
        }
        if self.mode().is_none() {
            return illegal(Field::Mode, 78, self.mode);
        }
        if self.grade > GRADE_MAX {
            return illegal(Field::Grade, 79, self.grade);
        }
        if self.state().is_none() {
            return illegal(Field::State, 80, self.state);
        }
        let value = self.progress.get();
        if value > PROGRESS_MAX {
            let max = PROGRESS_MAX;
            return Some((Field::Progress, 89, Problem::TooLarge { value, max }));
        }
        if self.program().is_none() {
            return illegal(Field::Program, 123, self.program[0]);
        }
        None
    }
}

/// Returns the bytes before the first zero.
fn before_zeros(bytes: &[u8]) -> &[u8] {
    let len = bytes.iter().position(|&byte| byte == 0);
    &bytes[..len.unwrap_or(bytes.len())]
}

/// Returns a program's name in the form of [`LockRecord::program`]. The name ends before its first zero byte, and is
/// shortened to [`MAX_LOCK_PROGRAM_LEN`] bytes between two characters.
pub fn pack_program(program: &str) -> [u8; MAX_LOCK_PROGRAM_LEN] {
    let mut packed = [0; MAX_LOCK_PROGRAM_LEN];
    let mut len = before_zeros(program.as_bytes())
        .len()
        .min(MAX_LOCK_PROGRAM_LEN);
    while !program.is_char_boundary(len) {
        len -= 1;
    }
    packed[..len].copy_from_slice(&program.as_bytes()[..len]);
    packed
}

/// The fields of LOCKS.
type Locks<'a> = (
    Token,
    u64,
    LocksPurpose,
    u8,
    u64,
    u64,
    u64,
    &'a [LockRecord],
);

#[inline]
pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<Locks<'a>, DecodeError> {
    let offset = reader.offset();
    let head: &LocksLayout = reader.view()?;
    let token = head.token.validate(offset)?;
    let first = reader.offset();
    let at = offset + size_of::<TokenLayout>() + size_of::<U64>();
    let Some(purpose) = LocksPurpose::from_wire(head.purpose) else {
        let value = head.purpose.into();
        let problem = Problem::Illegal { value };
        return Err(DecodeError::new(Field::LocksPurpose, at, problem));
    };
    if head.grade > GRADE_MAX {
        let value = head.grade.into();
        let problem = Problem::Illegal { value };
        let at = at + size_of::<u8>();
        return Err(DecodeError::new(Field::Grade, at, problem));
    }
    let count = usize::from(head.count.get());
    if count > LOCKS_PER_FRAME_MAX {
        let (value, max) = (count as u64, LOCKS_PER_FRAME_MAX as u64);
        let problem = Problem::TooLarge { value, max };
        let at = first - size_of::<U16>();
        return Err(DecodeError::new(Field::LockCount, at, problem));
    }
    let locks: &[LockRecord] = reader.views(Field::Locks, count)?;
    for (at, lock) in locks.iter().enumerate() {
        if let Some((field, within, problem)) = lock.find_problem() {
            let offset = first + at * size_of::<LockRecord>() + within;
            return Err(DecodeError::new(field, offset, problem));
        }
    }
    let (digest, from, to) = (head.digest.get(), head.from.get(), head.to.get());
    let (serial, grade) = (head.serial.get(), head.grade);
    Ok((token, serial, purpose, grade, digest, from, to, locks))
}

#[inline]
#[expect(
    clippy::too_many_arguments,
    reason = "the message has as many fields as arguments"
)]
pub(super) fn write(
    writer: &mut Writer<'_>,
    token: Token,
    serial: u64,
    purpose: LocksPurpose,
    grade: u8,
    digest: u64,
    from: u64,
    to: u64,
    locks: &[LockRecord],
) {
    writer.require(grade <= GRADE_MAX, Field::Grade);
    writer.require_len(Field::Locks, locks.len(), LOCKS_PER_FRAME_MAX);
    for (field, ..) in locks.iter().filter_map(LockRecord::find_problem) {
        writer.require(false, field);
    }
    let token = TokenLayout::checked(token, writer);
    writer.layout(&LocksLayout {
        token,
        serial: serial.into(),
        purpose: purpose as u8,
        grade,
        digest: digest.into(),
        from: from.into(),
        to: to.into(),
        count: u16::try_from(locks.len()).unwrap_or(u16::MAX).into(),
    });
    writer.layout(locks);
}
