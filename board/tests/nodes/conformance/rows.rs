//! The database of a check. The check reads the rows that the program writes, and writes the rows of the coordinator
//! that a peer plays (`docs/board/protocol/database.md`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rusqlite::{Connection, OptionalExtension};

use super::peer::ANSWER_TIMEOUT;

/// The longest wait for a process that writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// The interval between two beats of a coordinator that a peer plays. It is much shorter than Q.
const BEAT_INTERVAL: Duration = Duration::from_millis(50);

/// The row of the table `coordinator`, without its beat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CoordinatorRow {
    pub id: Option<u32>,
    pub term: u64,
    pub is_acting: bool,
}

/// The members with their successors.
pub(super) type Ring = BTreeMap<u32, u32>;

pub(super) struct Rows {
    connection: Connection,
    file: PathBuf,
}

impl Rows {
    /// Waits until a node has created the file and its tables, and has become coordinator.
    pub(super) fn open(file: &Path, coordinator: u32) -> Result<Self> {
        let give_up = Instant::now() + ANSWER_TIMEOUT;
        loop {
            if file.exists() {
                let connection = Connection::open(file)?;
                connection.busy_timeout(BUSY_TIMEOUT)?;
                let rows = Self {
                    connection,
                    file: file.to_owned(),
                };
                if rows.row().is_ok_and(|row| row.id == Some(coordinator)) {
                    return Ok(rows);
                }
            }
            ensure!(
                Instant::now() < give_up,
                "rule S2 (members.md): node {coordinator} founds no ring in an empty database"
            );
            thread::sleep(POLL_INTERVAL);
        }
    }

    pub(super) fn row(&self) -> Result<CoordinatorRow> {
        let text = "SELECT id, term, acting FROM coordinator";
        let row = self.connection.query_row(text, [], |row| {
            Ok(CoordinatorRow {
                id: row.get(0)?,
                term: number(row, 1)?,
                is_acting: row.get(2)?,
            })
        });
        Ok(row?)
    }

    fn number(&self, query: &str) -> Result<u64> {
        Ok(self.connection.query_row(query, [], |row| number(row, 0))?)
    }

    pub(super) fn beat(&self) -> Result<u64> {
        self.number("SELECT beat FROM coordinator")
    }

    /// Returns token.sequence and the holder of the token.
    pub(super) fn token(&self) -> Result<(u64, Option<u32>)> {
        let text = "SELECT sequence, holder FROM token";
        let cells = |row: &rusqlite::Row<'_>| Ok((number(row, 0)?, row.get(1)?));
        Ok(self.connection.query_row(text, [], cells)?)
    }

    /// Returns the id, the node and the sequence of the post with this text.
    pub(super) fn post(&self, text: &str) -> Result<Option<(u64, u32, u64)>> {
        let query = "SELECT id, node, sequence FROM messages WHERE text = ?";
        let cells = |row: &rusqlite::Row<'_>| Ok((number(row, 0)?, row.get(1)?, number(row, 2)?));
        Ok(self.connection.query_row(query, [text], cells).optional()?)
    }

    pub(super) fn count_of_posts(&self) -> Result<u64> {
        self.number("SELECT count(*) FROM messages")
    }

    /// Returns the address and the port in the row of a node.
    pub(super) fn address(&self, id: u32) -> Result<Option<(String, u16)>> {
        let query = "SELECT address, port FROM nodes WHERE id = ?";
        let cells = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        Ok(self.connection.query_row(query, [id], cells).optional()?)
    }

    pub(super) fn ring(&self) -> Result<Ring> {
        let text = "SELECT id, successor FROM nodes WHERE successor IS NOT NULL";
        let mut statement = self.connection.prepare(text)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Writes the members, in the order of the ring.
    pub(super) fn set_ring(&self, members: &[u32]) -> Result<()> {
        let mut text = "BEGIN IMMEDIATE; UPDATE nodes SET successor = NULL;".to_owned();
        let next = members.iter().cycle().skip(1);
        for (id, successor) in members.iter().zip(next) {
            let update = format!("UPDATE nodes SET successor = {successor} WHERE id = {id};");
            text.push_str(&update);
        }
        self.execute(&(text + "COMMIT"))
    }

    pub(super) fn set_term(&self, term: u64) -> Result<()> {
        self.execute(&format!("UPDATE coordinator SET term = {term}"))
    }

    pub(super) fn set_sequence(&self, sequence: u64) -> Result<()> {
        self.execute(&format!("UPDATE token SET sequence = {sequence}"))
    }

    /// Locks the database, so that no other process can write.
    pub(super) fn lock(&self) -> Result<()> {
        self.execute("BEGIN IMMEDIATE")
    }

    pub(super) fn unlock(&self) -> Result<()> {
        self.execute("ROLLBACK")
    }

    fn execute(&self, text: &str) -> Result<()> {
        let executed = self.connection.execute_batch(text);
        executed.with_context(|| text.to_owned())
    }

    /// Waits until the row of the coordinator is `expected`.
    pub(super) fn wait_for_row(&self, rule: &str, expected: CoordinatorRow) -> Result<()> {
        self.wait(rule, &format!("{expected:?}"), |rows| {
            let row = rows.row()?;
            Ok((row == expected).then_some(()).ok_or(format!("{row:?}")))
        })
    }

    /// Waits until the members with their successors are `expected`.
    pub(super) fn wait_for_ring(&self, rule: &str, expected: &[(u32, u32)]) -> Result<()> {
        self.wait(rule, &format!("the members {expected:?}"), |rows| {
            let ring = rows.ring()?;
            let is_equal = ring == expected.iter().copied().collect();
            Ok(is_equal.then_some(()).ok_or(format!("{ring:?}")))
        })
    }

    /// Waits until `request` returns `Ok`. Its error is the present state.
    fn wait<T>(
        &self,
        rule: &str,
        expected: &str,
        request: impl Fn(&Self) -> Result<Result<T, String>>,
    ) -> Result<T> {
        let give_up = Instant::now() + ANSWER_TIMEOUT;
        loop {
            match request(self)? {
                Ok(answer) => return Ok(answer),
                Err(state) if Instant::now() > give_up => {
                    bail!("rule {rule}: the database has {state} instead of {expected}")
                }
                Err(_) => thread::sleep(POLL_INTERVAL),
            }
        }
    }

    /// Begins to write the beats of the coordinator that a peer plays.
    pub(super) fn start_beats(&self) -> Result<Beats> {
        let connection = Connection::open(&self.file)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let write = move || {
            while !ends.load(Ordering::Relaxed) {
                // If the database is busy for long, this beat is lost.
                let _ = connection.execute("UPDATE coordinator SET beat = beat + 1", []);
                thread::sleep(BEAT_INTERVAL);
            }
        };
        Ok(Beats {
            is_over,
            thread: Some(thread::spawn(write)),
        })
    }
}

/// Returns a number that is never negative.
fn number(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(at)?.cast_unsigned())
}

/// The beats of a coordinator that a peer plays. They end on drop.
pub(super) struct Beats {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Beats {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
