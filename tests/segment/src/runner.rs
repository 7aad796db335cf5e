//! The `main` of a test program.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::ExitCode;

use anyhow::{Error, Result};
use libtest_mimic::{Arguments, Failed, Trial, run};

use crate::exhibits;
use crate::world;

/// Runs the tests in a world of their own, one after the other: they measure time, and the
/// machine may be small. Takes the arguments of any Rust test program.
///
/// A failed test shows what its daemons said last and where its frames were saved.
#[must_use]
pub fn main(tests: Vec<Trial>) -> ExitCode {
    let mut arguments = Arguments::from_args();
    if !arguments.list
        && let Err(error) = world::enter()
    {
        eprintln!("error: {error:#}");
        return ExitCode::FAILURE;
    }
    // Tests share the machine's clock and cores, and the failure report.
    arguments.test_threads = Some(1);
    run(&arguments, tests).exit_code()
}

/// A test for [`main`]; the macro [`trials!`](crate::trials) makes these.
pub fn trial(name: &'static str, test: fn() -> Result<()>) -> Trial {
    Trial::test(name, move || {
        exhibits::clear();
        let outcome = catch_unwind(AssertUnwindSafe(test));
        let failed = !matches!(outcome, Ok(Ok(())));
        let report = if failed {
            exhibits::describe(name)
        } else {
            String::new()
        };
        exhibits::clear();
        match outcome {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(Failed::from(format!(
                "{error:#}\n{}{report}",
                places(&error)
            ))),
            Err(panic) => {
                eprintln!("{report}");
                resume_unwind(panic)
            }
        }
    })
}

/// The lines of the test programs that an error came through.
fn places(error: &Error) -> String {
    let trace = error.backtrace().to_string();
    let own = trace
        .lines()
        .filter(|line| line.contains("/tests/") && !line.contains("/segment/src/"));
    own.fold(String::new(), |all, line| all + line + "\n")
}

/// Lists test functions (`fn() -> anyhow::Result<()>`) for [`main`](crate::main) under their
/// own names.
#[macro_export]
macro_rules! trials {
    ($($test:ident),* $(,)?) => {
        vec![$($crate::trial(stringify!($test), $test)),*]
    };
}
