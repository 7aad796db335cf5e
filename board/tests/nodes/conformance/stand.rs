//! A segment with the program under test and two peers, and their database.

use std::io::Write;
use std::net::TcpStream;

use anyhow::{Context, Result, ensure};
use ring_segment::Daemon;
use serde_json::json;

use super::super::http::{HttpAnswer, connect, exchange, post_request};
use super::super::test_ring::{DatabaseKind, TestRing};
use super::frames::Message;
use super::peer::{ANSWER_TIMEOUT, Link, TestPeer};
use super::rows::{Beats, CoordinatorRow, Rows};

/// The node that is coordinator in each stand.
pub(super) const COORDINATOR: u32 = 3;
/// The place of the term in a sequence.
pub(super) const TERM_SHIFT: u32 = 32;
/// The number that a node adds to the sequence of a token that it takes back, or of one of two tokens.
pub(super) const RAISE: u64 = 1 << 16;

pub(super) struct Stand {
    // The first field is dropped first: the program ends before its database disappears.
    pub program: Daemon,
    pub rows: Rows,
    beats: Option<Beats>,
    peers: Vec<TestPeer>,
    id: u32,
    ring: TestRing,
}

/// The connections of a program that is a member.
pub(super) struct Links {
    /// The connection from the predecessor of the program.
    pub before: Link,
    /// The connection to the successor of the program.
    pub after: Link,
}

impl Stand {
    /// Starts the program with this id as a newcomer to a ring of two peers. One of these peers is the coordinator.
    pub(super) fn newcomer(id: u32, options: &[(&str, &str)]) -> Result<Self> {
        let ring = TestRing::without_nodes(3, DatabaseKind::Sqlite)?;
        // A real node creates the tables, and then a peer takes its place.
        let founder = ring.options(index(COORDINATOR)?)?.spawn()?;
        let rows = Rows::open(&ring.database_file(), COORDINATOR)?;
        drop(founder);
        let others: Vec<u32> = (1..=3).filter(|other| *other != id).collect();
        rows.set_ring(&others)?;
        let beats = Some(rows.start_beats()?);
        let peers = peers(&ring, id)?;
        let program = ring.options_with(index(id)?, options)?.conform().spawn()?;
        Ok(Self {
            program,
            rows,
            beats,
            peers,
            id,
            ring,
        })
    }

    /// Starts the program as the first node of a ring, with two peers that are in no ring.
    pub(super) fn founder(options: &[(&str, &str)]) -> Result<Self> {
        let ring = TestRing::without_nodes(3, DatabaseKind::Sqlite)?;
        let peers = peers(&ring, COORDINATOR)?;
        let options = ring.options_with(index(COORDINATOR)?, options)?;
        let program = options.conform().spawn()?;
        let rows = Rows::open(&ring.database_file(), COORDINATOR)?;
        Ok(Self {
            program,
            rows,
            beats: None,
            peers,
            id: COORDINATOR,
            ring,
        })
    }

    pub(super) fn peer(&self, id: u32) -> &TestPeer {
        let peer = self.peers.iter().find(|peer| peer.id == id);
        peer.expect("the stand has this peer")
    }

    /// Returns the term in the row.
    pub(super) fn term(&self) -> Result<u64> {
        Ok(self.rows.row()?.term)
    }

    /// Returns a sequence of the present term that no node has used.
    pub(super) fn fresh_sequence(&self) -> Result<u64> {
        Ok((self.term()? << TERM_SHIFT) + 1_000)
    }

    /// Lets a newcomer join. `members` is the ring with the newcomer.
    pub(super) fn join(&self, members: &[u32]) -> Result<Links> {
        let at = members.iter().position(|id| *id == self.id);
        let at = at.context("the newcomer is a member")?;
        let count = members.len();
        let (before, after) = (
            self.peer(members[(at + count - 1) % count]),
            self.peer(members[(at + 1) % count]),
        );
        let coordinator = self.peer(COORDINATOR);
        coordinator.expect("S3 (members.md)", &Message::Join)?;
        self.rows.set_ring(members)?;
        coordinator.send(&Message::Successor(after.id))?;
        Ok(Links {
            after: after.accept("L7 (members.md)")?,
            before: before.connect()?,
        })
    }

    /// Lets a peer join the ring of a founder, between the founder and itself. Returns the connections of the program.
    pub(super) fn join_founder(&self, id: u32) -> Result<Links> {
        let peer = self.peer(id);
        let rule = "S6 (members.md)";
        let successor = peer.request(rule, &Message::Join)?;
        ensure!(
            successor == self.id,
            "rule {rule}: the only successor is {}, not {successor}",
            self.id
        );
        Ok(Links {
            after: peer.accept("C5 (members.md)")?,
            before: peer.connect()?,
        })
    }

    /// Ends the beats of the coordinator that a peer plays.
    pub(super) fn stop_beats(&mut self) {
        self.beats = None;
    }

    /// Sends a post with this text and key to the program. Returns the connection on which the answer arrives.
    pub(super) fn start_post(&self, text: &str) -> Result<TcpStream> {
        let what = json!({"author": "a", "text": text, "key": text});
        let mut stream = connect(&self.ring, index(self.id)?, ANSWER_TIMEOUT)?;
        stream.write_all(post_request(&what).as_bytes())?;
        Ok(stream)
    }

    /// Waits until the row of the coordinator has these values.
    pub(super) fn wait_for_row(
        &self,
        rule: &str,
        id: u32,
        term: u64,
        is_acting: bool,
    ) -> Result<()> {
        let expected = CoordinatorRow {
            id: Some(id),
            term,
            is_acting,
        };
        self.rows.wait_for_row(rule, expected)
    }
}

impl Links {
    /// Checks that the program passes a token that its predecessor sends, with the next sequence.
    pub(super) fn check_pass(&mut self, rule: &str, sequence: u64) -> Result<()> {
        self.before.send(&Message::Token(sequence))?;
        self.before.expect(rule, &Message::TokenAck(sequence))?;
        let passed = self.after.take_token(rule)?;
        ensure!(
            passed == sequence + 1,
            "rule {rule}: the token {sequence} became {passed}"
        );
        Ok(())
    }
}

/// Reads the answer to a post.
pub(super) fn answer(stream: TcpStream) -> Result<HttpAnswer> {
    exchange(stream, &[]).context("rule P2 (token.md): a request gets no answer")
}

fn index(id: u32) -> Result<usize> {
    Ok(usize::try_from(id)?)
}

/// Creates a peer for each machine except the machine of the program.
fn peers(ring: &TestRing, program: u32) -> Result<Vec<TestPeer>> {
    let nodes = ring.segment().nodes();
    let address = nodes[index(program)? - 1].ip();
    let address = address.context("it has an address")?;
    let others = (1..).zip(nodes).filter(|(id, _)| *id != program);
    others
        .map(|(id, node)| TestPeer::new(id, node, (program, address)))
        .collect()
}
