//! The environment in which hooks run, and messages about hooks.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{Segment, Test, Timing, tests};
use serde_json::json;

use crate::hooks::hook_dir::{HEARTBEAT, HookDir, WAIT_LIMIT, resting_timing, value};

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_hook_that_cannot_run_is_reported_once_and_others_run,
        a_hooks_directory_of_another_user_is_skipped,
        a_hook_inherits_no_descriptors_signals_or_rights_of_its_daemon,
        orphans_of_a_hook_in_a_container_are_waited_for,
        a_hook_of_a_daemon_of_root_may_do_more_than_its_daemon,
        a_hook_has_none_of_the_limits_of_its_daemon,
        the_log_has_the_output_of_hooks_but_limits_a_flood,
        a_daemon_with_hooks_warns_of_a_token_that_never_rests,
    ]
}

fn a_hook_that_cannot_run_is_reported_once_and_others_run() -> Result<()> {
    let (segment, place) = (Segment::bridge(2)?, HookDir::new()?);
    let plain = place.hook("1-plain", "echo plain >>$R")?;
    fs::set_permissions(&plain, fs::Permissions::from_mode(0o644))?;
    let strange = place.hooks().join("2-strange");
    fs::write(&strange, "#!/nowhere/interpreter\n")?;
    fs::set_permissions(&strange, fs::Permissions::from_mode(0o755))?;
    place.hook("3-fails", "exit 3")?;
    place.hook("4-dies", "kill -SEGV $$")?;
    place.hook("5-works", "echo works >>$R")?;
    let open = place.hook("6-open", "echo open >>$R")?;
    fs::set_permissions(&open, fs::Permissions::from_mode(0o757))?;
    // There are about fifty changes per second. The first four hooks write no lines.
    let timing = Timing::tolerant(HEARTBEAT);
    let ringd = place.ringd(segment.node(0), &timing);
    let mut daemon = ringd.option("--on-change", "/nowhere/hook").spawn()?;
    let other = place.ringd(segment.node(1), &timing).spawn()?;
    place.wait_for(|lines| (lines.len() > 30).then_some(()))?;
    place.hook("3-fails", "exit 0")?;
    daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("3-fails works again"))?;
    drop(other);
    daemon.signal(Signal::SIGTERM)?;
    ensure!(daemon.wait_exit(WAIT_LIMIT)?.success());
    let output = daemon.output();
    for (hook, problem) in [
        ("--on-change", "exit code 127"),
        ("1-plain", "chmod +x"),
        ("2-strange", "cannot be started: No such file"),
        ("3-fails", "exit code 3"),
        ("4-dies", "SIGSEGV"),
        ("6-open", "users other than root"),
    ] {
        let is_it = |line: &&String| line.contains(hook) && line.contains("WARN");
        let messages: Vec<_> = output.iter().filter(is_it).collect();
        ensure!(
            messages.len() == 1 && messages[0].contains(problem),
            "{hook}: {messages:#?}"
        );
    }
    for passed_over in ["plain", "open"] {
        ensure!(!place.lines().contains(&passed_over.to_owned()));
    }
    Ok(())
}

fn orphans_of_a_hook_in_a_container_are_waited_for() -> Result<()> {
    let (segment, place) = (Segment::bridge(1)?, HookDir::new()?);
    // Process 1 adopts an orphan, which stays a zombie until process 1 waits for it.
    let script = "orphan=$( (true & echo $!) ); while [ -d /proc/$orphan ]; do sleep 0.01; done; echo gone >>$R";
    place.hook("leaves", script)?;
    let ringd = place.ringd(segment.node(0), &resting_timing());
    let container = ["unshare", "--fork", "--kill-child", "--pid", "--mount-proc"];
    let _daemon = ringd.through(container).spawn()?;
    place.wait_for_line(|line| line == "gone").map(drop)
}

