//! Runs a program, and handles its input, its output and its end.
//!
//! Each program leads its own process group. When the program ends, this module also ends the remaining processes of
//! the group. Start with [`run`].

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitStatus;
use std::thread;
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use ring_runtime::wait::{Interest, Poller};
use ring_runtime::worker::WakeUp;

mod launcher;
mod output;

pub use self::launcher::{Found, Launch, Launcher, Programs};
pub use self::output::Captured;
use self::output::{Lines, READ_BYTES_MAX, StreamState};

/// The time between SIGTERM and SIGKILL.
const TERMINATION_GRACE: Duration = Duration::from_secs(1);
/// Maximum time to wait for the end after SIGKILL. A process that hangs in the kernel does not end.
const EXIT_GRACE: Duration = Duration::from_secs(1);
/// Interval of the checks for remaining processes.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

const BELL_KEY: u64 = 0;
const EXIT_KEY: u64 = 1;
const INPUT_KEY: u64 = 2;
const FIRST_OUTPUT_KEY: u64 = 3;

/// The input and the limits of a program.
#[derive(Debug)]
pub struct RunOptions<'a> {
    /// All bytes of the standard input. `None` stands for `/dev/null`.
    pub input: Option<&'a [u8]>,
    /// Maximum number of bytes of standard output to capture. If the maximum is `None`, lines of standard output are
    /// handled like lines of standard error.
    pub capture: Option<usize>,
    /// Time limit of the program: at this time, it is ended.
    pub until: Instant,
    /// Bell that rings if the program must end before `until`.
    pub bell: &'a WakeUp,
}

/// The result of a program.
#[derive(Debug)]
pub struct Outcome {
    /// Way in which the program ended.
    pub end: End,
    /// Standard output, if it was captured.
    pub output: Captured,
}

/// The way in which a program ended.
#[derive(Debug)]
pub enum End {
    /// The program ended by itself, together with all processes that it started in its process group.
    Exit(ExitStatus),
    /// The program ended by itself, but this module had to end other processes of its process group.
    LeftBehind(ExitStatus),
    /// The program was ended at its deadline.
    Late,
    /// The program was ended early or was not started, because it was cancelled or because the daemon ends.
    Cancelled,
    /// SIGKILL was sent to the program, but the program still exists.
    Stuck,
}

/// Runs a program until it ends or must end. Calls `say` for each line of output that is not captured.
///
/// # Errors
/// Fails if the program cannot be started.
pub fn run(
    launcher: &mut Launcher,
    launch: Launch,
    options: &RunOptions<'_>,
    say: &mut dyn FnMut(&str),
) -> io::Result<Outcome> {
    let now = Instant::now();
    if options.bell.limit(options.until, now) <= now {
        return Ok(Outcome {
            end: early_end(options, now),
            output: Captured::default(),
        });
    }
    let mut process = Process::start(launcher, launch, options)?;
    let end = process.run(options, say);
    let output = process
        .outputs
        .iter_mut()
        .flatten()
        .find_map(OutputPipe::take);
    Ok(Outcome {
        end,
        output: output.or(process.captured).unwrap_or_default(),
    })
}

/// Returns the reason why a program is ended early.
fn early_end(options: &RunOptions<'_>, now: Instant) -> End {
    if now < options.until {
        End::Cancelled
    } else {
        End::Late
    }
}

/// The last signal that was sent to the program.
#[derive(Debug, Clone, Copy)]
enum SentSignal {
    Nothing,
    /// SIGTERM, at this time.
    Terminated(Instant),
    /// SIGKILL, at this time.
    Killed(Instant),
}

/// One of the program's output streams.
#[derive(Debug)]
struct OutputPipe {
    pipe: fs::File,
    sink: Sink,
}

/// The destination of output.
#[derive(Debug)]
enum Sink {
    Lines(Lines),
    /// A buffer for the captured bytes, and their maximum number.
    Captured(Captured, usize),
}

