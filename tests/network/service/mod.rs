//! Tests the systemd unit under a real systemd, because only systemd can apply the unit's settings.

mod credential;
mod limits;
mod rights;
mod targets;

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use ring_segment::{Container, Daemon, Segment, Test, Timing, WAIT_LIMIT, ask, binaries, tests};
use serde_json::{Value, json};

const UNIT: &str = "ringd@eth0";
/// Default heartbeat of the unit.
const HEARTBEAT: Duration = Duration::from_millis(100);
/// Bit of the capability to send raw frames.
const CAP_NET_RAW: u64 = 1 << 13;

pub(crate) fn tests() -> Vec<Test> {
    let tests = tests![
        the_unit_joins_the_ring_and_hands_the_token_over_when_it_is_stopped,
        a_killed_or_restarted_service_knows_its_last_token,
        a_service_that_hangs_is_ended_by_its_watchdog_and_restarted,
        a_permanent_error_is_not_retried,
        a_state_file_of_a_newer_version_is_not_tried_again,
        a_copy_of_the_unit_runs_a_second_ring_on_the_interface,
        a_second_daemon_that_root_starts_is_refused,
        files_of_a_daemon_of_root_do_not_keep_the_unit_from_starting,
        the_unit_ends_processes_outside_the_group_of_a_killed_holder,
        a_lost_link_is_a_warning_in_the_journal,
        the_journal_finds_a_lock_by_its_fields,
        the_history_comes_from_the_journal_which_explains_its_lines,
        the_unit_waits_for_a_missing_interface,
    ];
    [
        tests,
        credential::tests(),
        limits::tests(),
        rights::tests(),
        targets::tests(),
    ]
    .concat()
}

/// A service, and a second member of its ring that is not a service.
struct UnitScene {
    container: Container,
    other: Daemon,
    _segment: Segment,
}

impl UnitScene {
    /// Starts the service and the other member. Adds `lines` to the unit.
    fn new(lines: &str) -> Result<Self> {
        let scene = Self::before_the_start(lines)?;
        scene
            .container
            .run(&["systemctl", "enable", "--now", "--quiet", UNIT])?;
        scene.wait_for_ring()?;
        Ok(scene)
    }

    fn before_the_start(lines: &str) -> Result<Self> {
        let segment = Segment::bridge(2)?;
        let container = Container::boot(segment.node(0), binaries())?;
        container.install_service()?;
        if !lines.is_empty() {
            container.edit(&format!("{UNIT}.service"), lines)?;
        }
        let timing = Timing::tolerant(HEARTBEAT);
        let other = segment.node(1).ringd(binaries()).timing(&timing).spawn()?;
        Ok(Self {
            container,
            other,
            _segment: segment,
        })
    }

    /// Waits until the service is a member of a ring of two.
    fn wait_for_ring(&self) -> Result<()> {
        let own = self.container.node().mac().to_string();
        let is_fresh = |member: &Value| {
            member["mac"] == own
                && member["last_seen_ns"]
                    .as_u64()
                    .is_some_and(|ns| ns < 1_000_000_000)
        };
        self.other.wait_for_status(WAIT_LIMIT, |status| {
            let members = status["members"].as_array();
            members.is_some_and(|all| all.len() == 2 && all.iter().any(is_fresh))
                && (status["state"] == "OWNER" || status["state"] == "WAITER")
        })?;
        self.container
            .wait_for(UNIT, "StatusText", WAIT_LIMIT, |text| {
                text == "in a ring, 2 members known"
            })?;
        Ok(())
    }

    /// Returns the status that `ringctl` prints for a user who may use the control socket.
    fn status(&self) -> Result<Value> {
        let text = self.container.run(&[
            "setpriv",
            "--reuid=nobody",
            "--regid=ringd",
            "--clear-groups",
            "ringctl",
            "status",
            "--json",
        ])?;
        serde_json::from_str(&text).context("the status is not JSON")
    }

    fn show(&self, property: &str) -> Result<String> {
        self.container.show(UNIT, property)
    }

    /// Waits until the service has restarted and joined the ring. `why` is the result that systemd reports for the
    /// earlier run.
    fn wait_for_restart(&self, why: &str) -> Result<()> {
        self.container
            .wait_for(UNIT, "NRestarts", WAIT_LIMIT, |count| count == "1")?;
        self.container
            .wait_for(UNIT, "ActiveState", WAIT_LIMIT, |state| state == "active")?;
        self.container.wait_for_line(WAIT_LIMIT, |line| {
            line.contains(&format!("Failed with result '{why}'"))
        })?;
        self.wait_for_ring()
    }
}

