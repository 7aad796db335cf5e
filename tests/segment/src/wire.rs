//! Decoder and encoder of Lab2 frames. They use byte offsets. Tests compare the codec with this decoder and encoder.
//!
//! This module shares no code with `ring-codec`. `docs/reference/lab2/frames.md` describes the layouts.

use std::fmt;
use std::time::Duration;

use pnet::packet::Packet;
use pnet::packet::ethernet::{EtherType, EthernetPacket, MutableEthernetPacket};
use pnet::util::MacAddr;
use xxhash_rust::xxh3::xxh3_64;

/// Default EtherType of a ring.
pub const ETHERTYPE: u16 = 0x88b5;
/// Length of the header before the body.
const HEADER_LEN: usize = 8;
const PROFILE_LEN: usize = 43;
/// Maximum length of a token's data.
const DATA_LEN_MAX: usize = 1024;
const FRAME_MEMBERS_MAX: usize = 66;
/// Maximum number of members in a FORGET.
const FORGOTTEN_MAX: usize = 64;
/// Length of the signature at the end of a frame.
const SIGNATURE_LEN: usize = 44;
/// Offset of the mark in a signature.
const SIGNATURE_MARK_AT: usize = 20;
const SIGNATURE_MARK: [u8; 3] = *b"RKT";
/// Offset of the kind of the frame in a signature; 0 for a message of the ring.
const SIGNED_KIND_AT: usize = 23;
const KEY_ID_AT: usize = 24;

/// Identity of one tenure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token {
    /// Grows with every handover.
    pub progress: u64,
    pub author: MacAddr,
    pub number: u32,
}

impl Token {
    /// Whether this token beats the `other` token (smaller priority, `docs/reference/lab2/states.md T1`).
    pub fn beats(&self, other: &Self) -> bool {
        let priority = |token: &Self| (!token.progress, token.author, token.number);
        priority(self) < priority(other)
    }

