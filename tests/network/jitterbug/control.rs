//! `ringctl` with a node of Jitterbug. Some commands work as with Lab2. The node refuses all other commands.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{Test, WAIT, WAIT_LIMIT, binaries, tests};
use serde_json::Value;

use super::stand::{Kind, NodeStand, count, counter};

pub(super) fn tests() -> Vec<Test> {
    let all = tests![
        the_status_is_a_page_and_json_with_the_keys_of_its_page,
        watchers_see_the_events,
        ringctl_waits_for_states_of_jitterbug_and_refuses_other_states,
        one_command_at_a_time_runs_in_the_ring,
        a_script_can_hold_a_lock_and_release_it,
        yield_hands_a_held_token_on_and_ends_its_command,
        a_command_ends_when_its_node_ends_and_before_the_end_of_its_lease,
        commands_of_other_systems_are_refused_with_a_reason,
        a_node_that_cannot_start_prints_the_reason,
        hooks_get_changes_of_state,
        a_node_of_root_cannot_get_capabilities_back,
    ];
    all.into_iter().map(Test::without_stalls).collect()
}

/// Options for a lease of two seconds. Other stands use shorter leases. On a busy machine, the keeper may be too late
/// to renew such a lease.
const LONG_LEASE: [(&str, &str); 1] = [("--tr-interval", "400ms")];

struct CommandOutput {
    code: Option<i32>,
    text: String,
}

fn ringctl(stand: &mut NodeStand, index: usize, arguments: &[&str]) -> Result<CommandOutput> {
    let output = stand.node(index).ringctl(arguments)?;
    let text = [output.stdout, output.stderr].concat();
    Ok(CommandOutput {
        code: output.status.code(),
        text: String::from_utf8_lossy(&text).into_owned(),
    })
}

fn the_status_is_a_page_and_json_with_the_keys_of_its_page() -> Result<()> {
    let mut stand = NodeStand::new(Kind::Bridge, 2, &[])?;
    stand.wait_for_ring(&[0, 1])?;
    stand.wait_for_count(0, 3)?;
    let json = ringctl(&mut stand, 0, &["status", "--json"])?;
    ensure!(json.code == Some(0), "{}", json.text);
    let status: Value = serde_json::from_str(&json.text)?;
    ensure!(
        status["protocol"] == "jitterbug" && status["interface"] == "eth0",
        "{status:#}"
    );
    ensure!(
        status["address"] == "10.77.0.1" && status["udp_port"] == 57_700,
        "{status:#}"
    );
    ensure!(
        status["nodes"][0]["penalty"]["threshold"].is_u64(),
        "{status:#}"
    );
    let digits = status["data_hex"].as_str().context("no digits")?;
    let data = status["data"].as_str().context("no data")?;
    let spelled = data.bytes().map(|byte| format!("{byte:02x}"));
    let spelled = spelled.collect::<Vec<_>>().concat();
    ensure!(
        digits == spelled && status["data_len"] == data.len(),
        "{status:#}"
    );
    let page = ringctl(&mut stand, 0, &["status"])?;
    for part in [
        "Interface    eth0",
        "UDP port 57700",
        "Nodes (2",
        "this node",
        "passes_done",
    ] {
        ensure!(page.text.contains(part), "{part}: {}", page.text);
    }
    let raw = ringctl(&mut stand, 0, &["data", "get", "--raw"])?;
    ensure!(raw.text.parse::<u64>()? >= count(&status)?, "{}", raw.text);
    stand.node(0).signal(Signal::SIGUSR1)?;
    stand
        .node(0)
        .wait_for_line(WAIT_LIMIT, |line| line.contains("status: nodes: 10.77.0."))?;
    Ok(())
}

