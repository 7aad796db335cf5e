//! Tests `docs/how-to/from-flock-and-cron.md` with the real `flock`. The test costs about three seconds.

use anyhow::{Result, ensure};
use ring_segment::{Container, Test, tests};

use super::RecipeScene;
use super::pages::{FROM_FLOCK, block};

/// Reports whether other scripts could take the file's lock while the job runs.
const JOB: &str = "#!/bin/sh\n\
    if flock -n /run/lock/nightly true; then echo free; else echo taken; fi >>/tmp/nights\n";
/// Start of the lines: the time and the user for cron.
const TIME_AND_USER: &str = "0 2 * * *  root  ";

pub(super) fn tests() -> Vec<Test> {
    tests![a_job_moves_from_flock_to_the_ring_and_back]
}

/// Returns the command of a line of the page.
fn command(beginning: &str) -> Result<&'static str> {
    let line = block(FROM_FLOCK, &format!("{TIME_AND_USER}{beginning}"))?;
    Ok(line.trim_start_matches(TIME_AND_USER).trim())
}

/// Boots a machine with the job, and waits until the machine is in a ring.
fn scene_with_job() -> Result<RecipeScene> {
    let scene = RecipeScene::new()?;
    let container = &scene.container;
    container.install_service()?;
    container.run(&["systemctl", "start", "ringd@eth0"])?;
    scene.wait_for_ring()?;
    container.sh("mkdir -p /run/lock")?;
    container.write("/usr/local/bin/nightly", 0o755, JOB)?;
    Ok(scene)
}

/// Runs a line as cron does, without the PATH of a user's shell.
fn run(container: &Container, line: &str) -> Result<()> {
    let output = container.output(&["env", "-i", "PATH=/usr/bin:/bin", "sh", "-c", line])?;
    ensure!(
        output.status.success() && output.stdout.is_empty(),
        "{output:?}"
    );
    Ok(())
}

fn a_job_moves_from_flock_to_the_ring_and_back() -> Result<()> {
    let scene = scene_with_job()?;
    let container = &scene.container;
    let nights = || container.sh("cat /tmp/nights 2>/dev/null || true");
    let old = command("flock -n /run/lock/nightly /usr/local/bin/nightly")?;
    let both = command("flock -n /run/lock/nightly /usr/local/bin/ringctl")?;
    let new = command("/usr/local/bin/ringctl")?;

    run(container, old)?;
    ensure!(nights()? == "taken\n", "the old line: {}", nights()?);
    // A script that still uses the file excludes the job.
    let excluded = container.sh(&format!(
        "flock -n /run/lock/nightly sh -c 'if {both}; then echo runs; else echo $?; fi'"
    ))?;
    ensure!(excluded == "1\n" && nights()? == "taken\n", "{excluded}");
    run(container, both)?;
    ensure!(nights()? == "taken\ntaken\n", "both locks: {}", nights()?);
    // In the night of the change, the job runs only once on all machines together.
    run(container, both)?;
    run(container, new)?;
    scene
        .other
        .ringctl(&["once", "nightly", "-q", "--every", "20h", "--", "false"])?;
    ensure!(nights()? == "taken\ntaken\n", "a second run: {}", nights()?);

    run(container, old)?;
    ensure!(nights()? == "taken\ntaken\ntaken\n", "back: {}", nights()?);
    // On the nights after the change, the job runs without the file's lock.
    let next_night = scene_with_job()?;
    run(&next_night.container, new)?;
    let nights = next_night.container.sh("cat /tmp/nights")?;
    ensure!(nights == "free\n", "the new line: {nights}");
    // The exit codes of the table.
    for line in [
        "flock -n /run/lock/nightly flock -n /run/lock/nightly true",
        "ringctl run -- ringctl run -n -- true",
        "ringctl run --name file -- ringctl run -n --name file -- true",
    ] {
        let output = container.output(&["sh", "-c", line])?;
        ensure!(output.status.code() == Some(1), "{line}: {output:?}");
    }
    for line in [
        "flock -n /run/lock/nightly flock -n /run/lock/other true",
        "ringctl run --name file -- ringctl run -n --name other -- true",
    ] {
        let output = container.output(&["sh", "-c", line])?;
        ensure!(output.status.success(), "{line}: {output:?}");
    }
    for (shared, exclusive) in [
        ("flock -n -s /run/lock/shared", "flock -n /run/lock/shared"),
        (
            "ringctl run --name shared --shared --",
            "ringctl run -n --name shared --",
        ),
    ] {
        let output = container.sh(&hold_shared(shared, exclusive))?;
        ensure!(output == "shared\n1\n", "{shared}: {output}");
    }
    Ok(())
}

/// Returns a script that holds a shared lock, and calls the other two commands. At the end, the script prints the exit
/// code of the exclusive command.
fn hold_shared(shared: &str, exclusive: &str) -> String {
    format!(
        "rm -f /tmp/reader && mkfifo /tmp/reader
         {shared} sh -c 'echo reads >/tmp/reader; exec sleep 1000' >/dev/null 2>&1 & reader=$!
         read -r line </tmp/reader
         {shared} echo shared
         {exclusive} true 2>/dev/null || echo $?
         kill $reader"
    )
}
