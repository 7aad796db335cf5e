//! A running program: its input, its output, and its end, by itself or not.
//!
//! It leads a process group of its own. Whatever of that is left at its end is ended as well.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::unistd::Pid;
use ring_process::{Tree, child};
use ring_runtime::wait::{Interest, Poller};
use ring_runtime::worker::Bell;
use rustix::process::{PidfdFlags, pidfd_open};

mod output;

pub use self::output::Captured;
use self::output::{Lines, SHARE, Stream};

/// The time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(1);
/// The time after SIGKILL in which it has to be gone. A process that hangs in the kernel stays.
const LAST_BREATH: Duration = Duration::from_secs(1);
/// The time between two looks at what it has left behind.
const LOOK: Duration = Duration::from_millis(10);

/// How much a program's badness exceeds the daemon's, in thousandths of the memory there is.
const SOONER: i32 = 500;

const BELL: u64 = 0;
const EXIT: u64 = 1;
const INPUT: u64 = 2;
const OUTLETS: u64 = 3;

/// How a program is run.
#[derive(Debug)]
pub struct Terms<'a> {
    /// What it reads on standard input, up to an end; `None`: nothing, from `/dev/null`.
    pub input: Option<&'a [u8]>,
    /// Captures at most so many bytes of standard output. `None`: its lines go where those of standard error go.
    pub capture: Option<usize>,
    /// When it is ended.
    pub until: Instant,
    /// Says whether it has to end earlier.
    pub bell: &'a Bell,
}

/// What has become of a program.
#[derive(Debug)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// Its standard output, if that was captured.
    pub output: Captured,
}

/// How a program ended.
#[derive(Debug)]
pub enum End {
    /// By itself, and with it all that it had started in its process group.
    Exit(ExitStatus),
    /// By itself; the rest of its process group had to be ended.
    LeftBehind(ExitStatus),
    /// It was ended at its deadline.
    Late,
    /// It was ended earlier, or not started: it was cancelled, or the daemon ends.
    Cancelled,
    /// It was killed, and is still there.
    Stuck,
}

/// Runs a program until it ends, or has to. Passes each line of output that is not captured to `say`.
///
/// # Errors
/// It cannot be started.
pub fn run(
    command: &mut Command,
    terms: &Terms<'_>,
    say: &mut dyn FnMut(&str),
) -> io::Result<Outcome> {
    let now = Instant::now();
    if terms.bell.limit(terms.until, now) <= now {
        return Ok(Outcome {
            end: early(terms, now),
            output: Captured::default(),
        });
    }
    let mut process = Process::start(command, terms)?;
    let end = process.run(terms, say);
    let output = process.outlets.iter_mut().flatten().find_map(Outlet::take);
    Ok(Outcome {
        end,
        output: output.or(process.captured).unwrap_or_default(),
    })
}

/// Why a program is ended before its end.
fn early(terms: &Terms<'_>, now: Instant) -> End {
    if now < terms.until {
        End::Cancelled
    } else {
        End::Late
    }
}

/// Which signals it was sent.
#[derive(Debug, Clone, Copy)]
enum Stage {
    Nothing,
    /// SIGTERM, at this time.
    Told(Instant),
    /// SIGKILL, at this time.
    Killed(Instant),
}

/// One of its output streams.
#[derive(Debug)]
struct Outlet {
    pipe: fs::File,
    sink: Sink,
}

/// Where output goes.
#[derive(Debug)]
enum Sink {
    Lines(Lines),
    /// With how many bytes there may be.
    Captured(Captured, usize),
}

impl Outlet {
    fn read(&mut self, say: &mut dyn FnMut(&str)) -> Stream {
        match &mut self.sink {
            Sink::Lines(lines) => lines.read(&mut self.pipe, say),
            Sink::Captured(captured, limit) => captured.read(&mut self.pipe, *limit, SHARE),
        }
    }

