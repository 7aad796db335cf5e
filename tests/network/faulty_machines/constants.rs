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

/// The shortest heartbeat with which a ring tolerates stalls of half a second.
const HEARTBEAT: &str = "250ms";
/// Number of jobs that each node must begin before the test changes another node.
const JOBS_MIN: usize = 3;

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_slow_owner_among_fast_members_stays_the_only_one,
        a_member_that_expects_another_number_of_members_is_named,
        two_of_five_expected_members_are_no_quorum_for_a_member_that_expects_three_or_no_number,
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

/// Checks that the log and the status of a daemon report the trouble.
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
        let event = watcher.expect_event("member_differs")?;
        ensure!(event["member"] == slow.node().mac().to_string(), "{event}");
    }
    // The other nodes do not hear this node for longer than their timeout.
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

fn a_member_that_expects_another_number_of_members_is_named() -> Result<()> {
    let segment = Segment::bridge(2)?;
    let at = |place: usize| {
        let ringd = segment.node(place).ringd(binaries());
        ringd.option("--heartbeat", HEARTBEAT)
    };
    let one = at(0).option("--ring-size", "2").spawn()?;
    let mut watchers = Watcher::of_started(std::slice::from_ref(&one))?;
    let other = at(1).option("--ring-size", "3").spawn()?;
    check_trouble_of(
        &one,
        &other,
        "expects 3 members, this node expects 2 members",
    )?;
    let event = watchers[0].expect_event("member_differs")?;
    let words = event["reason"].as_str().unwrap_or_default();
    ensure!(words.contains("expects 3 members"), "{event}");
    // Two members are a quorum of three members, and also of two members. One member is no quorum.
    check_ringctl(
        &one,
        &["run", "-w", WAIT, "--require", "quorum", "--", "true"],
    )?;
    let status = one.status()?;
    ensure!(status["constants"]["expect"] == 2, "{status:#}");
    Ok(())
}

/// Each member may expect a different number of members. The quorum is a majority of the largest expected number, even
/// if the member that expects this number is dead.
fn two_of_five_expected_members_are_no_quorum_for_a_member_that_expects_three_or_no_number()
-> Result<()> {
    let segment = Segment::bridge(3)?;
    let at = |place: usize| {
        let ringd = segment.node(place).ringd(binaries());
        // Without this flag, a daemon logs only the first member with a different number.
        ringd.option("--heartbeat", HEARTBEAT).flag("--verbose")
    };
    let three = at(0).option("--ring-size", "3").spawn()?;
    let mut five = at(1).option("--ring-size", "5").spawn()?;
    let none = at(2).spawn()?;
    let words = "expects 5 members";
    check_trouble_of(&three, &five, words)?;
    check_trouble_of(&none, &five, words)?;
    let asks = |daemon: &Daemon, required: bool| {
        let wait = if required { "20" } else { "2" };
        let arguments = ["run", "-w", wait, "--require", "quorum", "--", "true"];
        let (done, text) = ringctl(daemon, &arguments)?;
        ensure!(done == required, "{text}");
        Ok(())
    };
    for daemon in [&three, &five, &none] {
        asks(daemon, true)?;
    }
    five.kill()?;
    // The confirmation of the dead member expires.
    std::thread::sleep(Duration::from_secs(2));
    for daemon in [&three, &none] {
        asks(daemon, false)?;
        check_ringctl(daemon, &["run", "-w", "20", "--", "true"])?;
    }
    Ok(())
}

/// Jobs that one node runs under its lock, one after the other. The jobs end on drop.
struct Jobs(Child);

impl Jobs {
    /// Each job writes a line when it begins, and a second line if another job runs at the same time.
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
            let words = format!("heartbeat {heartbeat}");
            daemon.wait_for_line(WAIT_LIMIT, |line| line.contains(&words))?;
        }
        wait_for_jobs(&folders)?;
    }
    let overlaps = lines(&shared.path().join("overlap"));
    ensure!(
        overlaps == 0,
        "{overlaps} jobs ran at the same time as another job"
    );
    Ok(())
}

fn a_member_with_very_different_times_owns_no_token_and_all_report_it() -> Result<()> {
    let segment = Segment::bridge(3)?;
    let start = |place: usize, heartbeat: &str| {
        let ringd = segment.node(place).ringd(binaries());
        ringd
            .option("--heartbeat", heartbeat)
            .option("--ring-size", "3")
            .spawn()
    };
    let others = [start(0, HEARTBEAT)?, start(1, HEARTBEAT)?];
    drop(Watcher::of_started(&others)?);
    let far = start(2, "10s")?;
    let words = "joins no election and owns no token";
    let says = |status: &serde_json::Value| {
        let troubles = status["troubles"].as_array();
        let mut texts = troubles.into_iter().flatten().filter_map(|it| it.as_str());
        texts.any(|text| text.contains(words))
    };
    for daemon in others.iter().chain([&far]) {
        daemon.wait_for_status(WAIT_LIMIT, says)?;
        daemon.wait_for_line(WAIT_LIMIT, |line| line.contains(words))?;
    }
    far.wait_for_status(WAIT_LIMIT, |status| status["apart"] == true)?;
    for daemon in &others {
        let arguments = ["run", "-w", WAIT, "--require", "quorum", "--", "true"];
        check_ringctl(daemon, &arguments)?;
    }
    let (done, text) = ringctl(&far, &["run", "-w", "0", "--", "true"])?;
    ensure!(
        !done && text.contains("the options of the other members"),
        "{text}"
    );
    Ok(())
}
