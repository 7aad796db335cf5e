//! Members with different options.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{Daemon, Layout, Message, Node, Seen, Segment, Test, WAIT, binaries, tests};

use super::watcher::Watcher;
use super::{WAIT_LIMIT, check_ringctl, ringctl};

/// The shortest heartbeat with which a stall of half a second has no effect.
const HEARTBEAT: &str = "250ms";
/// Number of jobs of each node before the next change of a node.
const JOBS_MIN: usize = 3;

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_slow_owner_among_fast_members_stays_the_only_one,
        a_member_that_expects_another_number_is_named,
        two_of_five_that_one_expects_are_no_quorum_for_one_that_expects_three_or_none,
        a_heartbeat_is_changed_on_one_machine_after_the_other,
        a_member_with_very_different_times_owns_no_token_and_all_report_it,
    ]
}

fn start(node: &Node, folder: &Path, heartbeat: &str) -> Result<Daemon> {
    let ringd = node.ringd(binaries()).option("--heartbeat", heartbeat);
    ringd
        .option("--control", folder.join("control"))
        .option("--state-dir", folder.join("state"))
        .spawn()
}

/// Checks the trouble in the log and in the status.
fn check_trouble_of(daemon: &Daemon, other: &Daemon, what: &str) -> Result<()> {
    let mac = other.node().mac().to_string();
    daemon.wait_for_line(WAIT_LIMIT, |line| {
        line.contains(&mac) && line.contains(what)
    })?;

    let differs = |status: &serde_json::Value| {
        let members = status["members"].as_array();
        members.into_iter().flatten().any(|member| {
            let text = member["differs"].as_str();
            member["mac"] == mac && text.is_some_and(|text| text.contains(what))
        })
    };
    daemon.wait_for_status(WAIT_LIMIT, differs).map(drop)
}

fn a_slow_owner_among_fast_members_stays_the_only_one() -> Result<()> {
    let segment = Layout::new(3).bridge()?;
    let at = |place: usize| segment.node(place).ringd(binaries());
    let quick = |place: usize| at(place).option("--heartbeat", HEARTBEAT).spawn();
    let fast = [quick(0)?, quick(1)?];
    let mut watchers = Watcher::of_started(&fast)?;
    let slow = at(2).option("--heartbeat", "1s").spawn()?;
    for daemon in &fast {
        check_trouble_of(daemon, &slow, "waits 4s for a silent owner, this node 1s")?;
        check_trouble_of(&slow, daemon, "waits 1s for a silent owner, this node 4s")?;
    }
    for watcher in &mut watchers {
        let told = watcher.expect_event("member_differs")?;
        ensure!(told["member"] == slow.node().mac().to_string(), "{told}");
    }
    // This node is alone for longer than the others' timeout.
    check_ringctl(&slow, &["run", "-w", WAIT, "--", "true"])?;
    let mark = segment.capture().mark();
    check_ringctl(&slow, &["run", "-w", WAIT, "--", "sleep", "2"])?;
    let stood = |seen: &Seen| matches!(seen.message, Message::GeneratingToken { .. });
    let elections = segment
        .capture()
        .frames_from(mark)
        .into_iter()
        .filter(stood);
    ensure!(elections.count() == 0, "the others have elected an owner");
    Ok(())
}

fn a_member_that_expects_another_number_is_named() -> Result<()> {
    let segment = Segment::bridge(2)?;
    let at = |place: usize| {
        let ringd = segment.node(place).ringd(binaries());
        ringd.option("--heartbeat", HEARTBEAT)
    };
    let one = at(0).option("--expect", "2").spawn()?;
    let mut watchers = Watcher::of_started(std::slice::from_ref(&one))?;
    let other = at(1).option("--expect", "3").spawn()?;
    check_trouble_of(
        &one,
        &other,
        "expects 3 members, this node expects 2 members",
    )?;
    let told = watchers[0].expect_event("member_differs")?;
    let words = told["reason"].as_str().unwrap_or_default();
    ensure!(words.contains("expects 3 members"), "{told}");
    // Two of three are a quorum, and so are two of two. One of them is none.
    check_ringctl(
        &one,
        &["run", "-w", WAIT, "--require", "quorum", "--", "true"],
    )?;
    let status = one.status()?;
    ensure!(status["constants"]["expect"] == 2, "{status:#}");
    Ok(())
}