    pub fn chain(&self) -> (MacAddr, u32) {
        (self.author, self.number)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest {
    pub size: u32,
    /// XXH3-64 of the members' encodings in order of their MACs.
    pub hash: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Member {
    pub mac: MacAddr,
    /// IPv6 address, or IPv4-mapped address. All bytes are 0 if the member has no IP.
    pub ip: [u8; 16],
}

/// Returns the digest of a table of these members.
pub fn digest_of(members: &[Member]) -> Digest {
    let mut sorted = members.to_vec();
    sorted.sort_unstable();
    let mut bytes = Vec::new();
    for member in &sorted {
        bytes.extend(member.mac.octets());
        bytes.extend(member.ip);
    }
    Digest {
        size: u32::try_from(sorted.len()).unwrap_or(u32::MAX),
        hash: xxh3_64(&bytes),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Kind 1.
    TakeToken {
        token: Token,
        /// Digest of the giver's table.
        digest: Digest,
        data: Vec<u8>,
    },
    /// Kind 2.
    TokenIsHere {
        token: Token,
        /// Digest of the holder's table.
        digest: Digest,
        data: Vec<u8>,
    },
    /// Kind 3.
    Ping {
        /// Digest of the author's table.
        digest: Digest,
        ip: [u8; 16],
    },
    /// Kind 4.
    TokenWasHereRecently {
        /// Strongest token that the author knows of.
        token: Token,
        holder: MacAddr,
    },
    /// Kind 5.
    WhereIsToken,
    /// Kind 6.
    GeneratingToken {
        /// Token of the candidate.
        token: Token,
    },
    /// Kind 7.
    RingMembers {
        /// Digest of the author's whole table.
        digest: Digest,
        /// The members of the table that fit into the frame.
        members: Vec<Member>,
    },
    /// Kind 8.
    WantToken,
    /// Kind 9.
    Leaving,
    /// Kind 10.
    Stamps {
        /// 0: more follows, 1: tell, 2: ask, 3: agree, 4: differ.
        purpose: u8,
        /// The stamps of the author's table that fit into the frame.
        stamps: Vec<Stamp>,
    },
    /// Kind 11.
    Forget {
        /// Members that should leave the tables.
        members: Vec<MacAddr>,
    },
    /// Kind 12.
    Locks {
        /// 0: request, 1: release, 2: change, 3: agree, 4: renew, 5: renewed, 6: part.
        purpose: u8,
        /// The records in the frame.
        locks: Vec<Lock>,
    },
    /// Kind 13.
    LocksQuestion {
        /// First key that the author wants.
        from: u64,
    },
    /// Kinds 14 to 17: SURVEY, REPORT, PROBE and MEASURES.
    OfSurvey {
        /// The kind.
        kind: u8,
    },
    /// An invalid message, and the reason.
    Invalid(&'static str),
}

impl Message {
    /// Returns the payload of a frame by `author` with this message. Returns no bytes for [`Message::Invalid`].
    pub fn payload(&self, author: MacAddr) -> Vec<u8> {
        let (kind, body) = match self {
            Self::TakeToken {
                token,
                digest,
                data,
            } => (1, tenure_bytes(token, digest, data)),
            Self::TokenIsHere {
                token,
                digest,
                data,
            } => (2, tenure_bytes(token, digest, data)),
            Self::Ping { digest, ip } => (3, [&digest_bytes(digest)[..], ip].concat()),
            Self::TokenWasHereRecently { token, holder } => {
                (4, [&token_bytes(token)[..], &holder.octets()].concat())
            }
            Self::WhereIsToken => (5, Vec::new()),
            Self::GeneratingToken { token } => (6, token_bytes(token)),
            Self::RingMembers { digest, members } => (7, members_bytes(digest, members)),
            Self::WantToken => (8, Vec::new()),
            Self::Leaving => (9, Vec::new()),
            Self::Forget { members } => (11, forget_bytes(members)),
            // Only daemons send these messages, never a test.
            Self::Stamps { .. }
            | Self::Locks { .. }
            | Self::LocksQuestion { .. }
            | Self::OfSurvey { .. }
            | Self::Invalid(_) => return Vec::new(),
        };
        [&[kind, 0][..], &author.octets(), &body].concat()
    }

    pub fn token(&self) -> Option<Token> {
        match self {
            Self::TakeToken { token, .. }
            | Self::TokenIsHere { token, .. }
            | Self::TokenWasHereRecently { token, .. }
            | Self::GeneratingToken { token } => Some(*token),
            _ => None,
        }
    }

    /// Returns the digest of the author's table in the message.
    pub fn digest(&self) -> Option<Digest> {
        match self {
            Self::TakeToken { digest, .. }
            | Self::TokenIsHere { digest, .. }
            | Self::Ping { digest, .. }
            | Self::RingMembers { digest, .. } => Some(*digest),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    pub name: String,
    pub runner: MacAddr,
    /// 0: begun, 1: done, 2: failed, 3: void.
    pub outcome: u8,
    /// Time during which the run counts, in nanoseconds.
    pub period: u64,
}

/// The parts of a record of a lock that tests compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    pub name: String,
    pub member: MacAddr,
    /// 0: exclusive, 1: shared.
    pub mode: u8,
    /// 0: `alone`, 1: `all-heard`, 2: `quorum`.
    pub grade: u8,
    /// 0: waiting, 1: held, 2: gone, 3: refused.
    pub state: u8,
}

/// The parts of a profile that tests compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    pub flags: u8,
    /// Digest of the author's constants.
    pub constants: u64,
    /// Number of members that the author expects.
    pub expect: u32,
}

/// Confirmation of a tenure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Confirmation {
    pub token: Token,
    /// Number of the confirmed heartbeat.
    pub beat: u32,
    pub lasts: Duration,
}

#[derive(Clone, PartialEq, Eq)]
pub struct Seen {
    /// Time of the frame, on the clock of [`crate::now`].
    pub at: Duration,
    /// Node that sent the frame, even if the frame names a different author.
    pub port: usize,
    pub dst: MacAddr,
    pub src: MacAddr,
    /// messageAuthorMAC.
    pub author: MacAddr,
    pub message: Message,
    pub bytes: Vec<u8>,
}

impl Seen {
    /// Reads a whole frame. Returns `None` if the frame is too short for Ethernet, or if it contains a challenge or an
    /// answer instead of a message.
    pub fn read(at: Duration, port: usize, bytes: Vec<u8>) -> Option<Self> {
        if signature(&bytes).is_some_and(|it| it[SIGNED_KIND_AT] != 0) {
            return None;
        }
        let packet = EthernetPacket::new(&bytes)?;
        let (dst, src) = (packet.get_destination(), packet.get_source());
        let (author, message) = read_payload(packet.payload(), src);
        Some(Self {
            at,
            port,
            dst,
            src,
            author,
            message,
            bytes,
        })
    }

    /// Whether the frame's author reports that it hears no other member. The result is `None` if the frame has no
    /// profile.
    pub fn author_is_deaf(&self) -> Option<bool> {
        Some(self.profile()?.flags & 1 != 0)
    }

    pub fn profile(&self) -> Option<Profile> {
        let body = self.body()?;
        let (body_len, trailer_len) = trailer_place(&self.message)?;
        let has_trailer = trailer_len > 0 && array_at(body, body_len) == Some(*b"RGD1");
        let at = body_len + if has_trailer { trailer_len } else { 0 };
        let is_there = array_at(body, at) == Some(*b"RGD2") && body.len() >= at + PROFILE_LEN;
        is_there.then(|| {
            Some(Profile {
                flags: body[at + 4],
                constants: u64::from_be_bytes(array_at(body, at + 7)?),
                expect: u32::from_be_bytes(array_at(body, at + 39)?),
            })
        })?
    }

    /// Returns the id of the key that signed the frame; `None` if the frame has no signature.
    pub fn key(&self) -> Option<u32> {
        signing_key(&self.bytes)
    }

    /// Returns the number of the heartbeat in its tenure, if the heartbeat asks for confirmations.
    pub fn beat(&self) -> Option<u32> {
        let Message::TokenIsHere { .. } = self.message else {
            return None;
        };
        let trailer: [u8; 8] = self.trailer()?;
        Some(u32::from_be_bytes(array_at(&trailer, 4)?))
    }

    /// Returns the confirmation in a PING.
    pub fn confirmation(&self) -> Option<Confirmation> {
        let trailer = self.ping_trailer()?;
        (trailer[4] & 1 != 0).then(|| {
            Some(Confirmation {
                token: token_at(&trailer[5..])?,
                beat: u32::from_be_bytes(array_at(&trailer, 23)?),
                lasts: Duration::from_nanos(u64::from_be_bytes(array_at(&trailer, 27)?)),
            })
        })?
    }

    /// Whether a PING announces that its author is paused.
    pub fn author_is_paused(&self) -> bool {
        self.ping_trailer().is_some_and(|it| it[4] & 2 != 0)
    }

    fn ping_trailer(&self) -> Option<[u8; 35]> {
        let Message::Ping { .. } = self.message else {
            return None;
        };
        self.trailer()
            .filter(|trailer: &[u8; 35]| matches!(trailer[4], 1..=3))
    }

    fn trailer<const N: usize>(&self) -> Option<[u8; N]> {
        let (at, _) = trailer_place(&self.message)?;
        array_at(self.body()?, at).filter(|trailer: &[u8; N]| trailer.starts_with(b"RGD1"))
    }

    /// Returns the bytes after the header of the message.
    fn body(&self) -> Option<&[u8]> {
        let from = MutableEthernetPacket::minimum_packet_size() + HEADER_LEN;
        self.bytes.get(from..)
    }

    pub fn is_broadcast(&self) -> bool {
        self.dst == MacAddr::broadcast()
    }
}

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            at,
            port,
            dst,
            message,
            ..
        } = self;
        write!(f, "{at:?} node {port} to {dst}: {message:?}")
    }
}

/// Returns the signature at the end of a frame, if there is one.
fn signature(frame: &[u8]) -> Option<&[u8]> {
    let signature = &frame[frame.len().checked_sub(SIGNATURE_LEN)?..];
    (array_at(signature, SIGNATURE_MARK_AT) == Some(SIGNATURE_MARK)).then_some(signature)
}

/// Returns the id of the key that signed a message; `None` if the message has no signature.
pub fn signing_key(message: &[u8]) -> Option<u32> {
    let id = array_at(signature(message)?, KEY_ID_AT)?;
    Some(u32::from_be_bytes(id))
}

/// Returns a signature with the id of a key, but with a wrong MAC.
pub fn forged_signature(key: u32) -> [u8; SIGNATURE_LEN] {
    let mut signature = [7; SIGNATURE_LEN];
    signature[SIGNATURE_MARK_AT..][..3].copy_from_slice(&SIGNATURE_MARK);
    signature[SIGNED_KIND_AT] = 0;
    signature[KEY_ID_AT..][..4].copy_from_slice(&key.to_be_bytes());
    signature
}

pub fn frame(dst: MacAddr, src: MacAddr, ethertype: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; MutableEthernetPacket::minimum_packet_size() + payload.len()];
    if let Some(mut packet) = MutableEthernetPacket::new(&mut bytes) {
        packet.set_destination(dst);
        packet.set_source(src);
        packet.set_ethertype(EtherType::new(ethertype));
        packet.set_payload(payload);
    }
    bytes
}

