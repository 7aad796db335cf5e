//! What a user meets: bad surroundings get a sentence and an exit code of their own.

use std::fs::{self, Permissions};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{
    Binaries, Daemon, Layout, Node, PATIENCE, Ring, Ringd, Seen, Segment, SharedRing, Test, Timing,
    binaries, tests,
};
use serde_json::Value;

const BINARIES: Binaries = binaries!();
const HEARTBEAT: Duration = Duration::from_millis(100);

pub fn tests() -> Vec<Test> {
    tests![
        an_interface_that_is_not_there_is_named_with_those_that_are,
        an_interface_that_is_no_ethernet_is_refused,
        an_interface_that_is_down_is_waited_for,
        a_missing_permission_is_explained,
        a_user_with_the_one_capability_is_enough,
        it_takes_a_larger_share_of_a_busy_machine_if_it_may,
        a_second_daemon_on_the_interface_is_refused,
        a_second_daemon_is_refused_though_it_sees_other_files,
        nobody_without_rights_can_keep_a_daemon_from_starting,
        a_state_directory_that_cannot_be_written_is_refused,
        a_broken_state_file_is_survived,
        what_others_have_put_in_the_place_of_a_file_is_refused_and_left_alone,
        a_stale_socket_of_another_user_is_refused_where_others_may_make_files,
        a_socket_is_for_the_group_whatever_the_mask,
        a_control_socket_that_cannot_be_made_is_refused,
        a_stale_control_socket_is_replaced,
        constants_that_cannot_work_are_refused,
        wrong_usage_is_refused,
        the_only_daemon_is_found_without_being_named,
        monitoring_learns_from_the_exit_code_whether_the_node_is_in_a_ring,
        monitoring_learns_that_a_machine_is_cut_off,
        of_several_daemons_one_must_be_named,
        nobody_to_ask_is_said,
        a_hanging_client_does_not_stop_the_ring,
        json_lines_are_json,
        a_change_gets_a_line,
        macvlan_interfaces_form_a_ring,
    ]
}

fn timed(node: &Node) -> Ringd {
    node.ringd(BINARIES).timing(&Timing::patient(HEARTBEAT))
}

/// Waits for the daemon's end and checks its exit code, what it says, and that it is no panic.
fn ends(daemon: &mut Daemon, code: i32, words: &[&str]) -> Result<()> {
    let status = daemon.wait_exit(PATIENCE)?;
    // The end of its output may come a moment after its own.
    let says = |line: &str| words.iter().all(|word| line.contains(word));
    let line = daemon.wait_for_line(PATIENCE, says)?;
    ensure!(
        status.code() == Some(code),
        "it ended with {status}: {line}"
    );
    let output = daemon.output().join("\n");
    ensure!(!output.contains("panicked"), "{output}");
    Ok(())
}

fn an_interface_that_is_not_there_is_named_with_those_that_are() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let mut daemon = timed(segment.node(0)).interface("eth7").spawn()?;
    ends(&mut daemon, 3, &["eth7", "eth0"])
}

fn an_interface_that_is_no_ethernet_is_refused() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let node = segment.node(0);
    node.ns().ip("link set lo up\n")?;
    let mut daemon = timed(node).interface("lo").spawn()?;
    ends(&mut daemon, 4, &["lo", "not an Ethernet"])
}

fn an_interface_that_is_down_is_waited_for() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let node = segment.node(0);
    node.ns().ip("link set eth0 down\n")?;
    let daemon = timed(node).spawn()?;
    daemon.wait_for_line(PATIENCE, |line| {
        line.contains("eth0") && line.contains("down")
    })?;
    let status = daemon.wait_for_status(PATIENCE, |status| status["state"] == "LOOSER")?;
    ensure!(status["link"] != "up", "{status:#}");
    ensure!(segment.capture().mark() == 0, "it has sent a frame");
    node.ns().ip("link set eth0 up\n")?;
    daemon.wait_for_status(PATIENCE, |status| {
        status["state"] == "OWNER" && status["link"] == "up"
    })?;
    Ok(())
}

