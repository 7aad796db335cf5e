//! The configuration file of a running daemon.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{Daemon, Node, Ringd, Segment, Test, WAIT_LIMIT, binaries, tests};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(super) fn tests() -> Vec<Test> {
    tests![
        the_command_line_has_priority_over_the_interface_and_the_ring,
        a_reload_changes_values_and_keeps_the_token,
        a_wrong_file_changes_nothing_when_it_is_read_again,
        a_reload_changes_hooks_and_the_log,
        the_rule_of_the_file_holds_for_all_clients,
        a_ring_gets_a_new_size_with_few_warnings,
        a_reload_announces_the_new_host_name,
    ]
}

/// A configuration file in a folder that only root can change.
struct File {
    folder: TempDir,
}

impl File {
    fn new(contents: &str) -> Result<Self> {
        let folder = tempfile::tempdir_in("/run")?;
        let file = Self { folder };
        file.write(contents)?;
        Ok(file)
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("ringd.toml")
    }

    fn write(&self, contents: &str) -> Result<()> {
        Ok(fs::write(self.path(), contents)?)
    }
}

fn ringd(node: &Node, file: &Path) -> Ringd {
    // The daemon has no terminal, because a daemon with a terminal takes a hang-up as a sign that the terminal was
    // closed.
    node.ringd(binaries())
        .option("--config", file)
        .through(["setsid"])
}

/// Waits for a status that `is_wanted` accepts. The status contains a ring size, because the daemon's file sets it.
fn status(daemon: &Daemon, is_wanted: impl Fn(&Value) -> bool) -> Result<Value> {
    daemon.wait_for_status(WAIT_LIMIT, is_wanted)
}

fn reload(daemon: &Daemon) -> Result<()> {
    daemon.signal(Signal::SIGHUP)
}

fn the_command_line_has_priority_over_the_interface_and_the_ring() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let file = File::new(concat!(
        "[ring]\nheartbeat = '1s'\nring-size = 7\nmax-members = 100\nforget-after = '1h'\n",
        "[ring.eth0]\nring-size = 5\nmax-members = 50\n",
        "[ring.eth1]\nforget-after = '2h'\n",
    ))?;
    let daemon = ringd(segment.node(0), &file.path())
        .option("--max-members", "20")
        .spawn()?;
    let status = daemon.wait_for_status(WAIT_LIMIT, |_| true)?;
    let constants = &status["constants"];
    let expected = [
        ("heartbeat_ns", json!(1_000_000_000_u64)),
        ("forget_after_ns", json!(3_600_000_000_000_u64)),
        ("expect", json!(5)),
        ("max_members", json!(20)),
        ("take_attempts", json!(3)),
    ];
    for (key, value) in expected {
        ensure!(constants[key] == value, "{key}: {constants:#}");
    }
    let config = &status["config"];
    ensure!(config["file"] == json!(file.path()), "{config:#}");
    let expected = [
        (
            "heartbeat",
            json!({"value": "1s", "source": "file", "line": 2}),
        ),
        (
            "ring-size",
            json!({"value": "5", "source": "file", "line": 7}),
        ),
        (
            "max-members",
            json!({"value": "20", "source": "command_line"}),
        ),
        ("take-attempts", json!({"value": "3", "source": "default"})),
        ("idle-hold", json!({"value": null, "source": "default"})),
        ("verbose", json!({"value": "false", "source": "default"})),
    ];
    for (key, value) in expected {
        ensure!(config["options"][key] == value, "{key}: {config:#}");
    }
    let page = daemon.ringctl(&["status"])?;
    let page = String::from_utf8(page.stdout)?;
    let line = format!("  ring-size 5 ({}, line 7)\n", file.path().display());
    ensure!(
        page.contains(&line) && page.contains("  max-members 20 (command line)\n"),
        "{page}"
    );
    ensure!(!page.contains("  take-attempts"), "{page}");
    Ok(())
}

/// The beginning of a file for daemons that keep the token.
const STEADY: &str = "[ring]\nheartbeat = '200ms'\nidle-hold = 'forever'\n";

