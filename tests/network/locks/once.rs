//! Tests of `ringctl once`: every machine calls a job, but only one machine runs the job.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{Daemon, Layout, Message, Ring, Test, binaries, tests};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::locks::program::Running;
use crate::locks::{WAIT_LIMIT, form, ringctl, shared_ring, timing, wait_until_held};

pub(super) fn tests() -> Vec<Test> {
    tests![
        the_nightly_job_of_the_page_runs_on_one_machine_only,
        while_a_job_runs_the_others_do_not_wait_for_its_end,
        a_job_that_one_machine_cannot_begin_runs_on_the_next,
        a_failed_job_runs_again_only_with_retry,
        an_interrupted_job_stays_begun_with_any_exit_code,
        a_job_whose_machine_dies_runs_again_only_with_retry,
        runs_are_known_after_a_restart_of_the_whole_ring,
        a_machine_that_was_absent_learns_of_the_jobs_that_have_run,
        a_part_without_a_quorum_runs_no_job_that_requires_one,
        an_invalid_name_of_a_job_is_refused,
    ]
}

/// File to which each job writes a line when it runs.
struct Diary {
    folder: TempDir,
}

impl Diary {
    fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("runs"), "")?;
        Ok(Self { folder })
    }

    /// Returns a shell line that writes a line to the diary, and then runs `then`.
    fn line(&self, then: &str) -> String {
        let runs = self.folder.path().join("runs");
        format!("echo ran >> {}; {then}", runs.display())
    }

    fn runs(&self) -> Result<usize> {
        let text = fs::read_to_string(self.folder.path().join("runs"))?;
        Ok(text.lines().count())
    }
}

fn once(daemon: &Daemon, name: &str, options: &[&str], line: &str) -> Result<Running> {
    let job = ["once", name, "--every", "20h"];
    let arguments = [&job, options, &["-c", line]].concat();
    Running::start(&mut ringctl(daemon, &arguments))
}

/// Checks the message about an earlier run of the job. The message names the end of the period.
fn check_has_run(mut run: Running) -> Result<()> {
    let (output, errors) = (run.remaining_output(), run.errors());
    // In the first second of the period, the remaining time is 20 hours.
    let left = ["20h\n", "19h 59m "];
    let is_told = left.map(|left| format!("; its period ends in {left}"));
    let is_told = is_told.iter().any(|end| errors.contains(end)) && errors.lines().count() == 1;
    ensure!(output.is_empty() && is_told, "{output}{errors}");
    run.expect_code(0)
}

/// Checks that the command succeeds and prints nothing.
fn check_silent(mut run: Running) -> Result<()> {
    let (output, errors) = (run.remaining_output(), run.errors());
    ensure!(output.is_empty() && errors.is_empty(), "{output}{errors}");
    run.expect_code(0)
}

fn run_of<'a>(status: &'a Value, name: &str) -> Option<&'a Value> {
    let mut runs = status["runs"].as_array()?.iter();
    runs.find(|run| run["name"] == name)
}

fn knows(daemon: &Daemon, name: &str, outcome: &str) -> Result<()> {
    let known = |status: &Value| run_of(status, name).is_some_and(|run| run["outcome"] == outcome);
    daemon.wait_for_status(WAIT_LIMIT, known).map(drop)
}

/// Returns the crontab line of `docs/how-to/nightly-job.md`, changed to run `program`.
fn nightly_command(program: &str) -> Result<Vec<String>> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/how-to/nightly-job.md");
    let page = fs::read_to_string(page)?;
    let mut lines = page
        .lines()
        .filter(|line| line.contains("ringctl once nightly"));
    let line = lines.next().context("the page has the nightly job")?;
    let (_, called) = line
        .split_once("ringctl ")
        .context("the line calls ringctl")?;
    let words = called.split_whitespace();
    let word = |word: &str| {
        let is_program = word == "/usr/local/bin/nightly";
        if is_program { program } else { word }.to_owned()
    };
    Ok(words.map(word).collect())
}

