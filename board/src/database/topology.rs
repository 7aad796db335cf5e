//! The transactions on the topology. The transaction that reads all rows is called a look. Each writing transaction has
//! a guard.

use ring_proto::andrews::{Change, CoordinatorRow, Outcome, Rows, Write};

use super::value::large_number;
use super::{Fault, Session, TransactionKind, transaction};

/// `Some` if the statement changed a row; `None` if the guard matched no row.
type GuardResult = Option<()>;

/// Reads the members, the coordinator's row and the token's row in their state at one instant.
///
/// # Errors
/// Returns a fault if the database cannot be used, or if another program has changed its rows.
pub(super) fn read_rows(session: &mut dyn Session) -> Result<Rows, Fault> {
    let rows = transaction(session, TransactionKind::Read, |session| {
        let rows = session.query("SELECT id, successor FROM nodes ORDER BY id", &[])?;
        let (mut nodes, mut members) = (Vec::with_capacity(rows.len()), Vec::new());
        for row in &rows {
            let (id, successor) = (row.id(0)?, row.id_if_any(1)?);
            nodes.push(id);
            members.extend(successor.map(|successor| (id, successor)));
        }
        let seat = session.query("SELECT id, term, acting, beat FROM coordinator", &[])?;
        let seat = seat.first().ok_or_else(|| empty_table("coordinator"))?;
        let token = session.query("SELECT sequence FROM token", &[])?;
        let token = token.first().ok_or_else(|| empty_table("token"))?;
        Ok(Some(Rows {
            nodes,
            members,
            seat: CoordinatorRow {
                id: seat.id_if_any(0)?,
                term: seat.count(1)?,
            },
            acting: seat.number(2)? != 0,
            beat: seat.count(3)?,
            sequence: token.count(0)?,
        }))
    })?;
    rows.ok_or_else(|| empty_table("coordinator"))
}

fn empty_table(table: &str) -> Fault {
    Fault::Failed(format!(
        "the table '{table}' is empty, so another program has changed it: restore the table, or use another database"
    ))
}

/// Changes the topology, if the guard matches, and if the rows that determine the change are unchanged.
///
/// # Errors
/// Returns a fault if the transaction failed, or if it is unknown whether it was committed.
pub(super) fn write(session: &mut dyn Session, own: u32, write: Write) -> Result<Outcome, Fault> {
    let done = transaction(session, TransactionKind::Write, |session| match write {
        Write::Found { seen, term, acting } => write_founding(session, own, seen, term, acting),
        Write::Claim { seen, change } => write_claim(session, own, seen, change),
        Write::Elected { seen } => replace_coordinator(session, own, seen, next_term(seen)?, false),
        Write::Change { term, change: what } => {
            if increment_beat(session, own, term)?.is_none() {
                return Ok(None);
            }
            apply_change(session, what)
        }
        Write::Beat { term } => increment_beat(session, own, term),
        Write::Test => rewrite_own_row(session, own),
        Write::Token { term, new } => write_token(session, own, term, new),
    })?;
    Ok(done.map_or(Outcome::Refused, |()| Outcome::Done))
}

fn next_term(seen: CoordinatorRow) -> Result<u64, Fault> {
    let next = seen.term.checked_add(1);
    next.ok_or_else(|| Fault::Failed("the term has reached its limit".to_owned()))
}

const fn require_one_row(rows: u64) -> GuardResult {
    if rows == 1 { Some(()) } else { None }
}

/// Replaces the coordinator's row if it has not changed since the read.
fn replace_coordinator(
    session: &mut dyn Session,
    own: u32,
    seen: CoordinatorRow,
    term: u64,
    acting: bool,
) -> Result<GuardResult, Fault> {
    let changed = session.execute(
        "UPDATE coordinator SET id = $1, term = $2, acting = $3 WHERE id IS NOT DISTINCT FROM $4 AND term = $5",
        &[
            own.into(),
            large_number(term)?,
            super::Value::Truth(acting),
            seen.id.into(),
            large_number(seen.term)?,
        ],
    )?;
    Ok(require_one_row(changed))
}

