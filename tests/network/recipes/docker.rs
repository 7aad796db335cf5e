//! Tests `docs/how-to/docker.md` with a real Docker daemon on each of two machines.
//!
//! The daemons run in the machines' namespaces and load no image from a registry: `debian:bookworm-slim` is a small
//! image that the test makes from this machine's files. The test costs about 20 s, and 300 MB of memory.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use ring_segment::{Container, Segment, Test, binaries, tests};

use super::WAIT_LIMIT;
use super::pages::{DOCKER, block};

const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// A Docker daemon that does not change the firewall, and that needs only the network of the page.
const START: &str = "systemd-run --quiet --unit=dockerd --property=Type=notify \
    dockerd --iptables=false --bridge=none --ip-forward=false --storage-driver=vfs --log-level=error";
/// Makes the stand-in for Debian's image: a shell, `sleep`, and all libraries.
const BASE_IMAGE: &str = "
    mkdir -p /tmp/base/bin /tmp/base/tmp
    for program in /bin/sh /bin/sleep /usr/local/bin/ringd /usr/local/bin/ringctl; do
        for library in $(ldd $program | grep -o '/[^ ]*'); do
            mkdir -p /tmp/base/${library%/*}
            cp -L $library /tmp/base/$library
        done
    done
    cp -L /bin/sh /bin/sleep /tmp/base/bin/
    tar c -C /tmp/base . | docker import - debian:bookworm-slim";
/// Prints the seconds since the boot, as long as it runs.
const JOB: &str =
    "#!/bin/sh\necho start\nwhile read -r now _ </proc/uptime; do echo $now; sleep 0.02; done\n";

pub(super) fn tests() -> Vec<Test> {
    tests![a_job_in_containers_runs_on_one_machine]
}

/// Installs everything on a machine. The address of machine `at` is the page's address plus `at`.
fn install(machine: &Container, at: usize) -> Result<()> {
    ensure!(
        std::path::Path::new("/usr/sbin/dockerd").exists(),
        "there is no dockerd: install it, for example with apt-get install docker.io"
    );
    machine.sh("mkdir -p /tmp/ringd/target/release /tmp/job; \
         cp /usr/local/bin/ringd /usr/local/bin/ringctl /tmp/ringd/target/release")?;
    machine.write("/tmp/job/reports", 0o755, JOB)?;
    machine.sh(START)?;
    machine.sh(BASE_IMAGE)?;
    machine.sh(&format!(
        "cd /tmp/ringd\n{}",
        block(DOCKER, "mkdir -p image")?
    ))?;
    let daemon = block(DOCKER, "docker network create")?;
    let own = format!("--ip 192.0.2.10{}", at + 1);
    machine.sh(&daemon.replace("--ip 192.0.2.101", &own))?;
    machine.sh("until docker exec ringd ringctl status --json | jq -e '.members[1]' >/dev/null; do sleep 0.05; done")?;
    let shown = machine.sh(block(DOCKER, "docker exec ringd")?)?;
    ensure!(shown.contains("Members (2)"), "{shown}");
    // The container is on the segment with a different address than the machine.
    ensure!(
        !shown.contains(&machine.node().mac().to_string()),
        "{shown}"
    );
    machine.sh(&format!(
        "cd /tmp/job\n{}",
        block(DOCKER, "docker build -t reports")?
    ))?;
    Ok(())
}

/// Returns the start and the end of each run of the job. Ignores a run that printed no time.
fn runs(machine: &Container) -> Result<Vec<(f64, f64)>> {
    let text = machine.sh("docker logs reports 2>/dev/null")?;
    let run = |lines: &str| {
        let mut times = lines.lines().filter_map(|line| line.parse::<f64>().ok());
        let first = times.next()?;
        Some((first, times.next_back().unwrap_or(first)))
    };
    Ok(text.split("start\n").filter_map(run).collect())
}

fn wait_for_run(machine: &Container, before: usize) -> Result<()> {
    let deadline = Instant::now() + WAIT_LIMIT;
    while runs(machine)?.len() <= before {
        ensure!(Instant::now() < deadline, "the job does not start");
        thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// Whether the job's `ringctl` waits for the token or holds the token.
const WAITS: &str = "until docker exec ringd ringctl status --json 2>/dev/null | jq -e '.clients[0]' >/dev/null; \
    do sleep 0.05; done";

fn a_job_in_containers_runs_on_one_machine() -> Result<()> {
    let segment = Segment::bridge(2)?;
    let machines = [0, 1].map(|at| Container::boot(segment.node(at), binaries()));
    let [one, other] = machines;
    let machines = [one?, other?];
    thread::scope(|scope| -> Result<()> {
        let work = [0, 1].map(|at| {
            let machine = &machines[at];
            scope.spawn(move || install(machine, at))
        });
        for work in work {
            work.join()
                .map_err(|_| anyhow!("an installation panicked"))??;
        }
        Ok(())
    })?;
    for machine in &machines {
        machine.sh(WAITS)?;
    }
    let mut here = 0;
    for round in 0..4 {
        if round == 0 {
            let deadline = Instant::now() + WAIT_LIMIT;
            while runs(&machines[here])?.is_empty() {
                here = 1 - here;
                ensure!(Instant::now() < deadline, "the job starts nowhere");
                thread::sleep(POLL_INTERVAL);
            }
            continue;
        }
        let there = 1 - here;
        machines[there].sh(WAITS)?;
        let before = runs(&machines[there])?.len();
        match round {
            // Docker starts the daemon again.
            1 | 3 => machines[here].sh("kill -9 $(docker inspect -f '{{.State.Pid}}' ringd)")?,
            _ => machines[here].sh("docker stop ringd")?,
        };
        wait_for_run(&machines[there], before)?;
        if round == 2 {
            machines[here].sh("docker start ringd")?;
        }
        here = there;
    }
    for (begun, ended) in runs(&machines[0])? {
        for (other_begun, other_ended) in runs(&machines[1])? {
            let apart = ended < other_begun + 0.011 || other_ended < begun + 0.011;
            ensure!(
                apart,
                "a run from {begun} to {ended} overlaps one from {other_begun} to {other_ended}"
            );
        }
    }
    Ok(())
}