fn a_missing_permission_is_explained() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let without = [
        "setpriv",
        "--bounding-set",
        "-net_raw",
        "--inh-caps",
        "-net_raw",
    ];
    let mut daemon = timed(segment.node(0)).through(without).spawn()?;
    ends(&mut daemon, 5, &["CAP_NET_RAW", "setcap"])
}

fn a_user_with_the_one_capability_is_enough() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let only = [
        "setpriv",
        "--bounding-set",
        "-all,+net_raw",
        "--inh-caps",
        "-all,+net_raw",
    ];
    let daemon = timed(segment.node(0)).through(only).spawn()?;
    daemon.wait_for_status(PATIENCE, |status| status["state"] == "OWNER")?;
    Ok(())
}

fn it_takes_a_larger_share_of_a_busy_machine_if_it_may() -> Result<()> {
    let segment = Segment::bridge(1)?;
    // What a shell may have, which counts from what it has: its complaint, if it may not, goes nowhere.
    let own = Command::new("nice").output()?;
    let own: i32 = String::from_utf8(own.stdout)?.trim().parse()?;
    let allowed = Command::new("nice")
        .args(["-n", &(-10 - own).to_string(), "nice"])
        .stderr(Stdio::null())
        .output()?;
    let allowed = String::from_utf8(allowed.stdout)?;
    let daemon = timed(segment.node(0)).spawn()?;
    daemon.wait_for_status(PATIENCE, |_| true)?;
    let stat = fs::read_to_string(format!("/proc/{0}/task/{0}/stat", daemon.pid()))?;
    // The nineteenth field; the second is in brackets and may hold anything.
    let fields = stat.rsplit_once(')').context("no process's state")?.1;
    let nice = fields.split_whitespace().nth(16);
    ensure!(
        nice == Some(allowed.trim()),
        "it runs at nice {nice:?}, and may at {allowed}"
    );
    Ok(())
}

fn a_second_daemon_on_the_interface_is_refused() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let mut first = timed(segment.node(0)).spawn()?;
    first.wait_for_status(PATIENCE, |status| status["state"] == "OWNER")?;
    let mut second = timed(segment.node(0)).spawn()?;
    ends(&mut second, 6, &["eth0", "another ringd"])?;
    ensure!(first.is_running()?, "the first was disturbed");
    first.wait_for_status(PATIENCE, |status| status["state"] == "OWNER")?;
    // A lock does not outlive its holder.
    first.kill()?;
    second.start()?;
    second.wait_for_status(PATIENCE, |status| status["state"] == "OWNER")?;
    Ok(())
}

fn a_second_daemon_is_refused_though_it_sees_other_files() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let mut first = timed(segment.node(0)).spawn()?;
    first.wait_for_status(PATIENCE, |status| status["state"] == "OWNER")?;
    // As in a container that shares the network, or as an ordinary user with a directory of its own.
    let elsewhere = "mkdir -p /run/ringd && mount -t tmpfs tmpfs /run/ringd && exec \"$@\"";
    let elsewhere = ["unshare", "--mount", "sh", "-c", elsewhere, "sh"];
    let mut second = timed(segment.node(0)).through(elsewhere).spawn()?;
    ends(&mut second, 6, &["eth0", "another ringd"])?;
    ensure!(first.is_running()?, "the first was disturbed");
    // While the link is down nobody receives anything; when it is back both would.
    segment.node(0).ns().ip("link set eth0 down\n")?;
    first.wait_for_status(PATIENCE, |status| status["link"] != "up")?;
    second.start()?;
    second.wait_for_status(PATIENCE, |status| status["link"] != "up")?;
    segment.node(0).ns().ip("link set eth0 up\n")?;
    let both = [&first, &second];
    let is_out = |daemon: &&Daemon| {
        let status = daemon.status();
        status.is_ok_and(|status| status["link"] == "is in use by another ringd")
    };
    let give_up = Instant::now() + PATIENCE;
    while !both.iter().any(is_out) {
        ensure!(Instant::now() < give_up, "both are on one interface");
        thread::sleep(Duration::from_millis(10));
    }
    second.kill()?;
    first.wait_for_status(PATIENCE, |status| status["state"] == "OWNER")?;
    Ok(())
}