fn read_payload(payload: &[u8], src: MacAddr) -> (MacAddr, Message) {
    let Some(author) = mac_at(payload, 2) else {
        return (MacAddr::zero(), Message::Invalid("shorter than a header"));
    };
    let message = if payload[1] != 0 {
        Message::Invalid("reserved is not 0")
    } else if author != src {
        Message::Invalid("the author is not the source")
    } else if author.is_multicast() || author.is_zero() {
        Message::Invalid("the author is not the address of a station")
    } else {
        let body = read_body(payload[0], &payload[HEADER_LEN..]);
        body.unwrap_or(Message::Invalid("shorter than its kind, or over a bound"))
    };
    let message = match message.token() {
        Some(token) if token.progress >= 1 << 63 => Message::Invalid("progress of 2^63 or more"),
        _ => message,
    };
    (author, message)
}

fn read_body(kind: u8, body: &[u8]) -> Option<Message> {
    Some(match kind {
        1 => Message::TakeToken {
            token: token_at(body)?,
            digest: digest_at(body, 18)?,
            data: data_at(body)?,
        },
        2 => Message::TokenIsHere {
            token: token_at(body)?,
            digest: digest_at(body, 18)?,
            data: data_at(body)?,
        },
        3 => Message::Ping {
            digest: digest_at(body, 0)?,
            ip: array_at(body, 12)?,
        },
        4 => Message::TokenWasHereRecently {
            token: token_at(body)?,
            holder: mac_at(body, 18)?,
        },
        5 => Message::WhereIsToken,
        6 => Message::GeneratingToken {
            token: token_at(body)?,
        },
        7 => Message::RingMembers {
            digest: digest_at(body, 0)?,
            members: members_at(body)?,
        },
        8 => Message::WantToken,
        9 => Message::Leaving,
        10 => Message::Stamps {
            purpose: *body.get(22).filter(|&&purpose| purpose <= 4)?,
            stamps: stamps_at(body)?,
        },
        11 => Message::Forget {
            members: forgotten_at(body)?,
        },
        12 => Message::Locks {
            purpose: *body.get(26).filter(|&&purpose| purpose <= 6)?,
            locks: locks_at(body)?,
        },
        13 => Message::LocksQuestion {
            from: u64::from_be_bytes(array_at(body.get(..521)?, 1)?),
        },
        14..=17 => Message::OfSurvey {
            kind: survey_kind(kind, body)?,
        },
        _ => Message::Invalid("unknown kind"),
    })
}