fn the_nightly_job_of_the_page_runs_on_one_machine_only() -> Result<()> {
    // The job has the page's name, so the test uses its own ring. On a shared ring another test may have run this job.
    let ring = form(3)?;
    let diary = Diary::new()?;
    let program = diary.folder.path().join("nightly");
    fs::write(&program, format!("#!/bin/sh\n{}\n", diary.line("true")))?;
    let program = program.to_str().context("a plain path")?;
    let words = nightly_command(&format!("sh {program}"))?;
    let words: Vec<&str> = words.iter().flat_map(|word| word.split(' ')).collect();
    let start = |daemon: &Daemon| Running::start(&mut ringctl(daemon, &words));
    for _ in 0..2 {
        let runs: Result<Vec<_>> = ring.daemons.iter().map(start).collect();
        for run in runs? {
            check_silent(run)?;
        }
    }
    ensure!(diary.runs()? == 1, "{} times", diary.runs()?);
    for daemon in &ring.daemons {
        knows(daemon, "nightly", "done")?;
    }
    let is_complete = |seen: &[ring_segment::Seen]| {
        let mut kinds = seen.iter().map(|seen| &seen.message);
        kinds
            .any(|message| matches!(message, Message::Stamps { purpose: 3, .. }))
            .then_some(())
    };
    ring.segment
        .capture()
        .wait_until(WAIT_LIMIT, is_complete)
        .map(drop)
}

fn a_job_that_one_machine_cannot_begin_runs_on_the_next() -> Result<()> {
    let ring = shared_ring(2)?;
    let diary = Diary::new()?;
    let plain = diary.folder.path().join("runs");
    let plain = plain.to_str().context("a plain path")?;
    for (program, code) in [("/no/such/program", 127), (plain, 126)] {
        let arguments = ["once", "elsewhere", "--every", "20h", "--", program];
        let mut run = Running::start(&mut ringctl(&ring.daemons[0], &arguments))?;
        let errors = run.errors();
        ensure!(errors.contains("another machine may run it"), "{errors}");
        run.expect_code(code)?;
    }
    // If the job itself starts and returns one of these exit codes, it has run.
    let line = diary.line("exit 127");
    once(&ring.daemons[1], "elsewhere", &[], &line)?.expect_code(127)?;
    check_has_run(once(&ring.daemons[0], "elsewhere", &[], &line)?)?;
    ensure!(diary.runs()? == 1, "{} times", diary.runs()?);
    Ok(())
}

fn while_a_job_runs_the_others_do_not_wait_for_its_end() -> Result<()> {
    let ring = shared_ring(2)?;
    let diary = Diary::new()?;
    let mut run = once(
        &ring.daemons[0],
        "long",
        &[],
        &diary.line("echo ready; exec sleep 1000"),
    )?;
    run.expect_line("ready")?;
    check_has_run(once(&ring.daemons[1], "long", &[], &diary.line("true"))?)?;
    check_has_run(once(&ring.daemons[0], "long", &[], &diary.line("true"))?)?;
    let mut second = once(&ring.daemons[1], "long", &["-v"], &diary.line("true"))?;
    let errors = second.errors();
    ensure!(
        errors.contains(&format!("long: running on {} for ", ring.macs()[0])),
        "{errors}"
    );
    second.expect_code(0)?;
    let shown = ringctl(&ring.daemons[1], &["status"]).output()?;
    let shown = String::from_utf8(shown.stdout)?;
    ensure!(shown.contains("  long: running on "), "{shown}");
    ensure!(diary.runs()? == 1);
    run.signal(Signal::SIGTERM)?;
    run.wait().map(drop)
}

