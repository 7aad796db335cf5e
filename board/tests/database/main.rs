#![forbid(unsafe_code)]
//! The transactions, on SQLite and on a PostgreSQL of the test's own: what each writes, what refuses it, and what is there when a
//! process is killed at any of its statements.

mod concurrent;
mod killed;
mod place;
mod pooler;
mod posts;
mod prepared;
mod ring;
mod troubled;
mod worked;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

use place::{Make, POSTGRESQL, Place, SQLITE};

/// A test that each database has to pass.
type Test = fn(&Place) -> anyhow::Result<()>;

fn main() -> ExitCode {
    // A test starts this program again, as a process that is to be killed.
    if let Some(code) = killed::die_if_asked() {
        return code;
    }
    let tests = [
        prepared::tests(),
        ring::tests(),
        posts::tests(),
        concurrent::tests(),
        killed::tests(),
        worked::tests(),
        troubled::tests(),
    ];
    let tests: Vec<(&str, Test)> = tests.into_iter().flatten().collect();
    let databases = [("sqlite", SQLITE), ("postgresql", POSTGRESQL)];
    let trials = databases.into_iter().flat_map(|(name, make)| {
        let trial = move |(test, run): &(&str, Test)| trial(name, make, test, *run);
        tests.iter().map(trial).collect::<Vec<_>>()
    });
    let conclusion = libtest_mimic::run(&Arguments::from_args(), trials.collect());
    place::stop();
    conclusion.exit_code()
}

fn trial(database: &str, make: Make, name: &str, test: Test) -> Trial {
    let run = move || {
        let place = make().and_then(|place| test(&place));
        place.map_err(|error| Failed::from(format!("{error:#}")))
    };
    Trial::test(format!("{database}::{name}"), run)
}

/// Tests by the names of their functions.
#[macro_export]
macro_rules! named {
    ($($name:ident),* $(,)?) => {
        vec![$((stringify!($name), $name as $crate::Test)),*]
    };
}