/// Returns the kind of a message of a survey. Returns `None` if its body is too short for the lists that it announces.
fn survey_kind(kind: u8, body: &[u8]) -> Option<u8> {
    let count = |at| Some(usize::from(u16::from_be_bytes(array_at(body, at)?)));
    let needed = match kind {
        14 => 14 + 6 * count(12)?,
        15 => 48 + usize::from(*body.get(45)?) + count(46)?,
        16 => 26 + count(24)?,
        _ => 22 + 29 * count(20)?,
    };
    (body.len() >= needed).then_some(kind)
}

/// Returns the length of the body of a message that may have trailers, and the length of its first trailer.
fn trailer_place(message: &Message) -> Option<(usize, usize)> {
    Some(match message {
        Message::TokenIsHere { data, .. } => (32 + data.len(), 8),
        Message::Ping { .. } => (28, 35),
        Message::GeneratingToken { .. } => (18, 0),
        Message::WhereIsToken | Message::WantToken => (0, 0),
        _ => return None,
    })
}

fn stamps_at(body: &[u8]) -> Option<Vec<Stamp>> {
    let count = usize::from(u16::from_be_bytes(array_at(body, 31)?));
    let stamp = |at: usize| {
        let bytes = body.get(33 + at * 75..33 + (at + 1) * 75)?;
        let name = bytes[..32].split(|&byte| byte == 0).next()?;
        let is_legal = !name.is_empty() && name.iter().all(u8::is_ascii_graphic);
        Some(Stamp {
            name: is_legal.then(|| String::from_utf8_lossy(name).into_owned())?,
            runner: mac_at(bytes, 44)?,
            outcome: Some(bytes[50]).filter(|&outcome| outcome <= 3)?,
            period: u64::from_be_bytes(array_at(bytes, 51)?),
        })
    };
    (count <= 19).then(|| (0..count).map(stamp).collect())?
}

