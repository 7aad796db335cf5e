//! Runs the recipes of README, of the how-to guides, of the pages for operators, and of `docs/reference/hooks.md`. The
//! machine has only two programs of this project: `ringd` and `ringctl`.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use ring_segment::{Test, tests};

use super::pages::{DEPLOY, HOOKS, LEADER, MONITOR, NIGHTLY, QUORUM, README, SCRIPT, block};
use super::{RecipeScene, WAIT_LIMIT};

pub(super) fn tests() -> Vec<Test> {
    tests![
        the_commands_of_the_readme_install_the_service_and_print_the_shown_output,
        a_daemon_that_is_started_by_hand_runs_its_hooks,
        the_service_runs_the_hook_of_a_leader_and_requires_a_quorum,
        an_ordinary_user_runs_a_daemon_with_one_capability,
    ]
}

fn the_commands_of_the_readme_install_the_service_and_print_the_shown_output() -> Result<()> {
    let scene = RecipeScene::new()?;
    let container = &scene.container;
    // The programs are already built. This command moves them to the place where the recipe's build would put them.
    container.sh(
        "mkdir -p /tmp/ringd/target/release && mv /usr/local/bin/ring* /tmp/ringd/target/release",
    )?;
    let install = block(README, "cargo build --release --locked")?;
    let (_, install) = install.split_once('\n').context("further lines")?;
    let (programs, service) = install.split_once('\n').context("further lines")?;
    container.sh(&format!("cd /tmp/ringd && {programs}"))?;
    container.sh(service)?;
    scene.wait_for_ring()?;
    container.sh("test -s /usr/local/share/man/man1/ringctl-run.1")?;

    // The status shows the holder's program only after the program has held the token for a moment.
    let held = "until ringctl status | grep 'Held by'; do sleep 0.05; done; ringctl status";
    let shown = container.run(&["ringctl", "run", "-c", held])?;
    let example = block(MONITOR, "$ ringctl status")?;
    for line in example.lines().skip(1) {
        let label = line.split("  ").next().unwrap_or(line);
        let known = ["", "..."].contains(&label) || shown.contains(label);
        ensure!(
            known || label.starts_with("Members"),
            "no '{label}' in\n{shown}"
        );
    }
    // The scene's other node has different times than the unit, so the daemon reports a warning.
    let check = block(MONITOR, "ringctl status --check")?;
    let line = container.sh(&format!("! {check}"))?;
    ensure!(line.starts_with("RINGD WARNING - member "), "{line}");
    let answers = container.sh(block(MONITOR, "ringctl status --json | jq")?)?;
    let fencing = answers.lines().last().unwrap_or_default();
    ensure!(fencing.split('-').count() == 3, "{answers}");
    ensure!(
        answers.lines().count() == 1,
        "members that are not silent are shown: {answers}"
    );

    check_work(&scene)?;
    check_crontab(&scene)?;
    check_journal(&scene)?;
    // The next recipe is for an interface whose name has a hyphen.
    ensure!(
        DEPLOY.text.contains("`ringd@$(systemd-escape br-lan)`"),
        "the recipe shows another command"
    );
    container.sh("ip link add br-lan type bridge && ip link set br-lan up")?;
    container.sh("systemctl start ringd@$(systemd-escape br-lan)")?;
    container.sh("until ringctl status -q -i br-lan; do sleep 0.05; done")?;
    container
        .sh("systemctl stop ringd@$(systemd-escape br-lan)")
        .map(drop)
}

