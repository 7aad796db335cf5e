//! A station that is none of the ring and speaks its protocol wrongly. It is broken, not malicious:
//! it never claims a token stronger than any that there was, and never one that another made.

use ring_codec::MacAddr;
use ring_codec::lab2::{
    Digest, ETHERTYPE, Frame, Kind, MAX_FRAME_LEN, Member, Message, NO_IP, Token,
};

use super::Subject;
use super::notation::{ip, mac};
use super::ring::World;
use super::settings::FaultKind;

/// The stranger's address.
const STRANGER: MacAddr = MacAddr([2, 0xff, 0, 0, 0, 1]);
/// How many stations that do not exist it may tell of. They stay in the tables for good.
const PHANTOMS: u64 = 3;
const KINDS: u64 = 11;

impl<M: Subject> World<M> {
    /// The stranger sends so many frames.
    pub(super) fn hear_stranger(&mut self, frames: u16) {
        for _ in 0..frames {
            self.system.met(FaultKind::Stranger);
            let to = self.someone();
            let mut bytes = self.wrong_frame(to);
            self.damage(&mut bytes);
            // What it has damaged may be for nobody.
            let to = match bytes.first_chunk() {
                Some(&destination) => MacAddr(destination),
                None => continue,
            };
            self.inject((), to, bytes.into());
        }
    }

    /// Sends a valid frame to all from a station that is no node.
    pub(super) fn hear_station(&mut self, author: MacAddr, message: Message<'_>) {
        let ethertype = self.system.constants.ethertype;
        let bytes = encode(ethertype, author, MacAddr::BROADCAST, message);
        self.inject((), MacAddr::BROADCAST, bytes.into());
    }

    fn someone(&mut self) -> MacAddr {
        if self.rng.chance(500) {
            return MacAddr::BROADCAST;
        }
        mac(self.rng.index(self.nodes.len()))
    }

    /// A frame of valid form that says what is not so, or is out of place.
    fn wrong_frame(&mut self, to: MacAddr) -> Vec<u8> {
        let token = self.weak_token();
        let hash = self.rng.draw();
        let size = u32::try_from(self.rng.below(9)).unwrap_or(0);
        let digest = Digest { size, hash };
        let node = self.rng.index(self.nodes.len());
        let [.., phantom] = self.rng.below(PHANTOMS).to_be_bytes();
        let phantom = [Member {
            mac: MacAddr([2, 0xff, 0, 0, 1, phantom]),
            ip: NO_IP,
        }];
        let misplaced = [Member {
            mac: mac(node),
            ip: ip(node, 99),
        }];
        let data: &[u8] = b"not what the ring's data is";
        let message = match self.rng.below(KINDS) {
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

    /// A token of the stranger's own making, a new chain each time, weaker than the strongest that
    /// any node has held.
    fn weak_token(&mut self) -> Token {
        let strongest = self.system.checks.strongest();
        let behind = match self.rng.below(3) {
            0 => strongest,
            1 => self.rng.below(1_000),
            _ => self.rng.below(1_000_000_000_000),
        };
        let met = self.system.stats.met(FaultKind::Stranger);
        Token {
            progress: strongest.saturating_sub(behind + 1),
            author: STRANGER,
            number: u32::try_from(met).unwrap_or(u32::MAX),
        }
    }

    /// Every other frame is not even of valid form.
    fn damage(&mut self, bytes: &mut Vec<u8>) {
        match self.rng.below(10) {
            0 => bytes.truncate(self.rng.index(bytes.len())),
            1 => bytes[14] = 10 + (self.rng.draw() % 200).to_be_bytes()[7],
            2 => bytes[15] = 1,
            3 => bytes[16] |= 1,
            4 => bytes[21] ^= 0x55,
            // The progress, where there is one.
            5 if bytes.len() > 22 && bytes[14] != Kind::RingMembers as u8 => bytes[22] |= 0x80,
            6 => {
                let mut byte = || self.rng.draw().to_be_bytes()[0];
                // Its own address stays: others' words are not in its mouth.
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
    };
    let mut buf = [0; MAX_FRAME_LEN];
    let len = frame.encode(ethertype, &mut buf).unwrap_or(0);
    buf[..len].to_vec()
}
