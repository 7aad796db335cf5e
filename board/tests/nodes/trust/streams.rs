//! Attackers without a key on the connections of the nodes. One changes bytes on their way. One has the address of a
//! node that has ended.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_segment::limit::wait_until;
use ring_segment::{Eavesdropper, KeyFiles, Layout, Test, tests};

use super::super::test_clients::TestClients;
use super::super::test_ring::{DatabaseKind, PORT, TestRing, sequence};
use super::{ACK_TIMEOUT, TOKEN, changes, start};

const NODES: [usize; 3] = [1, 2, 3];
/// The node whose address the impostor takes.
const IMPOSTOR: usize = 4;
/// The smallest count of a forged token, and its highest byte. No other token of the tests reaches this count.
const FORGED: u64 = 1 << 30;
const FORGED_BYTE: u8 = 1 << 6;
/// Position of the sequence in a TOKEN, and the length of a TOKEN.
const SEQUENCE_AT: usize = 12;
const TOKEN_LEN: usize = 20;
/// Position of the highest byte of the count in a TOKEN.
const COUNT_AT: usize = 16;
/// The number of segments of TCP that the attacker changes.
const EDITS: usize = 4;
const POLL_INTERVAL: Duration = Duration::from_millis(2);

pub(super) fn tests() -> Vec<Test> {
    // A stall may end a connection, and counts of ended connections matter.
    tests![
        exclusive an_attacker_that_changes_bytes_of_streams_changes_nothing,
        an_attacker_that_changes_bytes_of_streams_forges_a_token_without_keys,
        an_impostor_of_a_member_gets_no_token_and_passes_none,
        an_impostor_of_a_member_takes_and_forges_tokens_without_keys,
    ]
}

/// Starts nodes on a segment. With keys, they require signatures.
fn started(mut ring: TestRing, count: usize, has_keys: bool) -> Result<(TestRing, Vec<KeyFiles>)> {
    let files = KeyFiles::several("board", count)?;
    if has_keys {
        files.iter().try_for_each(|it| it.write(&[1], false))?;
    }
    start(&mut ring, &files)?;
    let all: Vec<usize> = (1..=count).collect();
    ring.wait_for_ring(&all)?;
    Ok((ring, files))
}

/// Returns a ring of three nodes, whose packets the switch can change.
fn on_switch(has_keys: bool) -> Result<(TestRing, Vec<KeyFiles>)> {
    let segment = Layout::new(NODES.len()).addresses().switch(1)?;
    let ring = TestRing::on(segment, DatabaseKind::Sqlite)?;
    let (ring, files) = started(ring, NODES.len(), has_keys)?;
    ring.segment().rules().set(|rules| rules.edit = forge);
    Ok((ring, files))
}

/// Changes the count of a visible token, or else the last byte.
fn forge(data: &mut [u8]) {
    let token = data.windows(TOKEN.len()).position(|it| it == TOKEN);
    if let Some(count) = token.and_then(|at| data.get_mut(at + COUNT_AT)) {
        *count |= FORGED_BYTE;
    } else if let Some(last) = data.last_mut() {
        *last ^= FORGED_BYTE;
    }
}

/// Changes the data of the next segment of TCP.
fn edit_once(ring: &TestRing) {
    let switch = ring.segment().rules();
    switch.set(|rules| rules.edits.store(1, Ordering::Relaxed));
}