fn nobody_without_rights_can_keep_a_daemon_from_starting() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let node = segment.node(0);
    // Anybody may have any abstract name, and connect to or lock whatever its mode lets them.
    let name = SocketAddr::from_abstract_name("ringd/eth0")?;
    let _occupied = node.ns().run(|| UnixListener::bind_addr(&name))??;
    let daemon = timed(node).spawn()?;
    daemon.wait_for_status(PATIENCE, |status| status["state"] == "OWNER")?;
    for entry in fs::read_dir("/run/ringd")? {
        let entry = entry?;
        let mode = entry.metadata()?.mode() & 0o777;
        ensure!(mode == 0o600, "{}: {mode:o}", entry.path().display());
    }
    Ok(())
}

fn a_state_directory_that_cannot_be_written_is_refused() -> Result<()> {
    let segment = Segment::bridge(1)?;
    // Below a file nobody, not even root, can make a directory.
    let mut daemon = timed(segment.node(0))
        .option("--state-dir", "/dev/null/ringd")
        .spawn()?;
    ends(&mut daemon, 7, &["/dev/null/ringd", "--state-dir"])
}

fn a_broken_state_file_is_survived() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let mut daemon = timed(segment.node(0)).spawn()?;
    daemon.wait_for_status(PATIENCE, |status| status["state"] == "OWNER")?;
    daemon.kill()?;
    let mut broken = 0;
    for entry in fs::read_dir(daemon.state_dir())? {
        let path = entry?.path();
        if path.is_file() {
            fs::write(path, b"no state file")?;
            broken += 1;
        }
    }
    ensure!(
        broken > 0,
        "there is no state file in {}",
        daemon.state_dir().display()
    );
    daemon.start()?;
    daemon.wait_for_line(PATIENCE, |line| line.contains("unreadable"))?;
    daemon.wait_for_status(PATIENCE, |status| status["state"] == "OWNER")?;
    Ok(())
}

fn what_others_have_put_in_the_place_of_a_file_is_refused_and_left_alone() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    fs::write(at("precious"), "data")?;
    symlink(at("precious"), at("eth0.state"))?;
    symlink(at("precious"), at("control.sock"))?;
    let start = || timed(segment.node(0)).option("--state-dir", folder.path());
    let own_state = || timed(segment.node(0));
    ends(&mut start().spawn()?, 9, &["eth0.state", "symbolic link"])?;
    let mut daemon = own_state()
        .option("--control", at("control.sock"))
        .spawn()?;
    ends(&mut daemon, 8, &["control.sock", "not a socket"])?;
    fs::remove_file(at("eth0.state"))?;
    fs::hard_link(at("precious"), at("eth0.state"))?;
    ends(&mut start().spawn()?, 9, &["eth0.state", "hard link"])?;
    ensure!(fs::read(at("precious"))? == b"data");
    fs::remove_file(at("eth0.state"))?;
    let newer = [&b"RINGST02"[..], &[0; 56]].concat();
    fs::write(at("eth0.state"), &newer)?;
    ends(&mut start().spawn()?, 9, &["eth0.state", "newer ringd"])?;
    ensure!(fs::read(at("eth0.state"))? == newer);
    for name in ["eth0.state", "eth0.paused", "eth0.jobs"] {
        for other in ["eth0.state", "eth0.paused", "eth0.jobs"] {
            let _ = fs::remove_file(at(other));
        }
        symlink(at("nothing"), at(name))?;
        ends(&mut start().spawn()?, 9, &[name, "symbolic link"])?;
        fs::remove_file(at(name))?;
        fs::write(at(name), "theirs")?;
        let foreign = give_away(&at(name))?;
        ends(&mut start().spawn()?, 9, &[name, "user 65534"])?;
        ensure!(foreign.is_as_it_was()?, "{name} was changed");
    }
    Ok(())
}