/// Returns systemd's complaints in the journal.
fn systemd_complaints(container: &Container) -> Vec<String> {
    let mut lines = container.journal();
    let words = [
        "Unknown key",
        "Unknown section",
        "ignoring",
        "Failed to",
        "deprecated",
    ];
    lines.retain(|line| line.contains("ringd@") && words.iter().any(|word| line.contains(word)));
    lines
}

fn the_unit_joins_the_ring_and_hands_the_token_over_when_it_is_stopped() -> Result<()> {
    let scene = UnitScene::new("")?;
    let complaints = systemd_complaints(&scene.container);
    ensure!(complaints.is_empty(), "{}", complaints.join("\n"));

    // The daemon has only one capability, and no way to get another capability.
    let pid = scene.show("MainPID")?;
    let status = scene
        .container
        .run(&["cat", &format!("/proc/{pid}/status")])?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.map(|line| line.trim().to_owned()).context("no field")
    };
    for set in ["CapEff:", "CapPrm:", "CapBnd:"] {
        let held = u64::from_str_radix(&field(set)?, 16)?;
        ensure!(held == CAP_NET_RAW, "{set} {held:x}");
    }
    ensure!(field("NoNewPrivs:")? == "1" && field("Seccomp:")? == "2");
    ensure!(!field("Uid:")?.split_whitespace().any(|uid| uid == "0"));
    for (property, value) in [
        ("MemorySwapMax", "0"),
        ("WatchdogUSec", "10s"),
        ("Result", "success"),
        ("NRestarts", "0"),
    ] {
        ensure!(scene.show(property)? == value, "{property} is not {value}");
    }

    ensure!(scene.status()?["link"] == "up");
    scene.container.run(&["ringctl", "run", "--", "true"])?;
    // The unit hides /proc/sys, but clients in other time namespaces need the clock.
    let lock = json!({"request": "lock"});
    let grant = ask(
        &scene.container.path("/run/ringd/eth0.sock"),
        &lock,
        "granted",
    )?;
    ensure!(grant["clock"]["offset_ns"].is_i64(), "{grant}");
    check_other_units_are_kept_out(&scene.container)?;

    let elections = |status: &Value| status["counters"]["state_change_reasons"]["elected"].clone();
    let before = elections(&scene.other.wait_for_status(WAIT_LIMIT, |_| true)?);
    let lines = scene.container.journal().len();
    scene.container.run(&["systemctl", "stop", UNIT])?;
    ensure!(scene.show("Result")? == "success" && scene.show("ActiveState")? == "inactive");
    scene
        .container
        .wait_for_line_from(lines, WAIT_LIMIT, |line| {
            line.contains("ringd[") && line.contains("stopped")
        })?;
    let after = scene
        .other
        .wait_for_status(WAIT_LIMIT, |status| status["state"] == "OWNER")?;
    ensure!(
        elections(&after) == before,
        "the token was not handed over: {after:#}"
    );
    ensure!(!scene.container.path("/run/ringd/eth0.sock").exists());
    Ok(())
}

/// Checks that a compromised process of another unit cannot use the group's permissions, read the state, or replace the
/// socket.
fn check_other_units_are_kept_out(container: &Container) -> Result<()> {
    container.run(&["systemd-sysusers", "/src/systemd/ring-board.sysusers"])?;
    for user in ["ringd-ftn", "ringd-jitterbug", "ringd-board"] {
        let become_it = format!("setpriv --reuid={user} --regid={user} --init-groups");
        for act in [
            "ringctl -i eth0 status",
            "cat /var/lib/ringd/eth0.state",
            "mv /run/ringd/eth0.sock /run/ringd/taken.sock",
            "touch /run/ringd/other.sock",
        ] {
            let done = container.output(&["sh", "-c", &format!("{become_it} {act}")])?;
            let errors = String::from_utf8(done.stderr)?;
            ensure!(
                !done.status.success() && errors.contains("ermission denied"),
                "{user} can {act}: {errors}"
            );
        }
    }
    Ok(())
}

fn a_killed_or_restarted_service_knows_its_last_token() -> Result<()> {
    let scene = UnitScene::new("")?;
    let progress = || -> Result<u64> {
        let status = scene.status()?;
        status["token"]["progress"]
            .as_u64()
            .context("the service knows no token")
    };
    let first = progress()?;
    scene
        .container
        .run(&["systemctl", "kill", "--signal=KILL", UNIT])?;
    scene.wait_for_restart("signal")?;
    let second = progress()?;
    scene.container.run(&["systemctl", "restart", UNIT])?;
    scene.wait_for_ring()?;
    let third = progress()?;
    ensure!(
        first <= second && second <= third,
        "the token went from {first} through {second} to {third}"
    );
    ensure!(
        scene
            .container
            .path("/var/lib/ringd/eth0.state")
            .metadata()?
            .len()
            > 0
    );
    Ok(())
}

