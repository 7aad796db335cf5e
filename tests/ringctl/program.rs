//! `ringctl` as a process.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};

use crate::fake::Fake;

pub const RINGCTL: &str = env!("CARGO_BIN_EXE_ringctl");

/// `ringctl` with the socket of the fake.
pub fn ringctl(fake: &Fake) -> Command {
    let mut command = Command::new(RINGCTL);
    command.arg("--socket").arg(fake.path());
    command.env_remove("RINGD_TOKEN");
    command
}

/// A `ringctl` that runs.
pub struct Running {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Running {
    pub fn start(command: &mut Command) -> Self {
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("ringctl is built");
        let output = child.stdout.take().expect("it is piped");
        Self {
            child,
            output: BufReader::new(output),
        }
    }

    /// `ringctl run` with these arguments.
    pub fn run<S: AsRef<OsStr>>(fake: &Fake, arguments: &[S]) -> Self {
        let mut command = ringctl(fake);
        command.stdin(Stdio::null());
        Self::start(command.arg("run").args(arguments))
    }

    /// `ringctl run` with a line for the shell.
    pub fn shell(fake: &Fake, line: &str) -> Self {
        Self::run(fake, &["-c", line])
    }

    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    pub fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).expect("it runs");
    }

    /// Its input, if it is piped, has come to its end.
    pub fn close_input(&mut self) {
        drop(self.child.stdin.take());
    }

    /// The next line of its output; empty at the end.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("text");
        line.trim_end().to_owned()
    }

    /// The rest of its output. When this returns nothing that it has started is left.
    pub fn rest(&mut self) -> String {
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("text");
        rest
    }

    /// How it ended, and what it said then.
    pub fn end(&mut self) -> (ExitStatus, String) {
        let status = self.child.wait().expect("it is our child");
        let mut errors = String::new();
        let pipe = self.child.stderr.as_mut().expect("it is piped");
        pipe.read_to_string(&mut errors).expect("text");
        (status, errors)
    }

    pub fn code(&mut self) -> Option<i32> {
        self.end().0.code()
    }

    pub fn killed_by(&mut self) -> Option<Signal> {
        let signal = self.end().0.signal();
        signal.map(|signal| Signal::try_from(signal).expect("a signal"))
    }
}

/// A pipe that a command and all that it starts have open, and nobody else.
pub struct Witness(PathBuf);

impl Witness {
    pub fn new(fake: &Fake) -> Self {
        let path = fake.file("witness");
        mkfifo(&path, Mode::S_IRWXU).expect("a pipe");
        Self(path)
    }

    /// The line of shell that has it open.
    pub fn seeing(&self, line: &str) -> String {
        format!("exec 8> {}; {line}", self.0.display())
    }

    /// Waits for the command to open it.
    pub fn open(&self) -> Seen {
        Seen(File::open(&self.0).expect("it is there"))
    }
}

/// A pipe that a command has open.
pub struct Seen(File);

impl Seen {
    /// Waits until nothing of the command is left.
    pub fn wait_for_end(&mut self) {
        let read = self.0.read(&mut [0]).expect("it is open");
        assert_eq!(read, 0, "nothing is written to it");
    }
}