/// Runs the page's commands for users, if these commands work under the token.
fn check_work(scene: &RecipeScene) -> Result<()> {
    let container = &scene.container;
    container.sh("mkdir -p /tmp/work")?;
    for program in ["nightly-report", "pay"] {
        let script = "#!/bin/sh\necho \"$RINGD_GRADE\"\n";
        container.write(&format!("/tmp/work/{program}"), 0o755, script)?;
    }
    for line in block(SCRIPT, "ringctl run -- ./nightly-report")?.lines() {
        // With -n the command fails while the token is on another machine, so the test repeats it.
        let (gives_up, until) = (line.contains("run -n"), Instant::now() + WAIT_LIMIT);
        let text = loop {
            match container.sh(&format!("cd /tmp/work && {line}")) {
                Err(_) if gives_up && Instant::now() < until => {}
                text => break text?,
            }
        };
        let quorum = line.contains("quorum");
        ensure!(
            ["quorum", "all-heard", "alone"].contains(&text.trim()),
            "{line}: {text}"
        );
        ensure!(!quorum || text.trim() == "quorum", "{line}: {text}");
    }
    container.write(
        "/tmp/work/ledger",
        0o755,
        block(SCRIPT, "#!/bin/sh\ntoken=")?,
    )?;
    for lines in 1..=2 {
        container.sh("/tmp/work/ledger && cmp /srv/ledger /srv/ledger.copy")?;
        let ledger = container.sh("cat /srv/ledger")?;
        ensure!(ledger.lines().count() == lines, "{ledger}");
    }
    Ok(())
}

/// Runs the line of the nightly job as cron does, without the PATH of a user's shell.
fn check_crontab(scene: &RecipeScene) -> Result<()> {
    let container = &scene.container;
    let beginning = "0 2 * * *  root  ";
    let line = block(NIGHTLY, beginning)?;
    let line = line.trim_start_matches(beginning).trim();
    let script = "#!/bin/sh\necho ran >>/tmp/work/nights\n";
    container.write("/usr/local/bin/nightly", 0o755, script)?;
    let cron = ["env", "-i", "PATH=/usr/bin:/bin", "sh", "-c", line];
    for _ in 0..2 {
        let text = container.run(&cron)?;
        ensure!(text.is_empty(), "{text}");
    }
    let nights = container.sh("cat /tmp/work/nights")?;
    ensure!(nights.trim() == "ran", "{nights}");
    Ok(())
}

/// Checks that the operator's command shows only problems.
fn check_journal(scene: &RecipeScene) -> Result<()> {
    let container = &scene.container;
    let line = block(MONITOR, "journalctl -u ringd@eth0")?;
    ensure!(
        !container.sh(line)?.contains("eth0 is down"),
        "the journal is not complete yet"
    );
    container.run(&["ip", "link", "set", "eth0", "down"])?;
    container.wait_for_line(WAIT_LIMIT, |line| {
        line.contains("eth0 is down: waiting for its return")
    })?;
    let text = container.sh(line)?;
    ensure!(text.contains("eth0 is down"), "{text}");
    ensure!(
        !text.contains("EtherType"),
        "the start must cause no warning: {text}"
    );
    container.run(&["ip", "link", "set", "eth0", "up"])?;
    container
        .sh("until ringctl status -q; do sleep 0.05; done")
        .map(drop)
}

/// The hook runs as the unit's user, within the unit's sandbox. The second page adds a file to the unit of the first
/// page.
fn the_service_runs_the_hook_of_a_leader_and_requires_a_quorum() -> Result<()> {
    let scene = RecipeScene::new()?;
    let container = &scene.container;
    container.install_service()?;
    container.edit("ringd@eth0.service", block(LEADER, "[Service]")?)?;
    container.write("/tmp/hook/notify", 0o644, block(LEADER, "#!/bin/sh")?)?;
    let install = block(LEADER, "sudo install -D -m 755 notify")?;
    container.sh(&format!("cd /tmp/hook && {install}"))?;
    scene.wait_for_ring()?;
    // The other node releases the token after each use.
    let from = container.journal().len();
    container.run(&["ringctl", "run", "--", "true"])?;
    container.wait_for_line_from(from, WAIT_LIMIT, |line| {
        line.contains("this machine leads, under ")
    })?;
    scene.other.ringctl(&["run", "--", "true"])?;
    container.wait_for_line_from(from, WAIT_LIMIT, |line| {
        line.contains("this machine no longer leads: token_handed_over")
    })?;

    container.write("/etc/ringd/ringd.toml", 0o644, block(QUORUM, "[ring]")?)?;
    container.run(&["systemctl", "reload", "ringd@eth0"])?;
    scene.wait_for_ring()?;
    container.write("/tmp/hook/pay", 0o755, "#!/bin/sh\necho \"$RINGD_GRADE\"\n")?;
    let line = block(QUORUM, "ringctl run --require quorum")?;
    let grade = container.sh(&format!("cd /tmp/hook && {line}"))?;
    ensure!(grade.trim() == "quorum", "{grade}");

    let status = container.sh("ringctl status")?;
    ensure!(
        status.contains("2 of 3 members needed, 2 present (--ring-size 3)"),
        "{status}"
    );
    container
        .run(&["systemctl", "stop", "ringd@eth0"])
        .map(drop)
}

