//! Concurrent writes of several nodes. Each node has its own connection.

use std::thread;

use anyhow::{Result, ensure};
use ring_board::database::{Session, TransactionKind};
use ring_board::posts::{BoardRequest, NewPost, PendingRequests};
use ring_proto::andrews::{Change, CoordinatorRow, Outcome, Request, Work, Write};
use ring_proto::random::RandomNumbers;

use crate::test_database::{TestDatabase, cycle, look, query, run_with_requests, seat, write};
use crate::{Test, test_list};

pub(crate) fn tests() -> Vec<(&'static str, Test)> {
    test_list![
        one_of_many_founders_wins,
        one_of_many_claimers_wins,
        whoever_writes_at_once_leaves_one_cycle_behind,
        posts_of_all_nodes_have_sequences_that_never_decrease,
        a_look_beside_writers_sees_one_cycle_and_its_beat,
        who_waits_too_long_for_a_writer_is_told_so,
    ]
}

const WRITES: u32 = 60;

/// Runs a function for each node at the same time, with one thread per node.
fn run_on_all_nodes<T: Send>(
    database: &TestDatabase,
    run: impl Fn(&mut dyn Session, u32) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    thread::scope(|scope| {
        let run = &run;
        let one = |own| scope.spawn(move || run(database.open()?.as_mut(), own));
        let threads: Vec<_> = (1..=5).map(one).collect();
        let done = threads
            .into_iter()
            .map(|it| it.join().expect("it has not panicked"));
        done.collect()
    })
}

fn winners(outcomes: &[Outcome]) -> Result<usize> {
    let is_known = |it: &&Outcome| matches!(it, Outcome::Done | Outcome::Refused);
    ensure!(
        outcomes.iter().filter(is_known).count() == 5,
        "{outcomes:?}"
    );
    Ok(outcomes.iter().filter(|&it| *it == Outcome::Done).count())
}

fn one_of_many_founders_wins(database: &TestDatabase) -> Result<()> {
    database.open_prepared()?;
    let outcomes = run_on_all_nodes(database, |session, own| {
        let found = Write::Found {
            seen: CoordinatorRow::default(),
            term: 1,
            acting: false,
        };
        write(session, own, found)
    })?;
    ensure!(winners(&outcomes)? == 1, "{outcomes:?}");
    let rows = look(database.open()?.as_mut())?;
    let own = rows.seat.id.unwrap_or_default();
    ensure!(rows.members == [(own, own)], "{rows:?}");
    Ok(())
}

fn one_of_many_claimers_wins(database: &TestDatabase) -> Result<()> {
    database.with_ring(&[1, 2, 3, 4, 5])?;
    let outcomes = run_on_all_nodes(database, |session, own| {
        let seen = seat();
        write(session, own, Write::Claim { seen, change: None })
    })?;
    ensure!(winners(&outcomes)? == 1, "{outcomes:?}");
    Ok(())
}

/// Writes claims, results, insertions and removals. Each write is based on rows that the node read just before.
fn whoever_writes_at_once_leaves_one_cycle_behind(database: &TestDatabase) -> Result<()> {
    database.with_ring(&[1, 2, 3, 4, 5])?;
    let done = run_on_all_nodes(database, |session, own| {
        let mut draw = RandomNumbers::new(own.into());
        let mut done = 0;
        for _ in 0..WRITES {
            let rows = look(session)?;
            let order = cycle(&rows)?;
            let (node, seen) = (1 + draw.next_below(5), rows.seat);
            let count = u32::try_from(order.len())?;
            let after = order[draw.next_below(count) as usize];
            let next = |of| {
                rows.members
                    .iter()
                    .find(|it| it.0 == of)
                    .map_or(0, |it| it.1)
            };
            let change = if order.contains(&node) {
                let node = next(after);
                Change::Remove { node, after }
            } else {
                let before = next(after);
                Change::Insert {
                    node,
                    after,
                    before,
                }
            };
            let what = match draw.next_below(4) {
                0 => Write::Elected { seen },
                1 => Write::Claim {
                    seen,
                    change: Some(change),
                },
                _ => Write::Change {
                    term: seen.term,
                    change,
                },
            };
            done += u32::from(write(session, own, what)? == Outcome::Done);
        }
        Ok(done)
    })?;
    ensure!(done.iter().all(|&done| done > 0), "{done:?}");
    let rows = look(database.open()?.as_mut())?;
    ensure!(!cycle(&rows)?.is_empty(), "{rows:?}");
    Ok(())
}

