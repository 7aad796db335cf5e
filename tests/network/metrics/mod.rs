//! Metrics of real daemons, from `ringctl metrics` and from `ringctl exporter`, and the rules that use the metrics.

mod exporter;
mod openmetrics;
mod rules;
mod systems;
mod unit;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{Daemon, Layout, Ring, Test, WAIT_LIMIT, binaries, tests};
use serde_json::Value;

use crate::locks::program::Running;
use crate::locks::{ringctl, shared_ring, timing};
use openmetrics::Metrics;

pub(crate) fn tests() -> Vec<Test> {
    let mut tests = exporter::tests();
    tests.extend(rules::tests());
    tests.extend(systems::tests());
    tests.extend(unit::tests());
    tests.extend(tests![
        the_metrics_of_a_ring_agree_with_its_status,
        held_and_waiting_requests_for_named_locks_are_counted,
        a_ring_has_one_token_and_a_split_ring_has_two,
        a_dead_daemon_is_a_value_and_no_error,
        if_several_daemons_run_the_user_must_name_one,
    ]);
    tests
}

/// Runs `ringctl metrics` for a daemon, and reads its output.
fn metrics(daemon: &Daemon) -> Result<Metrics> {
    let output = daemon.ringctl(&["metrics"])?;
    ensure!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    Metrics::parse(&String::from_utf8(output.stdout)?)
}

fn the_metrics_of_a_ring_agree_with_its_status() -> Result<()> {
    let ring = shared_ring(3)?;
    let daemon = &ring.daemons[0];
    let before = daemon.status()?;
    let metrics = metrics(daemon)?;
    let after = daemon.status()?;
    let name = daemon.control();
    let name = name
        .file_stem()
        .and_then(|it| it.to_str())
        .context("a plain name")?;
    ensure!(metrics.count("ringd_up", &[&format!("daemon=\"{name}\"")])? == 1);
    for (metric, labels, value) in [
        ("ringd_members_present", &[][..], 3),
        ("ringd_ring_size", &[], 3),
        ("ringd_quorum_members", &[], 2),
        ("ringd_members", &["state=\"alive\""], 3),
        ("ringd_members", &["state=\"silent\""], 0),
        ("ringd_link_up", &[], 1),
        ("ringd_health", &["health=\"healthy\""], 1),
        ("ringd_troubles", &[], 0),
        ("ringd_ownership_blocked", &["reason=\"paused\""], 0),
        ("ringd_named_lock_names", &[], 0),
    ] {
        ensure!(
            metrics.count(metric, labels)? == value,
            "{metric} {labels:?}"
        );
    }
    let states = metrics.samples("ringd_state");
    let states = states.filter(|(_, value)| *value > 0.0).count();
    ensure!(states == 1, "{metrics:?}");
    ensure!(metrics.value("ringd_token_silence_seconds", &[])? < WAIT_LIMIT.as_secs_f64());
    let version = metrics
        .samples("ringd_build_info")
        .next()
        .context("a version")?
        .0;
    ensure!(
        version.contains("system=\"ring\"") && version.contains(env!("CARGO_PKG_VERSION")),
        "{version}"
    );
    // Times and counters only grow, so each metric lies between its values in the two statuses.
    for (metric, labels, path, unit) in [
        ("ringd_uptime_seconds", "", "/up_ns", 1e9),
        (
            "ringd_handovers_total",
            "result=\"done\"",
            "/counters/hand_overs",
            1.0,
        ),
        (
            "ringd_frames_received_total",
            "kind=\"TOKEN_IS_HERE\"",
            "/counters/received/TOKEN_IS_HERE",
            1.0,
        ),
        (
            "ringd_state_changes_total",
            "change=\"WAITER->OWNER\"",
            "/counters/state_changes/WAITER->OWNER",
            1.0,
        ),
        (
            "ringd_locks_refused_total",
            "reason=\"timeout\"",
            "/locks/refused/timeout",
            1.0,
        ),
    ] {
        let number = |status: &Value| {
            let number = status.pointer(path).and_then(Value::as_f64);
            number
                .map(|it| it / unit)
                .with_context(|| format!("no {path}"))
        };
        let value = metrics.value(metric, &[labels])?;
        ensure!(
            number(&before)? <= value && value <= number(&after)?,
            "{metric} is {value}"
        );
    }
    Ok(())
}

