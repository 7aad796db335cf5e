//! `ringctl run` in an interactive shell on a terminal.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::openpty;

use crate::fake::{Fake, LONG, PATIENCE};
use crate::program::RINGCTL;

const CTRL_C: &str = "\x03";
const CTRL_Z: &str = "\x1a";

/// A shell that somebody sits at.
struct Shell {
    child: Child,
    screen: File,
    seen: String,
}

impl Shell {
    /// Where `run` is `ringctl run` with the socket of the fake.
    fn start(fake: &Fake) -> Self {
        let pty = openpty(None, None).expect("a terminal");
        let side = || Stdio::from(pty.slave.try_clone().expect("a descriptor"));
        let child = Command::new("setsid")
            .args(["-c", "bash", "--norc", "--noprofile", "-i"])
            .env("PS1", "$ ")
            .stdin(side())
            .stdout(side())
            .stderr(side())
            .spawn()
            .expect("setsid and bash are there");
        let mut shell = Self {
            child,
            screen: File::from(pty.master),
            seen: String::new(),
        };
        let socket = fake.path().display();
        shell.types("stty -echo; bind 'set enable-bracketed-paste off'\n");
        shell.types(&format!(
            "run() {{ {RINGCTL} --socket {socket} run \"$@\"; }}\n"
        ));
        shell.types("echo set''tled\n");
        shell.shows("settled");
        shell
    }

    fn types(&mut self, text: &str) {
        self.screen.write_all(text.as_bytes()).expect("it is open");
    }

    /// Waits until the screen shows the text after all that was waited for before; what is shown
    /// in between.
    fn shows(&mut self, text: &str) -> String {
        loop {
            if let Some(at) = self.seen.find(text) {
                let rest = self.seen.split_off(at + text.len());
                return std::mem::replace(&mut self.seen, rest);
            }
            let mut readable = [PollFd::new(self.screen.as_fd(), PollFlags::POLLIN)];
            let patience = PollTimeout::try_from(PATIENCE).expect("it is short");
            let ready = poll(&mut readable, patience).expect("it is open");
            assert_eq!(ready, 1, "{text:?} is not shown, but {:?}", self.seen);
            let mut part = [0; 4096];
            let len = self.screen.read(&mut part).unwrap_or(0);
            assert!(len > 0, "the shell has ended; seen: {:?}", self.seen);
            self.seen.push_str(&String::from_utf8_lossy(&part[..len]));
        }
    }

    /// The word that is shown after the text.
    fn shows_word_after(&mut self, text: &str) -> String {
        self.shows(text);
        self.shows("\r\n").trim().to_owned()
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks for a line, when it has said that it is there. What it says then is not to be found in
/// what the shell says of it.
const READER: &str = "echo pid:$$; read line </dev/tty; echo li\"\"ne:$line";

fn is_stopped(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it is there");
    stat.contains(") T ")
}

#[test]
fn ctrl_c_is_for_the_command_and_the_shell_goes_on() {
    let fake = Fake::new();
    let mut shell = Shell::start(&fake);
    shell
        .types("run -c 'trap \"echo got-it; exit 3\" INT; echo ready; sleep 1000'; echo code:$?\n");
    let mut client = fake.grant(LONG);
    shell.shows("ready\r\n");
    shell.types(CTRL_C);
    shell.shows("got-it");
    client.unlocked();
    assert_eq!(shell.shows_word_after("code:"), "3");
    shell.types("read x; echo again:$x\n");
    shell.types("mine\n");
    assert_eq!(
        shell.shows_word_after("again:"),
        "mine",
        "the terminal is the shell's"
    );
}

#[test]
fn ctrl_c_ends_the_wait() {
    let fake = Fake::new();
    let mut shell = Shell::start(&fake);
    shell.types("run -- true\n");
    let mut client = fake.client();
    assert_eq!(client.request()["request"], "lock");
    shell.types(CTRL_C);
    assert!(client.request().is_null(), "it hangs up");
    shell.types("echo code:$?\n");
    assert_eq!(shell.shows_word_after("code:"), "130");
}

#[test]
fn ctrl_z_stops_the_command_and_fg_lets_it_go_on() {
    let fake = Fake::new();
    let mut shell = Shell::start(&fake);
    shell.types(&format!("run -c '{READER}'\n"));
    let mut client = fake.grant(LONG);
    let pid = shell.shows_word_after("pid:");
    shell.types(CTRL_Z);
    shell.shows("Stopped");
    assert!(is_stopped(&pid));
    shell.types("fg\n");
    shell.shows("run");
    shell.types("typed\n");
    assert_eq!(shell.shows_word_after("line:"), "typed");
    client.unlocked();
    shell.types("echo code:$?\n");
    assert_eq!(shell.shows_word_after("code:"), "0");
}

#[test]
fn a_command_in_a_pipeline_gets_the_terminal_when_it_reads() {
    let fake = Fake::new();
    let mut shell = Shell::start(&fake);
    shell.types(&format!("run -c '{READER}' | cat; echo code:$?\n"));
    let mut client = fake.grant(LONG);
    shell.shows_word_after("pid:");
    shell.types("typed\n");
    assert_eq!(shell.shows_word_after("line:"), "typed");
    client.unlocked();
    assert_eq!(shell.shows_word_after("code:"), "0");
}

#[test]
fn ctrl_z_stops_a_command_in_a_pipeline() {
    let fake = Fake::new();
    let mut shell = Shell::start(&fake);
    shell
        .types("run -c 'trap \"echo on\" CONT; echo pid:$$; while :; do sleep 1000 & wait $!; done' | cat\n");
    let mut client = fake.grant(LONG);
    let pid = shell.shows_word_after("pid:");
    shell.types(CTRL_Z);
    shell.shows("Stopped");
    assert!(is_stopped(&pid));
    shell.types("fg\n");
    shell.shows("on\r\n");
    shell.types(CTRL_C);
    client.unlocked();
    shell.types("echo code:${PIPESTATUS[0]}\n");
    assert_eq!(shell.shows_word_after("code:"), "130");
}

#[test]
fn a_command_in_the_background_stops_when_it_reads_until_it_is_in_the_foreground() {
    let fake = Fake::new();
    let mut shell = Shell::start(&fake);
    shell.types(&format!("run -c '{READER}' &\n"));
    let mut client = fake.grant(LONG);
    let pid = shell.shows_word_after("pid:");
    while !is_stopped(&pid) {
        std::thread::yield_now();
    }
    shell.types("\n");
    // The shell tells of it before its next prompt, once it has noticed.
    shell.types("while ! jobs | grep Stopped; do :; done\n");
    shell.shows("Stopped");
    shell.types("fg\n");
    shell.shows("run");
    shell.types("typed\n");
    assert_eq!(shell.shows_word_after("line:"), "typed");
    client.unlocked();
}
