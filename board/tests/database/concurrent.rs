//! Several nodes write at once, on connections of their own.

use std::thread;

use anyhow::{Result, ensure};
use ring_board::database::{Kind, Session};
use ring_board::posts::{Desk, NewPost, Wanted};
use ring_proto::andrews::{Change, Outcome, Request, Seat, Work, Write};
use ring_proto::draw::Draw;

use crate::place::{Place, cycle, look, query, seat, work_at, write};
use crate::{Test, named};

pub(crate) fn tests() -> Vec<(&'static str, Test)> {
    named![
        one_of_many_founders_wins,
        one_of_many_claimers_wins,
        whoever_writes_at_once_leaves_one_cycle_behind,
        posts_of_all_nodes_have_sequences_that_never_decrease,
        a_look_beside_writers_sees_one_cycle_and_its_beat,
        who_waits_too_long_for_a_writer_is_told_so,
    ]
}

/// Writes of each member, each in a thread of its own.
const WRITES: u32 = 60;

/// Runs something for each of the nodes at once.
fn all<T: Send>(
    place: &Place,
    run: impl Fn(&mut dyn Session, u32) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    thread::scope(|scope| {
        let run = &run;
        let one = |own| scope.spawn(move || run(place.open()?.as_mut(), own));
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

fn one_of_many_founders_wins(place: &Place) -> Result<()> {
    place.prepared()?;
    let outcomes = all(place, |session, own| {
        let found = Write::Found {
            seen: Seat::default(),
            term: 1,
            acting: false,
        };
        write(session, own, found)
    })?;
    ensure!(winners(&outcomes)? == 1, "{outcomes:?}");
    let rows = look(place.open()?.as_mut())?;
    let own = rows.seat.id.unwrap_or_default();
    ensure!(rows.members == [(own, own)], "{rows:?}");
    Ok(())
}

fn one_of_many_claimers_wins(place: &Place) -> Result<()> {
    place.with_ring(&[1, 2, 3, 4, 5])?;
    let outcomes = all(place, |session, own| {
        let seen = seat();
        write(session, own, Write::Claim { seen, change: None })
    })?;
    ensure!(winners(&outcomes)? == 1, "{outcomes:?}");
    Ok(())
}

/// Claims, results, insertions and removals, of what each has read just before.
fn whoever_writes_at_once_leaves_one_cycle_behind(place: &Place) -> Result<()> {
    place.with_ring(&[1, 2, 3, 4, 5])?;
    let done = all(place, |session, own| {
        let mut draw = Draw::new(own.into());
        let mut done = 0;
        for _ in 0..WRITES {
            let rows = look(session)?;
            let order = cycle(&rows)?;
            let (node, seen) = (1 + draw.below(5), rows.seat);
            let count = u32::try_from(order.len())?;
            let after = order[draw.below(count) as usize];
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
            let what = match draw.below(4) {
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
    let rows = look(place.open()?.as_mut())?;
    ensure!(!cycle(&rows)?.is_empty(), "{rows:?}");
    Ok(())
}

fn posts_of_all_nodes_have_sequences_that_never_decrease(place: &Place) -> Result<()> {
    place.prepared()?;
    let written = all(place, |session, own| {
        let desk = Desk::default();
        let mut written = 0;
        for round in 0..u64::from(WRITES) {
            desk.leave(
                1,
                Wanted::Post(NewPost {
                    author: own.to_string(),
                    text: round.to_string(),
                    key: None,
                    time_ms: 0,
                }),
            );
            // No two nodes have the same one.
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
            written += usize::from(work_at(session, own, &work, &desk)? == Outcome::Done);
        }
        Ok(written)
    })?;
    let rows = query(
        place.open()?.as_mut(),
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

/// Two selects that are no snapshot see members of one time and a coordinator of another.
fn a_look_beside_writers_sees_one_cycle_and_its_beat(place: &Place) -> Result<()> {
    place.with_ring(&[1, 2, 3, 4])?;
    all(place, |session, own| {
        for round in 0..WRITES {
            if own > 1 {
                let rows = look(session)?;
                // Each change beats once: what is read of both tables is of one time.
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

fn who_waits_too_long_for_a_writer_is_told_so(place: &Place) -> Result<()> {
    let mut writer = place.with_ring(&[1, 2])?;
    writer.begin(Kind::Write)?;
    writer.execute("UPDATE coordinator SET beat = beat + 1", &[])?;
    let mut other = place.url.open(std::time::Duration::from_millis(20))?;
    let error = write(other.as_mut(), 1, Write::Beat { term: 7 }).unwrap_err();
    drop(other);
    // Reading waits for nobody.
    ensure!(look(place.open()?.as_mut())?.beat == 0, "{error}");
    writer.commit()?;
    let done = write(place.open()?.as_mut(), 1, Write::Beat { term: 7 })?;
    ensure!(done == Outcome::Done && look(writer.as_mut())?.beat == 2);
    Ok(())
}