fn a_failed_job_runs_again_only_with_retry() -> Result<()> {
    let ring = shared_ring(2)?;
    let diary = Diary::new()?;
    once(&ring.daemons[0], "fails", &[], &diary.line("exit 7"))?.expect_code(7)?;
    knows(&ring.daemons[1], "fails", "failed")?;
    ring.daemons[0].wait_for_line(WAIT_LIMIT, |line| {
        line.contains("WARN") && line.contains("fails: failed")
    })?;
    check_has_run(once(&ring.daemons[1], "fails", &[], &diary.line("true"))?)?;
    ensure!(diary.runs()? == 1);
    check_silent(once(
        &ring.daemons[1],
        "fails",
        &["--retry"],
        &diary.line("true"),
    )?)?;
    ensure!(diary.runs()? == 2);
    check_has_run(once(
        &ring.daemons[0],
        "fails",
        &["--retry"],
        &diary.line("true"),
    )?)?;
    ensure!(diary.runs()? == 2, "the job was done");
    Ok(())
}

fn an_interrupted_job_stays_begun_with_any_exit_code() -> Result<()> {
    let ring = shared_ring(2)?;
    let diary = Diary::new()?;
    let polite = diary.line("trap 'exit 0' TERM; echo ready; sleep 1000 & wait");
    let mut run = once(&ring.daemons[0], "interrupted", &[], &polite)?;
    run.expect_line("ready")?;
    wait_until_held(&ring.daemons[0])?;
    Running::start(&mut ringctl(&ring.daemons[0], &["yield"]))?.expect_code(0)?;
    run.expect_code(75)?;
    knows(&ring.daemons[0], "interrupted", "begun")?;
    let again = diary.line("true");
    check_silent(once(&ring.daemons[1], "interrupted", &["--retry"], &again)?)?;
    ensure!(diary.runs()? == 2, "the job was not done");
    knows(&ring.daemons[0], "interrupted", "done")
}

fn a_job_whose_machine_dies_runs_again_only_with_retry() -> Result<()> {
    let mut ring = form(3)?;
    let diary = Diary::new()?;
    let line = diary.line("echo ready; sleep 1000");
    let mut run = once(&ring.daemons[0], "dies", &[], &line)?;
    run.expect_line("ready")?;
    wait_until_held(&ring.daemons[0])?;
    ring.daemons[0].kill()?;
    let runner = ring.daemons[0].node().mac().to_string();
    let lost = "dies: lost, began ".to_owned();
    for other in &ring.daemons[1..] {
        other.wait_for_status(WAIT_LIMIT, |status| {
            run_of(status, "dies").is_some_and(|run| run["lost"] == true)
        })?;
    }
    let shown = ringctl(&ring.daemons[1], &["status"]).output()?;
    let shown = String::from_utf8(shown.stdout)?;
    ensure!(shown.contains(&lost), "{shown}");
    let mut second = once(&ring.daemons[1], "dies", &[], &diary.line("true"))?;
    let errors = second.errors();
    ensure!(
        errors.contains(&lost) && errors.contains(&runner) && errors.contains("--retry"),
        "{errors}"
    );
    ensure!(errors.lines().count() == 1, "{errors}");
    second.expect_code(0)?;
    check_silent(once(
        &ring.daemons[1],
        "dies",
        &["-q"],
        &diary.line("true"),
    )?)?;
    ensure!(diary.runs()? == 1);
    // The log and the events report the loss and name the runner.
    let mut watch = Running::start(&mut ringctl(&ring.daemons[1], &["watch", "--json"]))?;
    let is_told = |line: &str| line.contains(&lost) && line.contains(&runner);
    let line = ring.daemons[1].wait_for_line(2 * WAIT_LIMIT, is_told)?;
    ensure!(line.contains("WARN"), "{line}");
    let event = loop {
        let event: Value = serde_json::from_str(&watch.line())?;
        if event["event"]["event"] == "run_lost" {
            break event["event"].clone();
        }
    };
    ensure!(
        event["member"] == runner && event["label"] == "dies",
        "{event}"
    );
    check_silent(once(
        &ring.daemons[2],
        "dies",
        &["--retry"],
        &diary.line("true"),
    )?)?;
    ensure!(diary.runs()? == 2);
    check_has_run(once(
        &ring.daemons[1],
        "dies",
        &["--retry"],
        &diary.line("true"),
    )?)?;
    ensure!(diary.runs()? == 2);
    ring.daemons[2].wait_for_line(WAIT_LIMIT, |line| line.contains("dies: done"))?;
    let again = ring.daemons[1]
        .output()
        .iter()
        .filter(|it| is_told(it))
        .count();
    ensure!(again == 1, "the log reports the loss {again} times");
    run.expect_code(75)
}

