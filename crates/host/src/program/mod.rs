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
#[cfg(test)]
mod tests;

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
    /// Maximum number of bytes of standard output to capture. If `None`, standard output is not captured, and its lines
    /// are handled like those of standard error.
    pub capture: Option<usize>,
    /// Time limit of the program. If the program still runs at this time, [`run`] ends it.
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
    /// The program ended by itself, and no process of its process group was left.
    Exit(ExitStatus),
    /// The program ended by itself, but this module had to end other processes of its process group.
    LeftBehind(ExitStatus),
    /// The program was ended at its deadline.
    Late,
    /// The program was cancelled, or the daemon ends. So the program was ended early, or was not started.
    Cancelled,
    /// SIGKILL was sent to the program, but the program still exists.
    Stuck,
}

/// Runs a program until it ends or must end. Calls `say` for each line of output that is not captured.
///
/// # Errors
/// Fails if the program cannot be started, or if the launcher ends. If the launcher ends, the program ends too.
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
    let end = process.run(options, say)?;
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

/// Returns the [`End`] of a program that must be ended now.
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

    /// Reads the output that is available when the program has ended. Does not wait for the end of the stream, because
    /// processes outside the group may keep it open.
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
    /// Descriptor that becomes readable at the end of the program. It must stay open, because the poller waits for it.
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

    fn run(&mut self, options: &RunOptions<'_>, say: &mut dyn FnMut(&str)) -> io::Result<End> {
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
                    break self.launcher.wait()?;
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
                    // If the launcher has no permission to kill a process, the program counts as stuck.
                    self.launcher.kill();
                    SentSignal::Killed(now)
                }
                SentSignal::Killed(_) => return Ok(End::Stuck),
            };
        };
        for output in self.outputs.iter_mut().flatten() {
            output.read_rest(say);
        }
        let left = end_process_group(self.launcher, bell);
        Ok(match sent {
            SentSignal::Nothing if left => End::LeftBehind(ended),
            SentSignal::Nothing => End::Exit(ended),
            _ => why,
        })
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
                // After the last byte, close the pipe. This also removes it from the poller.
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

/// Makes reads and writes of a pipe's end return without waiting.
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
    // If the launcher has no permission to kill a process, the process continues to run.
    launcher.kill();
    let killed = Instant::now();
    while killed.elapsed() < EXIT_GRACE && !launcher.check_empty() {
        thread::sleep(POLL_INTERVAL);
    }
    true
}
