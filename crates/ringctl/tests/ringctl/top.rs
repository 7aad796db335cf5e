//! `ringctl top` on a terminal.

use std::fs;
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::thread;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::fake::FakeDaemon;
use crate::program::{RINGCTL, unignore_signals};
use ring_segment::Pty;
use ring_segment::limit::wait_until;

tests! {
    it_shows_the_ring_and_q_restores_the_terminal,
    each_fatal_signal_restores_the_terminal,
    ctrl_z_gives_the_terminal_to_the_shell_until_it_continues_top,
    ctrl_z_does_not_stop_it_without_a_shell_for_jobs,
    ctrl_z_does_not_stop_it_if_sigtstp_is_ignored,
    it_follows_changes_events_and_sizes,
    a_lost_daemon_is_shown_until_it_is_back,
    a_silent_daemon_is_shown,
    without_color_no_color_is_sent,
    names_of_others_cannot_control_the_terminal,
}

/// The status of a ring. The test can change it while clients ask for it.
#[derive(Clone)]
pub(crate) struct Ring(Arc<Mutex<Value>>);

impl Ring {
    pub(crate) fn new() -> Self {
        let status = include_str!("../../src/top/tests/lab2.json");
        let status = serde_json::from_str(status).expect("it is JSON");
        Self(Arc::new(Mutex::new(status)))
    }

    fn change(&self, change: impl FnOnce(&mut Value)) {
        change(&mut self.0.lock().expect("it is whole"));
    }

    /// Answers the requests of the next client until the client leaves.
    pub(crate) fn serve(&self, fake: &FakeDaemon) -> Connection {
        let mut client = fake.next_client();
        let connection = Connection(client.stream());
        let mut answers = Connection(client.stream());
        let status = Arc::clone(&self.0);
        thread::spawn(move || {
            loop {
                let request = client.request();
                let status = status.lock().expect("it is whole").clone();
                let reply = match request["request"].as_str() {
                    Some("watch") => json!({"snapshot": {"number": 1, "status": status}}),
                    Some("status") => json!({"status": status}),
                    Some("locks") => json!({"locks": []}),
                    _ => return,
                };
                answers.send(&reply);
            }
        });
        connection
    }
}

/// The daemon's end of a connection. Dropping this value closes the connection.
pub(crate) struct Connection(UnixStream);

