//! A process that is killed before each statement of a transaction.

use std::env;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::getpid;
use ring_board::database::{Fault, Row, Session, TransactionKind, Url, Value};
use ring_board::posts::{BoardRequest, NewPost, PendingRequests};
use ring_proto::andrews::{Change, CoordinatorRow, Outcome, Request, Rows, Work, Write};

use crate::test_database::{TIMEOUT, TestDatabase, cycle, look, query, run_with_requests, seat};
use crate::{Test, test_list};

/// If this environment variable is set, this program kills itself during a transaction. The value of the variable
/// contains the statement's number, the job's number, and the database.
const DEATH_VARIABLE: &str = "RING_BOARD_TEST_DIES";

pub(crate) fn tests() -> Vec<(&'static str, Test)> {
    test_list![wherever_a_writer_is_killed_all_of_it_is_written_or_nothing]
}

/// Returns all jobs. For each job, also returns the ring's members and the id of the node that runs the job.
fn jobs() -> Vec<(&'static [u32], u32, Work)> {
    let write = Work::Write;
    let seen = seat();
    let remove = |node, after| Change::Remove { node, after };
    let insert = Change::Insert {
        node: 4,
        after: 2,
        before: 3,
    };
    let change = |change| write(Write::Change { term: 7, change });
    let found = Write::Found {
        seen,
        term: 9,
        acting: true,
    };
    let claim = |change| write(Write::Claim { seen, change });
    let post = Request {
        id: 1,
        is_post: true,
    };
    let read = Request {
        id: 2,
        is_post: false,
    };
    let serve = Work::Serve {
        sequence: 70,
        requests: vec![post, read],
        feed: false,
    };
    vec![
        (&[], 2, write(found)),
        (&[1, 2, 3], 3, claim(Some(remove(1, 3)))),
        (&[1, 2, 3], 4, claim(Some(insert))),
        (&[1, 2, 3], 3, write(Write::Elected { seen })),
        (&[1, 2, 3], 1, change(insert)),
        (&[1, 2, 3], 1, change(remove(3, 2))),
        (&[1, 2], 1, change(remove(2, 1))),
        (&[1, 2], 1, write(Write::Token { term: 7, new: 9 })),
        (&[1, 2], 2, serve),
        (&[1, 2, 3], 2, Work::Prepare { drop: true }),
    ]
}

/// A session that kills its process before a statement.
struct DyingSession {
    inner: Box<dyn Session>,
    left: u32,
}

impl DyingSession {
    fn count_down(&mut self) -> &mut dyn Session {
        self.left -= 1;
        if self.left == 0 {
            kill(getpid(), Signal::SIGKILL).expect("a process may kill itself");
        }
        self.inner.as_mut()
    }
}

impl Session for DyingSession {
    fn begin(&mut self, kind: TransactionKind) -> Result<(), Fault> {
        self.count_down().begin(kind)
    }

    fn execute(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<u64, Fault> {
        self.count_down().execute(statement, values)
    }

    fn query(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>, Fault> {
        self.count_down().query(statement, values)
    }

    fn define(&mut self, statements: &str) -> Result<(), Fault> {
        self.count_down().define(statements)
    }

    fn commit(&mut self) -> Result<(), Fault> {
        self.count_down().commit()
    }

    fn rollback(&mut self) -> Result<(), Fault> {
        self.count_down().rollback()
    }

    fn ascending_id_column(&self) -> &'static str {
        self.inner.ascending_id_column()
    }
}

/// If the environment variable is set, starts a job, and kills this process in the middle of the job.
pub(crate) fn die_if_asked() -> Option<ExitCode> {
    let asked = env::var(DEATH_VARIABLE).ok()?;
    Some(match run_until_death(&asked) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    })
}

fn run_until_death(asked: &str) -> Result<()> {
    let mut parts = asked.splitn(3, ' ');
    let mut part = || parts.next().context("three parts");
    let (left, job, url) = (part()?.parse()?, part()?.parse::<usize>()?, part()?);
    let (_, own, work) = jobs().swap_remove(job);
    let inner = url.parse::<Url>()?.open(TIMEOUT)?;
    let pending = PendingRequests::default();
    pending.add(
        1,
        BoardRequest::Post(NewPost {
            author: "a".to_owned(),
            text: "b".to_owned(),
            key: None,
            time_ms: 0,
        }),
    );
    pending.add(2, BoardRequest::Read { after: 0, limit: 9 });
    let outcome = run_with_requests(&mut DyingSession { inner, left }, own, &work, &pending)?;
    ensure!(outcome == Outcome::Done, "{outcome:?}");
    Ok(())
}

/// Returns all contents of the database that a job may change.
fn contents(database: &TestDatabase) -> Result<(Rows, usize)> {
    let mut session = database.open()?;
    let posts = query(session.as_mut(), "SELECT id FROM messages")?.len();
    Ok((look(session.as_mut())?, posts))
}

fn wherever_a_writer_is_killed_all_of_it_is_written_or_nothing(
    database: &TestDatabase,
) -> Result<()> {
    for (number, (ring, _, work)) in jobs().into_iter().enumerate() {
        reset(database, ring)?;
        let before = contents(database)?;
        let mut deaths = 0;
        loop {
            let statement = deaths + 1;
            let mut child = Command::new(env::current_exe()?);
            child.env(
                DEATH_VARIABLE,
                format!("{statement} {number} {}", database.url_text()),
            );
            let end = child.status()?;
            let after = contents(database)?;
            cycle(&after.0).with_context(|| format!("{work:?}, statement {statement}"))?;
            if end.success() {
                ensure!(after != before, "{work:?} has changed nothing");
                break;
            }
            ensure!(
                end.signal() == Some(Signal::SIGKILL as i32),
                "{work:?}: {end}"
            );
            ensure!(
                after == before,
                "{work:?}, statement {statement}: {before:?} became {after:?}"
            );
            deaths += 1;
        }
        // A transaction has at least four steps: the beginning, two statements and the commit.
        ensure!(deaths >= 3, "{work:?}: {deaths} deaths");
    }
    Ok(())
}

fn reset(database: &TestDatabase, ring: &[u32]) -> Result<()> {
    let mut session = database.open_prepared()?;
    session.define(
        "UPDATE nodes SET successor = NULL; UPDATE token SET sequence = 0, holder = NULL",
    )?;
    session.define("UPDATE coordinator SET acting = FALSE, beat = 0; DELETE FROM messages")?;
    drop(session);
    let rows = look(database.with_ring(ring)?.as_mut())?;
    ensure!(
        rows.seat == CoordinatorRow { ..seat() } && cycle(&rows)?.len() == ring.len(),
        "{rows:?}"
    );
    Ok(())
}
