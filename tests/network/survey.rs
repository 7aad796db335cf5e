//! Surveys of real daemons: `ringctl status --all`, and measurements.

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{Daemon, Layout, Ring, Test, WAIT_LIMIT, binaries, tests};
use serde_json::{Value, json};

use crate::locks::program::Running;
use crate::locks::{ringctl, timing};

pub(crate) fn tests() -> Vec<Test> {
    tests![
        one_table_shows_all_members_with_their_troubles_and_holders,
        a_monitor_may_ask_all_members_but_not_measure,
        a_measurement_names_the_pair_that_loses_frames_in_one_direction,
    ]
}

fn form() -> Result<Ring> {
    let segment = Layout::new(3).switch(7)?;
    let ring = Ring::start(segment, 3, timing(), binaries())?;
    ring.wait_until_formed()?;
    Ok(ring)
}

/// Returns the lines of `ringctl status --all` with single blanks, and its exit code.
fn table(daemon: &Daemon) -> Result<(Vec<String>, Option<i32>)> {
    let output = ringctl(daemon, &["status", "--all"]).output()?;
    let page = String::from_utf8(output.stdout)?;
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok((page.lines().map(words).collect(), output.status.code()))
}

fn one_table_shows_all_members_with_their_troubles_and_holders() -> Result<()> {
    let ring = form()?;
    let [first, second, third] = ring.daemons.as_slice() else {
        anyhow::bail!("there are three daemons");
    };
    ensure!(ringctl(second, &["pause", "-w", "5"]).status()?.success());
    let mut holder = Running::start(&mut ringctl(
        third,
        &["run", "--", "sh", "-c", "echo ready; exec sleep 1000"],
    ))?;
    holder.expect_line("ready")?;
    // The daemon announces only a program that holds the token for some time.
    third.wait_for_status(WAIT_LIMIT, |status| !status["holder"].is_null())?;
    let (lines, code) = table(first)?;
    ensure!(code == Some(0), "{code:?} {lines:?}");
    let mac = |daemon: &Daemon| daemon.node().mac().to_string();
    let row = |lines: &[String], daemon: &Daemon| {
        let mac = mac(daemon);
        let found = lines.iter().find(|line| line.starts_with(&mac)).cloned();
        found.with_context(|| format!("{mac} is missing: {lines:?}"))
    };
    ensure!(lines.len() == 4, "{lines:?}");
    ensure!(
        lines.is_sorted_by_key(|line| !line.starts_with("MEMBER")),
        "{lines:?}"
    );
    ensure!(row(&lines, first)?.contains("this machine)"), "{lines:?}");
    let paused = row(&lines, second)?;
    ensure!(
        paused.contains("WAITER, paused - degraded - this node is paused"),
        "{paused}"
    );
    let owner = row(&lines, third)?;
    ensure!(owner.contains("OWNER"), "{owner}");
    ensure!(owner.contains("healthy sh for "), "{owner}");

    // The table has a row without a report for a frozen daemon, before and after the other daemons notice its silence.
    second.signal(Signal::SIGSTOP)?;
    let (lines, _) = table(first)?;
    ensure!(lines.len() == 4, "{lines:?}");
    ensure!(
        row(&lines, second)?.contains("- - - - - no answer"),
        "{lines:?}"
    );
    ensure!(row(&lines, third)?.contains("OWNER"), "{lines:?}");
    let report = ringctl(first, &["status", "--all", "--json"]).output()?;
    let report: Value = serde_json::from_slice(&report.stdout)?;
    let members = report["members"].as_array().context("a list")?;
    let silent = members.iter().filter(|it| it["report"].is_null());
    ensure!(
        silent.map(|it| &it["mac"]).eq([&json!(mac(second))]),
        "{report}"
    );
    ensure!(report["pairs"] == json!([]), "{report}");
    second.signal(Signal::SIGCONT)?;
    first.wait_for_status(WAIT_LIMIT, |status| {
        status["members"][1]["state"] == "paused"
    })?;
    let (lines, _) = table(first)?;
    ensure!(
        row(&lines, second)?.contains("this node is paused"),
        "{lines:?}"
    );
    Ok(())
}

fn a_monitor_may_ask_all_members_but_not_measure() -> Result<()> {
    let ring = form()?;
    let monitor = ring.daemons[0].control().with_extension("monitor");
    let survey = ring_segment::ask(&monitor, &json!({"request": "survey"}), "survey")?;
    ensure!(
        survey["members"].as_array().map(Vec::len) == Some(3),
        "{survey}"
    );
    let refused = ring_segment::ask(&monitor, &json!({"request": "measure"}), "error")?;
    ensure!(
        refused.as_str().is_some_and(|it| it.contains(".sock")),
        "{refused}"
    );
    Ok(())
}

fn a_measurement_names_the_pair_that_loses_frames_in_one_direction() -> Result<()> {
    let ring = form()?;
    ring.segment.rules().set(|rules| {
        rules.blocked.insert((1, 2));
    });
    let request = json!({"request": "measure", "probes": 8, "span_ms": 200});
    let survey = ring.daemons[0].ask(&request, "survey")?;
    let pair = |from: usize, to: usize| {
        let macs = [from, to].map(|at| json!(ring.daemons[at].node().mac().to_string()));
        let pairs = survey["pairs"].as_array().into_iter().flatten();
        let mut found = pairs.filter(move |it| [&it["from"], &it["to"]] == [&macs[0], &macs[1]]);
        found
            .next()
            .with_context(|| format!("{from} to {to}: {survey}"))
    };
    for from in 0..3 {
        for to in (0..3).filter(|&to| to != from) {
            let pair = pair(from, to)?;
            let (sender, receiver) = (&pair["sender"], &pair["receiver"]);
            let arrives = (from, to) != (1, 2);
            let returns = arrives && (to, from) != (1, 2);
            let expected = |count: u8, all: bool| json!(if all { count } else { 0 });
            ensure!(sender["sent"] == 6 && sender["large_sent"] == 2, "{pair}");
            ensure!(sender["answered"] == expected(6, returns), "{pair}");
            ensure!(sender["large_answered"] == expected(2, returns), "{pair}");
            ensure!(sender["round_trip"].is_null() != returns, "{pair}");
            ensure!(receiver["arrived"] == expected(6, arrives), "{pair}");
            ensure!(receiver["large_arrived"] == expected(2, arrives), "{pair}");
            ensure!(
                receiver["broadcasts_arrived"] == expected(8, arrives),
                "{pair}"
            );
        }
    }
    // The second member measured a short time ago.
    let soon = ring.daemons[1].ask(&request, "error")?;
    ensure!(
        soon.as_str().is_some_and(|it| it.contains("try again in")),
        "{soon}"
    );
    let status = ring.daemons[0].status()?;
    ensure!(
        status["counters"]["dropped"]["not_a_survey"] == 0,
        "{status}"
    );
    Ok(())
}