fn runs_are_known_after_a_restart_of_the_whole_ring() -> Result<()> {
    let mut ring = form(3)?;
    let diary = Diary::new()?;
    check_silent(once(&ring.daemons[0], "nightly", &[], &diary.line("true"))?)?;
    for daemon in &ring.daemons {
        knows(daemon, "nightly", "done")?;
    }
    for daemon in &mut ring.daemons {
        daemon.kill()?;
    }
    // The machine that ran the job does not come back.
    for daemon in &mut ring.daemons[1..] {
        daemon.start()?;
    }
    for daemon in &ring.daemons[1..] {
        daemon.wait_for_status(WAIT_LIMIT, |_| true)?;
        check_has_run(once(daemon, "nightly", &[], &diary.line("true"))?)?;
    }
    ensure!(diary.runs()? == 1);
    Ok(())
}

fn a_machine_that_was_absent_learns_of_the_jobs_that_have_run() -> Result<()> {
    let mut ring = form(3)?;
    let diary = Diary::new()?;
    ring.daemons[2].kill()?;
    check_silent(once(&ring.daemons[0], "nightly", &[], &diary.line("true"))?)?;
    ring.daemons[2].start()?;
    ring.daemons[2].wait_for_status(WAIT_LIMIT, |_| true)?;
    check_has_run(once(&ring.daemons[2], "nightly", &[], &diary.line("true"))?)?;
    ensure!(diary.runs()? == 1);
    knows(&ring.daemons[2], "nightly", "done")
}

fn a_part_without_a_quorum_runs_no_job_that_requires_one() -> Result<()> {
    let segment = Layout::new(3).addresses().bridge()?;
    let ring = Ring::start_with(segment, 3, timing(), binaries(), |ringd| {
        ringd.option("--ring-size", "3")
    })?;
    ring.wait_until_formed()?;
    let diary = Diary::new()?;
    ring.segment.cut(2)?;
    // The status may show the grade of the previous tenure until this grade expires.
    ring.daemons[2].wait_for_status(WAIT_LIMIT, |status| status["grade"] != "quorum")?;
    let quorum = &["--require", "quorum"][..];
    let impatient = &["--require", "quorum", "-w", "2", "-E", "9"][..];
    once(&ring.daemons[2], "nightly", impatient, &diary.line("true"))?.expect_code(9)?;
    ensure!(diary.runs()? == 0);
    check_silent(once(
        &ring.daemons[0],
        "nightly",
        quorum,
        &diary.line("true"),
    )?)?;
    ring.segment.heal(2)?;
    check_has_run(once(
        &ring.daemons[2],
        "nightly",
        quorum,
        &diary.line("true"),
    )?)?;
    ensure!(diary.runs()? == 1);
    Ok(())
}

fn an_invalid_name_of_a_job_is_refused() -> Result<()> {
    let ring = shared_ring(2)?;
    let request = json!({"request": "once", "name": "two words", "every_ms": 1000});
    let answer = ring.daemons[0].ask(&request, "error")?;
    let answer = answer.as_str().context("a sentence")?;
    ensure!(answer.contains("32 printable"), "{answer}");
    once(&ring.daemons[0], "two words", &[], "true")?.expect_code(2)
}
