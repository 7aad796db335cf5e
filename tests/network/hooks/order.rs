//! Events that trigger hooks, and the order of the hooks.

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{Daemon, Segment, Test, Timing, binaries, tests};
use serde_json::Value;

use crate::hooks::hook_dir::{EventWatch, HEARTBEAT, HookDir, WAIT_LIMIT, resting_timing, value};

pub(super) fn tests() -> Vec<Test> {
    tests![
        hooks_and_watchers_get_the_same_events,
        slow_hooks_run_in_order_one_at_a_time_and_get_the_last_state,
        the_hook_of_the_command_line_runs_first_then_the_others_in_the_order_of_their_names,
        a_drop_in_needs_no_restart,
    ]
}

/// Shell line that prints all variables of an event.
const PRINT_EVENT: &str = "echo event=$RINGD_EVENT number=$RINGD_EVENT_NUMBER time=$RINGD_TIME_MS \
     old=$RINGD_OLD_STATE state=$RINGD_STATE reason=$RINGD_REASON token=$RINGD_TOKEN \
     progress=$RINGD_PROGRESS owner=$RINGD_OWNER grade=$RINGD_GRADE merged=$RINGD_MERGED \
     interface=$RINGD_INTERFACE ring=$RINGD_RING >>$R";

/// Makes an owner hand its token over. Repeats the request if the other node was stalled and did not take the token.
fn hand_over(daemon: &Daemon) -> Result<()> {
    let is_given = || daemon.wait_for_status(WAIT_LIMIT / 6, |status| status["state"] == "WAITER");
    for _ in 0..5 {
        ensure!(daemon.ringctl(&["yield"])?.status.success());
        if is_given().is_ok() {
            return Ok(());
        }
    }
    is_given().map(drop)
}

fn hooks_and_watchers_get_the_same_events() -> Result<()> {
    let (segment, place) = (Segment::bridge(2)?, HookDir::new()?);
    place.hook("tell", PRINT_EVENT)?;
    let timing = resting_timing();
    let mut daemon = place.ringd(segment.node(0), &timing).spawn()?;
    let watch = EventWatch::start(&daemon, &place)?;
    place.wait_for_line(|line| line.contains(" state=OWNER "))?;
    let other = segment.node(1).ringd(binaries()).timing(&timing).spawn()?;
    daemon.wait_for_status(WAIT_LIMIT, |status| {
        status["members"]
            .as_array()
            .is_some_and(|all| all.len() == 2)
    })?;
    hand_over(&daemon)?;
    place.wait_for_line(|line| line.contains(" old=OWNER state=WAITER "))?;
    hand_over(&other)?;
    let last = place.wait_for_line(|line| line.contains(" old=WAITER state=OWNER "))?;
    let mut changes = watch.hook_events_until(&last)?;
    changes.retain(|event| event["event"] == "state_changed");
    daemon.signal(Signal::SIGTERM)?;
    ensure!(daemon.wait_exit(WAIT_LIMIT)?.success());

    let record = place.lines();
    ensure!(
        record[0].starts_with("event=started ") && record[0].contains(" old=none state=LOOSER "),
        "{record:?}"
    );
    let end = record.last().context("a line")?;
    ensure!(
        end.starts_with("event=stopped ") && end.contains(" state=none "),
        "{end}"
    );
    ensure!(changes.len() >= 4, "{changes:?}");
    let mut tokens = 0;
    for event in &changes {
        let number = format!(" number={} ", event["number"]);
        let line = record.iter().find(|line| line.contains(&number));
        let line = line.with_context(|| format!("no hook got {event}: {record:#?}"))?;
        let as_told = [
            ("event", "state_changed"),
            ("time", &event["time_ms"].to_string()),
            ("old", event["from"].as_str().unwrap_or_default()),
            ("state", event["state"].as_str().unwrap_or_default()),
            ("reason", event["reason"].as_str().unwrap_or_default()),
            ("grade", event["grade"].as_str().unwrap_or_default()),
            ("merged", "0"),
            ("interface", "eth0"),
            ("ring", "eth0"),
        ];
        for (name, expected) in as_told {
            ensure!(value(line, name)? == expected, "{name}: {line} for {event}");
        }
        if let Some(token) = event["token"].as_object() {
            let text = |key: &str| token[key].to_string().replace('"', "");
            let fencing = format!("{}-{}-{}", text("progress"), text("author"), text("number"));
            ensure!(value(line, "token")? == fencing, "{line} for {event}");
            ensure!(value(line, "progress")? == text("progress"), "{line}");
            tokens += 1;
        }
        // In an event with the state OWNER, the node owns the token from the time of the change.
        if event["state"] == "OWNER" {
            let own = daemon.node().mac().to_string();
            ensure!(value(line, "owner")? == own, "{line}");
        }
    }
    ensure!(tokens >= 3, "{record:?}");
    Ok(())
}

