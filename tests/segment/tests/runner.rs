#![forbid(unsafe_code)]
//! Tests of the runner. Tests run in parallel except exclusive tests. The report of a failure shows the test's output.
//! No process outlives a killed runner.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nix::fcntl::{Flock, FlockArg};
use ring_segment::{Test, tests};
use tempfile::TempDir;

/// Environment variable of the program that these tests run. The variable names a folder. In this folder, the program's
/// tests find each other.
const FOLDER: &str = "RUNNER_TEST_FOLDER";
const START_TIMEOUT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

fn main() -> ExitCode {
    if env::var_os(FOLDER).is_some() {
        return ring_segment::main(programs_tests());
    }
    ring_segment::main(tests![
        a_failure_is_reported_with_the_output,
        tests_run_in_parallel,
        an_exclusive_test_runs_alone,
        one_thread_is_one_sandbox,
        no_process_outlives_a_killed_runner,
        listed_tests_are_not_run,
    ])
}

fn programs_tests() -> Vec<Test> {
    tests![
        passes,
        marks_its_sandbox,
        sees_the_mark,
        fails,
        panics,
        ends_its_sandbox,
        meets_another,
        meets_the_first,
        exclusive finds_nobody,
        exclusive finds_nobody_either,
        hangs,
    ]
}

fn shared_path(name: &str) -> Result<PathBuf> {
    let folder = env::var_os(FOLDER).context("the variable is set")?;
    Ok(PathBuf::from(folder).join(name))
}

/// Returns a lock on a shared file. Each test of the program holds this lock during its run.
fn take_part() -> Result<Flock<File>> {
    let file = File::create(shared_path("present")?)?;
    Flock::lock(file, FlockArg::LockShared).map_err(|(_, errno)| errno.into())
}

fn passes() -> Result<()> {
    let _present = take_part()?;
    println!("output of a test that passes");
    Ok(())
}

/// File in the sandbox's `/run`.
const MARK: &str = "/run/mark";

fn marks_its_sandbox() -> Result<()> {
    File::create(MARK)?;
    Ok(())
}

fn sees_the_mark() -> Result<()> {
    ensure!(Path::new(MARK).exists(), "this is another sandbox");
    Ok(())
}

fn fails() -> Result<()> {
    let _present = take_part()?;
    println!("output before the failure");
    bail!("reason of the failure")
}

fn panics() -> Result<()> {
    let _present = take_part()?;
    panic!("reason of the panic")
}

fn ends_its_sandbox() -> Result<()> {
    let _present = take_part()?;
    std::process::exit(7)
}

fn meet(own: &str, other: &str) -> Result<()> {
    let _present = take_part()?;
    File::create(shared_path(own)?)?;
    wait_until(|| shared_path(other).is_ok_and(|other| other.exists()))
}

fn meets_another() -> Result<()> {
    meet("one", "other")
}

fn meets_the_first() -> Result<()> {
    meet("other", "one")
}

fn finds_nobody() -> Result<()> {
    let file = File::create(shared_path("present")?)?;
    let alone = Flock::lock(file, FlockArg::LockExclusiveNonblock);
    ensure!(alone.is_ok(), "another test runs");
    // The pause is long enough for another test to begin.
    thread::sleep(Duration::from_millis(100));
    Ok(())
}

fn finds_nobody_either() -> Result<()> {
    finds_nobody()
}

fn hangs() -> Result<()> {
    // The child inherits the lock.
    let mut flock = Command::new("flock");
    flock
        .arg("-s")
        .arg(shared_path("present")?)
        .args(["sleep", "1000"]);
    let mut sleep = flock
        .spawn()
        .context("cannot run `flock`: install util-linux")?;
    let present = shared_path("present")?;
    wait_until(|| present.exists() && !is_deserted(&present))?;
    File::create(shared_path("hangs")?)?;
    sleep.wait()?;
    Ok(())
}

