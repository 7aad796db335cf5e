//! An attacker without a key on the segment. It sends forged datagrams, and repeats recorded packets.

use std::net::SocketAddrV4;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::eavesdropper::{Place, datagrams, streams};
use ring_segment::limit::wait_until;
use ring_segment::{
    Eavesdropper, KeyFiles, Test, WAIT_LIMIT, check_refusals, forged_signature, tests,
};
use serde_json::Value;

use super::super::test_ring::{DatabaseKind, PORT, TestRing, tokens_received};
use super::{TOKEN, changes, start};

/// The maximum number of recorded datagrams that the attacker repeats.
const REPLAYED_MAX: usize = 100;
/// The node whose machine has the attacker instead of a node.
const ATTACKER: usize = 4;

pub(super) fn tests() -> Vec<Test> {
    // The test restarts a node itself.
    tests![
        exclusive an_attacker_without_a_key_changes_nothing,
        an_attacker_removes_a_member_of_a_ring_without_keys,
    ]
}

/// Three nodes, and an attacker who has recorded all their packets, also packets of a process that has ended.
struct Attacked {
    ring: TestRing,
    attacker: Eavesdropper,
    recorded: Vec<Vec<u8>>,
    _files: Vec<KeyFiles>,
}

impl Attacked {
    fn new(has_keys: bool) -> Result<Self> {
        let mut ring = TestRing::without_nodes(ATTACKER, DatabaseKind::Sqlite)?;
        let attacker = Eavesdropper::at(ring.segment(), ring.segment().node(ATTACKER - 1))?;
        let files = KeyFiles::several("board", ATTACKER - 1)?;
        if has_keys {
            files.iter().try_for_each(|it| it.write(&[1], false))?;
        }
        start(&mut ring, &files)?;
        let all = [1, 2, 3];
        ring.wait_for_ring(&all)?;
        // The packets of a start, of elections and of an end are recorded.
        ring.node(2).signal(Signal::SIGTERM)?;
        ring.node(2).wait_exit(WAIT_LIMIT)?;
        ring.wait_for_ring(&[1, 3])?;
        ring.node(2).start()?;
        ring.wait_for_ring(&all)?;
        Ok(Self {
            recorded: attacker.hear()?,
            ring,
            attacker,
            _files: files,
        })
    }

    fn place(&self, id: usize) -> Result<Place> {
        let node = self.ring.segment().node(id - 1);
        let ip = node.ip().context("it has an address")?;
        Ok((node.mac(), SocketAddrV4::new(ip, PORT)))
    }

    /// Sends forged datagrams with the addresses of all nodes, repeats recorded datagrams and streams, and opens
    /// connections.
    fn attack(&self) -> Result<()> {
        for from in 1..=ATTACKER {
            let other = u32::try_from(from % ATTACKER + 1)?.to_be_bytes();
            let own = u32::try_from(from)?.to_be_bytes();
            for message in forged(own, other) {
                for to in 1..ATTACKER {
                    self.send(from, to, &message)?;
                    for key in [1, 9] {
                        self.send(from, to, &[&message[..], &forged_signature(key)].concat())?;
                    }
                }
            }
        }
        let sent = datagrams(&self.recorded);
        let step = (sent.len() / REPLAYED_MAX).max(1);
        for datagram in sent.iter().step_by(step) {
            let id = |address: &SocketAddrV4| {
                (1..ATTACKER).find(|id| self.place(*id).is_ok_and(|it| it.1 == *address))
            };
            if let (Some(from), Some(to)) = (id(&datagram.from), id(&datagram.to)) {
                self.send(from, to, &datagram.bytes)?;
            }
        }
        let opened = streams(&self.recorded);
        for stream in opened.iter().filter(|it| it.to.port() == PORT) {
            self.attacker.open(stream.to, &stream.bytes)?;
        }
        for id in 1..ATTACKER {
            let to = self.place(id)?.1;
            let own = u32::try_from(id)?.to_be_bytes();
            let hello = [&[1, 2, 0, 0][..], &[0, 0, 0, 1], &[0, 0, 0, 4], &own].concat();
            let token = [&TOKEN[..], &[0, 0, 0, 1], &[0, 0, 0, 8], &[0x7f; 8]].concat();
            self.attacker.open(to, &[hello, token].concat())?;
            self.attacker.open(to, b"KEY\x01\0\0\0\x01")?;
        }
        Ok(())
    }

    fn send(&self, from: usize, to: usize, payload: &[u8]) -> Result<()> {
        let (from, to) = (self.place(from)?, self.place(to)?);
        self.attacker.send_datagram(from, to, payload)
    }

    /// Returns the parts of all statuses that an attacker could change.
    fn essence(&self) -> Result<Vec<Value>> {
        let ids = [1, 2, 3];
        let mut all = changes(&self.ring, &ids)?;
        for id in ids {
            let status = self.ring.wait(id, |_| true)?;
            let parts = ["state", "coordinator", "acting", "successor", "predecessor"];
            all.extend(parts.map(|part| status[part].clone()));
            all.push(status["election"]["started"].clone());
        }
        Ok(all)
    }
}

/// Returns messages of the node `own`: JOIN, SUCCESSOR, SUCCESSOR_REQUEST, and ELECTION and COORDINATOR of each method.
fn forged(own: [u8; 4], other: [u8; 4]) -> Vec<Vec<u8>> {
    let message = |kind: u8, payload: &[u8]| {
        let len = u32::try_from(payload.len()).unwrap_or_default();
        [&[1, kind, 0, 0][..], &own, &len.to_be_bytes(), payload].concat()
    };
    let election =
        |method: u8, kind: u8, rest: &[u8]| message(6, &[&[method, kind, 0, 0][..], rest].concat());
    vec![
        message(1, &[]),
        message(2, &other),
        message(3, &[]),
        message(4, &[0x7f; 8]),
        message(5, &[0x7f; 8]),
        election(3, 1, &[]),
        election(3, 2, &own),
        election(3, 3, &[]),
        election(2, 2, &own),
        election(1, 2, &own),
    ]
}

fn an_attacker_without_a_key_changes_nothing() -> Result<()> {
    let attacked = Attacked::new(true)?;
    let before = attacked.essence()?;
    for _ in 0..3 {
        attacked.attack()?;
        attacked.ring.wait_for_rounds(&[1, 2, 3])?;
    }
    // A member that was silenced would be missed.
    let received = tokens_received(&attacked.ring.wait(1, |_| true)?);
    attacked
        .ring
        .wait(1, |status| tokens_received(status) > received + 20)?;
    let after = attacked.essence()?;
    ensure!(before == after, "{before:?} became {after:?}");
    let status = attacked.ring.wait(3, |_| true)?;
    check_refusals(&status)?;
    Ok(())
}

/// The attack is the same as above. So the test above can fail.
fn an_attacker_removes_a_member_of_a_ring_without_keys() -> Result<()> {
    let attacked = Attacked::new(false)?;
    let before = attacked.essence()?;
    wait_until("the attack changes the ring", || {
        let attack = attacked.attack();
        attack.is_ok() && attacked.essence().is_ok_and(|after| after != before)
    });
    Ok(())
}