/// A file of another user's, and what is in it.
struct Foreign {
    path: PathBuf,
    text: Vec<u8>,
    is_covered: bool,
}

/// Gives a file away; where there is no other user to give it to, puts one of root's in its place, who is such
/// a user there.
fn give_away(path: &Path) -> Result<Foreign> {
    let is_covered = match chown(path, Some(65534), None) {
        Err(error) if error.raw_os_error() == Some(nix::libc::EINVAL) => {
            let mut mount = Command::new("mount");
            let status = mount.args(["--bind", "/etc/passwd"]).arg(path).status()?;
            ensure!(status.success(), "mount ended with {status}");
            true
        }
        given => {
            given?;
            false
        }
    };
    Ok(Foreign {
        path: path.to_owned(),
        text: fs::read(path)?,
        is_covered,
    })
}

impl Foreign {
    fn is_as_it_was(&self) -> Result<bool> {
        Ok(fs::read(&self.path)? == self.text && fs::metadata(&self.path)?.uid() == 65534)
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        if self.is_covered {
            let _ = Command::new("umount").arg(&self.path).status();
        }
    }
}

fn a_stale_socket_of_another_user_is_refused_where_others_may_make_files() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let folder = tempfile::tempdir()?;
    fs::set_permissions(folder.path(), Permissions::from_mode(0o1777))?;
    let path = folder.path().join("control.sock");
    drop(UnixListener::bind(&path)?);
    let start = || timed(segment.node(0)).option("--control", &path);
    match chown(&path, Some(65534), None) {
        // There is no other user in this world.
        Err(error) if error.raw_os_error() == Some(nix::libc::EINVAL) => {}
        given => {
            given?;
            ends(&mut start().spawn()?, 8, &["control.sock", "user 65534"])?;
            ensure!(fs::metadata(&path)?.uid() == 65534, "it was replaced");
            // Nobody else can have made it where nobody else can make files.
            fs::set_permissions(folder.path(), Permissions::from_mode(0o755))?;
        }
    }
    let daemon = start().spawn()?;
    let is_owner = |status: &Value| status["state"] == "OWNER";
    daemon.wait_for_line(PATIENCE, |line| line.contains("-> OWNER"))?;
    let output = Command::new(BINARIES.ringctl)
        .arg("--socket")
        .arg(&path)
        .args(["status", "--json"])
        .output()?;
    ensure!(is_owner(&serde_json::from_slice(&output.stdout)?));
    Ok(())
}

fn a_socket_is_for_the_group_whatever_the_mask() -> Result<()> {
    let segment = Segment::bridge(1)?;
    for mask in ["077", "000"] {
        let masked = format!("umask {mask}; exec \"$@\"");
        let ringd = timed(segment.node(0)).through(["sh", "-c", &masked, "sh"]);
        let mut daemon = ringd.spawn()?;
        daemon.wait_for_status(PATIENCE, |_| true)?;
        let mode = fs::metadata(daemon.control())?.mode();
        ensure!(mode & 0o777 == 0o660, "{mode:o}");
        for entry in fs::read_dir(daemon.state_dir())? {
            let mode = entry?.metadata()?.mode();
            ensure!(mode & 0o777 == 0o600, "{mode:o}");
        }
        daemon.kill()?;
    }
    Ok(())
}

fn a_control_socket_that_cannot_be_made_is_refused() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let mut daemon = timed(segment.node(0))
        .option("--control", "/dev/null/sock")
        .spawn()?;
    ends(&mut daemon, 8, &["/dev/null", "--control"])
}