fn watchers_see_the_events() -> Result<()> {
    let mut stand = NodeStand::new(Kind::Bridge, 2, &[])?;
    stand.wait_for_ring(&[0, 1])?;
    let watch = |stand: &mut NodeStand, request: &str| -> Result<_> {
        let mut stream = UnixStream::connect(stand.node(0).control())?;
        stream.set_read_timeout(Some(WAIT_LIMIT))?;
        stream.write_all(request.as_bytes())?;
        Ok(BufReader::new(stream).lines())
    };
    let mut turns = watch(&mut stand, "{\"request\":\"watch\"}\n")?;
    let snapshot = turns.next().context("no snapshot")??;
    ensure!(snapshot.starts_with("{\"snapshot\":"), "{snapshot}");
    let mut news = watch(&mut stand, "{\"request\":\"watch\",\"turns\":false}\n")?;
    news.next().context("no snapshot")??;
    let find =
        |lines: &mut dyn Iterator<Item = std::io::Result<String>>, event: &str| -> Result<Value> {
            let wanted = format!("\"event\":\"{event}\"");
            loop {
                let line = lines.next().context("the watch has ended")??;
                if line.contains(&wanted) {
                    return Ok(serde_json::from_str(&line)?);
                }
            }
        };
    let taken = find(&mut turns, "taken")?;
    ensure!(taken["event"]["node"] == "10.77.0.2", "{taken}");
    find(&mut turns, "data_changed")?;
    stand.node(1).kill()?;
    let failed = find(&mut news, "pass_failed")?;
    ensure!(failed["event"]["state"].is_string(), "{failed}");
    Ok(())
}

fn ringctl_waits_for_states_of_jitterbug_and_refuses_other_states() -> Result<()> {
    let mut stand = NodeStand::new(Kind::Bridge, 2, &[])?;
    stand.wait_for_ring(&[0, 1])?;
    for state in ["leader", "waiter", "Leader"] {
        let output = ringctl(&mut stand, 0, &["wait", "-w", WAIT, state])?;
        ensure!(output.code == Some(0), "{state}: {}", output.text);
    }
    for state in ["OWNER", "held", "LOOSER"] {
        let output = ringctl(&mut stand, 0, &["wait", "-w", WAIT, state])?;
        ensure!(
            output.code == Some(1) && output.text.contains("leader, waiter, orphan"),
            "{}",
            output.text
        );
    }
    let output = ringctl(&mut stand, 0, &["wait", "-w", "0.1", "orphan"])?;
    ensure!(output.code == Some(1), "{}", output.text);
    Ok(())
}

