//! Whole frames: Ethernet header, message header, message.

use zerocopy::byteorder::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::layout::{
    BatonLayout, DigestLayout, HeaderLayout, Member, MembersLayout, PingLayout, RecentLayout,
    TokenLayout,
};
use super::{
    ETHERNET_HEADER_LEN, Kind, MAX_DATA_LEN, MAX_MEMBERS_PER_FRAME, MAX_PROGRESS, Message, Token,
};
use crate::{DecodeError, EncodeError, MacAddr, Problem};

/// An Ethernet II header, 14 bytes.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct EthernetHeader {
    /// Where the frame goes.
    pub destination: MacAddr,
    /// The station that sent it.
    pub source: MacAddr,
    /// What it carries.
    pub ethertype: U16,
}

/// A message with the addresses of the frame that carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// A member's address or [`MacAddr::BROADCAST`].
    pub destination: MacAddr,
    /// The Ethernet source address, which is the message's author.
    pub author: MacAddr,
    /// What the author says.
    pub message: Message<'a>,
}

const fn error(field: &'static str, offset: usize, problem: Problem) -> DecodeError {
    DecodeError {
        field,
        offset,
        problem,
    }
}

/// Takes a fixed layout off the front of `rest`, which began at `offset`.
fn take<'a, T>(
    rest: &'a [u8],
    field: &'static str,
    offset: usize,
) -> Result<(&'a T, &'a [u8]), DecodeError>
where
    T: FromBytes + KnownLayout + Immutable + Unaligned,
{
    T::ref_from_prefix(rest).map_err(|_| {
        error(
            field,
            offset,
            Problem::Truncated {
                need: size_of::<T>(),
                have: rest.len(),
            },
        )
    })
}

fn legal(token: TokenLayout, offset: usize) -> Result<Token, DecodeError> {
    let token = Token::from(token);
    if token.progress > MAX_PROGRESS {
        let problem = Problem::TooLarge {
            value: token.progress,
            max: MAX_PROGRESS,
        };
        return Err(error("progress", offset, problem));
    }
    Ok(token)
}

const BODY: usize = ETHERNET_HEADER_LEN + size_of::<HeaderLayout>();

impl<'a> Frame<'a> {
    /// Reads a whole Ethernet frame; bytes after the message's own length are padding.
    /// The EtherType is not looked at: the socket's filter has done that.
    ///
    /// # Errors
    /// Names the first field that breaks section 1 of `lab2.md`, and its offset in the frame.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let (ethernet, rest) = take::<EthernetHeader>(bytes, "ethernet", 0)?;
        let (header, body) = take::<HeaderLayout>(rest, "header", ETHERNET_HEADER_LEN)?;
        let Some(kind) = Kind::from_wire(header.kind) else {
            let problem = Problem::Unknown {
                value: header.kind.into(),
            };
            return Err(error("kind", ETHERNET_HEADER_LEN, problem));
        };
        if header.reserved != 0 {
            let problem = Problem::Reserved {
                value: header.reserved.into(),
            };
            return Err(error("reserved", ETHERNET_HEADER_LEN + 1, problem));
        }
        if !header.author.is_station() {
            return Err(error(
                "messageAuthorMAC",
                ETHERNET_HEADER_LEN + 2,
                Problem::NotAStation,
            ));
        }
        if header.author != ethernet.source {
            return Err(error(
                "messageAuthorMAC",
                ETHERNET_HEADER_LEN + 2,
                Problem::NotTheSource,
            ));
        }
        let message = Message::decode(kind, body)?;
        Ok(Self {
            destination: ethernet.destination,
            author: header.author,
            message,
        })
    }

    /// How many bytes [`encode`](Self::encode) writes.
    #[must_use]
    pub const fn encoded_len(&self) -> usize {
        BODY + self.message.body_len()
    }

    /// Writes the whole Ethernet frame at the start of `buf` and returns its length in bytes.
    ///
    /// # Errors
    /// Writes nothing if `buf` is too small or the message breaks section 1 of `lab2.md`.
    pub fn encode(&self, ethertype: u16, buf: &mut [u8]) -> Result<usize, EncodeError> {
        self.message.check()?;
        let need = self.encoded_len();
        let have = buf.len();
        let Some(buf) = buf.get_mut(..need) else {
            return Err(EncodeError::BufferTooSmall { need, have });
        };
        let ethernet = EthernetHeader {
            destination: self.destination,
            source: self.author,
            ethertype: ethertype.into(),
        };
        let header = HeaderLayout {
            kind: self.message.kind() as u8,
            reserved: 0,
            author: self.author,
        };
        let buf = put(buf, &ethernet);
        let buf = put(buf, &header);
        self.message.encode_body(buf);
        Ok(need)
    }
}

/// Writes a layout at the start of `buf` and returns what follows it.
fn put<'b, T: IntoBytes + Immutable + ?Sized>(buf: &'b mut [u8], value: &T) -> &'b mut [u8] {
    let bytes = value.as_bytes();
    let (head, tail) = buf.split_at_mut(bytes.len());
    head.copy_from_slice(bytes);
    tail
}

