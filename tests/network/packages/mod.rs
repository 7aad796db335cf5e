//! Installs, upgrades and removes the Debian packages on a machine with systemd and dpkg.

mod build;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_segment::{Container, Daemon, Segment, Test, Timing, WAIT_LIMIT, binaries, tests};

use crate::locks::program::Running;
use crate::locks::ringctl;
use crate::recipes::pages::{PACKAGES, block};
use build::Packages;

const UNIT: &str = "ringd@eth0";
/// Default heartbeat of the unit.
const HEARTBEAT: Duration = Duration::from_millis(100);
/// Options of the machine. The other members have the same options, so that a busy processor does not end a lock.
const OPTIONS: &str = r#"ring-size = 3\ntake-timeout = "200ms"\nwaiter-intervals = 12"#;
/// Commands that make /usr writable, and that remove the programs that are not from a package.
const WRITABLE_USR: &str = "
    mkdir -p /usr-changes/upper /usr-changes/work
    mount -t overlay -o lowerdir=/usr,upperdir=/usr-changes/upper,workdir=/usr-changes/work overlay /usr
    rm -rf /usr/sbin/policy-rc.d /usr/local/bin /usr/bin/ring* /usr/lib/sysusers.d/ring*
    mkdir -p /usr/local/bin /var/cache/apt/archives/partial /var/lib/apt/lists/partial /var/log/apt
    printf '#!/bin/sh\\nexec \"$@\"\\n' >/usr/local/bin/sudo
    chmod 755 /usr/local/bin/sudo
    mkdir -p /etc/apt/apt.conf.d
    echo 'APT::Get::Assume-Yes \"true\";' >/etc/apt/apt.conf.d/yes";

pub(crate) fn tests() -> Vec<Test> {
    // The packages restart daemons.
    let tests = tests![
        an_upgrade_of_the_packages_loses_no_lock_and_purge_leaves_no_file,
        the_packages_of_the_board_and_of_the_simulator_are_installed_and_purged,
    ];
    tests.into_iter().map(Test::without_stalls).collect()
}

/// Packages on which the packages of this project depend.
const DEPENDENCIES: [&str; 3] = ["libc6", "libgcc-s1", "systemd"];
/// Entry of a dependency in the list of installed packages. It names no further dependencies.
const ENTRY: &str = "Package: ${Package}\nStatus: install ok installed\nMaintainer: nobody\n\
    Architecture: ${Architecture}\nVersion: ${Version}\nDescription: a dependency\n\n";

/// Boots a machine without `ringd`, on which only the dependencies are installed packages.
fn boot(segment: &Segment) -> Result<Container> {
    let machine = Container::boot(segment.node(0), binaries())?;
    machine.sh(WRITABLE_USR)?;
    let query = Command::new("dpkg-query")
        .args(["--show", "--showformat", ENTRY])
        .args(DEPENDENCIES)
        .output()?;
    let errors = String::from_utf8_lossy(&query.stderr);
    ensure!(
        query.status.success(),
        "this test needs a Debian system: {errors}"
    );
    machine.write(
        "/var/lib/dpkg/status",
        0o644,
        &String::from_utf8(query.stdout)?,
    )?;
    for name in DEPENDENCIES {
        machine.write(&format!("/var/lib/dpkg/info/{name}.list"), 0o644, "")?;
    }
    machine.sh("mkdir /var/lib/dpkg/updates /var/lib/dpkg/triggers")?;
    Ok(machine)
}

/// Runs a command of the page in a folder with one file of the package.
fn apt(machine: &Container, command: &str, package: &Path) -> Result<String> {
    let name = package.file_name().context("a name")?.to_string_lossy();
    machine.sh("rm -rf /tmp/packages && mkdir /tmp/packages")?;
    let target = machine.path(&format!("/tmp/packages/{name}"));
    fs::copy(package, target)?;
    machine.sh(&format!(
        "cd /tmp/packages && export DEBIAN_FRONTEND=noninteractive && {{ {command}\n}} 2>&1"
    ))
}

fn wait_for_members(daemon: &Daemon, count: usize) -> Result<()> {
    daemon.wait_for_status(WAIT_LIMIT, |status| {
        let members = status["members"].as_array();
        let alive = members.map(|all| all.iter().filter(|it| it["state"] != "left").count());
        alive == Some(count) && status["quorum"]["present"] == count
    })?;
    Ok(())
}