/// The majority counts from the largest number that any member expects, even one that has died.
fn two_of_five_that_one_expects_are_no_quorum_for_one_that_expects_three_or_none() -> Result<()> {
    let segment = Segment::bridge(3)?;
    let at = |place: usize| {
        let ringd = segment.node(place).ringd(binaries());
        ringd.option("--heartbeat", HEARTBEAT)
    };
    let three = at(0).option("--expect", "3").spawn()?;
    let mut five = at(1).option("--expect", "5").spawn()?;
    let none = at(2).spawn()?;
    let words = "expects 5 members";
    check_trouble_of(&three, &five, words)?;
    check_trouble_of(&none, &five, words)?;
    let asks = |daemon: &Daemon, required: bool| {
        let wait = if required { "20" } else { "2" };
        let asked = ["run", "-w", wait, "--require", "quorum", "--", "true"];
        let (done, said) = ringctl(daemon, &asked)?;
        ensure!(done == required, "{said}");
        Ok(())
    };
    for daemon in [&three, &five, &none] {
        asks(daemon, true)?;
    }
    five.kill()?;
    // Its confirmation expires.
    std::thread::sleep(Duration::from_secs(2));
    for daemon in [&three, &none] {
        asks(daemon, false)?;
        check_ringctl(daemon, &["run", "-w", "20", "--", "true"])?;
    }
    Ok(())
}

/// Jobs under the lock of one node, one after the other. They end on drop.
struct Jobs(Child);

impl Jobs {
    /// Each job writes a line when it begins, and another one if it was not alone.
    fn start(folder: &Path, shared: &Path) -> Result<Self> {
        let (mark, begun) = (shared.join("mark"), folder.join("begun"));
        let overlap = shared.join("overlap");
        let job = format!(
            "exec 9> {}; flock -n 9 || echo overlap >> {}; echo begun >> {}; sleep 0.05",
            mark.display(),
            overlap.display(),
            begun.display()
        );
        let line = format!(
            "while :; do {} --socket {} run -w 2 -- sh -c '{job}'; done",
            binaries().ringctl,
            folder.join("control").display()
        );
        let child = Command::new("sh")
            .args(["-c", &line])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self(child))
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        // The last job ends by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn lines(file: &Path) -> usize {
    fs::read_to_string(file).map_or(0, |text| text.lines().count())
}

fn wait_for_jobs(folders: &[std::path::PathBuf]) -> Result<()> {
    let deadline = Instant::now() + WAIT_LIMIT;
    for folder in folders {
        let file = folder.join("begun");
        let before = lines(&file);
        while lines(&file) < before + JOBS_MIN {
            ensure!(Instant::now() < deadline, "no jobs in {}", folder.display());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    Ok(())
}

fn a_heartbeat_is_changed_on_one_machine_after_the_other() -> Result<()> {
    const NODES: usize = 3;
    let segment = Segment::bridge(NODES)?;
    let shared = tempfile::tempdir()?;
    let mut folders = Vec::new();
    let mut daemons = Vec::new();
    let mut jobs = Vec::new();
    for place in 0..NODES {
        let folder = shared.path().join(place.to_string());
        fs::create_dir(&folder)?;
        daemons.push(start(segment.node(place), &folder, "50ms")?);
        jobs.push(Jobs::start(&folder, shared.path())?);
        folders.push(folder);
    }
    for heartbeat in ["250ms", "50ms"] {
        for place in 0..NODES {
            wait_for_jobs(&folders)?;
            let daemon = daemons.get_mut(place).context("the process was started")?;
            daemon.signal(Signal::SIGTERM)?;
            daemon.wait_exit(WAIT_LIMIT)?;
            *daemon = start(segment.node(place), &folders[place], heartbeat)?;
            let told = format!("heartbeat {heartbeat}");
            daemon.wait_for_line(WAIT_LIMIT, |line| line.contains(&told))?;
        }
        wait_for_jobs(&folders)?;
    }
    let overlaps = lines(&shared.path().join("overlap"));
    ensure!(overlaps == 0, "{overlaps} jobs were not alone");
    Ok(())
}

fn a_member_with_very_different_times_owns_no_token_and_all_report_it() -> Result<()> {
    let segment = Segment::bridge(3)?;
    let start = |place: usize, heartbeat: &str| {
        let ringd = segment.node(place).ringd(binaries());
        ringd
            .option("--heartbeat", heartbeat)
            .option("--expect", "3")
            .spawn()
    };
    let others = [start(0, HEARTBEAT)?, start(1, HEARTBEAT)?];
    drop(Watcher::of_started(&others)?);
    let far = start(2, "10s")?;
    let words = "neither elects nor owns";
    let says = |status: &serde_json::Value| {
        let troubles = status["troubles"].as_array();
        let mut told = troubles.into_iter().flatten().filter_map(|it| it.as_str());
        told.any(|text| text.contains(words))
    };
    for daemon in others.iter().chain([&far]) {
        daemon.wait_for_status(WAIT_LIMIT, says)?;
        daemon.wait_for_line(WAIT_LIMIT, |line| line.contains(words))?;
    }
    far.wait_for_status(WAIT_LIMIT, |status| status["apart"] == true)?;
    for daemon in &others {
        let asked = ["run", "-w", WAIT, "--require", "quorum", "--", "true"];
        check_ringctl(daemon, &asked)?;
    }
    let (done, said) = ringctl(&far, &["run", "-w", "0", "--", "true"])?;
    ensure!(
        !done && said.contains("the options of the other members"),
        "{said}"
    );
    Ok(())
}