fn a_service_that_hangs_is_ended_by_its_watchdog_and_restarted() -> Result<()> {
    let scene = UnitScene::new("[Service]\nWatchdogSec=2s\n")?;
    // A running daemon notifies the watchdog regularly.
    let mut fed = String::new();
    for _ in 0..4 {
        fed = scene
            .container
            .wait_for(UNIT, "WatchdogTimestampMonotonic", WAIT_LIMIT, |at| {
                at != "0" && at != fed
            })?;
    }
    ensure!(
        scene.show("NRestarts")? == "0",
        "the watchdog ended a running service"
    );
    scene
        .container
        .run(&["systemctl", "kill", "--signal=STOP", UNIT])?;
    scene.wait_for_restart("watchdog")
}

fn a_copy_of_the_unit_runs_a_second_ring_on_the_interface() -> Result<()> {
    const SECOND: &str = "ringd-two@eth0";
    let scene = UnitScene::new("")?;
    let container = &scene.container;
    container.sh("cp systemd/ringd@.service /etc/systemd/system/ringd-two@.service")?;
    let other = "[Service]\nEnvironment=\"RINGD_OPTIONS=--ethertype 0x88b6\"\n";
    container.edit(&format!("{SECOND}.service"), other)?;
    container.run(&["systemctl", "start", SECOND])?;
    container.wait_for(SECOND, "StatusText", WAIT_LIMIT, |text| {
        text == "the only member of its ring"
    })?;
    for ring in ["eth0", "eth0:0x88b6"] {
        container.run(&["ringctl", "-i", ring, "run", "--", "true"])?;
    }
    container.run(&["systemctl", "stop", SECOND])?;
    ensure!(container.show(SECOND, "Result")? == "success");
    scene.wait_for_ring()
}

fn a_lost_link_is_a_warning_in_the_journal() -> Result<()> {
    let scene = UnitScene::new("")?;
    let container = &scene.container;
    let warnings = || -> Result<Vec<Value>> {
        let lines = container.run(&["journalctl", "-u", UNIT, "-o", "json", "-p", "warning"])?;
        let lines = lines.lines().map(serde_json::from_str);
        Ok(lines.collect::<Result<_, _>>()?)
    };
    let says = |line: &Value| {
        let text = line["MESSAGE"].as_str();
        text.is_some_and(|text| text == "eth0 is down: waiting for its return")
    };
    ensure!(!warnings()?.iter().any(says), "the link is up");
    container.run(&["ip", "link", "set", "eth0", "down"])?;
    container.wait_for_line(WAIT_LIMIT, |line| {
        line.contains("eth0 is down: waiting for its return")
    })?;
    // The line is the complete message without a time, because systemd adds the time.
    let lines = warnings()?;
    let line = lines.iter().find(|line| says(line));
    let line = line.with_context(|| format!("no warning: {lines:#?}"))?;
    ensure!(line["PRIORITY"] == "4", "{line:#}");
    container.run(&["ip", "link", "set", "eth0", "up"])?;
    scene.wait_for_ring()
}

fn the_journal_finds_a_lock_by_its_fields() -> Result<()> {
    let scene = UnitScene::new("")?;
    let container = &scene.container;
    container.run(&["ringctl", "run", "--label", "report", "--", "true"])?;
    container.wait_for_line(WAIT_LIMIT, |line| line.contains("exit code 0"))?;
    let find = [
        "journalctl",
        "-u",
        UNIT,
        "-o",
        "json",
        "RINGD_EVENT=lock_released",
    ];
    let found = container.run(&find)?;
    let line: Value = serde_json::from_str(found.trim()).context("one line")?;
    for (field, value) in [
        ("RINGD_LABEL", "report"),
        ("RINGD_EXIT", "0"),
        ("RINGD_USER", "root"),
        ("PRIORITY", "6"),
    ] {
        ensure!(line[field] == value, "{field}: {line:#}");
    }
    for field in ["RINGD_PID", "RINGD_TOKEN", "RINGD_HELD_NS"] {
        ensure!(line[field].is_string(), "{field}: {line:#}");
    }
    Ok(())
}