fn a_hook_inherits_no_descriptors_signals_or_rights_of_its_daemon() -> Result<()> {
    let (segment, place) = (Segment::bridge(1)?, HookDir::new()?);
    let script = "[ $RINGD_STATE = OWNER ] || exit 0; \
         until [ $(cat /proc/$$/oom_score_adj) -gt $(cat /proc/$PPID/oom_score_adj) ]; do :; done; \
         for fd in 0 1 2; do to=$(readlink /proc/$$/fd/$fd); echo $to >>$R; done; \
         echo listed $(ls /proc/self/fd) >>$R; \
         while read -r line; do case $line in Sig*) echo $line >>$R; esac; done </proc/$$/status; \
         read -r all </proc/$$/stat; set -- ${all##*) }; \
         echo here nice=${17} group=$3 pid=$$ slack=$(cat /proc/$$/timerslack_ns) \
         notify=$NOTIFY_SOCKET end= >>$R";
    place.hook("looks", script)?;
    let ringd = place.ringd(segment.node(0), &resting_timing());
    // Starts the daemon like a careless parent under a service manager, with an open file and NOTIFY_SOCKET.
    let leaves_open = "export NOTIFY_SOCKET=@nobody; exec 7</dev/null; exec \"$@\"";
    let ringd = ringd.through(["sh", "-c", leaves_open, "sh"]);
    let _daemon = ringd.spawn()?;
    let line = place.wait_for_line(|line| line.starts_with("here "))?;
    for (name, expected) in [("nice", "0"), ("slack", "50000"), ("notify", "")] {
        ensure!(value(&line, name)? == expected, "{line}");
    }
    ensure!(value(&line, "group")? == value(&line, "pid")?, "{line}");
    let record = place.lines();
    let streams = &record[..3];
    ensure!(streams[0] == "/dev/null", "{record:?}");
    ensure!(
        streams[1..].iter().all(|it| it.starts_with("pipe:")),
        "{record:?}"
    );
    // The command that lists the descriptors opens the directory itself as number 3.
    ensure!(record[3] == "listed 0 1 2 3", "{record:?}");
    let signals = |name: &str| -> Result<u64> {
        let line = record.iter().find_map(|line| line.strip_prefix(name));
        let bits = line.with_context(|| format!("no {name}: {record:?}"))?;
        Ok(u64::from_str_radix(bits.trim(), 16)?)
    };
    ensure!(signals("SigBlk:")? == 0, "{record:?}");
    // The process of this test ignores SIGPIPE.
    let pipe = 1 << (Signal::SIGPIPE as u64 - 1);
    ensure!(signals("SigIgn:")? & pipe == 0, "{record:?}");
    Ok(())
}

fn a_hook_of_a_daemon_of_root_may_do_more_than_its_daemon() -> Result<()> {
    let (segment, place) = (Segment::bridge(1)?, HookDir::new()?);
    place.hook(
        "adds",
        "ip address add 192.0.2.7/32 dev lo 2>/dev/null; ip -o address show to 192.0.2.7 | cut -c -5 >>$R",
    )?;
    let daemon = place.ringd(segment.node(0), &resting_timing()).spawn()?;
    place.wait_for_line(|line| line.starts_with("1: lo"))?;
    for set in ["CapPrm", "CapEff", "CapBnd"] {
        let bits = daemon.capabilities(set)?;
        // The daemon has CAP_DAC_OVERRIDE and CAP_NET_RAW.
        ensure!(bits == 1 << 1 | 1 << 13, "{set} {bits:x}");
    }
    ensure!(daemon.status()?["missing_limits"] == json!([]));
    Ok(())
}

fn a_hook_has_none_of_the_limits_of_its_daemon() -> Result<()> {
    let (segment, place) = (Segment::bridge(1)?, HookDir::new()?);
    let script = "echo $(grep -E '^(Seccomp|NoNewPrivs):' /proc/self/status) >>$R; \
         head -c 1 /etc/shadow >/dev/null && echo reads >>$R; \
         ip link set lo up; bash -c ': >/dev/udp/127.0.0.1/9' && echo sends >>$R; \
         (: >$R.other) && echo writes >>$R; \
         echo end >>$R";
    place.hook("tries", script)?;
    let daemon = place.ringd(segment.node(0), &resting_timing()).spawn()?;
    place.wait_for_line(|line| line == "end")?;
    let record = place.lines();
    let expected = ["NoNewPrivs: 0 Seccomp: 0", "reads", "sends", "writes"];
    ensure!(record[..4] == expected, "{record:?}");
    let status = fs::read_to_string(format!("/proc/{}/status", daemon.pid()))?;
    ensure!(
        status.contains("NoNewPrivs:\t1") && status.contains("Seccomp:\t2"),
        "{status}"
    );
    Ok(())
}