fn locks_at(body: &[u8]) -> Option<Vec<Lock>> {
    let count = usize::from(u16::from_be_bytes(array_at(body, 52)?));
    let lock = |at: usize| {
        let bytes = body.get(54 + at * 147..54 + (at + 1) * 147)?;
        let name = bytes[..64].split(|&byte| byte == 0).next()?;
        let is_legal = !name.is_empty() && name.iter().all(u8::is_ascii_graphic);
        Some(Lock {
            name: is_legal.then(|| String::from_utf8_lossy(name).into_owned())?,
            member: mac_at(bytes, 64)?,
            mode: Some(bytes[78]).filter(|&mode| mode <= 1)?,
            grade: Some(bytes[79]).filter(|&grade| grade <= 2)?,
            state: Some(bytes[80]).filter(|&state| state <= 3)?,
        })
    };
    (count <= 9).then(|| (0..count).map(lock).collect())?
}

fn array_at<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..offset + N)?.try_into().ok()
}

fn mac_at(bytes: &[u8], offset: usize) -> Option<MacAddr> {
    array_at::<6>(bytes, offset).map(MacAddr::from)
}

fn token_at(body: &[u8]) -> Option<Token> {
    Some(Token {
        progress: u64::from_be_bytes(array_at(body, 0)?),
        author: mac_at(body, 8)?,
        number: u32::from_be_bytes(array_at(body, 14)?),
    })
}

fn digest_at(body: &[u8], offset: usize) -> Option<Digest> {
    Some(Digest {
        size: u32::from_be_bytes(array_at(body, offset)?),
        hash: u64::from_be_bytes(array_at(body, offset + 4)?),
    })
}

fn data_at(body: &[u8]) -> Option<Vec<u8>> {
    let length = usize::from(u16::from_be_bytes(array_at(body, 30)?));
    if length > DATA_LEN_MAX {
        return None;
    }
    body.get(32..32 + length).map(<[u8]>::to_vec)
}

fn members_at(body: &[u8]) -> Option<Vec<Member>> {
    let count = usize::from(u16::from_be_bytes(array_at(body, 12)?));
    if count > FRAME_MEMBERS_MAX {
        return None;
    }
    let offsets = (0..count).map(|index| 14 + 22 * index);
    offsets
        .map(|offset| {
            Some(Member {
                mac: mac_at(body, offset)?,
                ip: array_at(body, offset + 6)?,
            })
        })
        .collect()
}

fn forgotten_at(body: &[u8]) -> Option<Vec<MacAddr>> {
    let count = usize::from(u16::from_be_bytes(array_at(body, 0)?));
    if count > FORGOTTEN_MAX {
        return None;
    }
    (0..count).map(|at| mac_at(body, 2 + 6 * at)).collect()
}

fn forget_bytes(members: &[MacAddr]) -> Vec<u8> {
    let count = u16::try_from(members.len()).unwrap_or(u16::MAX);
    let mut bytes = count.to_be_bytes().to_vec();
    bytes.extend(members.iter().flat_map(MacAddr::octets));
    bytes
}

fn token_bytes(token: &Token) -> Vec<u8> {
    let Token {
        progress,
        author,
        number,
    } = token;
    [
        &progress.to_be_bytes()[..],
        &author.octets(),
        &number.to_be_bytes(),
    ]
    .concat()
}

fn digest_bytes(digest: &Digest) -> Vec<u8> {
    [&digest.size.to_be_bytes()[..], &digest.hash.to_be_bytes()].concat()
}

fn tenure_bytes(token: &Token, digest: &Digest, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len()).unwrap_or(u16::MAX).to_be_bytes();
    [
        &token_bytes(token)[..],
        &digest_bytes(digest),
        &length,
        data,
    ]
    .concat()
}

fn members_bytes(digest: &Digest, members: &[Member]) -> Vec<u8> {
    let count = u16::try_from(members.len())
        .unwrap_or(u16::MAX)
        .to_be_bytes();
    let mut bytes = [&digest_bytes(digest)[..], &count].concat();
    for member in members {
        bytes.extend(member.mac.octets());
        bytes.extend(member.ip);
    }
    bytes
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
