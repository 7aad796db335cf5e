use std::ffi::OsString;
use std::os::fd::{AsFd, AsRawFd};
use std::process::Command;
use std::time::{Duration, Instant};

use super::{Captured, End, Found, Launch, Launcher, Outcome, Programs, RunOptions, run};
use super::{EXIT_KEY, Interest, Poller};
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
    // A program that has not been started before its cancellation is never started.
    let (outcome, stderr) = shell("echo begun >&2", None, 99, &bell);
    assert!(matches!(outcome.end, End::Cancelled) && stderr.is_empty());
}

/// If a program does not end after SIGKILL, the daemon does not wait for it any longer.
#[test]
fn a_program_that_ends_late_leaves_no_zombie() {
    let (launcher, streams) = (
        &mut launcher(),
        [(); 2].map(|()| std::io::pipe().unwrap().1),
    );
    let streams = streams.each_ref().map(AsFd::as_fd);
    let first = launcher.launch(launch("exit 0"), &streams).unwrap();
    let mut poller = Poller::new().unwrap();
    poller.add(&first, EXIT_KEY, Interest::Read).unwrap();
    poller.wait(None).unwrap();
    launcher.launch(launch("exit 0"), &streams).unwrap();
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", first.as_raw_fd()));
    assert!(info.unwrap().contains("Pid:\t-1\n"));
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

#[test]
fn the_end_of_the_launcher_ends_its_program_and_is_an_error() {
    let (bell, mut launcher) = (bell(), launcher());
    for line in ["kill -9 $PPID; sleep 1000", "exit 0"] {
        let options = options(None, 99, &bell);
        let outcome = run(&mut launcher, launch(line), &options, &mut |_| ());
        let error = outcome.expect_err("there is no launcher").to_string();
        assert!(error.ends_with("restart the daemon"), "{error}");
    }
}
