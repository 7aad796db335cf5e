//! Runs `ringctl` as a process.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::Once;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use nix::fcntl::OFlag;
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use rustix::process::{PidfdFlags, pidfd_open};

use crate::fake::{Client, ENDLESS_LEASE, FakeDaemon};
use ring_segment::limit::{TextReader, WAIT_LIMIT, is_readable};

pub(crate) const RINGCTL: &str = env!("CARGO_BIN_EXE_ringctl");

/// A shell line that starts `sleep`, and waits until `sleep` runs. A signal that arrives before this time may get lost.
pub(crate) const SLEEP: &str = "sleep 1000 & is=sh; \
    while [ $is != sleep ]; do read is </proc/$!/comm; done";

/// Makes children get all signals. The process that starts the tests may ignore some signals, as shells do for
/// background jobs, and children inherit ignored signals. Children do not inherit caught signals. So this function
/// catches the signals, and does nothing when a signal arrives.
pub(crate) fn unignore_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let ignored = u64::from_str_radix(ignored.expect("it is there").trim(), 16);
        let ignored = ignored.expect("digits");
        for signal in Signal::iterator().filter(|&signal| signal != Signal::SIGPIPE) {
            let signal = signal as i32;
            if ignored >> (signal - 1) & 1 == 1 {
                let unused_flag = Arc::new(AtomicBool::new(false));
                signal_hook::flag::register(signal, unused_flag).expect("it can be caught");
            }
        }
    });
}

/// Returns a command `ringctl` with the socket of the fake daemon.
pub(crate) fn ringctl(fake: &FakeDaemon) -> Command {
    let mut command = Command::new(RINGCTL);
    command.arg("--socket").arg(fake.path());
    command.env_remove("RINGD_TOKEN").env_remove("RINGD_LOCK");
    command
}

