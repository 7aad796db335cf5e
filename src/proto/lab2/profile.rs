//! What members say of themselves (`docs/protocol.md`, "Profiles").

use ring_codec::MacAddr;
use ring_codec::lab2::{ETHERNET_HEADER_LEN, Frame, Profile};

use super::Lab2;
use super::outbox::{Content, Outgoing};
use crate::proto::time::nanos;

impl Lab2 {
    /// What this node says of itself.
    pub(super) fn profile(&self) -> Profile {
        Profile {
            flags: 0,
            mtu: u16::try_from(self.mtu).unwrap_or(u16::MAX),
            constants: self.constants.digest(),
            patience: nanos(self.constants.waiter_timeout()),
            take: nanos(self.constants.take_timeout),
            expect: self
                .constants
                .expect
                .map_or(0, |expect| u32::try_from(expect).unwrap_or(u32::MAX)),
        }
    }

    /// A frame with the profile of its author, if it is one that has it: a hop costs nothing more. Left
    /// out where the MTU is so small that it does not fit.
    pub(super) fn introduce<'a>(&self, outgoing: Outgoing, frame: Frame<'a>) -> Frame<'a> {
        let Outgoing { to, content } = outgoing;
        let is_ping = matches!(content, Content::Ping | Content::Promise(_));
        let speaks_to_all = to == MacAddr::BROADCAST && Profile::may_follow(content.kind());
        if !is_ping && !speaks_to_all {
            return frame;
        }
        let with = Frame {
            profile: Some(self.profile()),
            ..frame
        };
        if with.encoded_len() > ETHERNET_HEADER_LEN + self.mtu {
            return frame;
        }
        with
    }
}
