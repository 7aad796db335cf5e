//! The `main` of a test program: deals tests out to worlds that stand side by side.

mod costs;
mod handle;
pub(crate) mod starved;
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

use crate::stalls::Plan;
use crate::world;
use costs::Costs;
use handle::WorkerHandle;
pub use test::Test;
pub use turns::Turn;
use worker::Report;

/// Worlds for each processor: tests on a network wait most of the time.
const WORLDS_PER_CPU: usize = 6;

thread_local! {
    /// The world that this thread hands its tests to.
    static WORKER: RefCell<Option<WorkerHandle>> = const { RefCell::new(None) };
}

/// Runs the tests in worlds of their own, several side by side. Takes the arguments of any Rust test
/// program; `--test-threads` is how many worlds there are, six a processor if it is not given.
///
/// In each world one test follows another. Those that say [`Test::exclusive`] come last, each with
/// nothing beside it. A failed test shows what its daemons said last and where its frames were
/// saved. At the end the tests that took longest are named.
pub fn main(mut tests: Vec<Test>) -> ExitCode {
    if world::is_inside() {
        return worker::work(&tests);
    }
    if handle::is_worker() {
        return world::cross_over();
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
    let worlds = *arguments.test_threads.get_or_insert_with(|| {
        thread::available_parallelism().map_or(1, usize::from) * WORLDS_PER_CPU
    });
    tests.sort_by_key(Test::is_exclusive);
    let (costs, stalls) = (Arc::new(Costs::default()), Arc::new(AtomicUsize::new(0)));
    let deal = |test: Test| {
        let (costs, stalls) = (Arc::clone(&costs), Arc::clone(&stalls));
        let shows_all = arguments.nocapture;
        Trial::test(test.name(), move || {
            let (cost, outcome) = hand_over(test, worlds, shows_all, &stalls);
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
        println!("daemons stood still {stalls} times\n");
    }
    if plan.is_some_and(|plan| plan.count.is_some()) && have_run && stalls == 0 {
        eprintln!("error: none stood still: this sample shows nothing");
        return ExitCode::FAILURE;
    }
    conclusion.exit_code()
}

/// Whether this process deals the tests out, and is not one of those that run them.
pub fn is_runner() -> bool {
    !world::is_inside() && !handle::is_worker()
}

/// Makes sure that there can be worlds, and leaves away what is not to run.
fn prepare(mut tests: Vec<Test>) -> Result<(Vec<Test>, Option<Plan>)> {
    WorkerHandle::start()?;
    let Some(plan) = Plan::from_environment()? else {
        return Ok((tests, None));
    };
    tests.retain(Test::may_stall);
    println!(
        "daemons stand still now and then, by the seed {}",
        plan.seed
    );
    Ok((plan.draw(tests), Some(plan)))
}

/// Has a test run in this thread's world, when it is its turn; how long that took, and how it went.
fn hand_over(
    test: Test,
    worlds: usize,
    shows_all: bool,
    stalls: &AtomicUsize,
) -> (Duration, Result<(), Failed>) {
    let turn = if test.is_exclusive() {
        // Rings that stand ready for others would go on beside it.
        WORKER.take();
        Turn::alone()
    } else {
        Turn::beside_others(worlds)
    };
    let began = Instant::now();
    let mut report = run_once(test, stalls);
    if let Ok(Some(waited)) = report.as_ref().map(|it| it.starved) {
        println!(
            "{}: the kernel has kept its daemons from the processors for {:.0} s, which is not its failure: once more",
            test.name(),
            waited.as_secs_f64()
        );
        report = run_once(test, stalls);
    }
    drop(turn);
    let outcome = match report.context("there is no world for it") {
        Ok(Report { verdict, said, .. }) => {
            if shows_all && !said.is_empty() {
                eprintln!("{}:\n{said}", test.name());
            }
            verdict.map_err(|text| Failed::from(format!("{text}\n{said}")))
        }
        Err(error) => Err(Failed::from(format!("{error:#}"))),
    };
    (began.elapsed(), outcome)
}

/// Has a test run in this thread's world.
fn run_once(test: Test, stalls: &AtomicUsize) -> Result<Report> {
    WORKER.with_borrow_mut(|worker| {
        let ready = match worker.take() {
            Some(ready) => ready,
            None => WorkerHandle::start()?,
        };
        let report = worker.insert(ready).run(test.name());
        stalls.fetch_add(report.stalls, Ordering::Relaxed);
        if report.verdict.is_err() {
            // What a failed test has left behind is nobody's.
            worker.take();
        }
        Ok(report)
    })
}
