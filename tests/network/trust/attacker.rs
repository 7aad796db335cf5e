//! An attacker on the segment who hears and sends everything, but has no key.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_segment::limit::wait_until;
use ring_segment::{
    Daemon, KeyFiles, LONG_IDLE_HOLD, Layout, MacAddr, Member, Message, OTHER_DIGEST, Peer,
    Segment, Test, Token, WAIT_LIMIT, binaries, check_refusals, forged_signature, take_token,
    tests, token_is_here,
};
use serde_json::{Value, json};

use super::wait_for_key;
use crate::locks::{Client, timing};

/// The attacker's place on the segment. The other places have daemons.
const ATTACKER: usize = 2;
/// The number of recorded frames that the attacker repeats.
const REPLAYED_MAX: usize = 200;

pub(super) fn tests() -> Vec<Test> {
    // The test restarts a daemon itself.
    let tests = tests![
        an_attacker_without_a_key_changes_nothing,
        an_attacker_takes_the_token_from_a_ring_without_keys,
    ];
    tests.into_iter().map(Test::without_stalls).collect()
}

/// Two daemons, and an attacker who has recorded the frames of an earlier boot of the second daemon.
struct Attacked {
    daemons: [Daemon; 2],
    attacker: Peer,
    /// Frames of the daemons, including frames of a process that has ended.
    recorded: Vec<Vec<u8>>,
    holder: Client,
    segment: Segment,
    _files: KeyFiles,
}

impl Attacked {
    fn new(has_keys: bool) -> Result<Self> {
        let segment = Layout::new(3).addresses().bridge()?;
        // A switch may learn a forged address, and then frames get lost. A key does not prevent this.
        let attackers_port = format!("link set p{ATTACKER} type bridge_slave learning off\n");
        segment.hub().ip(&attackers_port)?;
        let files = KeyFiles::with_keys("ring", &[1])?;
        let spawn = |at: usize| {
            let ringd = segment.node(at).ringd(binaries());
            let ringd = ringd.timing(&timing().idle_hold(LONG_IDLE_HOLD));
            let ringd = ringd.option("--ring-size", "2");
            if has_keys { files.add_to(ringd) } else { ringd }.spawn()
        };
        let mut daemons = [spawn(0)?, spawn(1)?];
        wait_until_complete(&daemons)?;
        // The attacker records the frames of these locks, of handovers, and of the daemon's end.
        for daemon in &daemons {
            let mut client = Client::connect(&daemon.control())?;
            client.lock("recorded")?;
            client.expect("granted")?;
            client.unlock()?;
            lock_name(&mut client)?;
            client.unlock()?;
        }
        daemons[1].signal(nix::sys::signal::Signal::SIGTERM)?;
        daemons[1].wait_exit(WAIT_LIMIT)?;
        daemons[1].start()?;
        wait_until_complete(&daemons)?;
        if has_keys {
            for daemon in &daemons {
                wait_for_key(daemon, 1)?;
            }
        }
        let mut holder = Client::connect(&daemons[1].control())?;
        lock_name(&mut holder)?;
        let frames = segment.capture().frames();
        let recorded = frames.into_iter().map(|seen| seen.bytes).collect();
        let attacker = segment.node(ATTACKER).peer()?;
        Ok(Self {
            daemons,
            attacker,
            recorded,
            holder,
            segment,
            _files: files,
        })
    }

