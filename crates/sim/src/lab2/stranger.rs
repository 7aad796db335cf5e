//! A station outside the ring that sends wrong frames. The station is broken, not malicious. The station never sends a
//! token that is stronger than the strongest token, and never sends a token of another author.

use ring_codec::MacAddr;
use ring_codec::lab2::{
    Digest, ETHERTYPE, FRAME_LEN_MAX, Frame, Kind, Member, Message, NO_IP, Token,
};

use super::Inspect;
use super::notation::{ip, mac};
use super::settings::FaultKind;
use super::system::World;

/// The stranger's address.
const STRANGER: MacAddr = MacAddr([2, 0xff, 0, 0, 0, 1]);
/// The number of unknown stations that the stranger may list. The listed stations stay in the tables indefinitely.
const PHANTOMS_MAX: u64 = 3;
const FRAME_KINDS: u64 = 11;

impl<M: Inspect> World<M> {
    pub(super) fn send_stranger_frames(&mut self, frames: u16) {
        for _ in 0..frames {
            self.system.count_fault(FaultKind::Stranger);
            let to = self.draw_destination();
            let mut bytes = self.draw_wrong_frame(to);
            self.damage(&mut bytes);
            // The damage may have changed the destination.
            let to = match bytes.first_chunk() {
                Some(&destination) => MacAddr(destination),
                None => continue,
            };
            self.inject((), to, bytes.into());
        }
    }

    /// Broadcasts a valid frame from a station that is not a node.
    pub(super) fn broadcast_as(&mut self, author: MacAddr, message: Message<'_>) {
        let ethertype = self.system.constants.ethertype;
        let bytes = encode(ethertype, author, MacAddr::BROADCAST, message);
        self.inject((), MacAddr::BROADCAST, bytes.into());
    }

    fn draw_destination(&mut self) -> MacAddr {
        if self.rng.chance(500) {
            return MacAddr::BROADCAST;
        }
        mac(self.rng.index(self.nodes.len()))
    }

    /// Returns a well-formed frame with false content, or a frame at a wrong time.
    fn draw_wrong_frame(&mut self, to: MacAddr) -> Vec<u8> {
        let token = self.draw_weak_token();
        let hash = self.rng.draw();
        let size = u32::try_from(self.rng.below(9)).unwrap_or(0);
        let digest = Digest { size, hash };
        let node = self.rng.index(self.nodes.len());
        let [.., phantom] = self.rng.below(PHANTOMS_MAX).to_be_bytes();
        let phantom = [Member {
            mac: MacAddr([2, 0xff, 0, 0, 1, phantom]),
            ip: NO_IP,
        }];
        let misplaced = [Member {
            mac: mac(node),
            ip: ip(node, 99),
        }];
        let data: &[u8] = b"not what the ring's data is";
        let message = match self.rng.below(FRAME_KINDS) {
            0 => Message::TakeToken {
                token,
                digest,
                data,
            },
            1 | 2 => Message::TokenIsHere {
                token,
                digest,
                data,
                beat: Some(0),
            },
            3 => Message::TokenWasHereRecently {
                token,
                holder: mac(node),
            },
            4 => Message::GeneratingToken { token },
            5 => Message::RingMembers {
                digest,
                members: &phantom,
            },
            6 => Message::RingMembers {
                digest,
                members: &misplaced,
            },
            7 => Message::Ping {
                digest,
                ip: ip(node, 98),
                promise: None,
                paused: false,
            },
            8 => Message::WhereIsToken,
            9 => Message::WantToken,
            _ => Message::Leaving,
        };
        encode(ETHERTYPE, STRANGER, to, message)
    }

    /// Returns a token of a new chain of the stranger. The stranger's token is weaker than the strongest token that a
    /// node has held.
    fn draw_weak_token(&mut self) -> Token {
        let strongest = self.system.checks.strongest();
        let behind = match self.rng.below(3) {
            0 => strongest,
            1 => self.rng.below(1_000),
            _ => self.rng.below(1_000_000_000_000),
        };
        let met = self.system.stats.fault_count(FaultKind::Stranger);
        Token {
            progress: strongest.saturating_sub(behind + 1),
            author: STRANGER,
            number: u32::try_from(met).unwrap_or(u32::MAX),
        }
    }

    /// Makes about half of the frames malformed.
    fn damage(&mut self, bytes: &mut Vec<u8>) {
        match self.rng.below(10) {
            0 => bytes.truncate(self.rng.index(bytes.len())),
            1 => bytes[14] = 10 + (self.rng.draw() % 200).to_be_bytes()[7],
            2 => bytes[15] = 1,
            3 => bytes[16] |= 1,
            4 => bytes[21] ^= 0x55,
            // This flips a bit of the progress, if the frame contains a progress.
            5 if bytes.len() > 22 && bytes[14] != Kind::RingMembers as u8 => bytes[22] |= 0x80,
            6 => {
                let mut byte = || self.rng.draw().to_be_bytes()[0];
                // The author's address stays, because the stranger never uses the address of another station.
                bytes[22..].fill_with(&mut byte);
                bytes[14] = 0;
            }
            _ => {}
        }
    }
}

fn encode(ethertype: u16, author: MacAddr, destination: MacAddr, message: Message<'_>) -> Vec<u8> {
    let frame = Frame {
        destination,
        author,
        message,
        profile: None,
        card: None,
        locks: None,
        preference: 0,
    };
    let mut buf = [0; FRAME_LEN_MAX];
    let len = frame.encode(ethertype, &mut buf).unwrap_or(0);
    buf[..len].to_vec()
}
