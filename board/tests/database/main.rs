#![forbid(unsafe_code)]
//! Tests of the transactions, on SQLite and on a PostgreSQL server that the test starts. The tests check the effects
//! and the refusals of transactions. The tests also check that a transaction has all its effects or no effect if the
//! process is killed. Start with `test_database.rs`.

mod atomicity;
mod concurrent;
mod pooler;
mod posts;
mod preparation;
mod problems;
mod ring;
mod test_database;
mod worker_tests;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

use test_database::{CreateDatabase, POSTGRESQL, SQLITE, TestDatabase};

type Test = fn(&TestDatabase) -> anyhow::Result<()>;

fn main() -> ExitCode {
    // A test starts this program again, as a process that the test kills.
    if let Some(code) = atomicity::die_if_asked() {
        return code;
    }
    let tests = [
        preparation::tests(),
        ring::tests(),
        posts::tests(),
        concurrent::tests(),
        atomicity::tests(),
        worker_tests::tests(),
        problems::tests(),
    ];
    let tests: Vec<(&str, Test)> = tests.into_iter().flatten().collect();
    let databases = [("sqlite", SQLITE), ("postgresql", POSTGRESQL)];
    let trials = databases.into_iter().flat_map(|(name, make)| {
        let trial = move |(test, run): &(&str, Test)| trial(name, make, test, *run);
        tests.iter().map(trial).collect::<Vec<_>>()
    });
    let conclusion = libtest_mimic::run(&Arguments::from_args(), trials.collect());
    test_database::stop_server();
    conclusion.exit_code()
}

fn trial(database: &str, make: CreateDatabase, name: &str, test: Test) -> Trial {
    let run = move || {
        let database = make().and_then(|database| test(&database));
        database.map_err(|error| Failed::from(format!("{error:#}")))
    };
    Trial::test(format!("{database}::{name}"), run)
}

/// Lists tests with the names of their functions.
#[macro_export]
macro_rules! test_list {
    ($($name:ident),* $(,)?) => {
        vec![$((stringify!($name), $name as $crate::Test)),*]
    };
}