fn a_stale_control_socket_is_replaced() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let mut daemon = timed(segment.node(0)).spawn()?;
    daemon.wait_for_status(PATIENCE, |status| status["state"] == "OWNER")?;
    daemon.kill()?;
    ensure!(
        daemon.control().exists(),
        "SIGKILL leaves the socket behind"
    );
    daemon.start()?;
    daemon.wait_for_status(PATIENCE, |status| status["state"] == "OWNER")?;
    daemon.signal(Signal::SIGTERM)?;
    ensure!(daemon.wait_exit(PATIENCE)?.success());
    ensure!(
        !daemon.control().exists(),
        "a clean end takes the socket away"
    );
    Ok(())
}

fn constants_that_cannot_work_are_refused() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let cases: [(&[&str], &str); 9] = [
        (&["--heartbeat", "0ms"], "heartbeat"),
        (&["--take-timeout", "0ns"], "take-timeout"),
        (&["--take-attempts", "0"], "take-attempts"),
        (&["--waiter-intervals", "0"], "waiter-intervals"),
        (&["--waiter-intervals", "1"], "waiter-intervals"),
        (&["--answer-intervals", "3"], "answer-intervals"),
        (
            &["--heartbeat", "10ms", "--take-timeout", "20ms"],
            "outlasts",
        ),
        (&["--ethertype", "0x0800"], "0x0800"),
        (&["--max-members", "1"], "max-members"),
    ];
    for (arguments, word) in cases {
        let ringd = segment.node(0).ringd(BINARIES);
        let ringd = arguments
            .iter()
            .fold(ringd, |ringd, argument| ringd.flag(argument));
        ends(&mut ringd.spawn()?, 2, &[word]).with_context(|| format!("{arguments:?}"))?;
    }
    ensure!(segment.capture().mark() == 0, "one has sent a frame");
    Ok(())
}

fn wrong_usage_is_refused() -> Result<()> {
    let segment = Segment::bridge(1)?;
    for argument in [
        "--heartbeat=100",
        "--heartbeat=fast",
        "--frequency=1ms",
        "--ethertype=zz",
    ] {
        let mut daemon = segment.node(0).ringd(BINARIES).flag(argument).spawn()?;
        let option = argument.split('=').next().unwrap_or(argument);
        ends(&mut daemon, 2, &[option]).with_context(|| argument.to_owned())?;
    }
    Ok(())
}

/// Runs `ringctl` without a socket, and gives its exit code and all that it prints.
fn ringctl(node: &Node, arguments: &[&str]) -> Result<(Option<i32>, String)> {
    let mut command = std::process::Command::new(BINARIES.ringctl);
    let streams = [std::process::Stdio::piped(), std::process::Stdio::piped()];
    let [stdout, stderr] = streams;
    let child = node
        .ns()
        .spawn(command.args(arguments).stdout(stdout).stderr(stderr))?;
    let output = child.wait_with_output()?;
    let text = [output.stdout, output.stderr].concat();
    Ok((output.status.code(), String::from_utf8(text)?))
}

fn the_only_daemon_is_found_without_being_named() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let node = segment.node(0);
    let daemon = timed(node).default_places().spawn()?;
    daemon.wait_for_line(PATIENCE, |line| line.contains("OWNER"))?;
    for arguments in [
        &["status"][..],
        &["status", "-i", "eth0"],
        &["-i", "eth0", "status"],
    ] {
        let (code, text) = ringctl(node, arguments)?;
        ensure!(
            code == Some(0) && text.contains("OWNER"),
            "{arguments:?}: {code:?}: {text}"
        );
        ensure!(text.contains(&node.mac().to_string()), "{text}");
    }
    ensure!(
        fs::read_dir("/var/lib/ringd")?.count() > 0,
        "the state lies elsewhere"
    );
    Ok(())
}

