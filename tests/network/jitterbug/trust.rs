//! Rings whose nodes have keys: nodes get keys while the ring works, and an attacker without a key cannot change
//! anything.

use std::net::{SocketAddr, SocketAddrV4};

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::eavesdropper::{Place, datagrams, streams};
use ring_segment::limit::wait_until;
use ring_segment::{
    Case, Eavesdropper, KeyFiles, MacAddr, Test, WAIT_LIMIT, check_signers, forged_signature,
    reload_keys, side_by_side, tests,
};
use serde_json::{Value, json};

use super::stand::{Kind, NodeStand, UDP_PORT, addresses, counter};
use super::wire::{hash, list_on_wire};

const NODES: [usize; 3] = [0, 1, 2];
/// The place of the attacker.
const ATTACKER: usize = 3;
/// The start of the data of the ring. Each computation adds one byte.
const MARK: &str = "visible-data";
/// The maximum number of recorded datagrams that the attacker repeats.
const REPLAYED_MAX: usize = 100;
/// The counters that stay the same while all nodes hear each other.
const CHANGES: [&str; 5] = [
    "restores_won",
    "merged",
    "absorbed",
    "passes_failed",
    "passes_unknown",
];

pub(super) fn tests() -> Vec<Test> {
    // A restart or a stall may change the leader.
    let tests = tests![
        exclusive neither_a_new_key_nor_an_attacker_disturbs_a_ring_with_keys,
        an_attacker_takes_over_a_ring_without_keys,
    ];
    tests.into_iter().map(Test::without_stalls).collect()
}

/// Both rings run in parallel, so that their waits overlap.
fn neither_a_new_key_nor_an_attacker_disturbs_a_ring_with_keys() -> Result<()> {
    let cases: [Case; 2] = [
        (
            "new key",
            check_a_ring_gets_keys_and_replaces_its_key_without_a_gap,
        ),
        ("attacker", check_an_attacker_without_a_key_changes_nothing),
    ];
    side_by_side(&cases)
}

/// Starts nodes on the first three machines. Their data begin with the mark, and grow.
fn start(stand: &mut NodeStand, files: &[KeyFiles]) -> Result<()> {
    let compute = format!("data=$(cat); printf %s \"${{data:-{MARK}}}+\"");
    for (index, files) in files.iter().enumerate() {
        let config = files.config();
        let options = [
            ("--compute", compute.as_str()),
            ("--decide", "longer"),
            ("--hold", "20ms"),
            ("--config", config.to_str().context("a path")?),
        ];
        stand.add_detached(index, &options)?;
    }
    stand.wait_for_ring(&NODES)
}

fn data_len(status: &Value) -> u64 {
    status["data_len"].as_u64().unwrap_or_default()
}

/// Waits until each node has taken the token some more times, and returns the data's length.
fn wait_for_rounds(stand: &NodeStand, more: u64) -> Result<u64> {
    let mut len = 0;
    for index in NODES {
        let taken = counter(&stand.status_when(index, |_| true)?, "taken");
        let status = stand.status_when(index, |status| counter(status, "taken") >= taken + more)?;
        len = data_len(&status);
    }
    Ok(len)
}

/// Returns the parts of all statuses that an attacker could change.
fn essence(stand: &NodeStand) -> Result<Vec<Value>> {
    let mut all = Vec::new();
    for index in NODES {
        let status = stand.status_when(index, |_| true)?;
        all.push(json!([status["token_id"], addresses(&status)]));
        all.extend(CHANGES.map(|name| status["counters"][name].clone()));
    }
    Ok(all)
}

fn is_visible(frames: &[Vec<u8>]) -> bool {
    let has_mark = |bytes: &[u8]| bytes.windows(MARK.len()).any(|it| it == MARK.as_bytes());
    streams(frames).iter().any(|stream| has_mark(&stream.bytes))
}

fn check_a_ring_gets_keys_and_replaces_its_key_without_a_gap() -> Result<()> {
    let mut stand = NodeStand::without_nodes(Kind::Bridge, NODES.len())?;
    let ears = Eavesdropper::at_hub(stand.segment())?;
    let files = KeyFiles::several("jitterbug", NODES.len())?;
    start(&mut stand, &files)?;
    let mut len = wait_for_rounds(&stand, 3)?;
    ensure!(
        is_visible(&ears.hear()?),
        "no data are visible without keys"
    );
    let before = essence(&stand)?;
    for (keys, accepts_unsigned) in [
        (&[1][..], true),
        (&[1], false),
        (&[1, 2], false),
        (&[2, 1], false),
        (&[2], false),
    ] {
        for (index, files) in files.iter().enumerate() {
            files.write(keys, accepts_unsigned)?;
            reload_keys(stand.node(index), keys, accepts_unsigned)?;
            let longer = wait_for_rounds(&stand, 3)?;
            ensure!(longer > len, "the data do not grow: {longer} after {len}");
            len = longer;
        }
        if accepts_unsigned {
            wait_until("each node has heard a signature of each other node", || {
                let counts = [("none", 0), ("1", 2)];
                let mut nodes = NODES.iter();
                nodes.all(|index| {
                    check_signers(stand.node(*index), &["unsigned_accepted"], &counts).is_ok()
                })
            });
            continue;
        }
        ears.hear()?;
        wait_for_rounds(&stand, 3)?;
        let heard = ears.hear()?;
        ensure!(!streams(&heard).is_empty(), "the nodes sent nothing");
        ensure!(!is_visible(&heard), "the data are visible");
    }
    let after = essence(&stand)?;
    ensure!(before == after, "{before:?} became {after:?}");
    Ok(())
}

