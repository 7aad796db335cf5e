//! Hooks that do not end, hooks that leave processes behind, and hooks of ending daemons.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{Message, Seen, Segment, Test, Timing, invariants, tests};

use crate::hooks::hook_dir::{
    HEARTBEAT, HookDir, WAIT_LIMIT, exclusive_resting_timing, is_alive, resting_timing, wait_until,
};

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_hook_that_hangs_is_ended_with_all_processes_that_it_has_started,
        a_hook_that_hangs_does_not_affect_the_ring,
        processes_of_a_hook_end_with_it_unless_they_left_its_group,
        exclusive a_stop_ends_the_running_hook_and_runs_the_hooks_of_the_stop,
        exclusive a_second_signal_ends_the_hooks_at_once,
        the_hook_of_a_killed_daemon_ends_with_the_daemon,
    ]
}

fn a_hook_that_hangs_is_ended_with_all_processes_that_it_has_started() -> Result<()> {
    let (segment, place) = (Segment::bridge(1)?, HookDir::new()?);
    // The hook and one child ignore SIGTERM. Another child writes a line when it gets SIGTERM.
    let script = format!(
        "echo $RINGD_STATE >>$R; [ $RINGD_STATE = LOOSER ] || exit 0; \
         (trap 'echo told >>$R; exit' TERM; sleep 1000 & wait) & \
         trap '' TERM; sleep 1000 & echo $! $$ >{}; wait; sleep 1000",
        place.path("pids").display()
    );
    place.hook("hangs", &script)?;
    let ringd = place.ringd(segment.node(0), &resting_timing());
    let daemon = ringd.option("--hook-timeout", "700ms").spawn()?;
    daemon.wait_for_line(WAIT_LIMIT, |line| {
        line.contains("hooks.d/hangs") && line.contains("700 ms")
    })?;
    place.wait_for_line(|line| line == "OWNER")?;
    for pid in fs::read_to_string(place.path("pids"))?.split_whitespace() {
        ensure!(!is_alive(pid), "process {pid} still lives");
    }
    let record = place.lines();
    ensure!(
        record == ["LOOSER", "told", "GENERATING", "OWNER"],
        "{record:?}"
    );
    daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("works again"))?;
    Ok(())
}

fn a_hook_that_hangs_does_not_affect_the_ring() -> Result<()> {
    let (segment, place) = (Segment::bridge(2)?, HookDir::new()?);
    place.hook("hangs", "echo $$ >>$R; exec sleep 1000")?;
    let timing = Timing::stall_tolerant(HEARTBEAT);
    let start = |n| {
        let ringd = place.ringd(segment.node(n), &timing);
        ringd.option("--hook-timeout", "1h").spawn()
    };
    let daemons = [start(0)?, start(1)?];
    place.wait_for(|lines| (lines.len() == 2).then_some(()))?;
    for daemon in &daemons {
        daemon.wait_for_status(WAIT_LIMIT, |status| {
            let members = status["members"].as_array();
            let in_ring = ["OWNER", "WAITER"]
                .map(Into::into)
                .contains(&status["state"]);
            in_ring && members.is_some_and(|all| all.len() == 2)
        })?;
    }
    let from = ring_segment::now();
    let frames = segment.capture().watch(2 * timing.waiter_timeout());
    let elects = |seen: &Seen| matches!(seen.message, Message::GeneratingToken { .. });
    ensure!(!frames.iter().any(elects), "there was an election");
    invariants::check_one_owner(&segment.capture().frames(), from)?;
    let goes_round = |frames: &[Seen]| {
        let since = frames.partition_point(|seen| seen.at < from);
        (invariants::tenures(&frames[since..]).len() > 20).then_some(())
    };
    segment.capture().wait_until(WAIT_LIMIT, goes_round)?;
    ensure!(
        place.lines().iter().all(|pid| is_alive(pid)),
        "the hooks hang"
    );
    Ok(())
}

