//! A recording of a ring, for the dissector of Wireshark.

use anyhow::Result;
use ring_segment::{Test, limit, tests};

use super::stand::{Kind, NodeStand, UDP_PORT};
use crate::wireshark::check_jitterbug;

/// The byte of a TP3.
const TP3: u8 = 0x41;

pub(super) fn tests() -> Vec<Test> {
    tests![messages_of_a_ring_are_dissected_as_the_codec_decodes_them]
}

fn messages_of_a_ring_are_dissected_as_the_codec_decodes_them() -> Result<()> {
    let mut stand = NodeStand::new(Kind::Bridge, 3, &[])?;
    stand.wait_for_ring(&[0, 1, 2])?;
    let leader = stand.leader_of(&[0, 1, 2])?;
    stand.node(leader).kill()?;
    stand.node(leader).start()?;
    stand.wait_for_ring(&[0, 1, 2])?;
    // The first handover to a node contains the list. Later handovers do not contain the list.
    limit::wait_until("a list is the same", || {
        let streams = stand.record().streams();
        streams
            .iter()
            .any(|it| it.candidate.bytes.starts_with(&[TP3]))
    });
    // The recording must not grow while it is checked.
    for index in 0..3 {
        stand.node(index).kill()?;
    }
    check_jitterbug(stand.record(), UDP_PORT)
}