fn write_founding(
    session: &mut dyn Session,
    own: u32,
    seen: CoordinatorRow,
    term: u64,
    acting: bool,
) -> Result<GuardResult, Fault> {
    if replace_coordinator(session, own, seen, term, acting)?.is_none() {
        return Ok(None);
    }
    // This must be a separate statement. Then it sees everything that was committed before the first statement locked
    // the guard.
    let members = session.query(
        "SELECT id FROM nodes WHERE successor IS NOT NULL LIMIT 1",
        &[],
    )?;
    let is_own = session.execute(
        "UPDATE nodes SET successor = $1 WHERE id = $1",
        &[own.into()],
    )?;
    if !members.is_empty() || is_own != 1 {
        return Ok(None);
    }
    begin_term(session, own, term)
}

/// Writes the first token of a term, with this node as its holder.
fn begin_term(session: &mut dyn Session, own: u32, term: u64) -> Result<GuardResult, Fault> {
    let sequence = term.saturating_mul(1 << 32);
    let changed = session.execute(
        "UPDATE token SET sequence = $1, holder = $2",
        &[large_number(sequence)?, own.into()],
    )?;
    Ok(require_one_row(changed))
}

fn write_claim(
    session: &mut dyn Session,
    own: u32,
    seen: CoordinatorRow,
    what: Option<Change>,
) -> Result<GuardResult, Fault> {
    if replace_coordinator(session, own, seen, next_term(seen)?, true)?.is_none() {
        return Ok(None);
    }
    what.map_or(Ok(Some(())), |what| apply_change(session, what))
}

/// Rewrites this node's row without any change. A database that is read-only or full refuses this write too.
fn rewrite_own_row(session: &mut dyn Session, own: u32) -> Result<GuardResult, Fault> {
    let changed = session.execute("UPDATE nodes SET port = port WHERE id = $1", &[own.into()])?;
    Ok(require_one_row(changed))
}

/// Checks the coordinator's guard and increases the coordinator's beat. The beat shows that the coordinator is alive.
fn increment_beat(session: &mut dyn Session, own: u32, term: u64) -> Result<GuardResult, Fault> {
    let changed = session.execute(
        "UPDATE coordinator SET beat = beat + 1 WHERE id = $1 AND term = $2",
        &[own.into(), large_number(term)?],
    )?;
    Ok(require_one_row(changed))
}

fn write_token(
    session: &mut dyn Session,
    own: u32,
    term: u64,
    new: u64,
) -> Result<GuardResult, Fault> {
    let changed = session.execute(
        "UPDATE coordinator SET term = $1 WHERE id = $2 AND term = $3",
        &[large_number(new)?, own.into(), large_number(term)?],
    )?;
    if require_one_row(changed).is_none() {
        return Ok(None);
    }
    begin_term(session, own, new)
}

/// Changes the ring. In the table, no two rows may have the same successor. So a successor is removed from its old row
/// before it is written into another row.
fn apply_change(session: &mut dyn Session, what: Change) -> Result<GuardResult, Fault> {
    match what {
        Change::Insert {
            node,
            after,
            before,
        } => update_successors(
            session,
            &[
                SuccessorUpdate {
                    node: after,
                    from: Some(before),
                    to: None,
                },
                SuccessorUpdate {
                    node,
                    from: None,
                    to: Some(before),
                },
                SuccessorUpdate {
                    node: after,
                    from: None,
                    to: Some(node),
                },
            ],
        ),
        Change::Remove { node, after } => {
            let found =
                session.query("SELECT successor FROM nodes WHERE id = $1", &[node.into()])?;
            let next = found.first().map_or(Ok(None), |row| row.id_if_any(0))?;
            let Some(next) = next else {
                return Ok(None);
            };
            update_successors(
                session,
                &[
                    SuccessorUpdate {
                        node,
                        from: Some(next),
                        to: None,
                    },
                    SuccessorUpdate {
                        node: after,
                        from: Some(node),
                        to: Some(next),
                    },
                ],
            )
        }
    }
}

/// The change of a node's successor. The change applies only if `from` is still the node's successor.
struct SuccessorUpdate {
    node: u32,
    from: Option<u32>,
    to: Option<u32>,
}

/// Makes the changes in their order. If a guard matches no row, no change takes effect.
fn update_successors(
    session: &mut dyn Session,
    steps: &[SuccessorUpdate],
) -> Result<GuardResult, Fault> {
    for step in steps {
        let changed = session.execute(
            "UPDATE nodes SET successor = $1 WHERE id = $2 AND successor IS NOT DISTINCT FROM $3",
            &[step.to.into(), step.node.into(), step.from.into()],
        )?;
        // Stop here, because the next update would violate the unique constraint.
        if changed != 1 {
            return Ok(None);
        }
    }
    Ok(Some(()))
}
