//! Rings whose nodes have keys: nodes get their keys without a gap, and an attacker without a key changes nothing.

use std::fs::{self, Permissions};
use std::io::Write;
use std::net::{SocketAddr, SocketAddrV4, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::eavesdropper::{Overheard, Place, datagrams, streams};
use ring_segment::limit::wait_until;
use ring_segment::{Eavesdropper, Test, WAIT_LIMIT, forged_signature, tests};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::test_clients::TestClients;
use super::test_ring::{DatabaseKind, PORT, TestRing, tokens_received};

const UNSIGNED_TOO: &str = "accept-unsigned = true\n";
/// Times of the nodes. They are longer than the stalls of a busy machine, because no node may miss a token.
const TIMES: [(&str, &str); 3] = [
    ("--ack-timeout", "1500ms"),
    ("--token-timeout", "4s"),
    ("--alone-timeout", "9s"),
];
const ACK_TIMEOUT: Duration = Duration::from_millis(1500);
/// The start of each TOKEN, except the id of its sender.
const TOKEN: [u8; 4] = [1, 4, 0, 0];
/// The maximum number of recorded datagrams that the attacker repeats.
const REPLAYED_MAX: usize = 100;
/// The node whose machine has the attacker instead of a node.
const ATTACKER: usize = 4;

pub(crate) fn tests() -> Vec<Test> {
    // Counts of lost tokens must not change, and one test restarts a node.
    let tests = tests![
        exclusive a_ring_under_load_gets_keys_and_replaces_its_key_without_a_gap,
        exclusive an_attacker_without_a_key_changes_nothing,
        an_attacker_removes_a_member_of_a_ring_without_keys,
    ];
    tests.into_iter().map(Test::without_stalls).collect()
}

/// The configuration file and the key file of a node.
struct Files(TempDir);

impl Files {
    fn new() -> Result<Self> {
        let files = Self(tempfile::tempdir_in("/run")?);
        fs::write(files.config(), "")?;
        Ok(files)
    }

    fn config(&self) -> PathBuf {
        self.0.path().join("board.toml")
    }

    /// Writes a key file with these keys, and a configuration file that names it.
    fn write(&self, ids: &[u8], more: &str) -> Result<()> {
        let line = |id: &u8| format!("{id} {}\n", format!("{id:02x}").repeat(32));
        let keys = self.0.path().join("ring.keys");
        fs::write(&keys, ids.iter().map(line).collect::<String>())?;
        fs::set_permissions(&keys, Permissions::from_mode(0o600))?;
        let text = format!("[board]\nkey-file = '{}'\n{more}", keys.display());
        Ok(fs::write(self.config(), text)?)
    }
}

/// Starts nodes on the first three machines.
fn start(ring: &mut TestRing, files: &[Files]) -> Result<()> {
    for (id, files) in (1..).zip(files) {
        // With a terminal, a hang-up would mean that the terminal was closed.
        let node = ring.options_with(id, &TIMES)?;
        let node = node.option("--config", files.config());
        ring.add(node.through(["setsid"]))?;
    }
    Ok(())
}

/// Makes a node read its files again. Waits until it uses exactly these keys.
fn reload(ring: &mut TestRing, id: usize, keys: &[u8], accepts_unsigned: bool) -> Result<()> {
    ring.node(id).signal(Signal::SIGHUP)?;
    let is_in_force = |status: &Value| {
        let trust = &status["trust"];
        trust["keys"] == json!(keys) && trust["accepts_unsigned"] == accepts_unsigned
    };
    ring.wait(id, is_in_force).map(drop)
}

/// Returns the counts of changes of the ring. No count may change while nodes get their keys. If a connection ends
/// while it carries a token, its sender repeats the token. The receiver may drop one of both, so `tokens_lost` is
/// missing here.
fn changes(ring: &TestRing, ids: &[usize]) -> Result<Vec<Value>> {
    let names = ["tokens_made", "claims", "removals"];
    let mut all = Vec::new();
    for &id in ids {
        let status = ring.wait(id, |_| true)?;
        all.push(json!([status["term"], status["members"]]));
        all.extend(names.map(|name| status["counters"][name].clone()));
    }
    Ok(all)
}

fn holds_token(stream: &Overheard) -> bool {
    stream.bytes.windows(TOKEN.len()).any(|it| it == TOKEN)
}

fn is_ring_stream(stream: &Overheard) -> bool {
    [stream.from.port(), stream.to.port()].contains(&PORT)
}

/// Checks the streams between the nodes since the last call.
fn overhear(ears: &Eavesdropper, mut is_right: impl FnMut(&Overheard) -> bool) -> Result<()> {
    let heard = streams(&ears.hear()?);
    let mut ring = heard.iter().filter(|it| is_ring_stream(it)).peekable();
    ensure!(ring.peek().is_some(), "the nodes sent nothing");
    let wrong = ring.find(|it| !is_right(it));
    ensure!(wrong.is_none(), "{wrong:02x?}");
    Ok(())
}

/// Changes the files of one node after another, while clients write posts. Between two nodes, the ring is mixed.
fn change(
    ring: &mut TestRing,
    files: &[Files],
    clients: &TestClients,
    keys: &[u8],
    accepts_unsigned: bool,
) -> Result<()> {
    for (id, files) in (1..).zip(files) {
        files.write(keys, if accepts_unsigned { UNSIGNED_TOO } else { "" })?;
        reload(ring, id, keys, accepts_unsigned)?;
        ring.wait_for_rounds(&[1, 2, 3])?;
        clients.wait_for_posts(3);
    }
    Ok(())
}

fn a_ring_under_load_gets_keys_and_replaces_its_key_without_a_gap() -> Result<()> {
    let mut ring = TestRing::without_nodes(3, DatabaseKind::Sqlite)?;
    let ears = Eavesdropper::at_hub(ring.segment())?;
    let files = [Files::new()?, Files::new()?, Files::new()?];
    start(&mut ring, &files)?;
    let all = [1, 2, 3];
    ring.wait_for_ring(&all)?;
    let clients = TestClients::start(&ring);
    clients.wait_for_posts(3);
    // Without keys, anyone can read the tokens.
    overhear(&ears, |_| true)?;
    ring.wait_for_rounds(&all)?;
    ensure!(streams(&ears.hear()?).iter().any(holds_token));
    let before = changes(&ring, &all)?;
    for (keys, accepts_unsigned) in [
        (&[1][..], true),
        (&[1], false),
        (&[1, 2], false),
        (&[2, 1], false),
        (&[2], false),
    ] {
        change(&mut ring, &files, &clients, keys, accepts_unsigned)?;
        // A round may end a connection to a successor once. If it ends twice within ack-timeout, the successor has
        // failed.
        thread::sleep(ACK_TIMEOUT + Duration::from_millis(200));
        if accepts_unsigned {
            continue;
        }
        ears.hear()?;
        ring.wait_for_rounds(&all)?;
        overhear(&ears, |stream| !holds_token(stream))?;
    }
    let after = changes(&ring, &all)?;
    ensure!(before == after, "{before:?} became {after:?}");
    for id in all {
        let status = ring.wait(id, |_| true)?;
        let keys = &status["node_keys"];
        ensure!(
            keys.as_object()
                .is_some_and(|it| it.values().all(|key| key == 2)),
            "{keys}"
        );
    }
    clients.end(&ring)
}

/// Three nodes, and an attacker who has recorded all their packets, also packets of a process that has ended.
struct Attacked {
    ring: TestRing,
    attacker: Eavesdropper,
    recorded: Vec<Vec<u8>>,
    _files: Vec<Files>,
}

impl Attacked {
    fn new(has_keys: bool) -> Result<Self> {
        let mut ring = TestRing::without_nodes(ATTACKER, DatabaseKind::Sqlite)?;
        let attacker = Eavesdropper::at(ring.segment(), ring.segment().node(ATTACKER - 1))?;
        let files = vec![Files::new()?, Files::new()?, Files::new()?];
        if has_keys {
            files.iter().try_for_each(|it| it.write(&[1], ""))?;
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
            self.open(stream.to, &stream.bytes)?;
        }
        for id in 1..ATTACKER {
            let to = self.place(id)?.1;
            let own = u32::try_from(id)?.to_be_bytes();
            let hello = [&[1, 2, 0, 0][..], &[0, 0, 0, 1], &[0, 0, 0, 4], &own].concat();
            let token = [&TOKEN[..], &[0, 0, 0, 1], &[0, 0, 0, 8], &[0x7f; 8]].concat();
            self.open(to, &[hello, token].concat())?;
            self.open(to, b"KEY\x01\0\0\0\x01")?;
        }
        Ok(())
    }

    fn send(&self, from: usize, to: usize, payload: &[u8]) -> Result<()> {
        let (from, to) = (self.place(from)?, self.place(to)?);
        self.attacker.send_datagram(from, to, payload)
    }

    /// Sends bytes on a new connection to a node. The node may reset it.
    fn open(&self, to: SocketAddrV4, bytes: &[u8]) -> Result<()> {
        let ns = self.ring.segment().node(ATTACKER - 1).ns();
        let stream = ns.run(|| TcpStream::connect_timeout(&SocketAddr::V4(to), WAIT_LIMIT))?;
        if let Ok(mut stream) = stream {
            let _ = stream.write_all(bytes);
            thread::sleep(Duration::from_millis(2));
        }
        Ok(())
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
    for reason in [
        "unsigned",
        "unknown_key",
        "wrong_mac",
        "replayed",
        "unproven",
    ] {
        let count = status["counters"]["unproven"][reason].as_u64();
        ensure!(
            count.is_some_and(|count| count > 0),
            "{reason}: {:#}",
            status["counters"]
        );
    }
    let troubles = status["troubles"].to_string();
    ensure!(troubles.contains("without a valid signature"), "{troubles}");
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
