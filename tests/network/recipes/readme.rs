//! What README and `docs/hooks.md` have a reader type, on a machine with nothing but the two programs.

use anyhow::{Context, Result, ensure};
use ring_segment::{Test, tests};

use super::pages::{HOOKS, ONCE, README, block};
use super::{PATIENCE, Scene};

pub fn tests() -> Vec<Test> {
    tests![
        the_service_is_installed_and_answers_as_the_readme_has_it,
        a_daemon_by_hand_tells_its_hooks,
    ]
}

fn the_service_is_installed_and_answers_as_the_readme_has_it() -> Result<()> {
    let scene = Scene::new()?;
    let container = &scene.container;
    // Both programs are built already, and stand where the build would leave them.
    container.sh(
        "mkdir -p /tmp/ringd/target/release && mv /usr/local/bin/ring* /tmp/ringd/target/release",
    )?;
    let build = block(README, "cargo build --release")?;
    let install = build.lines().nth(1).context("a second line")?;
    container.sh(&format!("cd /tmp/ringd && {install}"))?;
    container.sh(block(README, "sudo install -m 644 systemd/ringd.sysusers")?)?;
    scene.wait_for_ring()?;
    container.sh("test -s /usr/local/share/man/man8/ringctl-run.8")?;

    let shown = container.run(&["ringctl", "status"])?;
    let example = block(README, "$ ringctl status")?;
    for line in example.lines().skip(1) {
        let label = line.split("  ").next().unwrap_or(line);
        let known = ["", "..."].contains(&label) || shown.contains(label);
        ensure!(
            known || label.starts_with("Members"),
            "no '{label}' in\n{shown}"
        );
    }
    let answers = container.sh(block(README, "ringctl status --json | jq")?)?;
    let fencing = answers.lines().last().unwrap_or_default();
    ensure!(fencing.split('-').count() == 3, "{answers}");
    ensure!(
        answers.lines().count() == 1,
        "who is not silent is shown: {answers}"
    );

    check_work(&scene)?;
    check_crontab(&scene)?;
    // An interface whose name has a hyphen.
    ensure!(
        README.contains("`ringd@$(systemd-escape br-lan)`"),
        "another way is shown"
    );
    container.sh("ip link add br-lan type bridge && ip link set br-lan up")?;
    container.sh("systemctl start ringd@$(systemd-escape br-lan)")?;
    container.sh("until ringctl status -q -i br-lan; do sleep 0.05; done")?;
    container
        .sh("systemctl stop ringd@$(systemd-escape br-lan)")
        .map(drop)
}

/// What README has a reader run under the token.
fn check_work(scene: &Scene) -> Result<()> {
    let container = &scene.container;
    container.sh("mkdir -p /tmp/work")?;
    for program in ["nightly-report", "pay"] {
        let script = "#!/bin/sh\necho \"$RINGD_GRADE\"\n";
        container.write(&format!("/tmp/work/{program}"), 0o755, script)?;
    }
    for line in block(README, "ringctl run -- ./nightly-report")?.lines() {
        let said = container.sh(&format!("cd /tmp/work && {line}"))?;
        let quorum = line.contains("quorum");
        ensure!(
            ["quorum", "view", "alone"].contains(&said.trim()),
            "{line}: {said}"
        );
        ensure!(!quorum || said.trim() == "quorum", "{line}: {said}");
    }
    Ok(())
}

/// The nightly job, as cron runs its line: without the paths that a shell of a user has.
fn check_crontab(scene: &Scene) -> Result<()> {
    let container = &scene.container;
    let beginning = "0 2 * * *  root  ";
    let line = block(README, beginning)?;
    ensure!(line == block(ONCE, beginning)?, "two pages differ");
    let line = line.trim_start_matches(beginning).trim();
    let script = "#!/bin/sh\necho ran >>/tmp/work/nights\n";
    container.write("/usr/local/bin/nightly", 0o755, script)?;
    let cron = ["env", "-i", "PATH=/usr/bin:/bin", "sh", "-c", line];
    for _ in 0..2 {
        let said = container.run(&cron)?;
        ensure!(said.is_empty(), "{said}");
    }
    let nights = container.sh("cat /tmp/work/nights")?;
    ensure!(nights.trim() == "ran", "{nights}");
    Ok(())
}

fn a_daemon_by_hand_tells_its_hooks() -> Result<()> {
    let scene = Scene::new()?;
    let container = &scene.container;
    let lines = block(HOOKS, "sudo ringd eth0 --idle-hold")?;
    let (ringd, install) = lines.trim().split_once('\n').context("two lines")?;
    container.write("/tmp/hook/notify", 0o644, block(HOOKS, "#!/bin/sh")?)?;
    container.sh(&format!("cd /tmp/hook && {install}"))?;
    container.run(&[
        "systemd-run",
        "--quiet",
        "--unit=by-hand",
        "sh",
        "-c",
        ringd,
    ])?;
    scene.wait_for_ring()?;
    let other = scene.other.node().mac().to_string();
    let from = container.journal().len();
    // The token stays where it is until another wants it.
    scene.other.ringctl(&["run", "--", "true"])?;
    container.run(&["ringctl", "run", "--", "true"])?;
    container.wait_for_line_from(from, PATIENCE, |line| {
        line.contains("this machine leads, under ")
    })?;
    let from = container.journal().len();
    scene.other.ringctl(&["run", "--", "true"])?;
    container.wait_for_line_from(from, PATIENCE, |line| {
        line.contains("ring: OWNER -> WAITER, owner ") && line.contains(&other)
    })?;
    container.wait_for_line_from(from, PATIENCE, |line| {
        line.contains("this machine no longer leads: token_handed_over")
    })?;
    container.run(&["systemctl", "stop", "by-hand"]).map(drop)
}