impl<'a> Message<'a> {
    fn decode(kind: Kind, body: &'a [u8]) -> Result<Self, DecodeError> {
        match kind {
            Kind::TakeToken | Kind::TokenIsHere => {
                let (baton, rest) = take::<BatonLayout>(body, "token", BODY)?;
                let token = legal(baton.token, BODY)?;
                let len = usize::from(baton.data_len.get());
                let len_at = BODY + size_of::<BatonLayout>() - 2;
                if len > MAX_DATA_LEN {
                    let problem = Problem::TooLarge {
                        value: len as u64,
                        max: MAX_DATA_LEN as u64,
                    };
                    return Err(error("dataLen", len_at, problem));
                }
                let Some(data) = rest.get(..len) else {
                    let problem = Problem::Truncated {
                        need: len,
                        have: rest.len(),
                    };
                    return Err(error("data", len_at + 2, problem));
                };
                let digest = baton.digest.into();
                Ok(match kind {
                    Kind::TakeToken => Self::TakeToken {
                        token,
                        digest,
                        data,
                    },
                    _ => Self::TokenIsHere {
                        token,
                        digest,
                        data,
                    },
                })
            }
            Kind::Ping => {
                let (ping, _) = take::<PingLayout>(body, "digest", BODY)?;
                Ok(Self::Ping {
                    digest: ping.digest.into(),
                    ip: ping.ip,
                })
            }
            Kind::TokenWasHereRecently => {
                let (recent, _) = take::<RecentLayout>(body, "token", BODY)?;
                let token = legal(recent.token, BODY)?;
                Ok(Self::TokenWasHereRecently {
                    token,
                    holder: recent.holder,
                })
            }
            Kind::WhereIsToken => Ok(Self::WhereIsToken),
            Kind::GeneratingToken => {
                let (token, _) = take::<TokenLayout>(body, "token", BODY)?;
                Ok(Self::GeneratingToken {
                    token: legal(*token, BODY)?,
                })
            }
            Kind::RingMembers => {
                let (head, rest) = take::<MembersLayout>(body, "digest", BODY)?;
                let count = usize::from(head.count.get());
                let count_at = BODY + size_of::<DigestLayout>();
                if count > MAX_MEMBERS_PER_FRAME {
                    let max = MAX_MEMBERS_PER_FRAME as u64;
                    let problem = Problem::TooLarge {
                        value: count as u64,
                        max,
                    };
                    return Err(error("count", count_at, problem));
                }
                let Ok((members, _)) = <[Member]>::ref_from_prefix_with_elems(rest, count) else {
                    let need = count * size_of::<Member>();
                    let problem = Problem::Truncated {
                        need,
                        have: rest.len(),
                    };
                    return Err(error("members", count_at + 2, problem));
                };
                if let Some(bad) = members.iter().position(|m| !m.mac.is_station()) {
                    let offset = count_at + 2 + bad * size_of::<Member>();
                    return Err(error("mac", offset, Problem::NotAStation));
                }
                Ok(Self::RingMembers {
                    digest: head.digest.into(),
                    members,
                })
            }
            Kind::WantToken => Ok(Self::WantToken),
            Kind::Leaving => Ok(Self::Leaving),
        }
    }

    const fn body_len(&self) -> usize {
        match self {
            Self::TakeToken { data, .. } | Self::TokenIsHere { data, .. } => {
                size_of::<BatonLayout>() + data.len()
            }
            Self::Ping { .. } => size_of::<PingLayout>(),
            Self::TokenWasHereRecently { .. } => size_of::<RecentLayout>(),
            Self::GeneratingToken { .. } => size_of::<TokenLayout>(),
            Self::RingMembers { members, .. } => {
                size_of::<MembersLayout>() + size_of_val::<[Member]>(members)
            }
            Self::WhereIsToken | Self::WantToken | Self::Leaving => 0,
        }
    }

    fn check(&self) -> Result<(), EncodeError> {
        match self {
            Self::TakeToken { token, data, .. } | Self::TokenIsHere { token, data, .. } => {
                if data.len() > MAX_DATA_LEN {
                    let (len, max) = (data.len(), MAX_DATA_LEN);
                    return Err(EncodeError::TooLong {
                        field: "data",
                        len,
                        max,
                    });
                }
                check_progress(token)
            }
            Self::TokenWasHereRecently { token, .. } | Self::GeneratingToken { token } => {
                check_progress(token)
            }
            Self::RingMembers { members, .. } if members.len() > MAX_MEMBERS_PER_FRAME => {
                let (len, max) = (members.len(), MAX_MEMBERS_PER_FRAME);
                Err(EncodeError::TooLong {
                    field: "members",
                    len,
                    max,
                })
            }
            _ => Ok(()),
        }
    }

    fn encode_body(&self, buf: &mut [u8]) {
        match *self {
            Self::TakeToken {
                token,
                digest,
                data,
            }
            | Self::TokenIsHere {
                token,
                digest,
                data,
            } => {
                // `check` has bounded the length by 1024.
                #[expect(clippy::cast_possible_truncation)]
                let data_len = (data.len() as u16).into();
                let baton = BatonLayout {
                    token: token.into(),
                    digest: digest.into(),
                    data_len,
                };
                let rest = put(buf, &baton);
                put(rest, data);
            }
            Self::Ping { digest, ip } => {
                put(
                    buf,
                    &PingLayout {
                        digest: digest.into(),
                        ip,
                    },
                );
            }
            Self::TokenWasHereRecently { token, holder } => {
                put(
                    buf,
                    &RecentLayout {
                        token: token.into(),
                        holder,
                    },
                );
            }
            Self::GeneratingToken { token } => {
                put(buf, &TokenLayout::from(token));
            }
            Self::RingMembers { digest, members } => {
                // `check` has bounded the count by 66.
                #[expect(clippy::cast_possible_truncation)]
                let count = (members.len() as u16).into();
                let rest = put(
                    buf,
                    &MembersLayout {
                        digest: digest.into(),
                        count,
                    },
                );
                put(rest, members);
            }
            Self::WhereIsToken | Self::WantToken | Self::Leaving => {}
        }
    }
}

fn check_progress(token: &Token) -> Result<(), EncodeError> {
    if token.progress > MAX_PROGRESS {
        return Err(EncodeError::Illegal { field: "progress" });
    }
    Ok(())
}
