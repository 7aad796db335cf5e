//! The `main` of a test program: distributes tests to parallel sandboxes.

mod costs;
pub(crate) mod cpu_starvation;
mod handle;
mod test;
mod turns;
mod worker;

use std::cell::RefCell;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use libtest_mimic::{Arguments, Failed, Trial, run};

use crate::sandbox;
use crate::stalls::Plan;
use costs::Costs;
use handle::WorkerHandle;
pub use test::Test;
pub use turns::Turn;
use worker::Report;

/// Number of sandboxes per processor. The number is large because tests on a network mostly wait.
const SANDBOXES_PER_CPU: usize = 6;

thread_local! {
    /// Sandbox in which the current thread runs its tests.
    static WORKER: RefCell<Option<WorkerHandle>> = const { RefCell::new(None) };
}

/// Runs the tests in parallel sandboxes. Takes the arguments of any Rust test program; `--test-threads` is the
/// number of sandboxes (default: six per processor).
///
/// Each sandbox runs one test after another. Tests with [`Test::exclusive`] run last, one at a time. A failed test
/// shows the last output of its daemons and the file of its frames. At the end the slowest tests are printed.
pub fn main(mut tests: Vec<Test>) -> ExitCode {
    if sandbox::is_inside() {
        return worker::work(&tests);
    }
    if handle::is_worker() {
        return sandbox::run_in_sandbox();
    }
    let mut arguments = Arguments::from_args();
    let mut plan = None;
    if !arguments.list {
        match prepare(tests) {
            Ok(ready) => (tests, plan) = ready,
            Err(error) => {
                eprintln!("error: {error:#}");
                return ExitCode::FAILURE;
            }
        }
    }
    let sandboxes = *arguments.test_threads.get_or_insert_with(|| {
        thread::available_parallelism().map_or(1, usize::from) * SANDBOXES_PER_CPU
    });
    tests.sort_by_key(Test::is_exclusive);
    let (costs, stalls) = (Arc::new(Costs::default()), Arc::new(AtomicUsize::new(0)));
    let deal = |test: Test| {
        let (costs, stalls) = (Arc::clone(&costs), Arc::clone(&stalls));
        let shows_all = arguments.nocapture;
        Trial::test(test.name(), move || {
            let (cost, outcome) = run_in_turn(test, sandboxes, shows_all, &stalls);
            costs.add(test, cost);
            outcome
        })
    };
    let trials = tests.into_iter().map(deal).collect();
    let conclusion = run(&arguments, trials);
    WORKER.take();
    costs.print();
    let stalls = stalls.load(Ordering::Relaxed);
    let have_run = conclusion.num_passed + conclusion.num_failed > 0;
    if plan.is_some() {
        println!("the runner has stalled daemons {stalls} times\n");
    }
    if plan.is_some_and(|plan| plan.count.is_some()) && have_run && stalls == 0 {
        eprintln!("error: no daemon was stalled, so this sample shows nothing");
        return ExitCode::FAILURE;
    }
    conclusion.exit_code()
}

/// Whether this process distributes the tests. A process that does not distribute tests is a worker. A worker runs
/// single tests.
pub fn is_runner() -> bool {
    !sandbox::is_inside() && !handle::is_worker()
}

/// Checks that this machine permits sandboxes, and removes tests that should not run.
fn prepare(mut tests: Vec<Test>) -> Result<(Vec<Test>, Option<Plan>)> {
    WorkerHandle::start()?;
    let Some(plan) = Plan::from_environment()? else {
        return Ok((tests, None));
    };
    tests.retain(Test::may_stall);
    println!(
        "daemons are stalled now and then, by the seed {}",
        plan.seed
    );
    Ok((plan.draw(tests), Some(plan)))
}

/// Runs a test in this thread's sandbox when the test's turn comes. Returns the time of the test and its report.
fn run_in_turn(
    test: Test,
    sandboxes: usize,
    shows_all: bool,
    stalls: &AtomicUsize,
) -> (Duration, Result<(), Failed>) {
    let turn = if test.is_exclusive() {
        // An exclusive test must not run next to the idle shared rings of this sandbox.
        WORKER.take();
        Turn::alone()
    } else {
        Turn::with_others(sandboxes)
    };
    let began = Instant::now();
    let mut report = run_once(test, stalls);
    if let Ok(Some(waited)) = report.as_ref().map(|it| it.starved) {
        println!(
            "{}: the kernel gave its daemons no CPU for {:.0} s, so its result means nothing; the test runs again",
            test.name(),
            waited.as_secs_f64()
        );
        report = run_once(test, stalls);
    }
    drop(turn);
    let outcome = match report.context("there is no sandbox for the test") {
        Ok(Report {
            verdict, output, ..
        }) => {
            if shows_all && !output.is_empty() {
                eprintln!("{}:\n{output}", test.name());
            }
            verdict.map_err(|text| Failed::from(format!("{text}\n{output}")))
        }
        Err(error) => Err(Failed::from(format!("{error:#}"))),
    };
    (began.elapsed(), outcome)
}

/// Runs a test once in this thread's sandbox.
fn run_once(test: Test, stalls: &AtomicUsize) -> Result<Report> {
    WORKER.with_borrow_mut(|worker| {
        let ready = match worker.take() {
            Some(ready) => ready,
            None => WorkerHandle::start()?,
        };
        let report = worker.insert(ready).run(test.name());
        stalls.fetch_add(report.stalls, Ordering::Relaxed);
        if report.verdict.is_err() {
            // Another test must not find the leftovers of a failed test.
            worker.take();
        }
        Ok(report)
    })
}
