//! Runs the recipes of README and docs unchanged, on a live systemd.

mod console;
mod docker;
mod flock;
mod leader;
pub(crate) mod pages;
mod readme;
pub(crate) mod record;
mod segments;
mod tutorials;
mod virtual_ip;

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_segment::{Container, Daemon, Segment, Test, Timing, WAIT_LIMIT, binaries};

/// Default heartbeat of the unit.
const HEARTBEAT: Duration = Duration::from_millis(100);

pub(crate) fn tests() -> Vec<Test> {
    // The tests of `pages` have no daemons, and the other tests stop their daemons themselves. A stall would change the
    // output that the tutorials show.
    let without_others = [
        pages::tests(),
        leader::tests(),
        segments::tests(),
        flock::tests(),
        docker::tests(),
        virtual_ip::tests(),
        tutorials::tests(),
    ]
    .concat();
    let without_others = without_others.into_iter().map(Test::without_stalls);
    readme::tests().into_iter().chain(without_others).collect()
}

/// A machine with systemd on which the tests run recipes, and a second member of its ring.
struct RecipeScene {
    container: Container,
    other: Daemon,
    _segment: Segment,
}

impl RecipeScene {
    fn new() -> Result<Self> {
        let segment = Segment::bridge(2)?;
        let container = Container::boot(segment.node(0), binaries())?;
        with_sudo(&container)?;
        let timing = Timing::tolerant(HEARTBEAT);
        let other = segment.node(1).ringd(binaries()).timing(&timing).spawn()?;
        Ok(Self {
            container,
            other,
            _segment: segment,
        })
    }

    fn wait_for_ring(&self) -> Result<()> {
        self.other.wait_for_status(WAIT_LIMIT, |status| {
            let members = status["members"].as_array().map_or(0, Vec::len);
            members == 2 && (status["state"] == "OWNER" || status["state"] == "WAITER")
        })?;
        self.container
            .sh("until ringctl status -q; do sleep 0.05; done")
            .map(drop)
    }
}

/// Installs a file at the path that the file's first comment contains. An explanation may follow the path.
fn install(machine: &Container, mode: u32, text: &str) -> Result<()> {
    let mut comments = text.lines().filter_map(|line| line.strip_prefix("# "));
    let comment = comments.next().context("a comment with a path")?;
    let path = comment.split([' ', ':']).next().unwrap_or(comment);
    machine.write(path, mode, text)
}

/// Adds a `sudo` that only runs its command. The user in the container is already root.
fn with_sudo(container: &Container) -> Result<()> {
    container.write("/usr/local/bin/sudo", 0o755, "#!/bin/sh\nexec \"$@\"\n")
}

/// Adds a program that writes the seconds since the boot to a file, as long as it runs.
fn with_reports(container: &Container) -> Result<()> {
    let script = "#!/bin/sh\n\
        while read -r now _ </proc/uptime; do echo \"$now\" >>/run/reports.$$; sleep 0.02; done\n";
    container.write("/usr/local/bin/reports", 0o755, script)
}

/// Returns the start and the end of each run of the program from [`with_reports`]. Ignores a run that has not written a
/// whole line. The function reads the files from outside, because a process per query would be slow.
fn runs(container: &Container) -> Result<Vec<(f64, f64)>> {
    let mut runs = Vec::new();
    for entry in fs::read_dir(container.path("/run"))? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with("reports.") {
            continue;
        }
        let text = fs::read_to_string(entry.path())?;
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let mut times = whole.lines().map(str::parse::<f64>);
        if let Some(first) = times.next().transpose()? {
            runs.push((first, times.next_back().transpose()?.unwrap_or(first)));
        }
    }
    Ok(runs)
}

/// Checks that runs on one machine never overlap runs on the second machine. The times have a resolution of 10 ms.
fn check_disjoint(one: &Container, other: &Container) -> Result<()> {
    for (begun, ended) in runs(one)? {
        for (other_begun, other_ended) in runs(other)? {
            let apart = ended < other_begun + 0.011 || other_ended < begun + 0.011;
            ensure!(
                apart,
                "a run from {begun} to {ended} overlaps a run from {other_begun} to {other_ended}"
            );
        }
    }
    Ok(())
}
