//! Units that are bound to the target of a lock, on two machines with systemd.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use ring_segment::{Container, Daemon, Segment, Test, Timing, WAIT_LIMIT, binaries, tests};
use serde_json::Value;

use super::HEARTBEAT;

const LEADER: &str = "ringd-leader@eth0.service";
const WORKER: &str = "worker.service";
/// A program that notices a second copy of itself on any machine, because all machines have the same file FILE in
/// `/src`. Unless the file `/run/stubborn` exists, the program ends on SIGTERM.
const PROGRAM: &str = r#"#!/bin/sh
exec 9</src/FILE
flock -n 9 || { echo "two at once"; exit 99; }
trap '[ -e /run/stubborn ] || { echo ended; exit 0; }' TERM
echo "works under $RINGD_TOKEN"
while :; do sleep 0.05; done
"#;

pub(super) fn tests() -> Vec<Test> {
    // The tests stop processes themselves.
    let tests = tests![
        a_unit_of_the_leader_moves_to_another_machine_after_each_fault,
        a_bound_unit_without_its_slice_is_refused,
        a_unit_of_a_named_lock_runs_on_one_machine,
    ];
    tests.into_iter().map(Test::without_stalls).collect()
}

/// A ring of two machines with systemd, and a third member, so that two members are a majority.
struct Scene {
    machines: [Container; 2],
    _third: Daemon,
    _segment: Segment,
}

impl Scene {
    /// Starts the ring, and installs the units of the leader and the named locks.
    fn new() -> Result<Self> {
        let segment = Segment::bridge(3)?;
        let timing = Timing::tolerant(HEARTBEAT);
        let third = segment.node(2).ringd(binaries()).timing(&timing);
        let third = third.option("--ring-size", "3").spawn()?;
        let machines = [boot(&segment, 0)?, boot(&segment, 1)?];
        third.wait_for_status(WAIT_LIMIT, |status| status["quorum"]["present"] == 3)?;
        Ok(Self {
            machines,
            _third: third,
            _segment: segment,
        })
    }

    /// Binds the unit of the program to a target, and starts a service on both machines. Each test uses a different
    /// file.
    fn start(&self, file: &str, service: &str, target: &str, slice: &str) -> Result<()> {
        let options = if service == LEADER { "" } else { "-i eth0 " };
        for machine in &self.machines {
            let program = PROGRAM.replace("FILE", file);
            machine.write("/usr/local/bin/worker", 0o755, &program)?;
            machine.write(
                &format!("/etc/systemd/system/{WORKER}"),
                0o644,
                &format!(
                    "[Unit]\nBindsTo={target}\nAfter={target}\n\
                     [Service]\n{slice}ExecStart=/usr/local/bin/worker\nRestart=always\nTimeoutStopSec=2s\n\
                     [Install]\nWantedBy={target}\n"
                ),
            )?;
            machine.edit(
                service,
                &format!("[Service]\nEnvironment=\"RINGCTL_OPTIONS={options}--require quorum\"\n"),
            )?;
            machine.run(&["systemctl", "enable", "--quiet", WORKER])?;
            machine.run(&["systemctl", "enable", "--quiet", "--now", service])?;
        }
        Ok(())
    }

    /// Waits until the program works on one of these machines, and returns the machine's number.
    fn wait_for_worker(&self, among: &[usize]) -> Result<usize> {
        let deadline = Instant::now() + WAIT_LIMIT;
        loop {
            for &at in among {
                if self.machines[at].show(WORKER, "ActiveState")? == "active" {
                    return Ok(at);
                }
            }
            ensure!(
                Instant::now() < deadline,
                "the unit runs on none of {among:?}"
            );
        }
    }

    /// Fails if two programs ever worked at the same time.
    fn check_exclusion(&self) -> Result<()> {
        for (at, machine) in self.machines.iter().enumerate() {
            let lines = machine.journal();
            ensure!(
                !lines.iter().any(|line| line.contains("two at once")),
                "machine {at}:\n{}",
                lines.join("\n")
            );
        }
        Ok(())
    }
}

fn boot(segment: &Segment, at: usize) -> Result<Container> {
    let machine = Container::boot(segment.node(at), binaries())?;
    machine.install_service()?;
    machine.sh("install -m 644 systemd/ringd.target systemd/ringd-l*@.* /etc/systemd/system/")?;
    let size = "[Service]\nEnvironment=\"RINGD_OPTIONS=--ring-size 3\"\n";
    machine.edit("ringd@eth0.service", size)?;
    machine.run(&["systemctl", "enable", "--quiet", "--now", "ringd@eth0"])?;
    Ok(machine)
}

/// A fault of the machine that leads, and the command after which the machine is whole again.
struct Fault {
    name: &'static str,
    cause: &'static str,
    repair: &'static str,
}

