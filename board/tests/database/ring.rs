//! Tests of the writes to the topology. The tests check the effects of writes. If a guard fails, nothing may change.

use anyhow::{Result, ensure};
use ring_board::database::Session;
use ring_proto::andrews::{Change, CoordinatorRow, Outcome, Write};

use crate::test_database::{TestDatabase, cycle, look, seat, token, write};
use crate::{Test, test_list};

pub(crate) fn tests() -> Vec<(&'static str, Test)> {
    test_list![
        who_founds_is_coordinator_its_own_successor_and_has_the_token,
        a_claim_takes_the_row_with_its_change_or_not_at_all,
        who_is_elected_is_not_acting,
        a_coordinator_puts_in_and_takes_out,
        a_beat_counts_as_long_as_the_term_is_the_own,
        a_new_token_raises_the_term,
        numbers_that_are_too_large_for_the_tables_are_reported_and_not_written,
    ]
}

/// Checks that a write is refused and changes nothing.
fn check_refusal(session: &mut dyn Session, own: u32, what: Write) -> Result<()> {
    let before = (look(session)?, token(session)?);
    let outcome = write(session, own, what)?;
    ensure!(outcome == Outcome::Refused, "{what:?}: {outcome:?}");
    let after = (look(session)?, token(session)?);
    ensure!(before == after, "{what:?}: {before:?} became {after:?}");
    Ok(())
}

fn done(session: &mut dyn Session, own: u32, what: Write) -> Result<()> {
    let outcome = write(session, own, what)?;
    ensure!(outcome == Outcome::Done, "{what:?}: {outcome:?}");
    cycle(&look(session)?)?;
    Ok(())
}

/// Returns three possible rows of the coordinator. Each of them differs from the row that `with_ring` writes.
fn other_seats() -> [CoordinatorRow; 3] {
    let CoordinatorRow { id, term } = seat();
    let newer = CoordinatorRow { id, term: term + 1 };
    let other = CoordinatorRow { id: Some(2), term };
    [newer, other, CoordinatorRow { id: None, term }]
}

fn who_founds_is_coordinator_its_own_successor_and_has_the_token(
    database: &TestDatabase,
) -> Result<()> {
    let mut session = database.open_prepared()?;
    let session = session.as_mut();
    let found = |term, acting| Write::Found {
        seen: CoordinatorRow::default(),
        term,
        acting,
    };
    done(session, 4, found(3, true))?;
    let rows = look(session)?;
    let seat = CoordinatorRow {
        id: Some(4),
        term: 3,
    };
    ensure!(rows.seat == seat && rows.acting, "{rows:?}");
    ensure!(
        rows.members == [(4, 4)] && rows.sequence == 3 << 32,
        "{rows:?}"
    );
    ensure!(token(session)?.1 == Some(4));
    // The row has changed.
    check_refusal(session, 5, found(4, false))?;
    // There is a member.
    let seen = seat;
    check_refusal(
        session,
        4,
        Write::Found {
            seen,
            term: 4,
            acting: false,
        },
    )
}

fn a_claim_takes_the_row_with_its_change_or_not_at_all(database: &TestDatabase) -> Result<()> {
    let mut session = database.with_ring(&[1, 2, 3])?;
    let session = session.as_mut();
    for seen in other_seats() {
        check_refusal(session, 3, Write::Claim { seen, change: None })?;
    }
    let removal = |node, after| Some(Change::Remove { node, after });
    let claim = |change| Write::Claim {
        seen: seat(),
        change,
    };
    // 2 is not the predecessor of 1, and 4 is no member.
    check_refusal(session, 3, claim(removal(1, 2)))?;
    check_refusal(session, 3, claim(removal(4, 3)))?;
    done(session, 3, claim(removal(1, 3)))?;
    let rows = look(session)?;
    let taken = CoordinatorRow {
        id: Some(3),
        term: 8,
    };
    ensure!(rows.seat == taken && rows.acting, "{rows:?}");
    ensure!(cycle(&rows)? == [2, 3], "{rows:?}");
    let change = Some(Change::Insert {
        node: 5,
        after: 3,
        before: 2,
    });
    done(
        session,
        5,
        Write::Claim {
            seen: taken,
            change,
        },
    )?;
    let rows = look(session)?;
    ensure!(
        cycle(&rows)? == [2, 3, 5] && rows.seat.id == Some(5),
        "{rows:?}"
    );
    let seen = rows.seat;
    done(session, 2, Write::Claim { seen, change: None })?;
    ensure!(look(session)?.seat.term == 10);
    Ok(())
}

