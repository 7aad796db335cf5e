//! Whole frames: Ethernet header, message header and message.

use super::parts::{EthernetHeader, HeaderLayout, PreludeLayout};
use super::{
    Card, ETHERNET_HEADER_LEN, Kind, LocksStanding, Message, PauseNotice, Profile, host_name,
    preference,
};
use crate::reader::Reader;
use crate::writer::{self, Writer};
use crate::{DecodeError, EncodeError, Field, MacAddr, Problem};

/// A message with the addresses of its frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// A member's address or [`MacAddr::BROADCAST`].
    pub destination: MacAddr,
    /// The Ethernet source address: the message's author.
    pub author: MacAddr,
    /// The message.
    pub message: Message<'a>,
    /// The author's profile.
    pub profile: Option<Profile>,
    /// The author's card. It exists only together with a profile.
    pub card: Option<Card<'a>>,
    /// The author's standing.
    pub locks: Option<LocksStanding>,
    /// The author's preference, or 0. It exists only together with a profile, in [the last
    /// trailer](super::preference).
    pub preference: u8,
}

impl PreludeLayout {
    /// Returns the kind of the message, or the first error in the headers.
    #[inline]
    fn validate(&self) -> Result<Kind, DecodeError> {
        let HeaderLayout {
            kind,
            reserved,
            author,
        } = self.header;
        let wrong =
            |field, at, problem| Err(DecodeError::new(field, ETHERNET_HEADER_LEN + at, problem));
        let Some(legal) = Kind::from_wire(kind) else {
            let value = kind.into();
            return wrong(Field::Kind, 0, Problem::Unknown { value });
        };
        if reserved != 0 {
            let value = reserved.into();
            return wrong(Field::Reserved, 1, Problem::Reserved { value });
        }
        if !author.is_unicast() {
            return wrong(Field::MessageAuthorMAC, 2, Problem::NotUnicast);
        }
        if author != self.ethernet.source {
            return wrong(Field::MessageAuthorMAC, 2, Problem::NotTheSource);
        }
        Ok(legal)
    }
}

impl<'a> Frame<'a> {
    /// Reads a whole Ethernet frame. Ignores the bytes after the message, because they are padding. Does not check the
    /// EtherType, because the socket's filter already checked it.
    ///
    /// # Errors
    /// Returns an error that names the first field that breaks the [format](super#refused-frames), and its offset in
    /// the frame.
    #[inline]
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let prelude: &PreludeLayout = reader.view()?;
        let kind = prelude.validate()?;
        let message = Message::read(kind, &mut reader)?;
        let profile = Profile::read(kind, &mut reader);
        let card = profile.and_then(|_| Card::read(&mut reader));
        let locks = LocksStanding::read(kind, &mut reader);
        let card = card.map(|card| Card {
            host_name: host_name::read(&mut reader),
            pause: PauseNotice::read(&mut reader),
            ..card
        });
        Ok(Self {
            destination: prelude.ethernet.destination,
            author: prelude.header.author,
            message,
            profile,
            card,
            locks,
            preference: profile.map_or(0, |_| preference::read(&mut reader)),
        })
    }

    /// Returns how many bytes [`encode`](Self::encode) writes.
    pub fn encoded_len(&self) -> usize {
        writer::measure(|w| self.write(0, w))
    }

    /// Writes the whole Ethernet frame at the start of `buf` and returns its length in bytes.
    ///
    /// # Errors
    /// Writes nothing if `buf` is too small or the message breaks the [format](super).
    #[inline]
    pub fn encode(&self, ethertype: u16, buf: &mut [u8]) -> Result<usize, EncodeError> {
        writer::encode(buf, |w| self.write(ethertype, w))
    }

    #[inline]
    fn write(&self, ethertype: u16, writer: &mut Writer<'_>) {
        writer.require(self.author.is_unicast(), Field::MessageAuthorMAC);
        writer.layout(&PreludeLayout {
            ethernet: EthernetHeader {
                destination: self.destination,
                source: self.author,
                ethertype: ethertype.into(),
            },
            header: HeaderLayout {
                kind: self.message.kind() as u8,
                reserved: 0,
                author: self.author,
            },
        });
        self.message.write(writer);
        if let Some(profile) = self.profile {
            profile.write(self.message.kind(), writer);
        }
        if let Some(card) = self.card {
            writer.require(self.profile.is_some(), Field::Card);
            card.write(writer);
        }
        if let Some(locks) = self.locks {
            locks.write(self.message.kind(), writer);
        }
        if let Some(name) = self.card.and_then(|card| card.host_name) {
            host_name::write(name, writer);
        }
        if let Some(pause) = self.card.and_then(|card| card.pause) {
            pause.write(writer);
        }
        if self.preference > 0 {
            writer.require(self.profile.is_some(), Field::Preference);
            preference::write(self.preference, writer);
        }
    }
}