fn posts_of_all_nodes_have_sequences_that_never_decrease(database: &TestDatabase) -> Result<()> {
    database.open_prepared()?;
    let written = run_on_all_nodes(database, |session, own| {
        let pending = PendingRequests::default();
        let mut written = 0;
        for round in 0..u64::from(WRITES) {
            pending.add(
                1,
                BoardRequest::Post(NewPost {
                    author: own.to_string(),
                    text: round.to_string(),
                    key: None,
                    time_ms: 0,
                }),
            );
            // No two nodes write under the same sequence.
            let sequence = look(session)?.sequence / 5 * 5 + 5 + u64::from(own);
            let request = Request {
                id: 1,
                is_post: true,
            };
            let work = Work::Serve {
                sequence,
                requests: vec![request],
                feed: false,
            };
            written +=
                usize::from(run_with_requests(session, own, &work, &pending)? == Outcome::Done);
        }
        Ok(written)
    })?;
    let rows = query(
        database.open()?.as_mut(),
        "SELECT sequence, node FROM messages ORDER BY id",
    )?;
    ensure!(rows.len() == written.iter().sum::<usize>(), "{written:?}");
    let mut last = (0, 0);
    for row in rows {
        let this = (row.number(0)?, row.number(1)?);
        ensure!(this.0 > last.0 || this == last, "{this:?} after {last:?}");
        last = this;
    }
    Ok(())
}

/// Checks that a look reads all its rows in their state at one instant. Two separate selects would read the members and
/// the coordinator at different times.
fn a_look_beside_writers_sees_one_cycle_and_its_beat(database: &TestDatabase) -> Result<()> {
    database.with_ring(&[1, 2, 3, 4])?;
    run_on_all_nodes(database, |session, own| {
        for round in 0..WRITES {
            if own > 1 {
                let rows = look(session)?;
                // Each change increments the beat, so a beat belongs to only one list of members.
                let members = u64::try_from(cycle(&rows)?.len())?;
                ensure!(members == 4 + rows.beat % 2, "{rows:?}");
                continue;
            }
            let change = if round % 2 == 0 {
                Change::Insert {
                    node: 5,
                    after: 2,
                    before: 3,
                }
            } else {
                Change::Remove { node: 5, after: 2 }
            };
            let done = write(session, 1, Write::Change { term: 7, change })?;
            ensure!(done == Outcome::Done, "{done:?}");
        }
        Ok(())
    })?;
    Ok(())
}

fn who_waits_too_long_for_a_writer_is_told_so(database: &TestDatabase) -> Result<()> {
    let mut writer = database.with_ring(&[1, 2])?;
    writer.begin(TransactionKind::Write)?;
    writer.execute("UPDATE coordinator SET beat = beat + 1", &[])?;
    let mut other = database.url.open(std::time::Duration::from_millis(20))?;
    let error = write(other.as_mut(), 1, Write::Beat { term: 7 }).unwrap_err();
    drop(other);
    // A read does not wait for a writer.
    ensure!(look(database.open()?.as_mut())?.beat == 0, "{error}");
    writer.commit()?;
    let done = write(database.open()?.as_mut(), 1, Write::Beat { term: 7 })?;
    ensure!(done == Outcome::Done && look(writer.as_mut())?.beat == 2);
    Ok(())
}