    /// Sends forged frames with the addresses of the daemons and of other machines, and repeats recorded frames.
    fn attack(&self) -> Result<()> {
        let macs = self.daemons.each_ref().map(|daemon| daemon.node().mac());
        let stranger = MacAddr::new(2, 0, 0, 0, 0, 0x77);
        let strong = Token {
            progress: (1 << 63) - 1,
            author: stranger,
            number: 7,
        };
        let members = [stranger, self.attacker.mac()].map(|mac| Member { mac, ip: [7; 16] });
        let forged = [
            token_is_here(strong),
            Message::GeneratingToken { token: strong },
            Message::TokenWasHereRecently {
                token: strong,
                holder: stranger,
            },
            Message::RingMembers {
                digest: OTHER_DIGEST,
                members: members.to_vec(),
            },
            Message::Forget {
                members: macs.to_vec(),
            },
            Message::WantToken,
            Message::WhereIsToken,
            Message::Leaving,
        ];
        for source in [macs[0], macs[1], stranger] {
            for message in &forged {
                self.attacker
                    .send_as(source, MacAddr::broadcast(), message)?;
                for key in [1, 9] {
                    self.send_signed(source, MacAddr::broadcast(), message, key)?;
                }
            }
            for destination in macs {
                self.attacker
                    .send_as(source, destination, &take_token(strong))?;
                self.send_signed(source, destination, &take_token(strong), 1)?;
            }
        }
        let step = (self.recorded.len() / REPLAYED_MAX).max(1);
        for frame in self.recorded.iter().step_by(step) {
            self.attacker.send_frame(frame)?;
        }
        Ok(())
    }

    /// Sends a message with a trailer that has the id of a key, but not its MAC.
    fn send_signed(&self, from: MacAddr, to: MacAddr, message: &Message, key: u32) -> Result<()> {
        let payload = message.payload(from);
        let mut frame = ring_segment::frame(to, from, ring_segment::ETHERTYPE, &payload);
        frame.extend(forged_signature(key));
        self.attacker.send_frame(&frame).map(drop)
    }

    fn statuses(&self) -> Result<[Value; 2]> {
        let [first, second] = &self.daemons;
        Ok([first.status()?, second.status()?])
    }
}

fn wait_until_complete(daemons: &[Daemon; 2]) -> Result<()> {
    for daemon in daemons {
        daemon.wait_for_status(WAIT_LIMIT, |status| {
            status["quorum"]["present"] == 2 && !status["owner"].is_null()
        })?;
    }
    Ok(())
}

fn lock_name(client: &mut Client) -> Result<Value> {
    client.send(&json!({"request": "named_lock", "name": "held", "require": "quorum"}))?;
    client.expect("granted")
}

/// Returns the parts of a status that an attacker could change: the token, the owner, the members and their states.
fn essence(status: &Value) -> Result<Value> {
    let members = status["members"].as_array().context("a list")?;
    let members: Vec<_> = members
        .iter()
        .map(|it| json!([it["mac"], it["ip"], it["state"], it["penalty"]]))
        .collect();
    Ok(json!([
        status["token"],
        status["owner"],
        status["state"],
        status["ring_hash"],
        status["quorum"],
        members,
    ]))
}

fn an_attacker_without_a_key_changes_nothing() -> Result<()> {
    let mut attacked = Attacked::new(true)?;
    let before = attacked.statuses()?;
    for _ in 0..3 {
        attacked.attack()?;
        // The failure timeout passes, so an owner that was silenced would be replaced.
        std::thread::sleep(timing().waiter_timeout() + Duration::from_millis(300));
    }
    let after = attacked.statuses()?;
    for (before, after) in before.iter().zip(&after) {
        let (old, new) = (essence(before)?, essence(after)?);
        ensure!(old == new, "before {old:#}, after {new:#}");
    }
    let [first, _] = &after;
    check_refusals(first)?;
    let line = |line: &str| line.contains("02:00:00:00:00:77") && line.contains("signature");
    attacked.daemons[0].wait_for_line(WAIT_LIMIT, line)?;
    // If the lock were lost, the daemon would report this before the release.
    attacked.holder.unlock()?;
    let lines = attacked.daemons[0].output();
    let warnings = lines
        .iter()
        .filter(|line| line.contains("signature") && line.contains("WARN"));
    ensure!(warnings.count() <= 8, "{lines:#?}");
    ensure!(attacked.segment.capture().lost() == 0);
    Ok(())
}

/// The attack is the same as in the test above. This test shows that the test above can fail.
fn an_attacker_takes_the_token_from_a_ring_without_keys() -> Result<()> {
    let attacked = Attacked::new(false)?;
    let before = essence(&attacked.statuses()?[0])?;
    attacked.attack()?;
    wait_until("the attack changes the ring", || {
        let status = attacked.daemons[0].status();
        let changed = status.and_then(|status| Ok(essence(&status)? != before));
        changed.unwrap_or_default()
    });
    Ok(())
}