fn the_log_has_the_output_of_hooks_but_limits_a_flood() -> Result<()> {
    let (segment, place) = (Segment::bridge(1)?, HookDir::new()?);
    place.hook(
        "1-says",
        "echo \"out $RINGD_STATE\"; echo \"err $RINGD_STATE\" >&2; printf rest",
    )?;
    place.hook("2-floods", "[ $RINGD_STATE != OWNER ] || yes flood")?;
    let ringd = place.ringd(segment.node(0), &resting_timing());
    let daemon = ringd.option("--hook-timeout", "1s").spawn()?;
    for word in ["out", "err"] {
        for state in ["LOOSER", "OWNER"] {
            daemon.wait_for_line(WAIT_LIMIT, |line| {
                line.contains("1-says") && line.ends_with(&format!("{word} {state}"))
            })?;
        }
    }
    daemon.wait_for_line(WAIT_LIMIT, |line| line.ends_with("1-says: rest"))?;
    daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("2-floods did not end"))?;
    let output = daemon.output();
    let flood = output
        .iter()
        .filter(|line| line.contains("2-floods: flood"));
    let flood = flood.count();
    ensure!(
        (10..300).contains(&flood),
        "the log has {flood} lines of a flood"
    );
    Ok(())
}

fn a_daemon_with_hooks_warns_of_a_token_that_never_rests() -> Result<()> {
    let (segment, place) = (Segment::bridge(1)?, HookDir::new()?);
    let warns = |line: &String| line.contains("WARN") && line.contains("--idle-hold");
    place.hook("tells", "echo $RINGD_STATE >>$R")?;
    for (hold, warned) in [(HEARTBEAT / 10, true), (Duration::from_secs(3600), false)] {
        let timing = Timing::tolerant(HEARTBEAT).idle_hold(hold);
        let mut daemon = place.ringd(segment.node(0), &timing).spawn()?;
        place.wait_for(|lines| lines.contains(&"OWNER".to_owned()).then_some(()))?;
        daemon.signal(Signal::SIGTERM)?;
        ensure!(daemon.wait_exit(WAIT_LIMIT)?.success());
        let output = daemon.output();
        ensure!(output.iter().any(warns) == warned, "{hold:?}: {output:?}");
        fs::remove_file(place.record())?;
    }
    // A daemon without a hook logs no warning.
    fs::remove_file(place.hooks().join("tells"))?;
    let mut daemon = place
        .ringd(segment.node(0), &Timing::tolerant(HEARTBEAT))
        .spawn()?;
    daemon.wait_for_status(WAIT_LIMIT, |status| status["state"] == "OWNER")?;
    daemon.signal(Signal::SIGTERM)?;
    ensure!(daemon.wait_exit(WAIT_LIMIT)?.success());
    ensure!(!daemon.output().iter().any(warns), "{:?}", daemon.output());
    Ok(())
}

fn a_hooks_directory_of_another_user_is_skipped() -> Result<()> {
    let (segment, place) = (Segment::bridge(1)?, HookDir::new()?);
    place.hook("theirs", "echo ran >>$R")?;
    match chown(place.hooks(), Some(65534), None) {
        // This user namespace has no other user.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => return Ok(()),
        given => given?,
    }
    let mut daemon = place.ringd(segment.node(0), &resting_timing()).spawn()?;
    daemon.wait_for_status(WAIT_LIMIT, |status| status["state"] == "OWNER")?;
    daemon.wait_for_line(WAIT_LIMIT, |line| {
        line.contains("users other than root") && line.contains("hooks.d")
    })?;
    daemon.signal(Signal::SIGTERM)?;
    ensure!(daemon.wait_exit(WAIT_LIMIT)?.success());
    ensure!(place.lines().is_empty(), "{:?}", place.lines());
    Ok(())
}