/// All commands write their start and their end into one file.
fn one_command_at_a_time_runs_in_the_ring() -> Result<()> {
    const RUNS: usize = 3;
    let stand = NodeStand::new(Kind::Bridge, 3, &LONG_LEASE)?;
    stand.wait_for_ring(&[0, 1, 2])?;
    let folder = tempfile::tempdir_in("/run")?;
    let marks = folder.path().join("marks");
    let line = format!("echo + >>{0}; sleep 0.05; echo - >>{0}", marks.display());
    std::thread::scope(|scope| -> Result<()> {
        let stand = &stand;
        let line = &line;
        let runs: Vec<_> = (0..3)
            .flat_map(|index| (0..RUNS).map(move |_| index))
            .map(|index| {
                scope.spawn(move || stand.ringctl(index, &["run", "-w", WAIT, "-c", line]))
            })
            .collect();
        for run in runs {
            let output = run.join().expect("the thread does not panic")?;
            ensure!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(())
    })?;
    let marks = fs::read_to_string(&marks)?;
    ensure!(marks == "+\n-\n".repeat(3 * RUNS), "{marks}");
    // After the commands each node leads once more.
    stand.wait_for_rounds(&[0, 1, 2])?;
    stand.judge().map(drop)
}

fn a_script_can_hold_a_lock_and_release_it() -> Result<()> {
    let mut stand = NodeStand::new(Kind::Bridge, 2, &LONG_LEASE)?;
    stand.wait_for_ring(&[0, 1])?;
    let pid = std::process::id().to_string();
    let lock = ringctl(&mut stand, 0, &["lock", "-w", WAIT, "--pid", &pid])?;
    ensure!(lock.code == Some(0), "{}", lock.text);
    ensure!(lock.text.contains("-10.77.0.1-"), "{}", lock.text);
    let check = ringctl(&mut stand, 0, &["lock", "--check", "--pid", &pid])?;
    ensure!(
        check.code == Some(0) && check.text == lock.text,
        "{}",
        check.text
    );
    let busy = ringctl(&mut stand, 0, &["run", "-n", "--", "true"])?;
    ensure!(
        busy.code == Some(1) && busy.text.contains("holds the token"),
        "{}",
        busy.text
    );
    let held = stand.node(0).status()?;
    ensure!(held["state"] == "leader", "{held:#}");
    let unlock = ringctl(&mut stand, 0, &["unlock", "--pid", &pid])?;
    ensure!(unlock.code == Some(0), "{}", unlock.text);
    let reached = stand.count(1)?;
    stand.wait_for_count(1, reached + 2)?;
    let run = ringctl(
        &mut stand,
        1,
        &["run", "-w", WAIT, "-c", "echo $RINGD_TOKEN $RINGD_DATA"],
    )?;
    ensure!(
        run.code == Some(0) && run.text.contains("-10.77.0.2-"),
        "{}",
        run.text
    );
    Ok(())
}

fn yield_hands_a_held_token_on_and_ends_its_command() -> Result<()> {
    let stand = NodeStand::new(Kind::Bridge, 2, &LONG_LEASE)?;
    stand.wait_for_ring(&[0, 1])?;
    std::thread::scope(|scope| -> Result<()> {
        let stand = &stand;
        let run = scope.spawn(move || stand.ringctl(0, &["run", "-w", WAIT, "--", "sleep", "60"]));
        let at_work = |line: &str| line.contains("\"event\":\"lock_granted\"");
        let mut watch = UnixStream::connect(stand.control(0))?;
        watch.set_read_timeout(Some(WAIT_LIMIT))?;
        watch.write_all(b"{\"request\":\"watch\"}\n")?;
        for line in BufReader::new(watch).lines() {
            if at_work(&line?) {
                break;
            }
        }
        let yields = stand.ringctl(0, &["yield"])?;
        ensure!(
            yields.status.success(),
            "{}",
            String::from_utf8_lossy(&yields.stderr)
        );
        let ended = run.join().expect("the thread does not panic")?;
        let errors = String::from_utf8_lossy(&ended.stderr);
        ensure!(
            ended.status.code() == Some(75) && errors.contains("ringctl yield"),
            "{errors}"
        );
        Ok(())
    })?;
    let reached = stand.count(1)?;
    stand.wait_for_count(1, reached + 2)?;
    Ok(())
}

/// The test stops the daemon, so no node renews the lease.
fn a_command_ends_when_its_node_ends_and_before_the_end_of_its_lease() -> Result<()> {
    let mut stand = NodeStand::new(Kind::Bridge, 2, &LONG_LEASE)?;
    stand.wait_for_ring(&[0, 1])?;
    let folder = tempfile::tempdir_in("/run")?;
    let begun = folder.path().join("begun");
    let line = format!("touch {}; exec sleep 1000", begun.display());
    std::thread::scope(|scope| -> Result<()> {
        let (stand, line) = (&stand, &line);
        let run = scope.spawn(move || stand.ringctl(0, &["run", "-w", WAIT, "-c", line]));
        ring_segment::limit::wait_until("the command runs", || begun.exists());
        stand.signal(0, Signal::SIGSTOP)?;
        let ended = run.join().expect("the thread does not panic")?;
        stand.signal(0, Signal::SIGCONT)?;
        ensure!(ended.status.code() == Some(75), "{ended:?}");
        Ok(())
    })?;
    stand.wait_for_ring(&[0, 1])?;
    stand.wait_for_rounds(&[0, 1])?;
    let status = stand.node(0).status()?;
    ensure!(counter(&status, "stalls") > 0, "{status:#}");
    stand.judge().map(drop)
}

fn commands_of_other_systems_are_refused_with_a_reason() -> Result<()> {
    let mut stand = NodeStand::new(Kind::Bridge, 2, &LONG_LEASE)?;
    stand.wait_for_ring(&[0, 1])?;
    let cases: [(&[&str], &str); 8] = [
        (
            &["once", "nightly", "--every", "1h", "--", "true"],
            "remembers no runs",
        ),
        (&["pause"], "cannot pause a node of Jitterbug"),
        (&["resume"], "cannot pause a node of Jitterbug"),
        (
            &["forget", "10.77.0.2"],
            "the list of Jitterbug keeps every node that has answered",
        ),
        (&["yield", "10.77.0.2"], "use ringctl yield without a node"),
        (&["data", "set", "7"], "cannot set the data"),
        (
            &["run", "-r", "quorum", "--", "true"],
            "cannot require grade 'quorum': locks of Jitterbug have no grade",
        ),
        (
            &["run", "-c", "$RINGCTL run -n -- true"],
            "would wait for its own end",
        ),
    ];
    for (arguments, words) in cases {
        let nested = format!(
            "{} --socket {} run -n -- true",
            ring_segment::program("ringctl"),
            stand.node(0).control().display()
        );
        let arguments: Vec<String> = arguments
            .iter()
            .map(|argument| argument.replace("$RINGCTL run -n -- true", &nested))
            .collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let output = ringctl(&mut stand, 0, &arguments)?;
        ensure!(
            output.code == Some(1) && output.text.contains(words),
            "{arguments:?}: {}",
            output.text
        );
    }
    let own = ringctl(&mut stand, 0, &["run", "--help"])?;
    ensure!(own.text.contains("Jitterbug"), "{}", own.text);
    Ok(())
}

fn a_node_that_cannot_start_prints_the_reason() -> Result<()> {
    let stand = NodeStand::without_nodes(Kind::Bridge, 1)?;
    let refused = |options: &[(&str, &str)], code: i32, words: &str| -> Result<()> {
        let mut node = stand.options(0)?;
        for (name, value) in options {
            node = node.option(name, value);
        }
        let mut node = node.spawn()?;
        let end = node.wait_exit(WAIT_LIMIT)?;
        node.wait_for_line(WAIT_LIMIT, |line| line.contains(words))?;
        ensure!(end.code() == Some(code), "{end}: {:?}", node.output());
        Ok(())
    };
    refused(
        &[("--tr-count", "0")],
        2,
        "--tr-count 0 is not between 1 and 100",
    )?;
    refused(
        &[("--tr-interval", "1ms"), ("--tr-count", "1")],
        2,
        "use --tr-interval 50ms or more",
    )?;
    refused(&[("--hold", "1")], 2, "no unit")?;
    refused(&[("--udp-port", "0")], 2, "all nodes need the same port")?;
    let mut first = stand.options(0)?.spawn()?;
    first.wait_for_status(WAIT_LIMIT, |status| status["state"] == "leader")?;
    refused(&[], 6, "find it with ss -ulpn")?;
    let control = first.control();
    let taken = control.to_str().context("a plain path")?;
    refused(
        &[("--udp-port", "57701"), ("--control", taken)],
        8,
        "--control PATH",
    )?;
    ensure!(first.poll_running()?);
    refused(&[("--", "eth1")], 2, "'eth1' is one word too many")?;
    let node = stand.segment().node(0);
    let nowhere = node
        .ringd(binaries())
        .subcommand("jitterbug")
        .without_state();
    let mut nowhere = nowhere.flag("eth7").spawn()?;
    ensure!(
        nowhere.wait_exit(WAIT_LIMIT)?.code() == Some(3),
        "{:?}",
        nowhere.output()
    );
    nowhere.wait_for_line(WAIT_LIMIT, |line| {
        line.contains("there are: ") && line.contains("eth0")
    })?;
    Ok(())
}

fn hooks_get_changes_of_state() -> Result<()> {
    let folder = tempfile::tempdir_in("/run")?;
    let record = folder.path().join("told");
    let hook = format!(
        "echo $RINGD_EVENT $RINGD_OLD_STATE $RINGD_STATE >>{}",
        record.display()
    );
    let mut stand = NodeStand::new(Kind::Bridge, 1, &[("--on-change", &hook)])?;
    stand.wait_for_count(0, 2)?;
    stand.node(0).signal(Signal::SIGTERM)?;
    ensure!(stand.node(0).wait_exit(WAIT_LIMIT)?.code() == Some(0));
    let text = fs::read_to_string(&record)?;
    let lines: Vec<&str> = text.lines().collect();
    ensure!(lines.first() == Some(&"started none orphan"), "{text}");
    ensure!(lines.contains(&"state_changed orphan leader"), "{text}");
    ensure!(lines.last() == Some(&"stopped leader none"), "{text}");
    Ok(())
}

fn a_node_of_root_cannot_get_capabilities_back() -> Result<()> {
    let mut stand = NodeStand::new(Kind::Bridge, 1, &[])?;
    stand.wait_for_count(0, 2)?;
    for set in ["CapPrm", "CapEff", "CapBnd"] {
        let bits = stand.node(0).capabilities(set)?;
        // The node has CAP_DAC_OVERRIDE and CAP_NET_BIND_SERVICE.
        ensure!(bits == 1 << 1 | 1 << 10, "{set} {bits:x}");
    }
    Ok(())
}