fn processes_of_a_hook_end_with_it_unless_they_left_its_group() -> Result<()> {
    let (segment, place) = (Segment::bridge(1)?, HookDir::new()?);
    // Both child processes keep the hook's output open.
    let script = "sleep 1000 & echo stays $! $RINGD_STATE >>$R; \
         setsid sh -c 'echo left $$ $RINGD_STATE >>$R; exec sleep 1000' & \
         until grep -q \"^left .* $RINGD_STATE\" $R; do sleep 0.01; done";
    place.hook("leaves", script)?;
    let mut daemon = place.ringd(segment.node(0), &resting_timing()).spawn()?;
    place.wait_for_line(|line| line.starts_with("left ") && line.ends_with(" OWNER"))?;
    daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("setsid"))?;
    let pids = |word: &str| -> Vec<String> {
        let lines = place.lines();
        let pids = lines.iter().filter_map(|line| line.strip_prefix(word));
        pids.filter_map(|rest| rest.split(' ').next().map(str::to_owned))
            .collect()
    };
    let (stays, left) = (pids("stays "), pids("left "));
    ensure!(stays.len() == 3 && left.len() == 3, "{stays:?} {left:?}");
    // Each remaining process must have ended before the next hook began.
    let earlier = stays.iter().take(2).find(|pid| is_alive(pid));
    ensure!(
        earlier.is_none(),
        "{earlier:?} runs at the same time as a later hook"
    );
    wait_until("the last hook ends", || !is_alive(&stays[2]))?;
    let survive = left.iter().all(|pid| is_alive(pid));
    daemon.signal(Signal::SIGTERM)?;
    ensure!(daemon.wait_exit(WAIT_LIMIT)?.success());
    for pid in pids("left ") {
        let pid = nix::unistd::Pid::from_raw(pid.parse()?);
        nix::sys::signal::kill(pid, Signal::SIGKILL)?;
    }
    ensure!(
        survive,
        "the daemon must not end processes that left the hook's group"
    );
    Ok(())
}

fn a_stop_ends_the_running_hook_and_runs_the_hooks_of_the_stop() -> Result<()> {
    let (segment, place) = (Segment::bridge(1)?, HookDir::new()?);
    let script = "echo $RINGD_EVENT $RINGD_OLD_STATE $RINGD_STATE $RINGD_MERGED >>$R; \
         [ $RINGD_STATE != LOOSER ] || { trap '' TERM; echo $$ >>$R; while :; do sleep 1; done; }";
    place.hook("hangs", script)?;
    let ringd = place.ringd(segment.node(0), &exclusive_resting_timing());
    let mut daemon = ringd.option("--hook-timeout", "1h").spawn()?;
    daemon.wait_for_status(WAIT_LIMIT, |status| status["state"] == "OWNER")?;
    let pid = place.wait_for(|lines| lines.get(1).cloned())?;
    daemon.signal(Signal::SIGTERM)?;
    let start = Instant::now();
    ensure!(daemon.wait_exit(WAIT_LIMIT)?.success());
    let took = start.elapsed();
    ensure!(took < Duration::from_secs(9), "it took {took:?}");
    ensure!(!is_alive(&pid), "the hook still runs");
    let record = place.lines();
    let last = "stopped LOOSER none 2";
    ensure!(
        record == ["started none LOOSER 0", &pid, last],
        "{record:?}"
    );
    Ok(())
}

fn a_second_signal_ends_the_hooks_at_once() -> Result<()> {
    let (segment, place) = (Segment::bridge(1)?, HookDir::new()?);
    let script = "trap '' TERM; echo $RINGD_STATE $$ >>$R; while :; do sleep 1; done";
    place.hook("hangs", script)?;
    let ringd = place.ringd(segment.node(0), &exclusive_resting_timing());
    let mut daemon = ringd.option("--hook-timeout", "1h").spawn()?;
    daemon.wait_for_status(WAIT_LIMIT, |status| status["state"] == "OWNER")?;
    let line = place.wait_for_line(|line| line.starts_with("LOOSER "))?;
    daemon.signal(Signal::SIGTERM)?;
    daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("shutting down"))?;
    // The kernel would merge the two signals if they followed too closely.
    std::thread::sleep(Duration::from_millis(200));
    let start = Instant::now();
    daemon.signal(Signal::SIGTERM)?;
    daemon.wait_exit(WAIT_LIMIT)?;
    let took = start.elapsed();
    ensure!(took < Duration::from_millis(1500), "it took {took:?}");
    ensure!(!is_alive(&line["LOOSER ".len()..]), "the hook still runs");
    let record = place.lines();
    ensure!(record.len() == 1, "{record:?}");
    Ok(())
}

fn the_hook_of_a_killed_daemon_ends_with_the_daemon() -> Result<()> {
    let (segment, place) = (Segment::bridge(1)?, HookDir::new()?);
    let script = "echo $RINGD_OLD_STATE $RINGD_STATE $$ >>$R; [ $RINGD_STATE != OWNER ] || \
         while :; do sleep 0.1; done";
    place.hook("hangs", script)?;
    let mut daemon = place.ringd(segment.node(0), &resting_timing()).spawn()?;
    let line = place.wait_for_line(|line| line.contains(" OWNER "))?;
    let pid = line.rsplit(' ').next().unwrap_or_default();
    ensure!(is_alive(pid), "the hook hangs");
    daemon.kill()?;
    wait_until("the hook ends", || !is_alive(pid))?;
    // The last hook of the killed daemon may have got the state OWNER. So the next daemon must begin with an event that
    // has a different state.
    daemon.start()?;
    place.wait_for(|lines| {
        let starts = lines.iter().filter(|line| line.starts_with("none LOOSER "));
        (starts.count() == 2).then_some(())
    })
}