impl OutputPipe {
    fn read(&mut self, say: &mut dyn FnMut(&str)) -> StreamState {
        match &mut self.sink {
            Sink::Lines(lines) => lines.read(&mut self.pipe, say),
            Sink::Captured(captured, limit) => {
                captured.read(&mut self.pipe, *limit, READ_BYTES_MAX)
            }
        }
    }

    /// Reads the output that is available when the program has ended. Processes outside the group may keep the stream
    /// open and continue to write.
    fn read_rest(&mut self, say: &mut dyn FnMut(&str)) {
        match &mut self.sink {
            Sink::Lines(lines) => {
                lines.read(&mut self.pipe, say);
                lines.flush(say);
            }
            Sink::Captured(captured, limit) => {
                let share = READ_BYTES_MAX.max(*limit);
                captured.read(&mut self.pipe, *limit, share);
            }
        }
    }

    fn take(&mut self) -> Option<Captured> {
        match &mut self.sink {
            Sink::Lines(_) => None,
            Sink::Captured(captured, _) => Some(std::mem::take(captured)),
        }
    }
}

/// The input that the program has not yet read.
#[derive(Debug)]
struct InputPipe<'a> {
    pipe: fs::File,
    bytes: &'a [u8],
}

impl InputPipe<'_> {
    /// Writes without waiting. Returns whether there are more bytes to write.
    fn write(&mut self) -> bool {
        while !self.bytes.is_empty() {
            match self.pipe.write(self.bytes) {
                Ok(count) => self.bytes = &self.bytes[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                // The program has closed its input.
                Err(_) => return false,
            }
        }
        false
    }
}

#[derive(Debug)]
struct Process<'a> {
    launcher: &'a mut Launcher,
    /// Descriptor that becomes readable at the end of the program. The descriptor stays open for the poller.
    _exit: OwnedFd,
    poller: Poller,
    input: Option<InputPipe<'a>>,
    outputs: Vec<Option<OutputPipe>>,
    /// Captured output of an ended stream.
    captured: Option<Captured>,
}

impl<'a> Process<'a> {
    fn start(
        launcher: &'a mut Launcher,
        launch: Launch,
        options: &RunOptions<'a>,
    ) -> io::Result<Self> {
        let poller = Poller::new()?;
        poller.add(options.bell, BELL_KEY, Interest::Read)?;
        let captured = options
            .capture
            .map(|limit| Sink::Captured(Captured::default(), limit));
        let lines = || Sink::Lines(Lines::default());
        let mut outputs = Vec::new();
        let mut streams = Vec::new();
        let sinks = [captured.unwrap_or_else(lines), lines()];
        for (key, sink) in (FIRST_OUTPUT_KEY..).zip(sinks) {
            let (near, far) = io::pipe()?;
            let pipe = unblocked(near.into())?;
            poller.add(&pipe, key, Interest::Read)?;
            outputs.push(Some(OutputPipe { pipe, sink }));
            streams.push(OwnedFd::from(far));
        }
        let mut input = None;
        if let Some(bytes) = options.input {
            let (far, near) = io::pipe()?;
            let pipe = unblocked(near.into())?;
            poller.add(&pipe, INPUT_KEY, Interest::Write)?;
            input = Some(InputPipe { pipe, bytes });
            streams.push(far.into());
        }
        let streams: Vec<_> = streams.iter().map(AsFd::as_fd).collect();
        let exit = launcher.launch(launch, &streams)?;
        poller
            .add(&exit, EXIT_KEY, Interest::Read)
            .inspect_err(|_| {
                // A program that the daemon cannot watch must not run.
                launcher.kill();
                let _ = launcher.wait();
            })?;
        Ok(Self {
            launcher,
            _exit: exit,
            poller,
            input,
            outputs,
            captured: None,
        })
    }