/// A logged-in user starts a daemon with the two lines of the documentation for operators.
fn an_ordinary_user_runs_a_daemon_with_one_capability() -> Result<()> {
    let scene = RecipeScene::new()?;
    let container = &scene.container;
    container.sh(
        "echo 'alice:x:1000:1000:alice:/home/alice:/bin/sh' >>/etc/passwd; \
         echo 'alice:x:1000:' >>/etc/group; \
         install -d -o alice -g alice -m 700 /home/alice /run/user/1000",
    )?;
    let lines = block(DEPLOY, "sudo setcap cap_net_raw+ep")?;
    let (setcap, ringd) = lines.trim().split_once('\n').context("two lines")?;
    container.sh(setcap)?;
    let as_alice = [
        "systemd-run",
        "--quiet",
        "--unit=by-alice",
        "--uid=alice",
        "--gid=alice",
        "--setenv=HOME=/home/alice",
        "--setenv=XDG_RUNTIME_DIR=/run/user/1000",
    ];
    container.run(&[&as_alice[..], &["sh", "-c", ringd]].concat())?;
    let asks = "until ringctl --socket /home/alice/ringd.sock status -q 2>/dev/null; do sleep 0.05; done; \
                ringctl --socket /home/alice/ringd.sock run -- true";
    let user_command = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups"];
    container.run(&[&user_command[..], &["sh", "-euc", asks]].concat())?;
    ensure!(
        container
            .path("/home/alice/.local/state/ringd/eth0.state")
            .exists()
    );
    let members = scene.other.status()?["members"].as_array().map(Vec::len);
    ensure!(members == Some(2), "{members:?}");
    container.run(&["systemctl", "stop", "by-alice"]).map(drop)
}

fn a_daemon_that_is_started_by_hand_runs_its_hooks() -> Result<()> {
    let scene = RecipeScene::new()?;
    let container = &scene.container;
    let lines = block(HOOKS, "sudo ringd eth0 --idle-hold")?;
    let (ringd, install) = lines.trim().split_once('\n').context("two lines")?;
    container.write("/tmp/hook/notify", 0o644, block(LEADER, "#!/bin/sh")?)?;
    container.sh(&format!("cd /tmp/hook && {install}"))?;
    container.run(&[
        "systemd-run",
        "--quiet",
        "--unit=by-hand",
        "sh",
        "-c",
        ringd,
    ])?;
    container.write(
        "/etc/ringd/hooks.d/20-locks",
        0o755,
        block(HOOKS, "#!/bin/sh\n[ -n")?,
    )?;
    scene.wait_for_ring()?;
    let other = scene.other.node().mac().to_string();
    let from = container.journal().len();
    // The token rests on this node until another client wants it.
    scene.other.ringctl(&["run", "--", "true"])?;
    container.run(&["ringctl", "run", "--", "true"])?;
    container.wait_for_line_from(from, WAIT_LIMIT, |line| {
        line.contains("this machine leads, under ")
    })?;
    let from = container.journal().len();
    scene.other.ringctl(&["run", "--", "true"])?;
    container.wait_for_line_from(from, WAIT_LIMIT, |line| {
        line.contains("ring: OWNER -> WAITER, owner ") && line.contains(&other)
    })?;
    container.wait_for_line_from(from, WAIT_LIMIT, |line| {
        line.contains("this machine no longer leads: token_handed_over")
    })?;
    container.run(&["ringctl", "run", "--name", "backup", "--", "true"])?;
    for event in ["granted", "released"] {
        container.wait_for_line_from(from, WAIT_LIMIT, |line| {
            line.contains(&format!("true: lock_{event} backup, exclusive, "))
        })?;
    }
    container.run(&["systemctl", "stop", "by-hand"]).map(drop)
}
