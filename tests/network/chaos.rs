//! Less than half a minute of `scripts/chaos`, always the same: two cycles, the second one's calm starved of
//! CPU.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use ring_chaos::check::{Finding, JUDGED, check};
use ring_chaos::report;
use ring_chaos::run::{Script, run};
use ring_segment::{Test, Timing, binaries, tests};

/// A cycle lasts some ten seconds, and a new one begins as long as there is time.
const LASTS: Duration = Duration::from_secs(12);
/// Less than in `scripts/chaos`, and so more of them at one time.
const FAULTS: Duration = Duration::from_secs(4);
const SEED: u64 = 7;
/// For how long one owner must have been demanded at least, in milliseconds of calm in which the machine was
/// never late: what is less proves nothing.
const LEAST_JUDGED: u64 = 500;
/// How often a machine that is busy is tried.
const RUNS: usize = 3;

pub(crate) fn tests() -> Vec<Test> {
    // It stops daemons itself, and judges by what it knows of. It takes the processors from all others for a while,
    // whose locks would be lost then.
    let tests = tests![exclusive a_ring_that_is_broken_on_purpose_keeps_its_promises];
    tests.into_iter().map(Test::without_stalls).collect()
}

fn a_ring_that_is_broken_on_purpose_keeps_its_promises() -> Result<()> {
    let mut judged = Vec::new();
    for _ in 0..RUNS {
        judged.push(keeps_its_promises()?);
        if judged.last() >= Some(&LEAST_JUDGED) {
            return Ok(());
        }
    }
    bail!(
        "one owner was demanded for {judged:?} ms of calm in {RUNS} runs, not {LEAST_JUDGED} ms: \
         the machine is too busy for this test"
    )
}

/// One run; for how many milliseconds one owner was demanded in it.
fn keeps_its_promises() -> Result<u64> {
    // Recordings of a failure stay until the next run.
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("chaos");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let script = Script {
        binaries: binaries(),
        lasts: LASTS,
        faults: FAULTS,
        seed: SEED,
        timing: Timing::patient(Duration::from_millis(50)),
        talks: false,
    };
    run(&script, &folder)?;
    let (evidence, verdict) = check(&folder)?;
    let said = report::text(&evidence, &verdict);
    let text = |it: &Finding| format!("{:?}: {}: {}\n", it.at, it.rule.words(), it.text);
    let found: String = verdict.findings.iter().map(text).collect();
    ensure!(found.is_empty(), "{found}see {}", folder.display());
    // The run was as long and as rich as it was to be, and what is said tells of it.
    ensure!(evidence.complete && evidence.cycles.len() >= 2 && evidence.faults.len() >= 4);
    ensure!(
        verdict.services.len() >= 5,
        "{} wants",
        verdict.services.len()
    );
    ensure!(said.contains("another owner after SIGKILL"), "{said}");
    let mut counts = verdict.counts.iter();
    let judged = counts.find(|(what, _)| *what == JUDGED);
    Ok(judged.context("it is counted")?.1)
}