fn held_and_waiting_requests_for_named_locks_are_counted() -> Result<()> {
    let ring = shared_ring(3)?;
    let [here, other, _] = &ring.daemons[..] else {
        anyhow::bail!("the ring has three daemons");
    };
    let hold = [
        "run",
        "--name",
        "metrics",
        "--",
        "sh",
        "-c",
        "echo ready; exec cat",
    ];
    let mut holder = Running::start(ringctl(here, &hold).stdin(Stdio::piped()))?;
    holder.expect_line("ready")?;
    let mut waiter = Running::start(&mut ringctl(
        other,
        &["run", "--name", "metrics", "--", "echo", "done"],
    ))?;
    let counts = |daemon: &Daemon| -> Result<[u64; 4]> {
        let metrics = metrics(daemon)?;
        let count = |state: &str, place: &str| {
            let labels = [format!("state=\"{state}\""), format!("place=\"{place}\"")];
            metrics.count("ringd_named_locks", &[&labels[0], &labels[1]])
        };
        Ok([
            count("held", "here")?,
            count("held", "elsewhere")?,
            count("waiting", "here")?,
            count("waiting", "elsewhere")?,
        ])
    };
    for (daemon, expected) in [(here, [1, 0, 0, 1]), (other, [0, 1, 1, 0])] {
        wait_until(|| counts(daemon), |it| *it == expected)?;
        ensure!(metrics(daemon)?.count("ringd_named_lock_names", &[])? == 1);
    }
    holder.close_input();
    waiter.expect_line("done")?;
    for daemon in [here, other] {
        wait_until(|| counts(daemon), |it| *it == [0; 4])?;
    }
    Ok(())
}

/// Repeats a query until its result is accepted.
fn wait_until<T: Debug>(
    query: impl Fn() -> Result<T>,
    is_wanted: impl Fn(&T) -> bool,
) -> Result<()> {
    let deadline = Instant::now() + WAIT_LIMIT;
    loop {
        let found = query()?;
        if is_wanted(&found) {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "still {found:?}");
    }
}

fn a_ring_has_one_token_and_a_split_ring_has_two() -> Result<()> {
    let segment = Layout::new(3).bridge()?;
    let ring = Ring::start(segment, 3, timing(), binaries())?;
    ring.wait_until_formed()?;
    // Returns the tokens that the nodes know, each as its author and number.
    let tokens = || -> Result<BTreeSet<String>> {
        let mut tokens = BTreeSet::new();
        for daemon in &ring.daemons {
            let metrics = metrics(daemon)?;
            for (key, number) in metrics.samples("ringd_token_number") {
                let author = key.split("author=").nth(1).context("an author")?;
                tokens.insert(format!("{author} {number}"));
            }
        }
        Ok(tokens)
    };
    wait_until(tokens, |it| it.len() == 1)?;
    ring.segment.cut(2)?;
    wait_until(tokens, |it| it.len() == 2)?;
    ring.segment.heal(2)?;
    wait_until(tokens, |it| it.len() == 1)
}

fn a_dead_daemon_is_a_value_and_no_error() -> Result<()> {
    let segment = Layout::new(1).bridge()?;
    let mut ring = Ring::start(segment, 1, timing(), binaries())?;
    ring.wait_until_formed()?;
    let daemon = &mut ring.daemons[0];
    ensure!(metrics(daemon)?.count("ringd_up", &[])? == 1);
    daemon.signal(Signal::SIGSTOP)?;
    check_down(daemon, "sent nothing for 2 s")?;
    daemon.signal(Signal::SIGCONT)?;
    ensure!(metrics(daemon)?.count("ringd_up", &[])? == 1);
    daemon.kill()?;
    check_down(daemon, "cannot reach ringd")?;
    let output = Command::new(binaries().ringctl)
        .args(["-i", "none0", "metrics"])
        .output()?;
    ensure!(output.status.success(), "{output:?}");
    let metrics = Metrics::parse(&String::from_utf8(output.stdout)?)?;
    ensure!(metrics.count("ringd_up", &["daemon=\"none0\""])? == 0);
    Ok(())
}

/// Checks that `ringctl metrics` reports only that the daemon does not answer, and gives the reason.
fn check_down(daemon: &Daemon, reason: &str) -> Result<()> {
    let output = daemon.ringctl(&["metrics"])?;
    let errors = String::from_utf8(output.stderr)?;
    ensure!(
        output.status.success() && errors.contains(reason),
        "{errors}"
    );
    let metrics = Metrics::parse(&String::from_utf8(output.stdout)?)?;
    ensure!(
        metrics.names().into_iter().collect::<Vec<_>>() == ["ringd_up"],
        "{metrics:?}"
    );
    let name = daemon.control();
    let name = Path::file_stem(&name)
        .and_then(|it| it.to_str())
        .context("a plain name")?;
    ensure!(metrics.count("ringd_up", &[&format!("daemon=\"{name}\"")])? == 0);
    Ok(())
}

fn if_several_daemons_run_the_user_must_name_one() -> Result<()> {
    let folder = Path::new("/run/ringd");
    fs::create_dir_all(folder)?;
    let paths = ["several0", "several1"].map(|name| folder.join(format!("{name}.sock")));
    let listeners = paths.each_ref().map(UnixListener::bind);
    let listeners: Vec<_> = listeners.into_iter().collect::<Result<_, _>>()?;
    for command in ["metrics", "exporter"] {
        let output = Command::new(binaries().ringctl).arg(command).output()?;
        let errors = String::from_utf8(output.stderr)?;
        ensure!(output.status.code() == Some(4), "{errors}");
        ensure!(errors.contains("-i several0 or -i several1"), "{errors}");
        ensure!(output.stdout.is_empty(), "{:?}", output.stdout);
    }
    drop(listeners);
    paths.iter().try_for_each(|path| Ok(fs::remove_file(path)?))
}