/// Three nodes, and an attacker who has recorded all their packets, including packets of a process that has ended.
struct Attacked {
    stand: NodeStand,
    attacker: Eavesdropper,
    recorded: Vec<Vec<u8>>,
    _files: Vec<KeyFiles>,
}

impl Attacked {
    fn new(has_keys: bool) -> Result<Self> {
        let mut stand = NodeStand::without_nodes(Kind::Bridge, ATTACKER + 1)?;
        let attacker = Eavesdropper::at(stand.segment(), stand.segment().node(ATTACKER))?;
        let files = KeyFiles::several("jitterbug", NODES.len())?;
        if has_keys {
            files.iter().try_for_each(|it| it.write(&[1], false))?;
        }
        start(&mut stand, &files)?;
        stand.signal(1, Signal::SIGTERM)?;
        stand.node(1).wait_exit(WAIT_LIMIT)?;
        stand.node(1).start()?;
        stand.wait_for_ring(&NODES)?;
        wait_for_rounds(&stand, 3)?;
        Ok(Self {
            recorded: attacker.hear()?,
            stand,
            attacker,
            _files: files,
        })
    }

    fn place(&self, index: usize) -> Result<Place> {
        let node = self.stand.segment().node(index);
        let ip = node.ip().context("it has an address")?;
        Ok((node.mac(), SocketAddrV4::new(ip, UDP_PORT)))
    }

    /// Sends forged datagrams with the addresses of all nodes, repeats recorded datagrams and streams, and offers
    /// tokens.
    fn attack(&self) -> Result<()> {
        let strong = i32::MAX;
        let tr1 = |id: i32| [&[0x01][..], &id.to_be_bytes(), &[0xe1, 0x64]].concat();
        let tr2 = |id: i32| [&[0x11][..], &id.to_be_bytes()].concat();
        let forged = [tr1(strong), tr1(-strong), tr2(strong), tr2(-strong)];
        for from in 0..=ATTACKER {
            for message in &forged {
                for to in NODES.map(Some).into_iter().chain([None]) {
                    self.send(from, to, message)?;
                    for key in [1, 9] {
                        self.send(from, to, &[&message[..], &forged_signature(key)].concat())?;
                    }
                }
            }
        }
        let sent = datagrams(&self.recorded);
        let step = (sent.len() / REPLAYED_MAX).max(1);
        for datagram in sent.iter().step_by(step) {
            let place =
                |ip| (0..ATTACKER).find(|at| self.place(*at).is_ok_and(|it| it.1.ip() == ip));
            if let Some(from) = place(datagram.from.ip()) {
                self.send(from, place(datagram.to.ip()), &datagram.bytes)?;
            }
        }
        let mut listeners = Vec::new();
        for index in NODES {
            let SocketAddr::V4(listener) = self.stand.listener(index)? else {
                continue;
            };
            listeners.push(listener);
        }
        for stream in streams(&self.recorded) {
            if listeners.contains(&stream.to) {
                self.attacker.open(stream.to, &stream.bytes)?;
            }
        }
        let list: Vec<_> = listeners
            .iter()
            .map(|at| ((*at.ip()).into(), at.port()))
            .collect();
        let list = list_on_wire(&list);
        let id = strong.to_be_bytes();
        let data = format!("{MARK}{}", "!".repeat(1000));
        let offer = [
            &[0x21][..],
            &id,
            &hash(&list).to_be_bytes(),
            &[0x51],
            &list,
            &[0x61],
            &id,
            data.as_bytes(),
        ];
        for listener in listeners {
            self.attacker.open(listener, &offer.concat())?;
            self.attacker.open(listener, b"KEY\x01\0\0\0\x01")?;
        }
        Ok(())
    }

    /// Sends a datagram to a node; `None` means all nodes.
    fn send(&self, from: usize, to: Option<usize>, payload: &[u8]) -> Result<()> {
        let to_all = (
            MacAddr::broadcast(),
            SocketAddrV4::new([10, 77, 0, 255].into(), UDP_PORT),
        );
        let to = to.map_or(Ok(to_all), |to| self.place(to))?;
        self.attacker.send_datagram(self.place(from)?, to, payload)
    }
}

fn check_an_attacker_without_a_key_changes_nothing() -> Result<()> {
    let attacked = Attacked::new(true)?;
    let stand = &attacked.stand;
    let before = essence(stand)?;
    for _ in 0..3 {
        attacked.attack()?;
        wait_for_rounds(stand, 3)?;
    }
    wait_for_rounds(stand, 20)?;
    let after = essence(stand)?;
    ensure!(before == after, "{before:?} became {after:?}");
    for index in NODES {
        let status = stand.status_when(index, |_| true)?;
        let data = status["data_hex"].as_str().context("data")?;
        ensure!(!data.contains("21"), "the data are forged: {status:#}");
        let counts = &status["counters"]["unproven"];
        for reason in ["unsigned", "unknown_key", "wrong_mac"] {
            let count = counts[reason].as_u64();
            ensure!(count.is_some_and(|count| count > 0), "{reason}: {counts}");
        }
        let troubles = status["troubles"].to_string();
        ensure!(troubles.contains("without a valid signature"), "{troubles}");
    }
    Ok(())
}

/// The attack is the same as in the test above. This test shows that the test above can fail.
fn an_attacker_takes_over_a_ring_without_keys() -> Result<()> {
    let attacked = Attacked::new(false)?;
    let before = essence(&attacked.stand)?;
    wait_until("the attack changes the ring", || {
        let attack = attacked.attack();
        attack.is_ok() && essence(&attacked.stand).is_ok_and(|after| after != before)
    });
    Ok(())
}