fn who_is_elected_is_not_acting(database: &TestDatabase) -> Result<()> {
    let mut session = database.with_ring(&[1, 2])?;
    let session = session.as_mut();
    for seen in other_seats() {
        check_refusal(session, 2, Write::Elected { seen })?;
    }
    let claim = Write::Claim {
        seen: seat(),
        change: None,
    };
    done(session, 1, claim)?;
    let seen = look(session)?.seat;
    done(session, 2, Write::Elected { seen })?;
    let rows = look(session)?;
    let elected = CoordinatorRow {
        id: Some(2),
        term: 9,
    };
    ensure!(rows.seat == elected && !rows.acting, "{rows:?}");
    Ok(())
}

fn a_coordinator_puts_in_and_takes_out(database: &TestDatabase) -> Result<()> {
    let mut session = database.with_ring(&[1, 2])?;
    let session = session.as_mut();
    let change = |change| Write::Change { term: 7, change };
    let insert = |node, after, before| {
        change(Change::Insert {
            node,
            after,
            before,
        })
    };
    let remove = |node, after| change(Change::Remove { node, after });
    // Another term, another node's row, a wrong place, a member, and a node that the tables lack.
    let Write::Change { change: plain, .. } = insert(3, 1, 2) else {
        unreachable!("it is one");
    };
    check_refusal(
        session,
        1,
        Write::Change {
            term: 8,
            change: plain,
        },
    )?;
    check_refusal(session, 2, insert(3, 1, 2))?;
    check_refusal(session, 1, insert(3, 1, 3))?;
    // 1 is the successor of another node: writing that first would violate the unique constraint.
    check_refusal(session, 1, insert(3, 1, 1))?;
    check_refusal(session, 1, insert(2, 1, 2))?;
    check_refusal(session, 1, insert(9, 1, 2))?;
    let beat = look(session)?.beat;
    done(session, 1, insert(3, 1, 2))?;
    let rows = look(session)?;
    ensure!(
        cycle(&rows)? == [1, 3, 2] && rows.beat == beat + 1,
        "{rows:?}"
    );
    check_refusal(session, 1, remove(2, 1))?;
    check_refusal(session, 1, remove(4, 3))?;
    done(session, 1, remove(2, 3))?;
    ensure!(cycle(&look(session)?)? == [1, 3]);
    // A ring of two becomes a ring of one, which cannot be removed.
    done(session, 1, remove(3, 1))?;
    ensure!(look(session)?.members == [(1, 1)]);
    check_refusal(session, 1, remove(1, 1))?;
    done(session, 1, insert(5, 1, 1))?;
    ensure!(cycle(&look(session)?)? == [1, 5]);
    Ok(())
}

fn a_beat_counts_as_long_as_the_term_is_the_own(database: &TestDatabase) -> Result<()> {
    let mut session = database.with_ring(&[1, 2])?;
    let session = session.as_mut();
    let beat = look(session)?.beat;
    done(session, 1, Write::Beat { term: 7 })?;
    done(session, 1, Write::Beat { term: 7 })?;
    ensure!(look(session)?.beat == beat + 2);
    check_refusal(session, 1, Write::Beat { term: 6 })?;
    check_refusal(session, 2, Write::Beat { term: 7 })
}

fn a_new_token_raises_the_term(database: &TestDatabase) -> Result<()> {
    let mut session = database.with_ring(&[1, 2])?;
    let session = session.as_mut();
    check_refusal(session, 2, Write::Token { term: 7, new: 9 })?;
    check_refusal(session, 1, Write::Token { term: 8, new: 9 })?;
    done(session, 1, Write::Token { term: 7, new: 12 })?;
    let rows = look(session)?;
    ensure!(
        rows.seat.term == 12 && rows.sequence == 12 << 32,
        "{rows:?}"
    );
    ensure!(token(session)? == (12 << 32, Some(1)));
    Ok(())
}

fn numbers_that_are_too_large_for_the_tables_are_reported_and_not_written(
    database: &TestDatabase,
) -> Result<()> {
    for new in [1 << 31, 1 << 32, u64::MAX] {
        let mut session = database.with_ring(&[1, 2])?;
        let error = write(session.as_mut(), 1, Write::Token { term: 7, new }).unwrap_err();
        ensure!(
            error.to_string().contains("is too large for the tables"),
            "{error}"
        );
        drop(session);
        let rows = look(database.open()?.as_mut())?;
        ensure!(rows.seat == seat(), "{new}: {rows:?}");
    }
    Ok(())
}
