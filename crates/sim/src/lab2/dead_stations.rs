//! Stations that no longer exist. Either tables list these stations, or each of these stations has sent one frame. Dead
//! stations never answer.

use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, MEMBERS_PER_FRAME_MAX, Member, Message, NO_IP};

use super::Inspect;
use super::settings::FaultKind;
use super::system::World;

fn address(number: u16) -> MacAddr {
    let [high, low] = number.to_be_bytes();
    MacAddr([2, 0xfe, 0, 0, high, low])
}

impl<M: Inspect> World<M> {
    /// Introduces `count` dead stations. Either each dead station has requested the token once, or one dead station has
    /// listed all other dead stations.
    pub(super) fn introduce_dead_stations(&mut self, first: u16, count: u16, spoke: bool) {
        self.system.count_fault(FaultKind::Dead);
        let all: Vec<MacAddr> = (0..count)
            .map(|number| address(first.wrapping_add(number)))
            .collect();
        if spoke {
            for &author in &all {
                self.broadcast_as(author, Message::WantToken);
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
        for part in members.chunks(MEMBERS_PER_FRAME_MAX) {
            let members = part;
            self.broadcast_as(part[0].mac, Message::RingMembers { digest, members });
        }
    }
}
