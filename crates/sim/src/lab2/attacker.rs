//! Frames with which an attacker breaks a ring without keys.

use ring_codec::MacAddr;
use ring_codec::lab2::{ETHERNET_HEADER_LEN, ETHERTYPE, FRAME_LEN_MAX, Frame, Message, Token};

use super::Inspect;
use super::frame_token::token_of;
use super::system::{Lab2System, World};
use crate::kernel::system;

/// The possible differences between the progress of a forged token and the progress of a node's token.
const STEPS: [u64; 4] = [0, 1, 1_000, 1_000_000_000];
const FORGERIES: u64 = 8;

impl<M: Inspect> World<M> {
    /// Draws the address of a node.
    fn draw_address(&mut self) -> MacAddr {
        let at = self.rng.index(self.nodes.len());
        self.nodes[at].own.mac
    }

    /// Writes another source or destination into a frame.
    pub(super) fn readdress(&mut self, message: &mut system::Message<Lab2System<M>>) {
        let mut bytes = message.bytes.to_vec();
        let address = self.draw_address().0;
        let at = self.rng.pick(&[0, size_of::<MacAddr>()]);
        if let Some(field) = bytes.get_mut(at..at + size_of::<MacAddr>()) {
            field.copy_from_slice(&address);
        }
        // The message also contains the source address.
        let author = ETHERNET_HEADER_LEN + 2;
        if at > 0
            && self.rng.chance(500)
            && let Some(field) = bytes.get_mut(author..author + size_of::<MacAddr>())
        {
            field.copy_from_slice(&address);
        }
        message.bytes = bytes.into();
    }

    /// Forges a frame: a LEAVING or a stronger token in the name of a node, or a heard frame with another author.
    pub(super) fn forge(
        &mut self,
        heard: &system::Message<Lab2System<M>>,
    ) -> system::Message<Lab2System<M>> {
        let (author, other) = (self.draw_address(), self.draw_address());
        let token = self.draw_strong_token(&heard.bytes, author);
        let decoded = Frame::decode(&heard.bytes).ok();
        let digest = match decoded.as_ref().map(|frame| &frame.message) {
            Some(
                Message::TakeToken { digest, .. }
                | Message::TokenIsHere { digest, .. }
                | Message::Ping { digest, .. }
                | Message::RingMembers { digest, .. },
            ) => *digest,
            _ => ring_codec::lab2::Digest { size: 2, hash: 1 },
        };
        let members = [other];
        let (destination, message) = match self.rng.below(FORGERIES) {
            0 | 1 => (
                other,
                Message::TakeToken {
                    token,
                    digest,
                    data: b"forged",
                },
            ),
            2 => (
                MacAddr::BROADCAST,
                Message::TokenIsHere {
                    token,
                    digest,
                    data: b"forged",
                    beat: Some(0),
                },
            ),
            3 => (MacAddr::BROADCAST, Message::Leaving),
            4 => (MacAddr::BROADCAST, Message::Forget { members: &members }),
            5 => (MacAddr::BROADCAST, Message::GeneratingToken { token }),
            6 => (other, Message::WantToken),
            // A frame of the ring with another author.
            _ => match &decoded {
                Some(frame) => (frame.destination, frame.message),
                None => (MacAddr::BROADCAST, Message::WhereIsToken),
            },
        };
        let frame = Frame {
            destination,
            author,
            message,
            profile: None,
            card: None,
            locks: None,
            preference: 0,
        };
        let mut buffer = [0; FRAME_LEN_MAX];
        let len = frame.encode(ETHERTYPE, &mut buffer).unwrap_or(0);
        system::Message::<Lab2System<M>> {
            node: None,
            from: (),
            to: destination,
            bytes: buffer[..len].into(),
        }
    }

    /// Returns a token that is at least as strong as the token of a heard frame.
    fn draw_strong_token(&mut self, heard: &[u8], author: MacAddr) -> Token {
        let step = self.rng.pick(&STEPS);
        match token_of(heard) {
            Some((_, token)) => Token {
                progress: token.progress.saturating_add(step),
                ..token
            },
            None => Token {
                progress: self.system.checks.strongest().saturating_add(step),
                author,
                number: 1,
            },
        }
    }
}
