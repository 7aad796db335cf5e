//! `ringctl` as a process.

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

use crate::fake::Fake;
use ring_segment::limit::{PATIENCE, Text, is_readable};

pub(crate) const RINGCTL: &str = env!("CARGO_BIN_EXE_ringctl");

/// A line of shell that starts a process which sleeps, `$!`, and waits until it does: a signal
/// that hits a shell's child before that may be lost in it.
pub(crate) const SLEEP: &str = "sleep 1000 & is=sh; \
    while [ $is != sleep ]; do read is </proc/$!/comm; done";

/// What is started hears all signals. Who starts the tests may ignore some, as shells do with
/// those of the keyboard for what is in the background, and what is ignored is inherited; what is
/// caught is not, so here they are caught, and still do nothing.
pub(crate) fn let_children_hear() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let ignored = u64::from_str_radix(ignored.expect("it is there").trim(), 16);
        let ignored = ignored.expect("digits");
        for signal in Signal::iterator().filter(|&signal| signal != Signal::SIGPIPE) {
            let signal = signal as i32;
            if ignored >> (signal - 1) & 1 == 1 {
                let nobody_looks = Arc::new(AtomicBool::new(false));
                signal_hook::flag::register(signal, nobody_looks).expect("it can be caught");
            }
        }
    });
}

/// `ringctl` with the socket of the fake.
pub(crate) fn ringctl(fake: &Fake) -> Command {
    let mut command = Command::new(RINGCTL);
    command.arg("--socket").arg(fake.path());
    command.env_remove("RINGD_TOKEN").env_remove("RINGD_LOCK");
    command
}

/// A `ringctl` that runs. It is killed at the end of the test, which ends all else.
pub(crate) struct Running {
    child: Child,
    output: Option<Text<ChildStdout>>,
    errors: Text<ChildStderr>,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let_children_hear();
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("ringctl is built");
        let output = child.stdout.take().expect("it is piped");
        let errors = child.stderr.take().expect("it is piped");
        Self {
            child,
            output: Some(Text::new(output)),
            errors: Text::new(errors),
        }
    }

    /// `ringctl run` with these arguments.
    pub(crate) fn run<S: AsRef<OsStr>>(fake: &Fake, arguments: &[S]) -> Self {
        let mut command = ringctl(fake);
        command.stdin(Stdio::null());
        Self::start(command.arg("run").args(arguments))
    }

    /// `ringctl run` with a line for the shell.
    pub(crate) fn shell(fake: &Fake, line: &str) -> Self {
        Self::run(fake, &["-c", line])
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).expect("it runs");
    }

    /// Gives it something to read.
    pub(crate) fn types(&mut self, input: &[u8]) {
        let pipe = self.child.stdin.as_mut().expect("it is piped");
        pipe.write_all(input).expect("it is open");
    }

    /// Its input, if it is piped, has come to its end.
    pub(crate) fn close_input(&mut self) {
        drop(self.child.stdin.take());
    }

    /// The next line of its output; empty at the end.
    pub(crate) fn line(&mut self) -> String {
        self.output().take_to("\n").trim_end().to_owned()
    }

    /// The rest of its output. When this returns nothing that it has started is left.
    pub(crate) fn rest(&mut self) -> String {
        self.output().take_rest()
    }

    fn output(&mut self) -> &mut Text<ChildStdout> {
        self.output.as_mut().expect("it is open")
    }

    /// Nobody reads its output from now on.
    pub(crate) fn close_output(&mut self) {
        self.output = None;
    }

    /// Waits until it has complained of something.
    pub(crate) fn complains(&mut self, of: &str) {
        let said = self.errors.take_to(of);
        assert!(said.ends_with(of), "it has said {said:?}");
    }

    /// Whether it has ended so far. What it says is read meanwhile: a full pipe would keep it.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.errors.so_far();
        self.ends_by(Instant::now())
    }

    fn ends_by(&self, by: Instant) -> bool {
        let pid = rustix::process::Pid::from_child(&self.child);
        let process = pidfd_open(pid, PidfdFlags::empty()).expect("it is our child");
        is_readable(&process, by)
    }

    /// How it ended, and what it said then.
    pub(crate) fn end(&mut self) -> (ExitStatus, String) {
        assert!(self.ends_by(Instant::now() + PATIENCE), "it does not end");
        // To wait in the usual way would close its input.
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
            let (output, errors) = (self.output.as_mut().map(Text::so_far), self.errors.so_far());
            eprintln!("no longer asked for: output {output:?}, errors {errors:?}");
        }
    }
}

/// A pipe that a command and all that it starts have open, and nobody else.
pub(crate) struct Witness {
    path: PathBuf,
    pipe: File,
}

impl Witness {
    pub(crate) fn new(fake: &Fake) -> Self {
        let path = fake.file("witness");
        mkfifo(&path, Mode::S_IRWXU).expect("a pipe");
        // It does not wait for who writes.
        let no_wait = OFlag::O_NONBLOCK.bits();
        let pipe = OpenOptions::new()
            .read(true)
            .custom_flags(no_wait)
            .open(&path);
        let pipe = pipe.expect("it is there");
        Self { path, pipe }
    }

    /// The line of shell that has it open.
    pub(crate) fn seeing(&self, line: &str) -> String {
        format!("exec 8> {}; {line}", self.path.display())
    }

    /// Waits until nothing of the command, which has it open, is left.
    pub(crate) fn wait_for_end(&mut self) {
        let ends = is_readable(&self.pipe, Instant::now() + PATIENCE);
        assert!(ends, "something of the command is left");
        let read = self.pipe.read(&mut [0]).expect("it is open");
        assert_eq!(read, 0, "nothing is written to it");
    }

    /// Nothing of the command, which had it open, is left already.
    pub(crate) fn has_ended(&mut self) {
        let has_ended = is_readable(&self.pipe, Instant::now());
        assert!(has_ended, "something of the command is left");
        self.wait_for_end();
    }
}