fn slow_hooks_run_in_order_one_at_a_time_and_get_the_last_state() -> Result<()> {
    const SLOW_HOOK: &str = "echo begin number=$RINGD_EVENT_NUMBER old=$RINGD_OLD_STATE \
         state=$RINGD_STATE merged=$RINGD_MERGED >>$R; sleep 0.1; \
         echo end number=$RINGD_EVENT_NUMBER >>$R";
    let (segment, place) = (Segment::bridge(2)?, HookDir::new()?);
    place.hook("slow", SLOW_HOOK)?;
    // The state changes about fifty times per second, until the token rests.
    let timing = Timing::stall_tolerant(HEARTBEAT);
    let daemon = place.ringd(segment.node(0), &timing).spawn()?;
    let watch = EventWatch::start(&daemon, &place)?;
    let mut other = segment.node(1).ringd(binaries()).timing(&timing).spawn()?;
    let merged = |line: &&String| line.starts_with("begin ") && !line.ends_with("merged=0");
    place.wait_for(|lines| (lines.iter().filter(merged).count() >= 3).then_some(()))?;
    other.signal(Signal::SIGTERM)?;
    ensure!(other.wait_exit(WAIT_LIMIT)?.success());
    let status = daemon.wait_for_status(WAIT_LIMIT, |status| status["state"] == "OWNER")?;
    let counts = status["counters"]["state_changes"].as_object();
    let counts = counts.context("counts")?.values();
    let in_all: u64 = counts.filter_map(Value::as_u64).sum();
    let (record, changes) = place.wait_for(|lines| {
        let changes = watch.hook_events().ok()?;
        let of_state = changes
            .iter()
            .filter(|event| event["event"] == "state_changed");
        let end = format!("end number={}", changes.last()?["number"]);
        let is_over = of_state.count() as u64 == in_all && lines.last() == Some(&end);
        is_over.then(|| (lines.to_vec(), changes))
    })?;
    let (mut number, mut state, mut all) = (0, "none".to_owned(), 0);
    for pair in record.chunks(2) {
        let [begin, end] = pair else {
            anyhow::bail!("a hook has not ended: {pair:?}")
        };
        ensure!(
            begin.starts_with("begin ") && end.starts_with("end "),
            "two hooks ran at the same time: {record:#?}"
        );
        let this: u64 = value(begin, "number")?.parse()?;
        ensure!(
            value(end, "number")? == this.to_string(),
            "two hooks ran at the same time: {record:#?}"
        );
        ensure!(
            this > number || all == 0,
            "event {this} follows event {number}"
        );
        ensure!(value(begin, "old")? == state, "{begin} after {state}");
        number = this;
        value(begin, "state")?.clone_into(&mut state);
        all += 1 + value(begin, "merged")?.parse::<usize>()?;
    }
    ensure!(
        status["state"] == state.as_str(),
        "the last hook got {state}: {status}"
    );
    // The sum is larger by one, because it includes the start event.
    ensure!(changes.len() + 1 == all, "hooks got or merged {all} events");
    Ok(())
}

fn the_hook_of_the_command_line_runs_first_then_the_others_in_the_order_of_their_names()
-> Result<()> {
    let (segment, place) = (Segment::bridge(1)?, HookDir::new()?);
    for name in ["b", "10-a.sh", "9", "a~", ".a", "a.bak"] {
        place.hook(name, "echo $(basename $0) $RINGD_STATE >>$R")?;
    }
    let timing = resting_timing();
    let line = format!("echo line \"$RINGD_STATE\" >>{}", place.record().display());
    let ringd = place.ringd(segment.node(0), &timing);
    let _daemon = ringd.option("--on-change", line).spawn()?;
    place.wait_for_line(|line| line == "b OWNER")?;
    let record = place.lines();
    let states = ["LOOSER", "GENERATING", "OWNER"];
    let names = ["line", "10-a.sh", "9", "b"];
    let each = |state| names.map(|name| format!("{name} {state}"));
    ensure!(record == states.map(each).concat(), "{record:?}");
    Ok(())
}

fn a_drop_in_needs_no_restart() -> Result<()> {
    let (segment, place) = (Segment::bridge(2)?, HookDir::new()?);
    std::fs::remove_dir(place.hooks())?;
    let timing = resting_timing();
    let daemon = place.ringd(segment.node(0), &timing).spawn()?;
    daemon.wait_for_status(WAIT_LIMIT, |status| status["state"] == "OWNER")?;
    let other = segment.node(1).ringd(binaries()).timing(&timing).spawn()?;
    daemon.wait_for_status(WAIT_LIMIT, |status| {
        status["members"]
            .as_array()
            .is_some_and(|all| all.len() == 2)
    })?;
    // Until now neither the directory nor the hook existed. The next change must run the new hook.
    std::fs::create_dir(place.hooks())?;
    place.hook("first", "echo first $RINGD_STATE >>$R")?;
    hand_over(&daemon)?;
    place.wait_for_line(|line| line == "first WAITER")?;
    place.hook("second", "echo second $RINGD_STATE >>$R")?;
    hand_over(&other)?;
    place.wait_for_line(|line| line == "second OWNER")?;
    std::fs::remove_file(place.hooks().join("first"))?;
    hand_over(&daemon)?;
    place.wait_for_line(|line| line == "second WAITER")?;
    let firsts = place.lines();
    let mut firsts: Vec<_> = firsts
        .iter()
        .filter(|line| line.starts_with("first "))
        .collect();
    // If members are stalled, the owner gets its grade later. This change of the grade is a separate event.
    firsts.dedup();
    // Events of the last second may precede the lines of the new hooks.
    ensure!(
        firsts.ends_with(&[&"first WAITER".to_owned(), &"first OWNER".to_owned()]),
        "{firsts:?}"
    );
    Ok(())
}
