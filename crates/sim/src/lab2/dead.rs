//! Stations that are gone: tables tell of them, or they said something once. Nobody answers there.

use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, MAX_MEMBERS_PER_FRAME, Member, Message, NO_IP};

use super::Subject;
use super::ring::World;
use super::settings::FaultKind;

/// The address of one of them.
fn address(number: u16) -> MacAddr {
    let [high, low] = number.to_be_bytes();
    MacAddr([2, 0xfe, 0, 0, high, low])
}

impl<M: Subject> World<M> {
    /// There were so many, from that number on: each asked for the token once, or one tells of all.
    pub(super) fn tell_of_dead(&mut self, first: u16, count: u16, spoke: bool) {
        self.system.met(FaultKind::Dead);
        let all: Vec<MacAddr> = (0..count)
            .map(|number| address(first.wrapping_add(number)))
            .collect();
        if spoke {
            for &author in &all {
                self.hear_station(author, Message::WantToken);
            }
            return;
        }
        let mut members: Vec<Member> = all.iter().map(|&mac| Member { mac, ip: NO_IP }).collect();
        members.sort_unstable_by_key(|member| member.mac);
        let hash = self.rng.draw();
        let digest = Digest {
            size: u32::from(count),
            hash,
        };
        for part in members.chunks(MAX_MEMBERS_PER_FRAME) {
            let members = part;
            self.hear_station(part[0].mac, Message::RingMembers { digest, members });
        }
    }
}
