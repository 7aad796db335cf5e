//! `ringctl run` in an interactive shell on a terminal.

use std::fs::{self, File};
use std::io::Write;
use std::process::{Child, Command, Stdio};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::pty::openpty;

use crate::fake::{Fake, LONG};
use crate::program::{RINGCTL, SLEEP, let_children_hear};
use ring_segment::limit::{Text, until};

tests! {
    ctrl_c_is_for_the_command_and_the_shell_goes_on,
    ctrl_c_ends_the_wait,
    ctrl_z_stops_the_command_and_fg_lets_it_go_on,
    a_command_in_a_pipeline_gets_the_terminal_when_it_reads,
    ctrl_z_stops_a_command_in_a_pipeline,
    a_signal_to_a_stopped_job_is_passed_on_when_it_goes_on,
    a_command_in_the_background_stops_when_it_reads_until_it_is_in_the_foreground,
}

const CTRL_C: &str = "\x03";
const CTRL_Z: &str = "\x1a";

/// A shell that somebody sits at.
struct Shell {
    child: Child,
    screen: Text<File>,
}

impl Shell {
    /// Where `run` is `ringctl run` with the socket of the fake.
    fn start(fake: &Fake) -> Self {
        let_children_hear();
        let pty = openpty(None, None).expect("a terminal");
        for side in [&pty.master, &pty.slave] {
            // Other tests count what their commands inherit.
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
            screen: Text::new(File::from(pty.master)),
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
        self.screen
            .source()
            .write_all(text.as_bytes())
            .expect("it is open");
    }

    /// Waits until the screen shows the text after all that was waited for before; what is shown
    /// in between.
    fn shows(&mut self, text: &str) -> String {
        let shown = self.screen.take_to(text);
        assert!(shown.ends_with(text), "the shell has ended after {shown:?}");
        shown
    }

    /// Waits until the shell has said that its job is stopped, and asks for a line again.
    fn shows_stopped(&mut self) {
        self.shows("Stopped");
        self.shows("\r\n$ ");
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

fn ctrl_c_is_for_the_command_and_the_shell_goes_on() {
    let fake = Fake::new();
    let mut shell = Shell::start(&fake);
    let line = format!("trap \"echo got-it; exit 3\" INT; {SLEEP}; echo ready; wait");
    shell.types(&format!("run -c '{line}'; echo code:$?\n"));
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

fn ctrl_z_stops_the_command_and_fg_lets_it_go_on() {
    let fake = Fake::new();
    let mut shell = Shell::start(&fake);
    shell.types(&format!("run -c '{READER}'\n"));
    let mut client = fake.grant(LONG);
    let pid = shell.shows_word_after("pid:");
    shell.types(CTRL_Z);
    shell.shows_stopped();
    assert!(is_stopped(&pid));
    shell.types("fg\n");
    shell.shows("run");
    shell.types("typed\n");
    assert_eq!(shell.shows_word_after("line:"), "typed");
    client.unlocked();
    shell.types("echo code:$?\n");
    assert_eq!(shell.shows_word_after("code:"), "0");
}

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

fn ctrl_z_stops_a_command_in_a_pipeline() {
    let fake = Fake::new();
    let mut shell = Shell::start(&fake);
    let line = format!("trap \"echo on\" CONT; {SLEEP}; echo pid:$$; while :; do wait $!; done");
    shell.types(&format!("run -c '{line}' | cat\n"));
    let mut client = fake.grant(LONG);
    let pid = shell.shows_word_after("pid:");
    shell.types(CTRL_Z);
    // The shell waits for its own processes, of which `ringctl` in a function is none.
    shell.shows_stopped();
    until("it stops", || is_stopped(&pid));
    shell.types("fg\n");
    shell.shows("on\r\n");
    shell.types(CTRL_C);
    client.unlocked();
    shell.types("echo code:${PIPESTATUS[0]}\n");
    assert_eq!(shell.shows_word_after("code:"), "130");
}

fn a_signal_to_a_stopped_job_is_passed_on_when_it_goes_on() {
    let fake = Fake::new();
    let mut shell = Shell::start(&fake);
    let line = format!("trap \"echo got-it; exit 3\" TERM; {SLEEP}; echo ready; wait");
    shell.types(&format!("run -c '{line}'\n"));
    let mut client = fake.grant(LONG);
    shell.shows("ready\r\n");
    shell.types(CTRL_Z);
    shell.shows_stopped();
    shell.types("kill %1\n");
    shell.shows("got-it");
    client.unlocked();
}

fn a_command_in_the_background_stops_when_it_reads_until_it_is_in_the_foreground() {
    let fake = Fake::new();
    let mut shell = Shell::start(&fake);
    shell.types(&format!("run -c '{READER}' &\n"));
    let mut client = fake.grant(LONG);
    let pid = shell.shows_word_after("pid:");
    until("it stops", || is_stopped(&pid));
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
