//! Tests of the worker. The worker connects when a job needs a connection, and connects again after a fault.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use ring_board::database::{CurrentFault, Url, Worker, WorkerOptions};
use ring_board::posts::PendingRequests;
use ring_host::Task;
use ring_proto::andrews::{Command, Job, Outcome, Work};
use ring_runtime::worker::WakeUp;

use crate::test_database::{NoListeners, TIMEOUT, TestDatabase, lines};
use crate::{Test, test_list};

pub(crate) fn tests() -> Vec<(&'static str, Test)> {
    test_list![
        a_worker_gives_each_job_its_outcome_and_goes_on_after_a_fault,
        a_database_that_is_not_there_fails_and_is_tried_again,
    ]
}

fn worker(url: Url, timeout: Duration) -> Worker {
    Worker::new(WorkerOptions {
        url,
        timeout,
        own: 1,
        lines: lines(),
        pending: Arc::new(PendingRequests::default()),
        feed: Arc::new(NoListeners),
        current_fault: Arc::new(CurrentFault::default()),
    })
}

fn run_job(worker: &mut Worker, id: u64, work: Work) -> Result<Outcome> {
    let Command::Done { job, outcome } = worker.run_job(Job { id, work }, &WakeUp::new()?) else {
        anyhow::bail!("no outcome");
    };
    ensure!(job == id, "the outcome of {job}, not of {id}");
    Ok(outcome)
}

fn a_worker_gives_each_job_its_outcome_and_goes_on_after_a_fault(
    database: &TestDatabase,
) -> Result<()> {
    let mut worker = worker(database.url.clone(), TIMEOUT);
    // There are no tables yet.
    ensure!(run_job(&mut worker, 1, Work::ReadRing)? == Outcome::Failed);
    ensure!(run_job(&mut worker, 2, Work::Prepare { drop: false })? == Outcome::Done);
    ensure!(matches!(
        run_job(&mut worker, 3, Work::ReadRing)?,
        Outcome::Rows(_)
    ));
    // Another program deletes a row.
    database.open()?.define("DELETE FROM coordinator")?;
    ensure!(run_job(&mut worker, 4, Work::ReadRing)? == Outcome::Failed);
    ensure!(run_job(&mut worker, 5, Work::Prepare { drop: false })? == Outcome::Done);
    database
        .open()?
        .define("INSERT INTO coordinator VALUES (TRUE, NULL, 5, FALSE, 0)")?;
    ensure!(matches!(
        run_job(&mut worker, 6, Work::ReadRing)?,
        Outcome::Rows(_)
    ));
    Ok(())
}

fn a_database_that_is_not_there_fails_and_is_tried_again(database: &TestDatabase) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let missing = folder.path().join("missing");
    let url = match &database.url {
        Url::Sqlite(_) => format!("sqlite://{}/board.db", missing.display()),
        Url::PostgreSql(_) => format!(
            "postgres://nobody@{}/board",
            missing.display().to_string().replace('/', "%2F")
        ),
    };
    let mut worker = worker(url.parse()?, Duration::from_millis(200));
    for id in 1..=2 {
        ensure!(run_job(&mut worker, id, Work::Prepare { drop: false })? == Outcome::Failed);
    }
    if let Url::Sqlite(path) = url.parse()? {
        std::fs::create_dir_all(path.parent().expect("it has a folder"))?;
        ensure!(run_job(&mut worker, 3, Work::Prepare { drop: false })? == Outcome::Done);
    }
    Ok(())
}