/// A running `ringctl`. At the end of the test, `ringctl` is killed. So all its processes end.
pub(crate) struct Running {
    child: Child,
    output: Option<TextReader<ChildStdout>>,
    errors: TextReader<ChildStderr>,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        unignore_signals();
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("ringctl is built");
        let output = child.stdout.take().expect("it is piped");
        let errors = child.stderr.take().expect("it is piped");
        Self {
            child,
            output: Some(TextReader::new(output)),
            errors: TextReader::new(errors),
        }
    }

    /// Starts `ringctl run` with these arguments.
    pub(crate) fn run<S: AsRef<OsStr>>(fake: &FakeDaemon, arguments: &[S]) -> Self {
        let mut command = ringctl(fake);
        command.stdin(Stdio::null());
        Self::start(command.arg("run").args(arguments))
    }

    /// Starts `ringctl run` with a shell line.
    pub(crate) fn shell(fake: &FakeDaemon, line: &str) -> Self {
        Self::run(fake, &["-c", line])
    }

    /// Starts `ringctl run` with a shell line at a new fake daemon. The daemon grants the lock.
    pub(crate) fn spawn_granted(line: &str) -> (FakeDaemon, Self, Client) {
        let fake = FakeDaemon::new();
        let run = Self::shell(&fake, line);
        let client = fake.accept_and_grant(ENDLESS_LEASE);
        (fake, run, client)
    }

    /// Like `granted`, but waits until the command prints `ready`.
    pub(crate) fn ready(line: &str) -> (FakeDaemon, Self, Client) {
        let (fake, mut run, client) = Self::spawn_granted(line);
        assert_eq!(run.line(), "ready");
        (fake, run, client)
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).expect("it runs");
    }

    /// Writes to the standard input of `ringctl`.
    pub(crate) fn write_input(&mut self, input: &[u8]) {
        let pipe = self.child.stdin.as_mut().expect("it is piped");
        pipe.write_all(input).expect("it is open");
    }

    /// Closes the standard input of `ringctl`, if this input is a pipe.
    pub(crate) fn close_input(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Returns the next line of the output of `ringctl`. The line is empty at the end of the output.
    pub(crate) fn line(&mut self) -> String {
        self.output().take_to("\n").trim_end().to_owned()
    }

    /// Returns the rest of the output of `ringctl`. When the output ends, all processes that `ringctl` started have
    /// ended.
    pub(crate) fn rest(&mut self) -> String {
        self.output().take_rest()
    }

    fn output(&mut self) -> &mut TextReader<ChildStdout> {
        self.output.as_mut().expect("it is open")
    }

    /// Closes the read end of the output of `ringctl`.
    pub(crate) fn close_output(&mut self) {
        self.output = None;
    }

    /// Reads the standard error of `ringctl` until the read text ends with `text`.
    pub(crate) fn wait_for_error(&mut self, text: &str) {
        let errors = self.errors.take_to(text);
        assert!(errors.ends_with(text), "it printed {errors:?}");
    }

    /// Checks whether `ringctl` has ended. Also reads the standard error of `ringctl`, because a full pipe would block
    /// `ringctl`.
    pub(crate) fn check_ended(&mut self) -> bool {
        self.errors.so_far();
        self.ends_by(Instant::now())
    }

    fn ends_by(&self, by: Instant) -> bool {
        let pid = rustix::process::Pid::from_child(&self.child);
        let process = pidfd_open(pid, PidfdFlags::empty()).expect("it is our child");
        is_readable(&process, by)
    }

    /// Waits until `ringctl` has ended. Returns the exit status, and the rest of the standard error.
    pub(crate) fn end(&mut self) -> (ExitStatus, String) {
        assert!(self.ends_by(Instant::now() + WAIT_LIMIT), "it does not end");
        // `wait` would close the input of `ringctl`.
        let status = self.child.try_wait().expect("it is our child");
        let status = status.expect("it has ended");
        (status, self.errors.take_rest())
    }

    pub(crate) fn code(&mut self) -> Option<i32> {
        self.end().0.code()
    }

    pub(crate) fn killed_by(&mut self) -> Option<Signal> {
        let signal = self.end().0.signal();
        signal.map(|signal| Signal::try_from(signal).expect("a signal"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let (output, errors) = (
                self.output.as_mut().map(TextReader::so_far),
                self.errors.so_far(),
            );
            eprintln!("the test has not read: output {output:?}, errors {errors:?}");
        }
    }
}

/// A pipe that shows whether the processes of a command have ended. Only these processes have it open for writing.
pub(crate) struct Witness {
    path: PathBuf,
    pipe: File,
}

impl Witness {
    pub(crate) fn new(fake: &FakeDaemon) -> Self {
        let path = fake.file("witness");
        mkfifo(&path, Mode::S_IRWXU).expect("a pipe");
        // Without this flag, the call would wait until a process opens the pipe for writing.
        let no_wait = OFlag::O_NONBLOCK.bits();
        let pipe = OpenOptions::new()
            .read(true)
            .custom_flags(no_wait)
            .open(&path);
        let pipe = pipe.expect("it is there");
        Self { path, pipe }
    }

    /// Starts `ringctl run` with a shell line that opens the pipe, at a new fake daemon that grants the lock. Waits
    /// until the command prints `ready`.
    pub(crate) fn of_ready(line: &str) -> (FakeDaemon, Self, Running, Client) {
        let fake = FakeDaemon::new();
        let witness = Self::new(&fake);
        let mut run = Running::shell(&fake, &witness.open_in(line));
        let client = fake.accept_and_grant(ENDLESS_LEASE);
        assert_eq!(run.line(), "ready");
        (fake, witness, run, client)
    }

    /// Returns a shell line that opens the pipe and then continues with `line`.
    pub(crate) fn open_in(&self, line: &str) -> String {
        format!("exec 8> {}; {line}", self.path.display())
    }

    /// Waits until all processes of the command have ended. These processes have the pipe open.
    pub(crate) fn wait_for_end(&mut self) {
        let ends = is_readable(&self.pipe, Instant::now() + WAIT_LIMIT);
        assert!(ends, "a process of the command still runs");
        let read = self.pipe.read(&mut [0]).expect("it is open");
        assert_eq!(read, 0, "no process writes to the pipe");
    }

    /// Checks that all processes of the command have already ended.
    pub(crate) fn assert_ended(&mut self) {
        let has_ended = is_readable(&self.pipe, Instant::now());
        assert!(has_ended, "a process of the command still runs");
        self.wait_for_end();
    }
}
