//! False alarms: how often a live owner is deposed when nothing fails and only CPU is short.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use ring_segment::{Binaries, Daemon, Layout, Segment};
use serde_json::Value;

use crate::burn::Burners;

/// `--heartbeat` in milliseconds.
const HEARTBEATS: [u64; 7] = [1, 2, 5, 10, 20, 50, 100];
/// Burners a core.
const LOADS: [u32; 3] = [0, 2, 8];
/// For a ring to form, at the longest heartbeat and on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// A version of the daemon.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// As the table calls it.
    pub name: String,
    /// Its programs.
    pub binaries: Binaries,
}

/// What happened while one ring was watched, in all its daemons.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Tally {
    /// Elections: somebody became owner while the owner before was alive.
    elected: u64,
    /// Owners that met a stronger token.
    stronger: u64,
    /// Owners that found that they had been stalled, and gave up.
    leases: u64,
    /// Members that heard nothing of the token for too long.
    timeouts: u64,
    failed: u64,
    hand_overs: u64,
    late: u64,
}

/// Watches a ring for each candidate, heartbeat and load, and prints a table.
///
/// # Errors
/// If the machine refuses something, or no ring forms.
pub fn count(candidates: &[Candidate], daemons: usize, watched: Duration) -> Result<()> {
    let cores = u32::try_from(thread::available_parallelism()?.get())?;
    println!(
        "{daemons} daemons on a bridge, {cores} cores, each line watched for {} s; nothing is done \
         to the ring",
        watched.as_secs()
    );
    println!(
        "{:<24} {:>9} {:>7} {:>9} {:>12} {:>8} {:>7} {:>9} {:>9} {:>10} {:>8}",
        "version",
        "heartbeat",
        "burners",
        "elections",
        "a minute",
        "stronger",
        "leases",
        "timeouts",
        "failed",
        "hand-overs",
        "late"
    );
    for heartbeat in HEARTBEATS {
        for load in LOADS {
            for candidate in candidates {
                let burners = load * cores;
                let tally = watch(candidate, daemons, heartbeat, burners, watched)?;
                show(candidate, heartbeat, burners, &tally, watched);
            }
        }
    }
    Ok(())
}

fn show(candidate: &Candidate, heartbeat: u64, burners: u32, tally: &Tally, watched: Duration) {
    #[expect(clippy::cast_precision_loss, reason = "elections are few")]
    let a_minute = tally.elected as f64 * 60.0 / watched.as_secs_f64();
    println!(
        "{:<24} {:>6} ms {burners:>7} {:>9} {a_minute:>12.1} {:>8} {:>7} {:>9} {:>9} {:>10} {:>8}",
        candidate.name,
        heartbeat,
        tally.elected,
        tally.stronger,
        tally.leases,
        tally.timeouts,
        tally.failed,
        tally.hand_overs,
        tally.late
    );
}

fn watch(
    candidate: &Candidate,
    daemons: usize,
    heartbeat: u64,
    burners: u32,
    watched: Duration,
) -> Result<Tally> {
    let segment = Layout::new(daemons).addresses().bridge()?;
    // A recording would take the CPU from the daemons that it is about.
    segment.capture().stop()?;
    let ring = start(&segment, candidate, daemons, heartbeat)?;
    for daemon in &ring {
        daemon.wait_for_status(PATIENCE, |status| {
            let known = status["members"].as_array().map_or(0, Vec::len);
            known == daemons && !status["owner"].is_null()
        })?;
    }
    let program = std::env::current_exe().context("cannot find the running program")?;
    let load = Burners::start(&program, burners)?;
    let before = total(&ring)?;
    thread::sleep(watched);
    let after = total(&ring)?;
    drop(load);
    Ok(after.since(before))
}

fn start(
    segment: &Segment,
    candidate: &Candidate,
    daemons: usize,
    heartbeat: u64,
) -> Result<Vec<Daemon>> {
    let nodes = segment.nodes().iter().take(daemons);
    nodes
        .map(|node| {
            let ringd = node.ringd(candidate.binaries);
            ringd
                .option("--heartbeat", format!("{heartbeat}ms"))
                .option("--idle-hold", format!("{}us", heartbeat * 100))
                .spawn()
        })
        .collect()
}

fn total(ring: &[Daemon]) -> Result<Tally> {
    let mut total = Tally::default();
    for daemon in ring {
        let status = daemon.status()?;
        total.add(&status["counters"]);
    }
    Ok(total)
}

impl Tally {
    fn add(&mut self, counters: &Value) {
        let reasons = &counters["state_change_reasons"];
        let count = |value: &Value| value.as_u64().unwrap_or(0);
        self.elected += count(&reasons["elected"]);
        self.stronger += count(&reasons["stronger_token"]);
        self.leases += count(&reasons["lease_expired"]);
        self.timeouts += count(&reasons["waiter_timeout"]);
        self.failed += count(&counters["hand_overs_failed"]);
        self.hand_overs += count(&counters["hand_overs"]);
        self.late += count(&counters["late_wake_ups"]);
    }

    fn since(self, before: Self) -> Self {
        Self {
            elected: self.elected - before.elected,
            stronger: self.stronger - before.stronger,
            leases: self.leases - before.leases,
            timeouts: self.timeouts - before.timeouts,
            failed: self.failed - before.failed,
            hand_overs: self.hand_overs - before.hand_overs,
            late: self.late - before.late,
        }
    }
}