fn the_history_comes_from_the_journal_which_explains_its_lines() -> Result<()> {
    let scene = UnitScene::new("")?;
    let container = &scene.container;
    let run = [
        "ringctl", "run", "--label", "report", "--", "sh", "-c", "exit 3",
    ];
    ensure!(container.output(&run)?.status.code() == Some(3));
    container.wait_for_line(WAIT_LIMIT, |line| line.contains("exit code 3"))?;
    container.run(&["systemctl", "stop", UNIT])?;
    ensure!(!container.path("/var/lib/ringd/eth0.history").exists());
    // A user may write lines with the same id, but they do not count.
    let forged = format!(
        "printf 'MESSAGE=forged\\nMESSAGE_ID={}\\nRINGD_INSTANCE=eth0\\n\
         RINGD_EVENT=lock_released\\nRINGD_LABEL=forged\\n' \
         | setpriv --reuid=nobody --regid=nogroup --clear-groups logger --journald",
        id("lock_released")?
    );
    container.sh(&forged)?;
    container.wait_for_line(WAIT_LIMIT, |line| line.contains("forged"))?;
    // In the container, the journal belongs to the group root instead of systemd-journal.
    for user in ["--reuid=root --regid=root", "--reuid=1 --regid=root"] {
        let command = format!("setpriv {user} --clear-groups ringctl -i eth0 history --json");
        let holds: Value = serde_json::from_str(&container.sh(&command)?)?;
        let [hold] = &holds.as_array().context("a list")?[..] else {
            bail!("{holds:#}");
        };
        for (key, value) in [
            ("program", json!("report")),
            ("exit", json!(3)),
            ("node", json!("eth0")),
            ("user", json!("root")),
            ("outcome", json!("released")),
        ] {
            ensure!(hold[key] == value, "{key}: {hold:#}");
        }
        ensure!(hold["held_ns"].is_u64() && hold["fencing"].is_string());
    }
    let stranger = "setpriv --reuid=nobody --regid=nogroup --clear-groups ringctl history";
    let denied = container.output(&["sh", "-c", stranger])?;
    let errors = String::from_utf8(denied.stderr)?;
    ensure!(
        denied.status.code() == Some(1) && errors.contains("member of the group systemd-journal"),
        "{errors}"
    );

    container.sh("mkdir -p /usr/local/lib/systemd/catalog
         cp systemd/ringd.catalog /usr/local/lib/systemd/catalog/
         journalctl --update-catalog")?;
    let explained = container.run(&["journalctl", "-x", "RINGD_EVENT=lock_released"])?;
    ensure!(
        explained.contains("A program has released its lock."),
        "{explained}"
    );
    let remedy = container.run(&["journalctl", "--dump-catalog", id("link_lost")?])?;
    ensure!(remedy.contains("ringd event link_lost"), "{remedy}");
    Ok(())
}

fn id(event: &str) -> Result<&'static str> {
    ring_control::message_id(event).context("no id")
}

fn the_unit_waits_for_a_missing_interface() -> Result<()> {
    let scene = UnitScene::before_the_start("[Service]\nWatchdogSec=2s\n")?;
    let container = &scene.container;
    container.run(&["ip", "link", "set", "eth0", "down"])?;
    container.run(&["ip", "link", "set", "eth0", "name", "other0"])?;
    container.run(&["systemctl", "enable", "--now", "--quiet", UNIT])?;
    container.wait_for(UNIT, "StatusText", WAIT_LIMIT, |text| {
        text.contains("waiting for the interface: there is no interface 'eth0'")
    })?;
    let waits_since = scene.show("ExecMainPID")?;
    // Changes of other interfaces cause no log lines.
    for state in ["up", "down"].repeat(12) {
        container.run(&["ip", "link", "set", "other0", state])?;
    }
    let started: u64 = scene.show("ExecMainStartTimestampMonotonic")?.parse()?;
    let watchdog = Duration::from_secs(2).as_micros();
    container.wait_for(UNIT, "WatchdogTimestampMonotonic", WAIT_LIMIT, |fed| {
        let fed = fed.parse::<u64>();
        fed.is_ok_and(|fed| u128::from(fed.saturating_sub(started)) > 2 * watchdog)
    })?;
    container.run(&["ip", "link", "set", "other0", "name", "eth0"])?;
    container.run(&["ip", "link", "set", "eth0", "up"])?;
    scene.wait_for_ring()?;
    ensure!(scene.show("NRestarts")? == "0" && scene.show("ExecMainPID")? == waits_since);
    Ok(())
}