fn a_reload_changes_values_and_keeps_the_token() -> Result<()> {
    let segment = Segment::bridge(2)?;
    let file = File::new(&format!("{STEADY}ring-size = 2\n"))?;
    let daemons = [0, 1].map(|index| ringd(segment.node(index), &file.path()).spawn());
    let [owner, other] = daemons;
    let [owner, other] = [owner?, other?];
    let both_present = |it: &Value| it["quorum"]["present"] == 2 && !it["owner"].is_null();
    status(&other, both_present)?;
    let before = status(&owner, both_present)?;
    let (owner, before) = if before["state"] == "OWNER" {
        (&owner, before)
    } else {
        (&other, status(&other, |it| it["state"] == "OWNER")?)
    };
    file.write(concat!(
        "[ring]\nheartbeat = '300ms'\nidle-hold = 'forever'\n",
        "ring-size = 5\nforget-after = '1h'\n"
    ))?;
    reload(owner)?;
    owner.wait_for_line(WAIT_LIMIT, |line| {
        line.contains("now in force: forget-after 1h (was ")
            && line
                .ends_with("ring-size 5 (was 2); restart ringd to use heartbeat 300ms (was 200ms)")
    })?;
    let after = status(owner, |it| it["constants"]["expect"] == 5)?;
    ensure!(
        after["token"] == before["token"] && after["state"] == "OWNER",
        "{before:#} {after:#}"
    );
    ensure!(after["quorum"]["needed"] == 3, "{after:#}");
    let constants = &after["constants"];
    ensure!(
        constants["forget_after_ns"] == 3_600_000_000_000_u64
            && constants["heartbeat_ns"] == 200_000_000,
        "{constants:#}"
    );
    let heartbeat = &after["config"]["options"]["heartbeat"];
    ensure!(heartbeat["value"] == "200ms", "{heartbeat}");
    Ok(())
}

fn a_wrong_file_changes_nothing_when_it_is_read_again() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let file = File::new(&format!("{STEADY}ring-size = 1\n"))?;
    let daemon = ringd(segment.node(0), &file.path()).spawn()?;
    let before = status(&daemon, |it| it["state"] == "OWNER")?;
    for (contents, cause) in [
        (
            "[ring]\nring-size = 2\nring-sizes = 3\n",
            "line 3, column 1: [ring] has no key 'ring-sizes'",
        ),
        (
            "[ring]\nring-size = 5000\n",
            "ring-size of 5000 cannot work",
        ),
    ] {
        file.write(contents)?;
        reload(&daemon)?;
        daemon.wait_for_line(WAIT_LIMIT, |line| {
            line.contains("the daemon keeps its options") && line.contains(cause)
        })?;
        let after = status(&daemon, |_| true)?;
        for key in ["state", "token", "constants", "config"] {
            ensure!(after[key] == before[key], "{key}: {before:#} {after:#}");
        }
    }
    Ok(())
}

fn a_reload_changes_hooks_and_the_log() -> Result<()> {
    let segment = Segment::bridge(2)?;
    let file = File::new("")?;
    let folder = file.folder.path().join("hooks");
    fs::create_dir(&folder)?;
    // Without a folder for hooks, a daemon that runs as root gives up the right to end hooks.
    let with_folder = format!("{STEADY}hooks-dir = '{}'\n", folder.display());
    file.write(&with_folder)?;
    let daemon = ringd(segment.node(0), &file.path()).spawn()?;
    status(&daemon, |it| it["state"] == "OWNER")?;
    file.write(&format!(
        "{STEADY}verbose = true\non-change = 'echo new $RINGD_EVENT'\n"
    ))?;
    reload(&daemon)?;
    daemon.wait_for_line(WAIT_LIMIT, |line| {
        line.contains("now in force: on-change echo new $RINGD_EVENT (was unset), hooks-dir ")
            && line.ends_with("verbose true (was false)")
    })?;
    let _other = ringd(segment.node(1), &file.path()).spawn()?;
    daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("hook --on-change: new "))?;
    // A line of the level DEBUG.
    daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("hook --on-change ran for"))?;
    let hook = folder.join("10-hook");
    fs::write(&hook, "#!/bin/sh\necho of the folder\n")?;
    fs::set_permissions(&hook, Permissions::from_mode(0o755))?;
    file.write(&with_folder)?;
    reload(&daemon)?;
    daemon.wait_for_line(WAIT_LIMIT, |line| {
        line.contains("on-change unset (was ") && line.ends_with("verbose false (was true)")
    })?;
    // The token leaves, so the state changes.
    let paused = daemon.ringctl(&["pause"])?;
    ensure!(paused.status.success(), "{paused:?}");
    daemon.wait_for_line(WAIT_LIMIT, |line| line.ends_with("10-hook: of the folder"))?;
    Ok(())
}

