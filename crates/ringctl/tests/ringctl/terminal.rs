//! `ringctl run` in an interactive shell on a terminal.

use std::fs::{self, File};
use std::io::Write;
use std::process::{Child, Command, Stdio};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::pty::openpty;

use crate::fake::{ENDLESS_LEASE, FakeDaemon};
use crate::program::{RINGCTL, SLEEP, unignore_signals};
use ring_segment::limit::{TextReader, wait_until};

tests! {
    ctrl_c_ends_the_command_but_not_the_shell,
    ctrl_c_ends_the_wait,
    ctrl_z_stops_the_command_and_fg_continues_it,
    a_command_in_a_pipeline_gets_the_terminal_when_it_reads,
    ctrl_z_stops_a_command_in_a_pipeline,
    a_signal_to_a_stopped_job_is_forwarded_after_its_continuation,
    a_background_command_stops_when_it_reads,
}

const CTRL_C: &str = "\x03";
const CTRL_Z: &str = "\x1a";

/// An interactive shell.
struct Shell {
    child: Child,
    screen: TextReader<File>,
}

impl Shell {
    /// Starts the shell. In this shell, `run` is `ringctl run` with the socket of the fake daemon.
    fn start(fake: &FakeDaemon) -> Self {
        unignore_signals();
        let pty = openpty(None, None).expect("a terminal");
        for side in [&pty.master, &pty.slave] {
            // Commands of other tests must not inherit these descriptors, because some tests count the inherited
            // descriptors.
            fcntl(side, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).expect("set");
        }
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
            screen: TextReader::new(File::from(pty.master)),
        };
        let socket = fake.path().display();
        shell.write_input("stty -echo; bind 'set enable-bracketed-paste off'\n");
        shell.write_input(&format!(
            "run() {{ {RINGCTL} --socket {socket} run \"$@\"; }}\n"
        ));
        shell.write_input("echo set''tled\n");
        shell.wait_for_text("settled");
        shell
    }

    fn write_input(&mut self, text: &str) {
        self.screen
            .source()
            .write_all(text.as_bytes())
            .expect("it is open");
    }

    /// Waits until `text` appears after the text of the last call. Returns all output after the text of the last call.
    fn wait_for_text(&mut self, text: &str) -> String {
        let shown = self.screen.take_to(text);
        assert!(shown.ends_with(text), "the shell has ended after {shown:?}");
        shown
    }

    /// Waits until the shell reports the stopped job and shows its prompt.
    fn wait_for_stop(&mut self) {
        self.wait_for_text("Stopped");
        self.wait_for_text("\r\n$ ");
    }

    /// Returns the word that the screen shows after `text`.
    fn read_word_after(&mut self, text: &str) -> String {
        self.wait_for_text(text);
        self.wait_for_text("\r\n").trim().to_owned()
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A shell line that prints the number of its process, reads a line, and prints this line. The printed text differs
/// from the text of the command, so the echo of the command does not contain it.
const READER: &str = "echo pid:$$; read line </dev/tty; echo li\"\"ne:$line";

fn is_stopped(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it is there");
    stat.contains(") T ")
}

fn ctrl_c_ends_the_command_but_not_the_shell() {
    let fake = FakeDaemon::new();
    let mut shell = Shell::start(&fake);
    let line = format!("trap \"echo got-it; exit 3\" INT; {SLEEP}; echo ready; wait");
    shell.write_input(&format!("run -c '{line}'; echo code:$?\n"));
    let mut client = fake.accept_and_grant(ENDLESS_LEASE);
    shell.wait_for_text("ready\r\n");
    shell.write_input(CTRL_C);
    shell.wait_for_text("got-it");
    client.wait_for_unlock();
    assert_eq!(shell.read_word_after("code:"), "3");
    shell.write_input("read x; echo again:$x\n");
    shell.write_input("mine\n");
    assert_eq!(
        shell.read_word_after("again:"),
        "mine",
        "the shell has the terminal again"
    );
}

fn ctrl_c_ends_the_wait() {
    let fake = FakeDaemon::new();
    let mut shell = Shell::start(&fake);
    shell.write_input("run -- true\n");
    let mut client = fake.next_client();
    assert_eq!(client.request()["request"], "lock");
    shell.write_input(CTRL_C);
    assert!(client.request().is_null(), "it closes the connection");
    shell.write_input("echo code:$?\n");
    assert_eq!(shell.read_word_after("code:"), "130");
}

fn ctrl_z_stops_the_command_and_fg_continues_it() {
    let fake = FakeDaemon::new();
    let mut shell = Shell::start(&fake);
    shell.write_input(&format!("run -c '{READER}'\n"));
    let mut client = fake.accept_and_grant(ENDLESS_LEASE);
    let pid = shell.read_word_after("pid:");
    shell.write_input(CTRL_Z);
    shell.wait_for_stop();
    assert!(is_stopped(&pid));
    shell.write_input("fg\n");
    shell.wait_for_text("run");
    shell.write_input("typed\n");
    assert_eq!(shell.read_word_after("line:"), "typed");
    client.wait_for_unlock();
    shell.write_input("echo code:$?\n");
    assert_eq!(shell.read_word_after("code:"), "0");
}

fn a_command_in_a_pipeline_gets_the_terminal_when_it_reads() {
    let fake = FakeDaemon::new();
    let mut shell = Shell::start(&fake);
    shell.write_input(&format!("run -c '{READER}' | cat; echo code:$?\n"));
    let mut client = fake.accept_and_grant(ENDLESS_LEASE);
    shell.read_word_after("pid:");
    shell.write_input("typed\n");
    assert_eq!(shell.read_word_after("line:"), "typed");
    client.wait_for_unlock();
    assert_eq!(shell.read_word_after("code:"), "0");
}

fn ctrl_z_stops_a_command_in_a_pipeline() {
    let fake = FakeDaemon::new();
    let mut shell = Shell::start(&fake);
    let line = format!("trap \"echo on\" CONT; {SLEEP}; echo pid:$$; while :; do wait $!; done");
    shell.write_input(&format!("run -c '{line}' | cat\n"));
    let mut client = fake.accept_and_grant(ENDLESS_LEASE);
    let pid = shell.read_word_after("pid:");
    shell.write_input(CTRL_Z);
    // In this test, `ringctl` runs in a shell function, so the shell does not wait for the process of `ringctl`.
    shell.wait_for_stop();
    wait_until("it stops", || is_stopped(&pid));
    shell.write_input("fg\n");
    shell.wait_for_text("on\r\n");
    shell.write_input(CTRL_C);
    client.wait_for_unlock();
    shell.write_input("echo code:${PIPESTATUS[0]}\n");
    assert_eq!(shell.read_word_after("code:"), "130");
}

fn a_signal_to_a_stopped_job_is_forwarded_after_its_continuation() {
    let fake = FakeDaemon::new();
    let mut shell = Shell::start(&fake);
    let line = format!("trap \"echo got-it; exit 3\" TERM; {SLEEP}; echo ready; wait");
    shell.write_input(&format!("run -c '{line}'\n"));
    let mut client = fake.accept_and_grant(ENDLESS_LEASE);
    shell.wait_for_text("ready\r\n");
    shell.write_input(CTRL_Z);
    shell.wait_for_stop();
    shell.write_input("kill %1\n");
    shell.wait_for_text("got-it");
    client.wait_for_unlock();
}

fn a_background_command_stops_when_it_reads() {
    let fake = FakeDaemon::new();
    let mut shell = Shell::start(&fake);
    shell.write_input(&format!("run -c '{READER}' &\n"));
    let mut client = fake.accept_and_grant(ENDLESS_LEASE);
    let pid = shell.read_word_after("pid:");
    wait_until("it stops", || is_stopped(&pid));
    shell.write_input("\n");
    // If the shell has noticed the stop, it reports the stop before its next prompt.
    shell.write_input("while ! jobs | grep Stopped; do :; done\n");
    shell.wait_for_text("Stopped");
    shell.write_input("fg\n");
    shell.wait_for_text("run");
    shell.write_input("typed\n");
    assert_eq!(shell.read_word_after("line:"), "typed");
    client.wait_for_unlock();
}