    /// Reads what is there at the end. Processes outside its group may keep the stream open, and write.
    fn read_rest(&mut self, say: &mut dyn FnMut(&str)) {
        match &mut self.sink {
            Sink::Lines(lines) => {
                lines.read(&mut self.pipe, say);
                lines.flush(say);
            }
            Sink::Captured(captured, limit) => {
                let share = SHARE.max(*limit);
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

/// What it is still to read.
#[derive(Debug)]
struct Inlet<'a> {
    pipe: fs::File,
    bytes: &'a [u8],
}

impl Inlet<'_> {
    /// Writes without waiting. Returns `false` when there is no more to write.
    fn write(&mut self) -> bool {
        while !self.bytes.is_empty() {
            match self.pipe.write(self.bytes) {
                Ok(count) => self.bytes = &self.bytes[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                // It reads no more.
                Err(_) => return false,
            }
        }
        false
    }
}

#[derive(Debug)]
struct Process<'a> {
    child: Child,
    tree: Tree,
    /// Readable when it has ended: kept open for the poller.
    _exit: OwnedFd,
    poller: Poller,
    inlet: Option<Inlet<'a>>,
    outlets: Vec<Option<Outlet>>,
    /// What was captured of a stream that has ended.
    captured: Option<Captured>,
}

impl<'a> Process<'a> {
    fn start(command: &mut Command, terms: &Terms<'a>) -> io::Result<Self> {
        let poller = Poller::new()?;
        poller.add(terms.bell, BELL, Interest::Read)?;
        let piped = terms.input.map(|_| Stdio::piped());
        command
            .stdin(piped.unwrap_or_else(Stdio::null))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            // The service manager must not take its messages for the daemon's.
            .env_remove("NOTIFY_SOCKET");
        child::detach(command);
        let mut program = command.spawn()?;
        spare_the_daemon(program.id());
        let pid = i32::try_from(program.id()).map_err(io::Error::other)?;
        let watched = watch(&mut program, &poller, terms);
        let (exit, inlet, outlets) = watched.inspect_err(|_| {
            // A program that cannot be watched must not run.
            let _ = program.kill();
            let _ = program.wait();
        })?;
        Ok(Self {
            child: program,
            tree: Tree::of(Pid::from_raw(pid), None),
            _exit: exit,
            poller,
            inlet,
            outlets,
            captured: None,
        })
    }

    fn run(&mut self, terms: &Terms<'_>, say: &mut dyn FnMut(&str)) -> End {
        let bell = terms.bell;
        let mut stage = Stage::Nothing;
        let mut why = End::Late;
        let ended = loop {
            let now = Instant::now();
            let limit = match stage {
                Stage::Nothing => bell.limit(terms.until, now),
                Stage::Told(_) if bell.closes_now() => now,
                Stage::Told(at) => at + GRACE,
                Stage::Killed(at) => at + LAST_BREATH,
            };
            if now < limit {
                if self.wait(limit - now, bell, say) {
                    break self.child.wait().ok();
                }
                continue;
            }
            stage = match stage {
                Stage::Nothing => {
                    why = early(terms, now);
                    self.tree.terminate();
                    Stage::Told(now)
                }
                Stage::Told(_) => {
                    // A process that ringd may not kill counts as stuck as well.
                    let _ = self.tree.kill();
                    Stage::Killed(now)
                }
                Stage::Killed(_) => return End::Stuck,
            };
        };
        for outlet in self.outlets.iter_mut().flatten() {
            outlet.read_rest(say);
        }
        let left = end_rest(&self.tree, bell);
        match (stage, ended) {
            (Stage::Nothing, Some(status)) if left => End::LeftBehind(status),
            (Stage::Nothing, Some(status)) => End::Exit(status),
            _ => why,
        }
    }

    /// Waits for an event, at most for `timeout`. Returns whether the program has ended.
    fn wait(&mut self, timeout: Duration, bell: &Bell, say: &mut dyn FnMut(&str)) -> bool {
        // A failure, which no healthy system shows, is no more than a wake-up.
        let _ = self.poller.wait(Some(timeout));
        let mut ended = false;
        for ready in self.poller.ready() {
            match ready.key {
                BELL => bell.silence(),
                EXIT => ended = true,
                // Closed, and so removed from the poller, once all is written.
                INPUT => {
                    let has_more = self.inlet.as_mut().is_some_and(Inlet::write);
                    self.inlet.take_if(|_| !has_more);
                }
                key => {
                    let at = usize::try_from(key - OUTLETS).unwrap_or(usize::MAX);
                    let Some(slot) = self.outlets.get_mut(at) else {
                        continue;
                    };
                    let over = slot
                        .as_mut()
                        .is_none_or(|outlet| outlet.read(say) == Stream::Ended);
                    if over {
                        // Closed, and so removed from the poller.
                        let captured = slot.take().and_then(|mut outlet| outlet.take());
                        self.captured = self.captured.take().or(captured);
                    }
                }
            }
        }
        ended
    }
}

/// Its exit, its input and its outputs.
type Watched<'a> = (OwnedFd, Option<Inlet<'a>>, Vec<Option<Outlet>>);

/// What the poller waits for.
fn watch<'a>(child: &mut Child, poller: &Poller, terms: &Terms<'a>) -> io::Result<Watched<'a>> {
    let exit = pidfd_open(rustix::process::Pid::from_child(child), PidfdFlags::empty())?;
    poller.add(&exit, EXIT, Interest::Read)?;
    let mut inlet = None;
    if let Some((pipe, bytes)) = child.stdin.take().zip(terms.input) {
        let pipe = OwnedFd::from(pipe);
        fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        poller.add(&pipe, INPUT, Interest::Write)?;
        let pipe = pipe.into();
        inlet = Some(Inlet { pipe, bytes });
    }
    let captured = terms
        .capture
        .map(|limit| Sink::Captured(Captured::default(), limit));
    let lines = || Sink::Lines(Lines::default());
    let streams = [
        (
            child.stdout.take().map(OwnedFd::from),
            captured.unwrap_or_else(lines),
        ),
        (child.stderr.take().map(OwnedFd::from), lines()),
    ];
    let mut outlets = Vec::new();
    for (key, (pipe, sink)) in (OUTLETS..).zip(streams) {
        let Some(pipe) = pipe else { continue };
        fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        poller.add(&pipe, key, Interest::Read)?;
        let pipe = pipe.into();
        outlets.push(Some(Outlet { pipe, sink }));
    }
    Ok((exit, inlet, outlets))
}