fn the_rule_of_the_file_holds_for_all_clients() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let file = File::new(&format!("{STEADY}ring-size = 2\nrequire = 'quorum'\n"))?;
    let daemon = ringd(segment.node(0), &file.path()).spawn()?;
    status(&daemon, |it| it["state"] == "OWNER")?;
    let run = |words: &[&str]| -> Result<(bool, String)> {
        let output = daemon.ringctl(&[&["run"], words, &["--", "true"]].concat())?;
        let text = String::from_utf8(output.stderr)?;
        Ok((output.status.success(), text))
    };
    let (done, text) = run(&["-w", "0.3"])?;
    ensure!(!done && text.contains("no quorum"), "{text}");
    for words in [
        &["--require", "alone"][..],
        &["--name", "a", "-r", "all-heard"],
    ] {
        let (done, text) = run(words)?;
        ensure!(
            !done && text.contains("requires the grade quorum for every lock"),
            "{words:?}: {text}"
        );
    }
    file.write(&format!("{STEADY}ring-size = 2\n"))?;
    reload(&daemon)?;
    daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("now in force: require"))?;
    let (done, text) = run(&["--require", "alone"])?;
    ensure!(done, "{text}");
    Ok(())
}

fn a_ring_gets_a_new_size_with_few_warnings() -> Result<()> {
    const MEMBERS: usize = 6;
    let segment = Segment::bridge(MEMBERS)?;
    let file = File::new(&format!("{STEADY}ring-size = {MEMBERS}\n"))?;
    let nodes = segment.nodes().iter();
    let daemons = nodes.map(|node| ringd(node, &file.path()).spawn());
    let daemons = daemons.collect::<Result<Vec<_>>>()?;
    for daemon in &daemons {
        status(daemon, |it| it["quorum"]["present"] == MEMBERS)?;
    }
    file.write(&format!("{STEADY}ring-size = 30\n"))?;
    for daemon in &daemons {
        reload(daemon)?;
        // Each member announces its ring size before the next member gets the new file.
        for other in &daemons {
            status(other, |it| it["quorum"]["ring"] == 30)?;
        }
    }
    for daemon in &daemons {
        let agree = |it: &Value| {
            let members = it["members"].as_array();
            members.is_some_and(|members| members.iter().all(|it| it["differs"].is_null()))
        };
        status(daemon, |it| it["constants"]["expect"] == 30 && agree(it))?;
        let lines = daemon.output();
        let warnings: Vec<_> = lines
            .iter()
            .filter(|line| line.contains("WARN") && line.contains("expects"))
            .collect();
        ensure!(warnings.len() <= 2, "{warnings:#?}");
    }
    Ok(())
}

fn a_reload_announces_the_new_host_name() -> Result<()> {
    let segment = Segment::bridge(2)?;
    let set_name = "echo first >/proc/sys/kernel/hostname && exec \"$@\"";
    let renamed = segment.node(0).ringd(binaries());
    // The daemon has no terminal, because a daemon with a terminal takes a hang-up as a sign that the terminal was
    // closed.
    let renamed = renamed
        .through(["setsid", "unshare", "--uts", "sh", "-c", set_name, "sh"])
        .spawn()?;
    let other = segment.node(1).ringd(binaries()).spawn()?;
    let mac = segment.node(0).mac().to_string();
    let is_known = |name: &'static str| {
        let mac = &mac;
        move |status: &Value| {
            let mut members = status["members"].as_array().into_iter().flatten();
            members.any(|it| it["mac"] == *mac && it["name"] == name)
        }
    };
    status(&other, is_known("first"))?;
    let set = Command::new("nsenter")
        .args(["--uts", "--target", &renamed.pid().to_string(), "sh", "-c"])
        .arg("echo second >/proc/sys/kernel/hostname")
        .status()?;
    ensure!(set.success(), "{set}");
    reload(&renamed)?;
    status(&other, is_known("second"))?;
    status(&renamed, is_known("second")).map(drop)
}
