//! Tests of `ring-chaos conform`: it accepts `ringd` and a correct voter, and names the rule that a wrong voter breaks.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_chaos::conform::voter::{self, Flaw};
use ring_chaos::conform::{ConformOptions, Level, Outcome, Report, judge};
use ring_segment::{Case, Test, Timing, binaries, side_by_side, tests};

const HEARTBEAT: Duration = Duration::from_millis(100);
/// Length of the faults. Each kind of fault occurs about once.
const FAULTS_TIME: Duration = Duration::from_secs(16);
const SEED: u64 = 3;

pub(crate) fn tests() -> Vec<Test> {
    // The judge stops processes itself, and measures times.
    let tests = tests![exclusive correct_programs_pass_and_a_voter_that_breaks_a_rule_fails];
    tests.into_iter().map(Test::without_stalls).collect()
}

/// The judgments run in parallel, so that their waits overlap.
fn correct_programs_pass_and_a_voter_that_breaks_a_rule_fails() -> Result<()> {
    let cases: [Case; 5] = [
        ("ringd", check_ringd_passes_at_level_full),
        ("correct voter", || {
            let report = judge_voter("voter", None, FAULTS_TIME)?;
            ensure!(report.passed(), "{report}");
            Ok(())
        }),
        ("second vote", || {
            let report = judge_voter("second-vote", Some(Flaw::SecondVote), Duration::ZERO)?;
            check_fails(&report, "one-vote")
        }),
        ("no vote", || {
            let report = judge_voter("no-vote", Some(Flaw::NoVote), Duration::ZERO)?;
            check_fails(&report, "confirms")?;
            check_fails(&report, "witness")
        }),
        ("forged author", || {
            let report = judge_voter("forged-author", Some(Flaw::ForgedAuthor), Duration::ZERO)?;
            check_fails(&report, "garbage")
        }),
    ];
    side_by_side(&cases)
}

fn check_ringd_passes_at_level_full() -> Result<()> {
    let timing = timing();
    let options = [
        binaries().ringd,
        "{iface}",
        "--state-dir",
        "{dir}",
        "--control",
        "{dir}/control.sock",
        "--ring-size",
        "3",
        "--take-timeout",
        &format!("{}ms", timing.take_timeout.as_millis()),
        "--idle-hold",
        &format!("{}ms", timing.idle_hold.as_millis()),
    ];
    let report = judge(&ConformOptions {
        lock: Some(format!(
            "{} run --socket {{dir}}/control.sock -q -r quorum -w 2 -- {{job}}",
            binaries().ringctl
        )),
        ..conform_options("ringd", Level::Full, options.map(str::to_owned).to_vec())
    })?;
    ensure!(report.passed(), "{report}");
    // A run without locks or without a tenure of the program proves nothing.
    for check in [
        "exclusive",
        "takes",
        "hands-on",
        "elects",
        "lease",
        "profile",
    ] {
        ensure!(report.outcome(check) == Some(Outcome::Passed), "{report}");
    }
    Ok(())
}

fn judge_voter(name: &str, flaw: Option<Flaw>, lasts: Duration) -> Result<Report> {
    let program = std::env::current_exe()?;
    let program = program.to_str().context("a plain path")?;
    let command = voter::command(program, HEARTBEAT, flaw);
    judge(&ConformOptions {
        lasts,
        ..conform_options(name, Level::Voter, command)
    })
}

fn check_fails(report: &Report, check: &str) -> Result<()> {
    ensure!(report.outcome(check) == Some(Outcome::Failed), "{report}");
    Ok(())
}

fn timing() -> Timing {
    Timing::tolerant(HEARTBEAT)
}

fn conform_options(name: &str, level: Level, command: Vec<String>) -> ConformOptions {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("conform");
    ConformOptions {
        binaries: binaries(),
        level,
        timing: timing(),
        seed: SEED,
        lasts: FAULTS_TIME,
        command,
        lock: None,
        folder: folder.join(name),
    }
}