    fn run(&mut self, options: &RunOptions<'_>, say: &mut dyn FnMut(&str)) -> End {
        let bell = options.bell;
        let mut sent = SentSignal::Nothing;
        let mut why = End::Late;
        let ended = loop {
            let now = Instant::now();
            let limit = match sent {
                SentSignal::Nothing => bell.limit(options.until, now),
                SentSignal::Terminated(_) if bell.must_stop_now() => now,
                SentSignal::Terminated(at) => at + TERMINATION_GRACE,
                SentSignal::Killed(at) => at + EXIT_GRACE,
            };
            if now < limit {
                if self.wait(limit - now, bell, say) {
                    break self.launcher.wait().ok();
                }
                continue;
            }
            sent = match sent {
                SentSignal::Nothing => {
                    why = early_end(options, now);
                    self.launcher.terminate();
                    SentSignal::Terminated(now)
                }
                SentSignal::Terminated(_) => {
                    // A process that the launcher may not kill counts as stuck.
                    self.launcher.kill();
                    SentSignal::Killed(now)
                }
                SentSignal::Killed(_) => return End::Stuck,
            };
        };
        for output in self.outputs.iter_mut().flatten() {
            output.read_rest(say);
        }
        let left = end_process_group(self.launcher, bell);
        match (sent, ended) {
            (SentSignal::Nothing, Some(status)) if left => End::LeftBehind(status),
            (SentSignal::Nothing, Some(status)) => End::Exit(status),
            _ => why,
        }
    }

    /// Waits for an event, but at most for `timeout`. Returns whether the program ended.
    fn wait(&mut self, timeout: Duration, bell: &WakeUp, say: &mut dyn FnMut(&str)) -> bool {
        // The wait does not fail on a healthy system. A failure counts as a wake-up.
        let _ = self.poller.wait(Some(timeout));
        let mut ended = false;
        for ready in self.poller.ready() {
            match ready.key {
                BELL_KEY => bell.silence(),
                EXIT_KEY => ended = true,
                // After all bytes are written, closing the pipe also removes it from the poller.
                INPUT_KEY => {
                    let has_more = self.input.as_mut().is_some_and(InputPipe::write);
                    self.input.take_if(|_| !has_more);
                }
                key => {
                    let at = usize::try_from(key - FIRST_OUTPUT_KEY).unwrap_or(usize::MAX);
                    let Some(slot) = self.outputs.get_mut(at) else {
                        continue;
                    };
                    let over = slot
                        .as_mut()
                        .is_none_or(|output| output.read(say) == StreamState::Ended);
                    if over {
                        // Closing the pipe also removes it from the poller.
                        let captured = slot.take().and_then(|mut output| output.take());
                        self.captured = self.captured.take().or(captured);
                    }
                }
            }
        }
        ended
    }
}

/// Makes a pipe's end never wait.
fn unblocked(pipe: OwnedFd) -> io::Result<fs::File> {
    fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    Ok(pipe.into())
}

