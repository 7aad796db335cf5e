//! Follows the tutorials and the page on named locks from the first to the last block. Types their commands, and
//! compares the output with the pages.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_segment::{Container, Segment, Test, binaries, tests};

use super::console::{self, Shell};
use super::pages::{NAMED_LOCKS, ONE_MACHINE, THREE_MACHINES, all_blocks};
use super::with_sudo;

/// Time between a block for all machines and the next block. In this time, started daemons form a ring.
const READING_TIME: Duration = Duration::from_secs(2);
const NAMES: [&str; 3] = ["north", "south", "west"];

pub(super) fn tests() -> Vec<Test> {
    tests![
        the_tutorial_for_one_machine_shows_the_output_of_the_lab,
        the_tutorial_for_three_machines_shows_the_output_of_real_services,
        the_page_on_named_locks_shows_the_output_of_the_lab,
    ]
}

/// The lab of a test. On drop, the lab ends.
struct Lab<'a> {
    state: &'a Path,
}

impl Lab<'_> {
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env("RINGD_LAB_STATE", self.state)
            .env(
                "RINGD_LAB_BIN",
                Path::new(binaries().ringd).with_file_name(""),
            );
        command
    }
}

impl Drop for Lab<'_> {
    fn drop(&mut self) {
        let _ = self.command("scripts/lab").arg("down").output();
    }
}

fn the_tutorial_for_one_machine_shows_the_output_of_the_lab() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let lab = Lab {
        state: &folder.path().join("lab"),
    };
    let script = folder.path().join("two-steps");
    let shell = Shell::start(&mut lab.command("bash"))?;
    let mut shells = BTreeMap::from([(String::new(), shell)]);
    for (language, text) in all_blocks(ONE_MACHINE)? {
        match language {
            "sh" => fs::write(&script, text)?,
            _ => console::run(
                // The test writes no file into the reader's folder.
                &text.replace("two-steps $n", &format!("{} $n", script.display())),
                &mut shells,
            )?,
        }
    }
    ensure!(!lab.state.exists(), "the lab has not ended");
    Ok(())
}

fn the_tutorial_for_three_machines_shows_the_output_of_real_services() -> Result<()> {
    // The shells are dropped last. If a shell were killed before its container, the container could not end, because no
    // process would wait for the end of the shell's children.
    let mut shells = BTreeMap::new();
    let segment = Segment::bridge(NAMES.len())?;
    let mut machines = Vec::new();
    for (at, name) in NAMES.iter().enumerate() {
        let machine = Container::boot(segment.node(at), binaries())?;
        with_sudo(&machine)?;
        machine.sh(&format!(
            "mount -o remount,bind,rw /proc/sys && echo {name} >/proc/sys/kernel/hostname && \
             mount -o remount,bind,ro /proc/sys"
        ))?;
        // The programs are already built. So `cargo` has no effect, and the programs are where a build would put them.
        machine.sh(
            "mkdir -p /etc/cron.d /tmp/ringd/target/release && cd /tmp/ringd && \
             cp /usr/local/bin/ring* target/release && rm /usr/local/bin/ring* && \
             ln -s /src/systemd /src/docs . && ln -s /bin/true /usr/local/bin/cargo",
        )?;
        let mut shell = Shell::start(&mut machine.command("bash"))?;
        shell.enter("cd /tmp/ringd")?;
        shells.insert((*name).to_owned(), shell);
        machines.push(machine);
    }
    for (language, text) in all_blocks(THREE_MACHINES)? {
        match language {
            "ini" => machines
                .iter()
                .try_for_each(|machine| machine.edit("ringd@eth0.service", text))?,
            "sh" => {
                for name in NAMES {
                    let shell = shells.get_mut(name).context("a shell")?;
                    shell.enter(text)?;
                    shell.finish().with_context(|| format!("{name}: {text}"))?;
                }
                thread::sleep(READING_TIME);
            }
            _ => console::run(text, &mut shells)?,
        }
    }
    Ok(())
}

fn the_page_on_named_locks_shows_the_output_of_the_lab() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let lab = Lab {
        state: &folder.path().join("lab"),
    };
    let add_program = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text)?;
        fs::set_permissions(&path, Permissions::from_mode(0o755))
    };
    for (name, line) in [
        ("backup", "echo backup works; exec sleep 1000"),
        ("index", "echo index works; exec sleep 1000"),
        ("pay", "echo paid, at grade $RINGD_GRADE"),
        ("report", "echo report works; exec sleep 3"),
        ("update", "echo updated"),
        ("check", "echo checked"),
    ] {
        add_program(name, &format!("#!/bin/sh\n{line}\n"))?;
    }
    let up = ["up", "3", "--", "--ring-size", "3"];
    let output = lab.command("scripts/lab").args(up).output()?;
    ensure!(output.status.success(), "{output:?}");
    let mut shells = BTreeMap::new();
    for (name, node) in NAMES.iter().zip(["1", "2", "3"]) {
        let mut command = lab.command("scripts/lab");
        let mut shell = Shell::start(command.args(["exec", node, "bash"]))?;
        shell.enter(&format!("cd {}", folder.path().display()))?;
        shells.insert((*name).to_owned(), shell);
    }
    for (language, text) in all_blocks(NAMED_LOCKS)? {
        match language {
            "sh" => add_program("books", text)?,
            _ => console::run(&with_host_names_of_lab(text), &mut shells)?,
        }
    }
    Ok(())
}

/// Replaces the host names of a page in the output of commands. The page names machines by their places.
fn with_host_names_of_lab(text: &str) -> String {
    let mut text = text.to_owned();
    for (name, node) in NAMES.iter().zip(1..) {
        text = text.replace(&format!("({name}"), &format!("(node{node}"));
    }
    text
}