/// Has the kernel kill the program before the daemon where memory is short.
fn spare_the_daemon(program: u32) {
    let own = fs::read_to_string("/proc/self/oom_score_adj").unwrap_or_default();
    let own: i32 = own.trim().parse().unwrap_or_default();
    let more = (own + SOONER).min(1000).to_string();
    // Raising the score needs no right, and an ended process needs no memory.
    let _ = fs::write(format!("/proc/{program}/oom_score_adj"), more);
}

/// Ends what an ended program has left in its process group. Returns `false` if nothing was left.
fn end_rest(tree: &Tree, bell: &Bell) -> bool {
    if tree.is_empty() {
        return false;
    }
    tree.terminate();
    let told = Instant::now();
    while told.elapsed() < GRACE && !bell.closes_now() {
        if tree.is_empty() {
            return true;
        }
        thread::sleep(LOOK);
    }
    // A process that ringd may not kill stays.
    let _ = tree.kill();
    let killed = Instant::now();
    while killed.elapsed() < LAST_BREATH && !tree.is_empty() {
        thread::sleep(LOOK);
    }
    true
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::{Duration, Instant};

    use super::{Captured, End, Outcome, Terms, run};
    use ring_runtime::worker::Bell;

    fn terms<'a>(input: Option<&'a [u8]>, capture: usize, bell: &'a Bell) -> Terms<'a> {
        Terms {
            input,
            capture: Some(capture),
            until: Instant::now() + Duration::from_secs(60),
            bell,
        }
    }

    /// Runs a line of the shell; also what it says on standard error.
    fn shell(line: &str, input: Option<&[u8]>, capture: usize, bell: &Bell) -> (Outcome, String) {
        let terms = terms(input, capture, bell);
        let mut said = String::new();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]);
        let outcome = run(&mut command, &terms, &mut |line| said.push_str(line));
        (outcome.expect("a shell"), said)
    }

    fn bell() -> Bell {
        Bell::new().expect("a bell")
    }

    #[test]
    fn much_goes_in_and_comes_out_and_its_complaints_are_lines() {
        let input: Vec<u8> = (0..=250).cycle().take(1 << 20).collect();
        let line = "echo careful >&2; cat";
        let (outcome, said) = shell(line, Some(&input), 1 << 20, &bell());
        assert!(matches!(outcome.end, End::Exit(status) if status.success()));
        assert!(!outcome.output.is_cut && outcome.output.bytes == input);
        assert_eq!(said, "careful");
    }

    #[test]
    fn who_reads_nothing_ends_all_the_same_and_what_is_too_much_is_cut() {
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
    fn one_that_is_cancelled_ends_with_all_that_it_has_started() {
        let bell = bell();
        let line = "trap '' TERM; sleep 1000 & echo $!; echo begun >&2; wait; wait";
        let mut command = Command::new("/bin/sh");
        let terms = terms(None, 99, &bell);
        let mut say = |_: &str| bell.cancel_before(1);
        let outcome = run(command.args(["-c", line]), &terms, &mut say).expect("a shell");
        assert!(matches!(outcome.end, End::Cancelled), "{outcome:?}");
        assert!(Instant::now() < terms.until);
        let child = String::from_utf8(outcome.output.bytes).expect("a number");
        let status = std::fs::read_to_string(format!("/proc/{}/stat", child.trim()));
        let is_gone = status.map_or(true, |status| status.contains(") Z "));
        assert!(is_gone, "{child} still runs");
        // What waits behind it is not even started.
        let (outcome, said) = shell("echo begun >&2", None, 99, &bell);
        assert!(matches!(outcome.end, End::Cancelled) && said.is_empty());
    }
}