/// Ends all processes in the group of an ended program. Returns whether any process was left in the program's group.
fn end_process_group(launcher: &mut Launcher, bell: &WakeUp) -> bool {
    if launcher.check_empty() {
        return false;
    }
    launcher.terminate();
    let terminated_at = Instant::now();
    while terminated_at.elapsed() < TERMINATION_GRACE && !bell.must_stop_now() {
        if launcher.check_empty() {
            return true;
        }
        thread::sleep(POLL_INTERVAL);
    }
    // A process that the launcher may not kill continues to run.
    launcher.kill();
    let killed = Instant::now();
    while killed.elapsed() < EXIT_GRACE && !launcher.check_empty() {
        thread::sleep(POLL_INTERVAL);
    }
    true
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::process::Command;
    use std::time::{Duration, Instant};

    use super::{Captured, End, Found, Launch, Launcher, Outcome, Programs, RunOptions, run};
    use ring_runtime::worker::WakeUp;

    fn options<'a>(input: Option<&'a [u8]>, capture: usize, bell: &'a WakeUp) -> RunOptions<'a> {
        RunOptions {
            input,
            capture: Some(capture),
            until: Instant::now() + Duration::from_secs(60),
            bell,
        }
    }

    /// A shell that runs its argument.
    struct Shell;

    impl Programs for Shell {
        fn find(&mut self, _: bool) -> Found {
            Found::default()
        }

        fn command(&mut self, program: usize, arguments: &[OsString]) -> Option<Command> {
            let mut shell = Command::new("/bin/sh");
            shell.arg("-c").args(arguments);
            (program == 0).then_some(shell)
        }
    }

    fn launcher() -> Launcher {
        Launcher::start(Shell).expect("a process")
    }

    fn launch(line: &str) -> Launch {
        Launch {
            arguments: vec![line.into()],
            ..Launch::default()
        }
    }

    /// Runs a shell command line. Returns the outcome and the standard error.
    fn shell(line: &str, input: Option<&[u8]>, capture: usize, bell: &WakeUp) -> (Outcome, String) {
        let options = options(input, capture, bell);
        let mut stderr = String::new();
        let mut say = |line: &str| stderr.push_str(line);
        let outcome = run(&mut launcher(), launch(line), &options, &mut say);
        (outcome.expect("a shell"), stderr)
    }

    fn bell() -> WakeUp {
        WakeUp::new().expect("a bell")
    }

    #[test]
    fn large_input_and_output_pass_and_errors_are_lines() {
        let input: Vec<u8> = (0..=250).cycle().take(1 << 20).collect();
        let line = "echo careful >&2; cat";
        let (outcome, stderr) = shell(line, Some(&input), 1 << 20, &bell());
        assert!(matches!(outcome.end, End::Exit(status) if status.success()));
        assert!(!outcome.output.is_cut && outcome.output.bytes == input);
        assert_eq!(stderr, "careful");
    }

    #[test]
    fn unread_input_does_no_harm_and_long_output_is_truncated() {
        let input = vec![0; 1 << 20];
        let (outcome, _) = shell(
            "exec <&-; head -c 100000 /dev/zero",
            Some(&input),
            7,
            &bell(),
        );
        assert!(matches!(outcome.end, End::Exit(status) if status.success()));
        let expected = Captured {
            bytes: vec![0; 7],
            is_cut: true,
        };
        assert_eq!(outcome.output, expected);
        let (outcome, _) = shell("cat", None, 7, &bell());
        assert_eq!(outcome.output, Captured::default());
    }

    #[test]
    fn a_cancelled_program_ends_with_everything_that_it_started() {
        let bell = bell();
        let line = "trap '' TERM; sleep 1000 & echo $!; echo begun >&2; wait; wait";
        let options = options(None, 99, &bell);
        let mut say = |_: &str| bell.cancel_before(1);
        let mut launcher = launcher();
        let outcome = run(&mut launcher, launch(line), &options, &mut say).expect("a shell");
        assert!(matches!(outcome.end, End::Cancelled), "{outcome:?}");
        assert!(Instant::now() < options.until);
        let child = String::from_utf8(outcome.output.bytes).expect("a number");
        let status = std::fs::read_to_string(format!("/proc/{}/stat", child.trim()));
        let is_gone = status.map_or(true, |status| status.contains(") Z "));
        assert!(is_gone, "{child} still runs");
        // After a cancellation, a waiting program is not started.
        let (outcome, stderr) = shell("echo begun >&2", None, 99, &bell);
        assert!(matches!(outcome.end, End::Cancelled) && stderr.is_empty());
    }

    #[test]
    fn a_daemon_chooses_neither_the_command_nor_variables_that_change_it() {
        let (bell, mut launcher) = (bell(), launcher());
        let mut refusal = |launch| {
            let options = options(None, 99, &bell);
            let outcome = run(&mut launcher, launch, &options, &mut |_| ());
            outcome.expect_err("it is refused").to_string()
        };
        let other = Launch {
            program: 1,
            ..launch("exit 0")
        };
        assert_eq!(refusal(other), "there is no such program");
        let variable = ("LD_PRELOAD".to_owned(), "/tmp/other.so".to_owned());
        let loaded = Launch {
            variables: vec![variable],
            ..launch("exit 0")
        };
        assert_eq!(refusal(loaded), "may not set the variable LD_PRELOAD");
    }
}