fn wait_until(is_so: impl Fn() -> bool) -> Result<()> {
    let deadline = Instant::now() + START_TIMEOUT;
    while !is_so() {
        ensure!(Instant::now() < deadline, "not in {START_TIMEOUT:?}");
        thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// Copy of this program in a different folder, so that the copy's tests do not wait for the tests of this program.
struct Program {
    folder: TempDir,
}

impl Program {
    fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let program = folder.path().join("program");
        fs::copy(env::current_exe()?, &program).context("cannot copy the running program")?;
        Ok(Self { folder })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns a command that runs the program without this test's environment.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.path("program"));
        let path = env::var_os("PATH").unwrap_or_default();
        command.args(arguments).env_clear().env("PATH", path);
        command.env(FOLDER, self.folder.path()).stdin(Stdio::null());
        command
    }

    /// Runs exactly the tests with these names.
    fn run(&self, names: &[&str], threads: &str) -> Result<(Output, String)> {
        let all = "passes marks sees_the_mark fails panics ends meets finds hangs";
        let skipped = all.split(' ').filter(|name| !names.contains(name));
        let skip = skipped.flat_map(|name| ["--skip", name]);
        let arguments: Vec<&str> = ["--test-threads", threads]
            .into_iter()
            .chain(skip)
            .collect();
        let output = self.command(&arguments).output()?;
        let output_text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok((output, output_text))
    }
}

fn reports(output_text: &str, test: &str, outcome: &str) -> bool {
    output_text.lines().any(|line| {
        let line = line.strip_prefix("test ").unwrap_or_default();
        line.starts_with(test) && line.ends_with(outcome)
    })
}

fn a_failure_is_reported_with_the_output() -> Result<()> {
    let (output, output_text) = Program::new()?.run(&["passes", "fails", "panics", "ends"], "2")?;
    ensure!(output.status.code() == Some(101), "{}", output.status);
    ensure!(reports(&output_text, "passes", "ok"), "{output_text}");
    for test in ["fails", "panics", "ends_its_sandbox"] {
        ensure!(
            reports(&output_text, test, "FAILED"),
            "{test}: {output_text}"
        );
    }
    for text in [
        "reason of the failure",
        "output before the failure",
        "reason of the panic",
        "exit status: 7",
    ] {
        ensure!(output_text.contains(text), "{text}: {output_text}");
    }
    ensure!(
        !output_text.contains("output of a test that passes"),
        "{output_text}"
    );
    Ok(())
}

/// Runs the tests with these names. The tests must pass.
fn all_pass(names: &[&str], threads: &str, passed: &str) -> Result<()> {
    let (output, output_text) = Program::new()?.run(names, threads)?;
    let is_so = output.status.success() && output_text.contains(passed);
    ensure!(is_so, "{output_text}");
    Ok(())
}

fn tests_run_in_parallel() -> Result<()> {
    all_pass(&["meets"], "2", "2 passed")
}

fn an_exclusive_test_runs_alone() -> Result<()> {
    // Tests that wait for each other may never meet: between their starts, the runner may start an exclusive test.
    all_pass(&["passes", "marks", "finds"], "4", "4 passed")
}

fn one_thread_is_one_sandbox() -> Result<()> {
    all_pass(&["marks", "sees_the_mark"], "1", "2 passed")
}

/// Whether the lock is free.
fn is_deserted(present: &Path) -> bool {
    let file = File::open(present);
    file.is_ok_and(|file| Flock::lock(file, FlockArg::LockExclusiveNonblock).is_ok())
}

fn no_process_outlives_a_killed_runner() -> Result<()> {
    let program = Program::new()?;
    let mut runner: Child = program.command(&["hangs"]).stdout(Stdio::null()).spawn()?;
    let (hangs, present) = (program.path("hangs"), program.path("present"));
    let hung = wait_until(|| hangs.exists());
    let was_there = !is_deserted(&present);
    runner.kill()?;
    runner.wait()?;
    hung?;
    ensure!(was_there, "the program's test did not start");
    wait_until(|| is_deserted(&present))
}

fn listed_tests_are_not_run() -> Result<()> {
    let program = Program::new()?;
    let output = program.command(&["--list", "--format", "terse"]).output()?;
    let output_text = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success() && output_text.contains("hangs: test"),
        "{output_text}"
    );
    ensure!(!program.path("present").exists(), "the test was run");
    Ok(())
}