/// A ring of three: the machine with packages, and two other members.
fn an_upgrade_of_the_packages_loses_no_lock_and_purge_leaves_no_file() -> Result<()> {
    let packages = Packages::new()?;
    let old = packages.build("ringd", "0.1.0-1")?;
    let new = packages.build("ringd", "0.1.1-1")?;
    let segment = Segment::bridge(3)?;
    let machine = boot(&segment)?;
    machine.sh("touch /usr/local/bin/ringd /usr/local/bin/ringctl
         cp systemd/ringd@.service /etc/systemd/system/")?;
    machine.sh(block(PACKAGES, "sudo rm -f /usr/local/bin/ringd")?)?;
    let install = block(PACKAGES, "sudo apt install ./ringd")?;
    apt(&machine, install, &old)?;
    check_files(&machine)?;
    ensure!(
        machine.show(UNIT, "ActiveState")? == "inactive",
        "the installation has started a daemon"
    );
    machine.sh(&format!(
        "sed -i 's/^# ring-size = 3/{OPTIONS}/' /etc/ringd/ringd.toml && ringd check-config"
    ))?;
    machine.sh(block(PACKAGES, "sudo systemctl enable --now ringd@eth0")?)?;
    check_a_lone_daemon_restarts(&machine, install, &old)?;

    let start = |node: usize| {
        let ringd = segment.node(node).ringd(binaries());
        ringd
            .timing(&Timing::stall_tolerant(HEARTBEAT))
            .option("--ring-size", "3")
            .spawn()
    };
    let others = [start(1)?, start(2)?];
    wait_for_members(&others[0], 3)?;
    check_locks_of_other_machines_survive(&machine, &others[0], install, &new)?;
    check_locks_of_this_machine_survive(&machine, &others[0], install, &new)?;

    machine.sh(block(PACKAGES, "sudo apt remove ringd")?)?;
    wait_for_members(&others[0], 2)?;
    machine.sh("test ! -e /usr/bin/ringd
         test -s /var/lib/ringd/eth0.state
         grep -q '^ring-size' /etc/ringd/ringd.toml")?;
    machine.sh(block(PACKAGES, "sudo apt purge ringd")?)?;
    let left = machine
        .sh("find /etc /var/lib /run -path /var/lib/dpkg -prune -o -name '*ringd*' -print")?;
    ensure!(left.is_empty(), "purge left files:\n{left}");
    Ok(())
}

fn check_files(machine: &Container) -> Result<()> {
    machine.sh(
        "test -s /usr/share/man/man8/ringd-check-config.8.gz && test -s /usr/share/man/man1/ringctl-run.1.gz
         test -s /usr/share/ringd/wireshark/lab2.lua
         grep -q '^Subject: ringd event lock_lost$' /usr/lib/systemd/catalog/ringd.catalog
         getent passwd ringd-ftn ringd-jitterbug
         ringd check-config
         for program in ringd ringctl; do
             bash -c '. /usr/share/bash-completion/completions/$0 && complete -p $0' $program
         done",
    )?;
    Ok(())
}

/// No other member takes the token from the only member of a ring.
fn check_a_lone_daemon_restarts(machine: &Container, install: &str, old: &Path) -> Result<()> {
    machine.run(&["ringctl", "run", "-w", "30s", "--", "true"])?;
    let before = machine.show(UNIT, "MainPID")?;
    // An exporter without a daemon is like an exporter whose daemon has an earlier version: it is not restarted.
    let (useful, useless) = ("ringd-exporter@eth0", "ringd-exporter@eth1");
    let elsewhere = "[Service]\nEnvironment=\"RINGD_EXPORTER_OPTIONS=--listen 127.0.0.1:9465\"\n";
    machine.edit(&format!("{useless}.service"), elsewhere)?;
    machine.run(&["systemctl", "start", useful, useless])?;
    let exporters = [useful, useless].map(|unit| machine.show(unit, "MainPID"));
    let [useful_before, useless_before] = exporters;
    let install = install.replace("apt install", "apt install --reinstall");
    let text = apt(machine, &install, old)?;
    ensure!(
        machine.show(UNIT, "MainPID")? != before,
        "the daemon was not restarted: {text}"
    );
    ensure!(
        machine.show(useful, "MainPID")? != useful_before?
            && machine.show(useless, "MainPID")? == useless_before?,
        "the wrong exporters were restarted: {text}"
    );
    machine.run(&["systemctl", "stop", useful, useless])?;
    machine.sh(&format!("rm -r /etc/systemd/system/{useless}.service.d"))?;
    Ok(())
}

/// Programs on another machine keep the token and a named lock while this machine is upgraded.
fn check_locks_of_other_machines_survive(
    machine: &Container,
    other: &Daemon,
    install: &str,
    new: &Path,
) -> Result<()> {
    let line = "echo works; read end; echo ended";
    let mut holders = Vec::new();
    for lock in [
        &["run", "-r", "quorum"][..],
        &["run", "--name", "backup", "-r", "quorum"],
    ] {
        let arguments = [lock, &["--", "sh", "-c", line]].concat();
        let mut command = ringctl(other, &arguments);
        let mut holder = Running::start(command.stdin(Stdio::piped()))?;
        holder.expect_line("works")?;
        holders.push(holder);
    }
    let before = machine.show(UNIT, "MainPID")?;
    let text = apt(machine, install, new)?;
    let after = machine.show(UNIT, "MainPID")?;
    ensure!(
        before != after,
        "the upgrade has not restarted the daemon: {text}"
    );
    ensure!(machine.show(UNIT, "ActiveState")? == "active");
    machine.sh(&format!(
        "test \"$(readlink /proc/{after}/exe)\" = /usr/bin/ringd
         grep -q '^ring-size' /etc/ringd/ringd.toml"
    ))?;
    wait_for_members(other, 3)?;
    for holder in &mut holders {
        let written = holder.write_input("\n");
        ensure!(written.is_ok(), "a lock is lost: {}", holder.errors());
        holder.expect_line("ended")?;
        holder.expect_code(0)?;
    }
    Ok(())
}

/// While a program of this machine holds a lock, an upgrade does not restart the daemon. A paused machine stays paused.
fn check_locks_of_this_machine_survive(
    machine: &Container,
    other: &Daemon,
    install: &str,
    new: &Path,
) -> Result<()> {
    let install = install.replace("apt install", "apt install --reinstall");
    let before = machine.show(UNIT, "MainPID")?;
    for name in ["", "--name backup"] {
        machine.sh(&format!(
            "rm -f /run/works
             systemd-run --quiet --unit=holder --collect \
                 --property=SuccessExitStatus=143 --property=KillMode=mixed \
             ringctl run -r quorum {name} -- sh -c 'touch /run/works && exec sleep 1000'
             until [ -e /run/works ]; do sleep 0.02; done"
        ))?;
        let text = apt(machine, &install, new)?;
        ensure!(
            text.contains(
                "cannot restart ringd@eth0.service: a program of this machine uses a lock"
            ),
            "{text}"
        );
        ensure!(
            machine.show(UNIT, "MainPID")? == before,
            "the daemon was restarted"
        );
        ensure!(
            machine.show("holder", "ActiveState")? == "active",
            "the lock is lost"
        );
        machine.run(&["systemctl", "stop", "holder"])?;
    }
    // The upgrade has ended its pause.
    machine.run(&["ringctl", "run", "-w", "30s", "--", "true"])?;
    machine.run(&["ringctl", "pause", "--persist"])?;
    apt(machine, &install, new)?;
    ensure!(
        machine.show(UNIT, "MainPID")? != before,
        "the daemon was not restarted"
    );
    ensure!(
        machine
            .run(&["ringctl", "status"])?
            .contains("paused: does not own the token")
    );
    wait_for_members(other, 3)
}

fn the_packages_of_the_board_and_of_the_simulator_are_installed_and_purged() -> Result<()> {
    let packages = Packages::new()?;
    let segment = Segment::bridge(1)?;
    let machine = boot(&segment)?;
    machine.sh("ip address add 192.0.2.1/24 dev eth0")?;
    for name in ["ring-board", "ring-sim"] {
        let package = packages.build(name, "0.1.0-1")?;
        apt(
            &machine,
            &format!("apt install -y --no-install-recommends ./{name}_*.deb"),
            &package,
        )?;
        machine.sh(&format!(
            "bash -c '. /usr/share/bash-completion/completions/{name} && complete -p {name}'"
        ))?;
        machine.sh(&format!("test -s /usr/share/man/man[18]/{name}.*.gz"))?;
    }
    machine.run(&["ring-sim", "--seeds", "0..1", "--time", "1s"])?;
    machine.write("/etc/ringd/board.csv", 0o644, "1,127.0.0.1,7400,8080\n")?;
    machine.run(&["systemctl", "enable", "--now", "--quiet", "ring-board@1"])?;
    let before = machine.show("ring-board@1", "MainPID")?;
    let new = packages.build("ring-board", "0.1.1-1")?;
    apt(&machine, "apt install -y ./ring-board_*.deb", &new)?;
    ensure!(
        machine.show("ring-board@1", "MainPID")? != before,
        "the upgrade has not restarted the node"
    );
    ensure!(machine.show("ring-board@1", "ActiveState")? == "active");
    machine.sh("apt purge -y ring-board ring-sim")?;
    let left = machine.sh(
        "find /etc /var/lib /run /usr/bin -path /var/lib/dpkg -prune -o \
             '(' -name '*ring*-board*' -o -name ring-sim ')' -print",
    )?;
    ensure!(left.is_empty(), "purge left files:\n{left}");
    ensure!(
        machine.path("/etc/ringd/board.csv").exists(),
        "purge removed the list of the administrator"
    );
    Ok(())
}