/// Nothing but the exit code says whether the node is in a ring.
fn in_ring(daemon: &Daemon) -> Result<i32> {
    let output = daemon.ringctl(&["status", "-q"])?;
    ensure!(
        output.stdout.is_empty() && output.stderr.is_empty(),
        "{output:?}"
    );
    output.status.code().context("it was killed")
}

fn monitoring_learns_from_the_exit_code_whether_the_node_is_in_a_ring() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let node = segment.node(0);
    let daemon = timed(node).spawn()?;
    daemon.wait_for_line(PATIENCE, |line| line.contains("OWNER"))?;
    ensure!(in_ring(&daemon)? == 0);
    node.ns().ip("link set eth0 down\n")?;
    daemon.wait_for_status(PATIENCE, |status| status["link"] != "up")?;
    ensure!(in_ring(&daemon)? == 5);
    let shown = daemon.ringctl(&["status"])?;
    ensure!(shown.status.code() == Some(5), "{shown:?}");
    ensure!(String::from_utf8(shown.stdout)?.contains("LOOSER"));
    node.ns().ip("link set eth0 up\n")?;
    daemon.wait_for_status(PATIENCE, |status| status["state"] == "OWNER")?;
    ensure!(in_ring(&daemon)? == 0);
    Ok(())
}

/// It owns a token, and is alone, though others are there.
fn monitoring_learns_that_a_machine_is_cut_off() -> Result<()> {
    let timing = Timing::patient(HEARTBEAT);
    let mut ring = Ring::start(Segment::bridge(3)?, 3, timing, BINARIES)?;
    ring.wait_until_formed()?;
    ring.segment.cut(2)?;
    let alone = |status: &Value| status["state"] == "OWNER" && status["deaf"] == true;
    ring.daemons[2].wait_for_status(PATIENCE, alone)?;
    ensure!(in_ring(&ring.daemons[2])? == 5);
    for other in &ring.daemons[..2] {
        other.wait_for_status(PATIENCE, |status| {
            status["state"] == "OWNER" || status["state"] == "WAITER"
        })?;
        ensure!(in_ring(other)? == 0);
    }
    ring.segment.heal(2)?;
    ring.daemons[2].wait_for_status(PATIENCE, |status| status["deaf"] == false)?;
    ring.wait_until_formed()?;
    ensure!(in_ring(&ring.daemons[2])? == 0);
    // Who is left alone because all others have left is a ring of its own.
    for other in &mut ring.daemons[1..] {
        other.signal(Signal::SIGTERM)?;
        ensure!(other.wait_exit(PATIENCE)?.success());
    }
    ring.daemons[0].wait_for_status(PATIENCE, alone)?;
    ensure!(in_ring(&ring.daemons[0])? == 0);
    Ok(())
}

fn of_several_daemons_one_must_be_named() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let node = segment.node(0);
    node.ns()
        .ip("link add veth1 type veth peer name veth2\nlink set veth1 up\nlink set veth2 up\n")?;
    let names = ["eth0", "veth1"];
    let start = |name: &str| timed(node).interface(name).default_places().spawn();
    let daemons = names.map(start).into_iter().collect::<Result<Vec<_>>>()?;
    for daemon in &daemons {
        daemon.wait_for_line(PATIENCE, |line| line.contains("OWNER"))?;
    }
    let (code, text) = ringctl(node, &["status"])?;
    ensure!(code == Some(4), "{code:?}: {text}");
    ensure!(names.iter().all(|name| text.contains(name)), "{text}");
    let (code, text) = ringctl(node, &["status", "--json", "-i", "veth1"])?;
    ensure!(code == Some(0), "{code:?}: {text}");
    let status: Value = serde_json::from_str(&text)?;
    ensure!(status["interface"] == "veth1", "{status:#}");
    Ok(())
}

fn nobody_to_ask_is_said() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let (code, text) = ringctl(segment.node(0), &["status", "-i", "nowhere0"])?;
    ensure!(
        code == Some(3) && text.contains("nowhere0"),
        "{code:?}: {text}"
    );
    ensure!(!text.contains("panicked"), "{text}");
    Ok(())
}

