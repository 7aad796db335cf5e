//! A database of a test's own, and what is looked at in it.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_board::database::{Around, Kind, Nodes, Session, Url, run, transaction};
use ring_board::list::Line;
use ring_board::posts::{Desk, Feed, Post};
use ring_proto::andrews::{Outcome, Rows, Seat, Work, Write};
use ring_segment::PostgreSql;
use tempfile::TempDir;

/// Makes a place.
pub(crate) type Make = fn() -> Result<Place>;

/// In a file.
pub(crate) const SQLITE: Make = Place::sqlite;
/// In a database of a server that all tests share.
pub(crate) const POSTGRESQL: Make = Place::postgresql;

/// Longer than any statement of a test takes on a busy machine.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);

/// A database without tables.
#[derive(Debug)]
pub(crate) struct Place {
    /// Where it is.
    pub url: Url,
    text: String,
    _folder: Option<TempDir>,
}

/// Nobody listens.
#[derive(Debug)]
pub(crate) struct Nobody;

impl Feed for Nobody {
    fn after(&self) -> Option<i64> {
        None
    }

    fn feed(&self, _: i64, _: &[Post]) {}
}

/// The server, once it was asked for, and how many databases it has for tests.
static SERVER: Mutex<Option<(PostgreSql, u32)>> = Mutex::new(None);

/// Stops the server.
pub(crate) fn stop() {
    SERVER.lock().unwrap_or_else(PoisonError::into_inner).take();
}

/// The nodes of the tests.
pub(crate) fn lines() -> Vec<Line> {
    let line = |id: u32| {
        let last = u8::try_from(id).expect("there are few");
        Line {
            id,
            ring: ([192, 0, 2, last], 7400).into(),
            http: ([192, 0, 2, last], 8080).into(),
        }
    };
    (1..=5).map(line).collect()
}

impl Place {
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

    /// Where it is, for other processes.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Another connection.
    pub(crate) fn open(&self) -> Result<Box<dyn Session>> {
        Ok(self.url.open(TIMEOUT)?)
    }

    /// A connection, with the tables and all nodes in them.
    pub(crate) fn prepared(&self) -> Result<Box<dyn Session>> {
        let mut session = self.open()?;
        let done = work(session.as_mut(), 1, &Work::Prepare { drop: false })?;
        ensure!(done == Outcome::Done, "{done:?}");
        Ok(session)
    }

    /// The same, with a ring of these members in this order. Node 1 is coordinator, of term 7.
    pub(crate) fn with_ring(&self, members: &[u32]) -> Result<Box<dyn Session>> {
        let mut session = self.prepared()?;
        session.define("UPDATE coordinator SET id = 1, term = 7")?;
        session.begin(Kind::Write)?;
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
    work_at(session, own, work, &Desk::default())
}

/// The same, with what its requests stand for.
pub(crate) fn work_at(
    session: &mut dyn Session,
    own: u32,
    work: &Work,
    desk: &Desk,
) -> Result<Outcome> {
    let lines = lines();
    let nodes = Nodes { own, lines: &lines };
    let feed = &Nobody;
    Ok(run(session, &nodes, Around { desk, feed }, work)?)
}

/// Runs a write of a node.
pub(crate) fn write(session: &mut dyn Session, own: u32, what: Write) -> Result<Outcome> {
    work(session, own, &Work::Write(what))
}

/// What a look reads.
pub(crate) fn look(session: &mut dyn Session) -> Result<Rows> {
    match work(session, 1, &Work::Look)? {
        Outcome::Rows(rows) => Ok(rows),
        other => anyhow::bail!("{other:?}"),
    }
}

/// The coordinator's row as `with_ring` leaves it.
pub(crate) fn seat() -> Seat {
    Seat {
        id: Some(1),
        term: 7,
    }
}

/// The token's row.
pub(crate) fn token(session: &mut dyn Session) -> Result<(i64, Option<i64>)> {
    let rows = query(session, "SELECT sequence, holder FROM token")?;
    let row = rows.first().context("a row")?;
    Ok((row.number(0)?, row.number_if_any(1)?))
}

/// What a statement reads.
pub(crate) fn query(
    session: &mut dyn Session,
    statement: &'static str,
) -> Result<Vec<ring_board::database::Row>> {
    let rows = transaction(session, Kind::Look, |session| {
        session.query(statement, &[]).map(Some)
    })?;
    Ok(rows.unwrap_or_default())
}

/// The members form one cycle, or there are none. Returns them in ring order, from the smallest.
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