impl Connection {
    fn send(&mut self, reply: &Value) {
        // The client may have left.
        let _ = self.0.write_all(format!("{reply}\n").as_bytes());
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

/// A running `ringctl top` on a terminal.
struct Top {
    pty: Pty,
    child: Child,
}

impl Top {
    fn start(fake: &FakeDaemon, adjust: impl FnOnce(&mut Command)) -> Self {
        unignore_signals();
        let pty = Pty::new(80, 24);
        let mut command = pty.command(RINGCTL);
        command.arg("--socket").arg(fake.path());
        command.args(["top", "--interval", "100ms"]);
        adjust(&mut command);
        let child = command.spawn().expect("setsid is there");
        Self { pty, child }
    }

    /// Starts a shell that controls jobs, and waits until its job shows the ring. The job begins with `prefix`. After
    /// the job has stopped, a line of input makes the shell continue it.
    fn in_shell(prefix: &str) -> (Self, FakeDaemon, Connection) {
        unignore_signals();
        let (fake, pty) = (FakeDaemon::new(), Pty::new(80, 24));
        let job = r#"exec "$0" --socket "$1" top --interval 100ms"#;
        let script = format!("({prefix} {job}); echo code:$?; read line; fg; echo code:$?");
        let mut command = pty.command("bash");
        command.args(["-mc", &script, RINGCTL]).arg(fake.path());
        let child = command.spawn().expect("setsid and bash are there");
        let top = Self { pty, child };
        let client = Ring::new().serve(&fake);
        top.pty.wait_for("north");
        (top, fake, client)
    }

    /// Returns the process of the shell's job.
    fn job(&self) -> Pid {
        let path = format!("/proc/{0}/task/{0}/children", self.pid());
        let children = fs::read_to_string(path).expect("it is there");
        Pid::from_raw(children.trim().parse().expect("one job"))
    }

    /// Shows the keys, and hides them again. This works only if the process is not stopped.
    fn assert_runs(&mut self) {
        self.pty.type_keys("?");
        self.pty.wait_for("q, Ctrl-C");
        assert!(self.pty.is_taken());
        self.pty.type_keys("?");
        self.pty.wait_for("Members (4)");
    }

    /// Starts `ringctl top` at a fake daemon with this ring, and waits until it shows the ring.
    fn shown(ring: &Ring) -> (Self, FakeDaemon, Connection) {
        let fake = FakeDaemon::new();
        let top = Self::start(&fake, |_| ());
        let client = ring.serve(&fake);
        top.pty.wait_for("north");
        (top, fake, client)
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Returns the exit code, or the signal that ended the process.
    fn end(&mut self) -> Result<i32, Signal> {
        let mut status = None;
        wait_until("it ends", || {
            status = self.child.try_wait().expect("it is our child");
            status.is_some()
        });
        let status = status.expect("it has ended");
        let signal = status.signal().map(Signal::try_from);
        status
            .code()
            .ok_or_else(|| signal.expect("a signal").expect("a known signal"))
    }

    fn wait_until_restored(&self) {
        self.pty.wait_until_restored();
    }
}

impl Drop for Top {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn it_shows_the_ring_and_q_restores_the_terminal() {
    let (mut top, _fake, _client) = Top::shown(&Ring::new());
    assert!(top.pty.is_taken());
    top.pty.wait_for("Owner south");
    top.pty.type_keys("?");
    top.pty.wait_for("q, Ctrl-C");
    top.pty.type_keys("?");
    top.pty.wait_for("Members (4)");
    top.pty.type_keys("q");
    assert_eq!(top.end(), Ok(0));
    top.wait_until_restored();
}

fn each_fatal_signal_restores_the_terminal() {
    for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT] {
        let (mut top, _fake, _client) = Top::shown(&Ring::new());
        assert!(top.pty.is_taken());
        kill(top.pid(), signal).expect("it runs");
        assert_eq!(top.end(), Err(signal));
        top.wait_until_restored();
    }
    let (mut top, _fake, _client) = Top::shown(&Ring::new());
    top.pty.type_keys("\x03");
    assert_eq!(top.end(), Ok(0), "Ctrl-C");
    top.wait_until_restored();
}

fn ctrl_z_gives_the_terminal_to_the_shell_until_it_continues_top() {
    for is_key in [true, false] {
        let (mut top, _fake, _client) = Top::in_shell("");
        if is_key {
            top.pty.type_keys("\x1a");
        } else {
            kill(top.job(), Signal::SIGTSTP).expect("it runs");
        }
        let stopped = format!("code:{}", 128 + Signal::SIGTSTP as i32);
        top.pty.wait_for(&stopped);
        top.wait_until_restored();
        top.pty.type_keys("\n");
        wait_until("it takes the terminal", || top.pty.is_taken());
        top.assert_runs();
        top.pty.type_keys("q");
        top.pty.wait_for("code:0");
        assert_eq!(top.end(), Ok(0));
        top.wait_until_restored();
    }
}

fn ctrl_z_does_not_stop_it_without_a_shell_for_jobs() {
    let (mut top, _fake, _client) = Top::shown(&Ring::new());
    top.pty.type_keys("\x1a");
    top.assert_runs();
    kill(top.pid(), Signal::SIGTSTP).expect("it runs");
    top.assert_runs();
    top.pty.type_keys("q");
    assert_eq!(top.end(), Ok(0));
    top.wait_until_restored();
}

fn ctrl_z_does_not_stop_it_if_sigtstp_is_ignored() {
    let (mut top, _fake, _client) = Top::in_shell("trap '' TSTP;");
    top.pty.type_keys("\x1a");
    top.assert_runs();
    top.pty.type_keys("q");
    top.pty.wait_for("code:0");
}

fn it_follows_changes_events_and_sizes() {
    let ring = Ring::new();
    let (top, _fake, mut client) = Top::shown(&ring);
    ring.change(|status| {
        status["members"][1]["state"] = json!("silent");
        status["troubles"] = json!(["member 02:00:00:00:00:02 has not been heard"]);
    });
    top.pty.wait_for("02 (south) has not been heard");
    top.pty.wait_until("a silent member", |screen| {
        let mut lines = screen.lines();
        lines.any(|line| line.contains("south") && line.contains("silent"))
    });
    client.send(&json!({"event": {
        "number": 2, "time_ms": 1_000, "event": "member_silent", "text": "south is silent",
    }}));
    top.pty.wait_for("00:00:01 member_silent south is silent");
    for (columns, rows) in [(40, 10), (160, 50), (100, 30)] {
        top.pty.resize(columns, rows);
        top.pty.wait_until("the new size", |screen| {
            let title = screen.lines().next().unwrap_or_default();
            title.trim_end().chars().count() + 1 == usize::from(columns) && screen.contains("south")
        });
    }
}

fn a_lost_daemon_is_shown_until_it_is_back() {
    let ring = Ring::new();
    let (top, fake, client) = Top::shown(&ring);
    drop(client);
    top.pty.wait_for("no answer, since ");
    assert!(top.pty.screen().contains("north"), "{}", top.pty.screen());
    let _client = ring.serve(&fake);
    top.pty
        .wait_until("the daemon", |screen| !screen.contains("no answer"));
}

fn a_silent_daemon_is_shown() {
    let fake = FakeDaemon::new();
    let top = Top::start(&fake, |_| ());
    let mut client = fake.next_client();
    top.pty.wait_for("no answer, since ");
    let requests = ["watch", "status"].map(|_| client.request()["request"].clone());
    assert_eq!(requests, ["watch", "status"]);
    client.send(&json!({"status": {"system": "note", "health": "healthy", "role": "x"}}));
    top.pty
        .wait_until("the daemon", |screen| !screen.contains("no answer"));
    assert_eq!(
        client.request()["request"],
        "status",
        "one request at a time"
    );
}

/// Returns the numbers of all sequences that set a style.
fn style_codes(bytes: &[u8]) -> Vec<u32> {
    let text = String::from_utf8_lossy(bytes);
    let sequences = text.split("\x1b[").skip(1);
    let styles = sequences.filter_map(|it| {
        let end = it.find(|char: char| char.is_ascii_alphabetic())?;
        it[end..].starts_with('m').then(|| it[..end].to_owned())
    });
    let codes = styles.flat_map(|it| it.split(';').map(str::to_owned).collect::<Vec<_>>());
    codes.filter_map(|code| code.parse().ok()).collect()
}

fn without_color_no_color_is_sent() {
    for (name, has_color) in [("RINGD_UNUSED", true), ("NO_COLOR", false)] {
        let fake = FakeDaemon::new();
        let mut top = Top::start(&fake, |command| {
            command.env(name, "1");
        });
        let _client = Ring::new().serve(&fake);
        top.pty.wait_for("north");
        top.pty.type_keys("q");
        assert_eq!(top.end(), Ok(0));
        top.wait_until_restored();
        let codes = style_codes(&top.pty.bytes());
        let colors: Vec<&u32> = codes.iter().filter(|code| **code >= 30).collect();
        assert_eq!(!colors.is_empty(), has_color, "{codes:?}");
        assert!(codes.contains(&1) && codes.contains(&7), "{codes:?}");
    }
}

fn names_of_others_cannot_control_the_terminal() {
    let ring = Ring::new();
    let evil = "\u{1b}]0;evil\u{7}\u{1b}[2Jname";
    ring.change(|status| {
        status["members"][2]["name"] = json!(evil);
        status["holder"]["program"] = json!(evil);
    });
    let (top, _fake, mut client) = Top::shown(&ring);
    client.send(&json!({"event": {"number": 2, "time_ms": 1, "event": evil, "text": evil}}));
    top.pty.wait_for(r"00:00:00 \u{1b}]0;evil\u{7}");
    let bytes = top.pty.bytes();
    let bad = [&b"\x1b]"[..], b"\x07", b"\x1b[2Jname"];
    for bad in bad {
        assert!(!bytes.windows(bad.len()).any(|it| it == bad), "{bad:?}");
    }
}