/// Whether a node has held a forged token.
fn has_forged_token(ring: &TestRing) -> Result<bool> {
    for id in NODES {
        let count = sequence(&ring.wait(id, |_| true)?)? & u64::from(u32::MAX);
        if count >= FORGED {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the number of streams and datagrams that the nodes refused because of a wrong MAC.
fn wrong_macs(ring: &TestRing) -> Result<u64> {
    let mut sum = 0;
    for id in NODES {
        let status = ring.wait(id, |_| true)?;
        let count = &status["counters"]["unproven"]["wrong_mac"];
        sum += count.as_u64().context("a node with keys has the counter")?;
    }
    Ok(sum)
}

fn an_attacker_that_changes_bytes_of_streams_changes_nothing() -> Result<()> {
    let (ring, _files) = on_switch(true)?;
    let clients = TestClients::start(&ring);
    clients.wait_for_posts(3);
    let before = changes(&ring, &NODES)?;
    for _ in 0..EDITS {
        let refused = wrong_macs(&ring)?;
        edit_once(&ring);
        wait_until("the node refuses the changed bytes", || {
            wrong_macs(&ring).is_ok_and(|count| count > refused)
        });
        ring.wait_for_rounds(&NODES)?;
        clients.wait_for_posts(3);
        // If a connection ends twice within ack-timeout, the successor has failed.
        thread::sleep(ACK_TIMEOUT + Duration::from_millis(200));
    }
    let after = changes(&ring, &NODES)?;
    ensure!(before == after, "{before:?} became {after:?}");
    ensure!(!has_forged_token(&ring)?, "a node took a forged token");
    clients.end(&ring)
}

/// The attack is the same as above. So the test above can fail.
fn an_attacker_that_changes_bytes_of_streams_forges_a_token_without_keys() -> Result<()> {
    let (ring, _files) = on_switch(false)?;
    wait_until("a node takes a forged token", || {
        edit_once(&ring);
        has_forged_token(&ring).is_ok_and(|it| it)
    });
    Ok(())
}

/// The messages that the impostor got.
#[derive(Default)]
struct Heard {
    tokens: AtomicUsize,
    handshakes: AtomicUsize,
}

/// A host at the address of a node that has ended. It acknowledges tokens like the node.
struct Impostor {
    heard: Arc<Heard>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    mouth: Eavesdropper,
}

impl Impostor {
    /// Ends a node, and answers at its address. For the other nodes, the network of the node fails for a moment.
    fn replace(ring: &mut TestRing) -> Result<Self> {
        let node = ring.segment().node(IMPOSTOR - 1).clone();
        let mouth = Eavesdropper::at(ring.segment(), &node)?;
        let address = SocketAddrV4::new(node.ip().context("it has an address")?, PORT);
        ring.set_link(IMPOSTOR, "down")?;
        ring.node(IMPOSTOR).kill()?;
        let listener = node.ns().run(|| TcpListener::bind(address))??;
        ring.set_link(IMPOSTOR, "up")?;
        listener.set_nonblocking(true)?;
        let heard = Arc::new(Heard::default());
        let is_over = Arc::new(AtomicBool::new(false));
        let thread = thread::spawn({
            let (heard, is_over) = (Arc::clone(&heard), Arc::clone(&is_over));
            move || answer_all(&listener, &heard, &is_over)
        });
        Ok(Self {
            heard,
            is_over,
            thread: Some(thread),
            mouth,
        })
    }

    fn has_token(&self) -> bool {
        self.heard.tokens.load(Ordering::Relaxed) > 0
    }

    /// Connects to each node as its predecessor, and passes a forged token.
    fn pass(&self, ring: &TestRing) -> Result<()> {
        for id in NODES {
            let node = ring.segment().node(id - 1);
            let to = SocketAddrV4::new(node.ip().context("it has an address")?, PORT);
            let sequence = sequence(&ring.wait(id, |_| true)?)? | FORGED;
            let hello = frame(2, &u32::try_from(id)?.to_be_bytes());
            let token = frame(TOKEN[1], &sequence.to_be_bytes());
            self.mouth.open(to, &[hello, token].concat())?;
        }
        Ok(())
    }
}

impl Drop for Impostor {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Returns a frame of the node that the impostor replaces.
fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let [id, len] = [IMPOSTOR, payload.len()].map(|it| u32::try_from(it).unwrap_or_default());
    let head = [&[1, kind, 0, 0][..], &id.to_be_bytes(), &len.to_be_bytes()].concat();
    [&head, payload].concat()
}

/// Answers on all connections to the listener.
fn answer_all(listener: &TcpListener, heard: &Heard, is_over: &AtomicBool) {
    let mut connections: Vec<(TcpStream, Vec<u8>)> = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        if let Ok((stream, _)) = listener.accept()
            && stream.set_nonblocking(true).is_ok()
        {
            connections.push((stream, Vec::new()));
        }
        connections.retain_mut(|(stream, unread)| {
            let mut bytes = [0; 4096];
            let count = match stream.read(&mut bytes) {
                Ok(0) => return false,
                Ok(count) => count,
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            };
            unread.extend(&bytes[..count]);
            let answer = answer(unread, heard);
            answer.is_empty() || stream.write_all(&answer).is_ok()
        });
        thread::sleep(POLL_INTERVAL);
    }
}

/// Takes the bytes of a connection. Returns acknowledgements of tokens, or an answer to a handshake. By turns, this
/// answer refuses the encryption, and is a handshake that was made without the key.
fn answer(unread: &mut Vec<u8>, heard: &Heard) -> Vec<u8> {
    if unread.starts_with(b"KEY") {
        unread.clear();
        let refuses = heard.handshakes.fetch_add(1, Ordering::Relaxed) % 2 == 0;
        let refusal = b"KEY\x01\0\0\0\0";
        let handshake = [&b"KEY\x01\0\0\0\x01"[..], &[7; 48]].concat();
        return if refuses { refusal.to_vec() } else { handshake };
    }
    let mut answer = Vec::new();
    while let Some(at) = unread.windows(TOKEN.len()).position(|it| it == TOKEN)
        && let Some(token) = unread.get(at..at + TOKEN_LEN)
    {
        answer.extend(frame(5, &token[SEQUENCE_AT..]));
        unread.drain(..at + TOKEN_LEN);
        heard.tokens.fetch_add(1, Ordering::Relaxed);
    }
    answer
}

fn an_impostor_of_a_member_gets_no_token_and_passes_none() -> Result<()> {
    let ring = TestRing::without_nodes(IMPOSTOR, DatabaseKind::Sqlite)?;
    let (mut ring, _files) = started(ring, IMPOSTOR, true)?;
    let impostor = Impostor::replace(&mut ring)?;
    impostor.pass(&ring)?;
    ring.wait_for_ring(&NODES)?;
    impostor.pass(&ring)?;
    ring.wait_for_rounds(&NODES)?;
    let handshakes = impostor.heard.handshakes.load(Ordering::Relaxed);
    ensure!(handshakes > 0, "no node connected to the impostor");
    ensure!(!impostor.has_token(), "the impostor got the token");
    ensure!(!has_forged_token(&ring)?, "a node took a forged token");
    Ok(())
}

/// The attack is the same as above. So the test above can fail.
fn an_impostor_of_a_member_takes_and_forges_tokens_without_keys() -> Result<()> {
    let ring = TestRing::without_nodes(IMPOSTOR, DatabaseKind::Sqlite)?;
    let (mut ring, _files) = started(ring, IMPOSTOR, false)?;
    let impostor = Impostor::replace(&mut ring)?;
    wait_until("the impostor gets a token", || impostor.has_token());
    wait_until("a node takes a forged token", || {
        impostor.pass(&ring).is_ok() && has_forged_token(&ring).is_ok_and(|it| it)
    });
    Ok(())
}
