//! A database for one test, and functions that read rows of databases.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_board::database::{
    ListedNodes, Session, TransactionKind, Url, VisitContext, run, transaction,
};
use ring_board::list::ListedNode;
use ring_board::posts::{PendingRequests, Post, PostFeed};
use ring_proto::andrews::{CoordinatorRow, Outcome, Rows, Work, Write};
use ring_segment::PostgreSql;
use tempfile::TempDir;

pub(crate) type CreateDatabase = fn() -> Result<TestDatabase>;

pub(crate) const SQLITE: CreateDatabase = TestDatabase::sqlite;
/// Creates a database on the server that all tests share.
pub(crate) const POSTGRESQL: CreateDatabase = TestDatabase::postgresql;

/// A timeout that exceeds the time of every statement of a test, even on a busy machine.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);

/// A database that is empty at first.
#[derive(Debug)]
pub(crate) struct TestDatabase {
    /// The URL of the database.
    pub url: Url,
    text: String,
    _folder: Option<TempDir>,
}

#[derive(Debug)]
pub(crate) struct NoListeners;

impl PostFeed for NoListeners {
    fn next_start(&self) -> Option<i64> {
        None
    }

    fn publish(&self, _: i64, _: &[Post]) {}
}

/// The server, and the number of its databases; `None` until a test uses the server.
static SERVER: Mutex<Option<(PostgreSql, u32)>> = Mutex::new(None);

pub(crate) fn stop_server() {
    SERVER.lock().unwrap_or_else(PoisonError::into_inner).take();
}

pub(crate) fn lines() -> Vec<ListedNode> {
    let line = |id: u32| {
        let last = u8::try_from(id).expect("there are few");
        ListedNode {
            id,
            ring: ([192, 0, 2, last], 7400).into(),
            http: ([192, 0, 2, last], 8080).into(),
        }
    };
    (1..=5).map(line).collect()
}

impl TestDatabase {
    fn sqlite() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let text = format!("sqlite://{}", folder.path().join("board.db").display());
        let url = text.parse()?;
        Ok(Self {
            url,
            text,
            _folder: Some(folder),
        })
    }

    fn postgresql() -> Result<Self> {
        let mut shared = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
        let (server, count) = match &mut *shared {
            Some(running) => running,
            none => none.insert((PostgreSql::start(tempfile::tempdir()?)?, 0)),
        };
        *count += 1;
        let (base, name) = (server.url(), format!("board{count}"));
        let mut session = base.parse::<Url>()?.open(TIMEOUT)?;
        session.define(&format!("CREATE DATABASE {name}"))?;
        let base = base.rsplit_once('/').context("it names a database")?.0;
        let text = format!("{base}/{name}");
        let url = text.parse()?;
        Ok(Self {
            url,
            text,
            _folder: None,
        })
    }

    /// Returns the URL as text for other processes.
    pub(crate) fn url_text(&self) -> &str {
        &self.text
    }

    pub(crate) fn open(&self) -> Result<Box<dyn Session>> {
        Ok(self.url.open(TIMEOUT)?)
    }

    pub(crate) fn open_prepared(&self) -> Result<Box<dyn Session>> {
        let mut session = self.open()?;
        let done = work(session.as_mut(), 1, &Work::Prepare { drop: false })?;
        ensure!(done == Outcome::Done, "{done:?}");
        Ok(session)
    }

    /// Writes a ring with these members in this order, and returns an open session. Node 1 is coordinator, with term 7.
    pub(crate) fn with_ring(&self, members: &[u32]) -> Result<Box<dyn Session>> {
        let mut session = self.open_prepared()?;
        session.define("UPDATE coordinator SET id = 1, term = 7")?;
        session.begin(TransactionKind::Write)?;
        for (&id, &next) in members.iter().zip(members.iter().cycle().skip(1)) {
            session.execute(
                "UPDATE nodes SET successor = $1 WHERE id = $2",
                &[next.into(), id.into()],
            )?;
        }
        session.commit()?;
        Ok(session)
    }
}

/// Runs a job of a node.
pub(crate) fn work(session: &mut dyn Session, own: u32, work: &Work) -> Result<Outcome> {
    run_with_requests(session, own, work, &PendingRequests::default())
}

/// Runs a job of a node. The node's requests are in `desk`.
pub(crate) fn run_with_requests(
    session: &mut dyn Session,
    own: u32,
    work: &Work,
    pending: &PendingRequests,
) -> Result<Outcome> {
    let lines = lines();
    let nodes = ListedNodes { own, lines: &lines };
    let feed = &NoListeners;
    Ok(run(session, &nodes, VisitContext { pending, feed }, work)?)
}

pub(crate) fn write(session: &mut dyn Session, own: u32, what: Write) -> Result<Outcome> {
    work(session, own, &Work::Write(what))
}

pub(crate) fn look(session: &mut dyn Session) -> Result<Rows> {
    match work(session, 1, &Work::ReadRing)? {
        Outcome::Rows(rows) => Ok(rows),
        other => anyhow::bail!("{other:?}"),
    }
}

/// Returns the coordinator's row that `with_ring` writes.
pub(crate) fn seat() -> CoordinatorRow {
    CoordinatorRow {
        id: Some(1),
        term: 7,
    }
}

/// Returns the token's row.
pub(crate) fn token(session: &mut dyn Session) -> Result<(i64, Option<i64>)> {
    let rows = query(session, "SELECT sequence, holder FROM token")?;
    let row = rows.first().context("a row")?;
    Ok((row.number(0)?, row.number_if_any(1)?))
}

pub(crate) fn query(
    session: &mut dyn Session,
    statement: &'static str,
) -> Result<Vec<ring_board::database::Row>> {
    let rows = transaction(session, TransactionKind::Read, |session| {
        session.query(statement, &[]).map(Some)
    })?;
    Ok(rows.unwrap_or_default())
}

/// Returns the members in the order of the ring, beginning with the smallest. Fails if the members do not form a single
/// cycle.
pub(crate) fn cycle(rows: &Rows) -> Result<Vec<u32>> {
    let next: BTreeMap<u32, u32> = rows.members.iter().copied().collect();
    let Some((&first, _)) = next.first_key_value() else {
        return Ok(Vec::new());
    };
    let mut order = vec![first];
    loop {
        let last = *order.last().expect("it has one");
        let to = *next
            .get(&last)
            .with_context(|| format!("{next:?}: {last} leads out of it"))?;
        if to == first {
            break;
        }
        ensure!(order.len() < next.len(), "{next:?} is no cycle");
        order.push(to);
    }
    ensure!(order.len() == next.len(), "{next:?} is no single cycle");
    Ok(order)
}