fn a_hanging_client_does_not_stop_the_ring() -> Result<()> {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    let timing = Timing::forbearing(HEARTBEAT);
    let ring = SharedRing::on(Layout::new(2), timing, BINARIES, &[])?;
    let path = ring.daemons[0].control();
    // Some say nothing, some say half of something, some never read, and some talk nonsense.
    let mut clients = Vec::new();
    for number in 0..40 {
        let Ok(mut client) = UnixStream::connect(&path) else {
            continue;
        };
        client.set_nonblocking(true)?;
        match number % 4 {
            0 => {}
            1 => drop(client.write(&[0, 0, 0])),
            2 => drop(client.write(&[0xff; 4096])),
            _ => {
                // Until the daemon, or the socket's buffer, takes no more.
                while client.write(b"{\"status\":null}\n").is_ok() {}
            }
        }
        clients.push(client);
    }
    let from = ring_segment::now();
    thread::sleep(2 * timing.waiter_timeout());
    ring_segment::invariants::check_one_owner(&ring.segment.capture().frames(), from)?;
    let goes_round = |frames: &[Seen]| {
        let since = frames.partition_point(|seen| seen.at < from);
        (ring_segment::invariants::tenures(&frames[since..]).len() > 5).then_some(())
    };
    ring.segment.capture().wait_until(PATIENCE, goes_round)?;
    drop(clients);
    ring.statuses()?;
    Ok(())
}

fn json_lines_are_json() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let mut daemon = timed(segment.node(0))
        .option("--log-format", "json")
        .flag("-v")
        .spawn()?;
    daemon.wait_for_status(PATIENCE, |status| status["state"] == "OWNER")?;
    daemon.signal(Signal::SIGTERM)?;
    ensure!(daemon.wait_exit(PATIENCE)?.success());
    let lines = daemon.output();
    ensure!(lines.len() >= 3, "{lines:?}");
    for line in &lines {
        let value: serde_json::Value =
            serde_json::from_str(line).with_context(|| format!("no JSON: {line}"))?;
        ensure!(value.is_object(), "{line}");
    }
    Ok(())
}

fn a_change_gets_a_line() -> Result<()> {
    let ring = Ring::start(Segment::bridge(2)?, 2, Timing::patient(HEARTBEAT), BINARIES)?;
    ring.wait_until_formed()?;
    let other = ring.macs()[1].to_string();
    let first = &ring.daemons[0];
    first.wait_for_line(PATIENCE, |line| {
        line.contains("member") && line.contains(&other)
    })?;
    first.wait_for_line(PATIENCE, |line| line.contains("-> OWNER"))?;
    ring.daemons[1].signal(Signal::SIGTERM)?;
    first.wait_for_line(PATIENCE, |line| {
        line.contains("leaving") && line.contains(&other)
    })?;
    Ok(())
}

fn macvlan_interfaces_form_a_ring() -> Result<()> {
    let segment = Segment::bridge(2)?;
    for node in segment.nodes() {
        node.ns()
            .ip("link add mv0 link eth0 type macvlan mode bridge\n\
             link set mv0 up\n")?;
    }
    let start = |node: &Node| timed(node).interface("mv0").spawn();
    let daemons = segment
        .nodes()
        .iter()
        .map(start)
        .collect::<Result<Vec<_>>>()?;
    for daemon in &daemons {
        daemon.wait_for_status(PATIENCE, |status| {
            let members = status["members"].as_array();
            members.is_some_and(|members| members.len() == 2) && !status["owner"].is_null()
        })?;
    }
    let frames = segment.capture().frames();
    ring_segment::invariants::check_all(&frames)?;
    let macs: Vec<_> = segment.nodes().iter().map(Node::mac).collect();
    ensure!(
        frames.iter().all(|seen| !macs.contains(&seen.src)),
        "it is not macvlan's own MAC"
    );
    Ok(())
}