fn a_permanent_error_is_not_retried() -> Result<()> {
    let wrong = "[Service]\nEnvironment=\"RINGD_OPTIONS=--waiter-intervals 1\"\n";
    let scene = UnitScene::before_the_start(wrong)?;
    let started = scene.container.output(&["systemctl", "start", UNIT])?;
    ensure!(!started.status.success(), "the service has started");
    scene
        .container
        .wait_for(UNIT, "ActiveState", WAIT_LIMIT, |state| state == "failed")?;
    ensure!(scene.show("ExecMainStatus")? == "2" && scene.show("NRestarts")? == "0");
    scene
        .container
        .wait_for_line(WAIT_LIMIT, |line| line.contains("waiter-intervals of 1"))?;
    Ok(())
}

fn a_state_file_of_a_newer_version_is_not_tried_again() -> Result<()> {
    let scene = UnitScene::before_the_start("")?;
    // systemd gives the directory and its files to the unit's user.
    scene.container.sh(
        "mkdir -p /var/lib/ringd && printf RINGST02 > /var/lib/ringd/eth0.state \
         && truncate -s 1024 /var/lib/ringd/eth0.state",
    )?;
    let started = scene.container.output(&["systemctl", "start", UNIT])?;
    ensure!(!started.status.success(), "the service has started");
    scene
        .container
        .wait_for(UNIT, "ActiveState", WAIT_LIMIT, |state| state == "failed")?;
    ensure!(scene.show("ExecMainStatus")? == "9" && scene.show("NRestarts")? == "0");
    scene.container.wait_for_line(WAIT_LIMIT, |line| {
        line.contains("was written by a newer ringd")
    })?;
    Ok(())
}

fn a_second_daemon_that_root_starts_is_refused() -> Result<()> {
    let scene = UnitScene::new("")?;
    let second = scene.container.output(&["ringd", "eth0"])?;
    let text = String::from_utf8([second.stdout, second.stderr].concat())?;
    ensure!(
        second.status.code() == Some(6) && text.contains("another ringd"),
        "{}: {text}",
        second.status
    );
    scene.wait_for_ring()
}

fn files_of_a_daemon_of_root_do_not_keep_the_unit_from_starting() -> Result<()> {
    let scene = UnitScene::new("")?;
    scene.container.run(&["systemctl", "stop", UNIT])?;
    scene
        .container
        .sh("ringd eth0 --state-dir /tmp/by-hand 2>/tmp/said & daemon=$!
         until ringctl status -q; do kill -0 $daemon || { cat /tmp/said; exit 1; }; sleep 0.05; done
         kill -KILL $daemon
         [ \"$(stat -c %U /run/ringd/eth0.sock)\" = root ]")?;
    scene.container.run(&["systemctl", "start", UNIT])?;
    ensure!(scene.show("ActiveState")? == "active" && scene.show("NRestarts")? == "0");
    scene.wait_for_ring()?;
    ensure!(scene.status()?["link"] == "up");
    Ok(())
}

/// The unit can see the control groups. To end these processes, the unit must write to a group that is not its own.
fn the_unit_ends_processes_outside_the_group_of_a_killed_holder() -> Result<()> {
    let scene = UnitScene::new("")?;
    let container = &scene.container;
    container.sh(
        "ringctl run -- sh -c 'setsid sh -c \"echo \\$\\$ >/tmp/left; exec sleep 1000\" & wait' \
             >/tmp/said 2>&1 & echo $! >/tmp/run
         until [ -s /tmp/left ]; do kill -0 $(cat /tmp/run) || { cat /tmp/said; exit 1; }; sleep 0.05; done
         grep -q /ringctl- /proc/$(cat /tmp/left)/cgroup",
    )?;
    let status = scene.status()?;
    let keeper = &status["clients"][0]["pid"];
    ensure!(status["clients"][0]["holds"] == true, "{status}");
    container.sh(&format!(
        "kill -STOP {keeper}
         kill -KILL $(cat /tmp/run) {keeper}
         for _ in $(seq 600); do
             left=$(cut -d ' ' -f 3 /proc/$(cat /tmp/left)/stat 2>/dev/null) || exit 0
             [ \"$left\" != Z ] || exit 0
             sleep 0.1
         done
         cat /tmp/said; exit 1"
    ))?;
    // With cgroup v1 the machine could freeze the container, so ringctl prints a warning.
    let text = container.run(&["cat", "/tmp/said"])?;
    let is_known = |line: &str| line.contains("a cgroup v1 freezer can freeze the command");
    ensure!(text.lines().all(is_known), "{text}");
    Ok(())
}
