//! The transactions on the ring: what a look reads, and each write with its guard.

use ring_proto::andrews::{Change, Outcome, Rows, Seat, Write};

use super::value::large;
use super::{Fault, Kind, Session, transaction};

/// Whether a statement has hit the row that it is about.
type Hit = Option<()>;

/// Reads the members, the coordinator's row and the token's, in one snapshot.
///
/// # Errors
/// The database is gone, or its rows are none of this program's.
pub(super) fn look(session: &mut dyn Session) -> Result<Rows, Fault> {
    let rows = transaction(session, Kind::Look, |session| {
        let rows = session.query("SELECT id, successor FROM nodes ORDER BY id", &[])?;
        let (mut nodes, mut members) = (Vec::with_capacity(rows.len()), Vec::new());
        for row in &rows {
            let (id, successor) = (row.id(0)?, row.id_if_any(1)?);
            nodes.push(id);
            members.extend(successor.map(|successor| (id, successor)));
        }
        let seat = session.query("SELECT id, term, acting, beat FROM coordinator", &[])?;
        let seat = seat.first().ok_or_else(|| absent("coordinator"))?;
        let token = session.query("SELECT sequence FROM token", &[])?;
        let token = token.first().ok_or_else(|| absent("token"))?;
        Ok(Some(Rows {
            nodes,
            members,
            seat: Seat {
                id: seat.id_if_any(0)?,
                term: seat.count(1)?,
            },
            acting: seat.number(2)? != 0,
            beat: seat.count(3)?,
            sequence: token.count(0)?,
        }))
    })?;
    rows.ok_or_else(|| absent("coordinator"))
}

fn absent(table: &str) -> Fault {
    Fault::Failed(format!(
        "the table '{table}' is empty, where no ring-board leaves it so: another program has changed it"
    ))
}

/// Changes the topology, if the guard and what the change depends on hold.
///
/// # Errors
/// The database is gone or refuses, or nobody knows whether it was committed.
pub(super) fn write(session: &mut dyn Session, own: u32, write: Write) -> Result<Outcome, Fault> {
    let done = transaction(session, Kind::Write, |session| match write {
        Write::Found { seen, term, acting } => found(session, own, seen, term, acting),
        Write::Claim { seen, change } => claim(session, own, seen, change),
        Write::Elected { seen } => swap(session, own, seen, next(seen)?, false),
        Write::Change { term, change: what } => {
            if beat(session, own, term)?.is_none() {
                return Ok(None);
            }
            change(session, what)
        }
        Write::Beat { term } => beat(session, own, term),
        Write::Try => rewrite(session, own),
        Write::Token { term, new } => token(session, own, term, new),
    })?;
    Ok(done.map_or(Outcome::Refused, |()| Outcome::Done))
}

fn next(seen: Seat) -> Result<u64, Fault> {
    let next = seen.term.checked_add(1);
    next.ok_or_else(|| Fault::Failed("there is no larger term".to_owned()))
}

const fn one(rows: u64) -> Hit {
    if rows == 1 { Some(()) } else { None }
}

/// The compare-and-swap of the coordinator's row.
fn swap(
    session: &mut dyn Session,
    own: u32,
    seen: Seat,
    term: u64,
    acting: bool,
) -> Result<Hit, Fault> {
    let changed = session.execute(
        "UPDATE coordinator SET id = $1, term = $2, acting = $3 WHERE id IS NOT DISTINCT FROM $4 AND term = $5",
        &[
            own.into(),
            large(term)?,
            super::Value::Truth(acting),
            seen.id.into(),
            large(seen.term)?,
        ],
    )?;
    Ok(one(changed))
}

fn found(
    session: &mut dyn Session,
    own: u32,
    seen: Seat,
    term: u64,
    acting: bool,
) -> Result<Hit, Fault> {
    if swap(session, own, seen, term, acting)?.is_none() {
        return Ok(None);
    }
    // A statement of its own: it sees what was committed before the guard was taken.
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

/// The first token of a term is this node's.
fn begin_term(session: &mut dyn Session, own: u32, term: u64) -> Result<Hit, Fault> {
    let sequence = term.saturating_mul(1 << 32);
    let changed = session.execute(
        "UPDATE token SET sequence = $1, holder = $2",
        &[large(sequence)?, own.into()],
    )?;
    Ok(one(changed))
}

fn claim(
    session: &mut dyn Session,
    own: u32,
    seen: Seat,
    what: Option<Change>,
) -> Result<Hit, Fault> {
    if swap(session, own, seen, next(seen)?, true)?.is_none() {
        return Ok(None);
    }
    what.map_or(Ok(Some(())), |what| change(session, what))
}

/// Writes what is there already: a database that can only be read, or is full, refuses that too.
fn rewrite(session: &mut dyn Session, own: u32) -> Result<Hit, Fault> {
    let changed = session.execute("UPDATE nodes SET port = port WHERE id = $1", &[own.into()])?;
    Ok(one(changed))
}

/// The coordinator's guard, which is also what shows that it lives.
fn beat(session: &mut dyn Session, own: u32, term: u64) -> Result<Hit, Fault> {
    let changed = session.execute(
        "UPDATE coordinator SET beat = beat + 1 WHERE id = $1 AND term = $2",
        &[own.into(), large(term)?],
    )?;
    Ok(one(changed))
}

fn token(session: &mut dyn Session, own: u32, term: u64, new: u64) -> Result<Hit, Fault> {
    let changed = session.execute(
        "UPDATE coordinator SET term = $1 WHERE id = $2 AND term = $3",
        &[large(new)?, own.into(), large(term)?],
    )?;
    if one(changed).is_none() {
        return Ok(None);
    }
    begin_term(session, own, new)
}

/// Successors are unique: none is written first, then the rest.
fn change(session: &mut dyn Session, what: Change) -> Result<Hit, Fault> {
    match what {
        Change::Insert {
            node,
            after,
            before,
        } => steps(
            session,
            &[
                Step {
                    node: after,
                    from: Some(before),
                    to: None,
                },
                Step {
                    node,
                    from: None,
                    to: Some(before),
                },
                Step {
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
            steps(
                session,
                &[
                    Step {
                        node,
                        from: Some(next),
                        to: None,
                    },
                    Step {
                        node: after,
                        from: Some(node),
                        to: Some(next),
                    },
                ],
            )
        }
    }
}

/// A node's successor becomes another, if it is still the one that it was.
struct Step {
    node: u32,
    from: Option<u32>,
    to: Option<u32>,
}

/// All of them in their order, or none.
fn steps(session: &mut dyn Session, steps: &[Step]) -> Result<Hit, Fault> {
    for step in steps {
        let changed = session.execute(
            "UPDATE nodes SET successor = $1 WHERE id = $2 AND successor IS NOT DISTINCT FROM $3",
            &[step.to.into(), step.node.into(), step.from.into()],
        )?;
        // What comes after it would break what is unique.
        if changed != 1 {
            return Ok(None);
        }
    }
    Ok(Some(()))
}