const FAULTS: &[Fault] = &[
    Fault {
        name: "the service is stopped",
        cause: "systemctl stop ringd-leader@eth0",
        repair: "systemctl start ringd-leader@eth0",
    },
    Fault {
        name: "the token is handed over",
        cause: "ringctl yield",
        repair: "true",
    },
    Fault {
        name: "ringd is restarted",
        cause: "systemctl restart ringd@eth0",
        repair: "true",
    },
    Fault {
        name: "ringd is killed",
        cause: "systemctl kill --signal=KILL ringd@eth0",
        repair: "true",
    },
    Fault {
        name: "ringd is stopped by SIGSTOP",
        cause: "systemctl kill --signal=STOP ringd@eth0",
        repair: "systemctl kill --signal=CONT ringd@eth0",
    },
    Fault {
        name: "ringctl is killed",
        cause: "systemctl kill --kill-whom=main --signal=KILL ringd-leader@eth0",
        repair: "true",
    },
    Fault {
        name: "the keeper of the lock is killed",
        cause: "pkill -KILL -x ringd-keeper",
        repair: "true",
    },
    Fault {
        name: "all processes of the service are killed",
        cause: "systemctl kill --kill-whom=all --signal=KILL ringd-leader@eth0",
        repair: "true",
    },
    Fault {
        name: "all processes of the service are stopped by SIGSTOP",
        cause: "systemctl kill --kill-whom=all --signal=STOP ringd-leader@eth0",
        repair: "true",
    },
    Fault {
        name: "ringd and all processes of the service are stopped by SIGSTOP",
        cause: "systemctl kill --signal=STOP ringd@eth0; \
                systemctl kill --kill-whom=all --signal=STOP ringd-leader@eth0",
        repair: "systemctl kill --signal=CONT ringd@eth0",
    },
    Fault {
        name: "the segment is split",
        cause: "ip link set eth0 down",
        repair: "ip link set eth0 up",
    },
];

fn a_unit_of_the_leader_moves_to_another_machine_after_each_fault() -> Result<()> {
    let ring = Scene::new()?;
    let settings = "Slice=ringd-leader-eth0.slice\nEnvironmentFile=/run/ringd-leader-eth0/held\n";
    ring.start("LICENSE-MIT", LEADER, "ringd-leader@eth0.target", settings)?;
    let mut leader = ring.wait_for_worker(&[0, 1])?;
    let works = |line: &str| line.contains("works under 1") && line.contains("-02:00:00:00:00:0");
    ring.machines[leader].wait_for_line(WAIT_LIMIT, works)?;
    // The machine that waits does not start the unit by hand.
    let started = ring.machines[1 - leader].output(&["systemctl", "start", WORKER])?;
    ensure!(!started.status.success(), "{started:?}");
    for fault in FAULTS {
        // Half of the programs end on SIGTERM, and half must be killed.
        for is_stubborn in [false, true] {
            let machine = &ring.machines[leader];
            let stubborn = if is_stubborn {
                "touch /run/stubborn"
            } else {
                "rm -f /run/stubborn"
            };
            machine.sh(stubborn)?;
            let begun = Instant::now();
            machine.sh(fault.cause).context(fault.name)?;
            let next = ring.wait_for_worker(&[1 - leader]).context(fault.name)?;
            println!("{}: {:?}", fault.name, begun.elapsed());
            ring.check_exclusion().context(fault.name)?;
            machine.sh(fault.repair).context(fault.name)?;
            // The earlier leader waits for the lock again.
            machine.wait_for(LEADER, "ActiveState", WAIT_LIMIT, |state| state == "active")?;
            machine.wait_for("ringd@eth0", "ActiveState", WAIT_LIMIT, |state| {
                state == "active"
            })?;
            wait_for_queue(&ring.machines[next], machine)?;
            leader = next;
        }
    }
    ring.check_exclusion()
}

/// Waits until both machines know the whole ring, and the second machine waits for the token.
fn wait_for_queue(leads: &Container, waits: &Container) -> Result<()> {
    let deadline = Instant::now() + WAIT_LIMIT;
    loop {
        let [leader, waiter] = [status(leads)?, status(waits)?];
        let knows_all = |status: &Value| status["quorum"]["present"] == 3;
        let has_client = waiter["clients"]
            .as_array()
            .is_some_and(|all| !all.is_empty());
        if knows_all(&leader) && knows_all(&waiter) && has_client {
            return Ok(());
        }
        ensure!(
            Instant::now() < deadline,
            "not ready: {leader:#} {waiter:#}"
        );
    }
}

fn status(machine: &Container) -> Result<Value> {
    let status = machine.output(&["ringctl", "status", "--json"])?;
    // A daemon that has just been restarted does not answer yet.
    Ok(serde_json::from_slice(&status.stdout).unwrap_or_default())
}

fn a_bound_unit_without_its_slice_is_refused() -> Result<()> {
    let ring = Scene::new()?;
    ring.start("README.md", LEADER, "ringd-leader@eth0.target", "")?;
    let machine = &ring.machines[0];
    machine.wait_for(LEADER, "ActiveState", WAIT_LIMIT, |state| state == "failed")?;
    machine.wait_for_line(WAIT_LIMIT, |line| {
        line.contains("worker.service")
            && line.contains("Slice=ringd-leader-eth0.slice in [Service]")
    })?;
    ensure!(machine.show(LEADER, "NRestarts")? == "0");
    machine.edit(WORKER, "[Service]\nSlice=ringd-leader-eth0.slice\n")?;
    machine.run(&["systemctl", "start", LEADER])?;
    ring.wait_for_worker(&[0]).map(drop)
}

fn a_unit_of_a_named_lock_runs_on_one_machine() -> Result<()> {
    let ring = Scene::new()?;
    // systemd escapes the '-' of the name.
    let (service, target) = (r"ringd-lock@a\x2db.service", r"ringd-lock@a\x2db.target");
    ring.start(
        "LICENSE-APACHE",
        service,
        target,
        "Slice=ringd-lock-a\\x2db.slice\n",
    )?;
    let first = ring.wait_for_worker(&[0, 1])?;
    let locks = ring.machines[first].run(&["ringctl", "locks"])?;
    ensure!(locks.contains("a-b"), "{locks}");
    ring.machines[first].run(&["systemctl", "stop", service])?;
    ring.wait_for_worker(&[1 - first])?;
    ring.check_exclusion()
}
