//! The transactions on the posts: what one visit of the token does, and what is read for those who listen.

use ring_proto::andrews::{Outcome, Request};

use super::value::large;
use super::{Around, Fault, Kind, Row, Session, Value, transaction};
use crate::posts::{Found, NewPost, Post, Wanted};

/// A read ends with the post that exceeds so many bytes of text: 64 of them have to fit into memory.
const READ_BYTES: usize = 1 << 20;

/// Posts that one visit reads for those who listen.
const FED: u16 = 256;

const FIELDS_AFTER: &str = "SELECT id, author, text, node, sequence, time_ms FROM messages WHERE id > $1 ORDER BY id LIMIT $2";

/// What one visit of the token does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Visit<'a> {
    /// The token's.
    pub sequence: u64,
    /// In their order.
    pub requests: &'a [Request],
    /// Whether those who listen are to be fed.
    pub feeds: bool,
}

/// Uses the token: the guard, then the requests in order, then what is read for those who listen. What has come of it is
/// told once it is committed.
///
/// # Errors
/// The database is gone or refuses, or nobody knows whether it was committed.
pub(super) fn serve(
    session: &mut dyn Session,
    own: u32,
    visit: Visit<'_>,
    around: Around<'_>,
) -> Result<Outcome, Fault> {
    let Around { desk, feed } = around;
    let Visit { sequence, .. } = visit;
    let after = visit.feeds.then(|| feed.after()).flatten();
    let done = transaction(session, Kind::Write, |session| {
        if !guard(session, own, sequence)? {
            return Ok(None);
        }
        let mut found = Vec::with_capacity(visit.requests.len());
        for request in visit.requests {
            // Nobody waits for it any longer: whoever asked was told that it may have been written.
            let Some(wanted) = desk.wanted(request.id) else {
                continue;
            };
            found.push((request.id, answer(session, own, sequence, &wanted)?));
        }
        let news = after.map(|after| read(session, after, FED)).transpose()?;
        Ok(Some((found, news)))
    })?;
    let Some((found, news)) = done else {
        return Ok(Outcome::Refused);
    };
    if let (Some(after), Some(news)) = (after, news) {
        feed.feed(after, &news);
    }
    for (id, found) in found {
        desk.answer(id, found);
    }
    Ok(Outcome::Done)
}

/// Whether no newer token was used. It is written also where only reading follows.
fn guard(session: &mut dyn Session, own: u32, sequence: u64) -> Result<bool, Fault> {
    let changed = session.execute(
        "UPDATE token SET sequence = $1, holder = $2 WHERE sequence < $1 OR (sequence = $1 AND holder = $2)",
        &[large(sequence)?, own.into()],
    )?;
    Ok(changed == 1)
}

fn answer(
    session: &mut dyn Session,
    own: u32,
    sequence: u64,
    wanted: &Wanted,
) -> Result<Found, Fault> {
    match wanted {
        Wanted::Post(post) => write(session, own, sequence, post),
        Wanted::Read { after, limit } => read(session, *after, *limit).map(Found::Posts),
    }
}

fn write(
    session: &mut dyn Session,
    own: u32,
    sequence: u64,
    post: &NewPost,
) -> Result<Found, Fault> {
    let key = post.key.as_deref().map_or(Value::Null, Value::Text);
    let new = session.query(
        "INSERT INTO messages (author, text, node, sequence, time_ms, key) VALUES ($1, $2, $3, $4, $5, $6) \
         ON CONFLICT (key) DO NOTHING RETURNING id, sequence",
        &[
            post.author.as_str().into(),
            post.text.as_str().into(),
            own.into(),
            large(sequence)?,
            Value::Number(post.time_ms),
            key,
        ],
    )?;
    let is_old = new.is_empty();
    let rows = if is_old {
        session.query("SELECT id, sequence FROM messages WHERE key = $1", &[key])?
    } else {
        new
    };
    let row = rows.first().ok_or_else(|| {
        Fault::Failed("the post is not in the table after it was written".to_owned())
    })?;
    Ok(Found::Written {
        id: row.number(0)?,
        sequence: row.count(1)?,
        is_old,
    })
}

fn read(session: &mut dyn Session, after: i64, limit: u16) -> Result<Vec<Post>, Fault> {
    let values = [Value::Number(after), Value::Number(limit.into())];
    let rows = session.query(FIELDS_AFTER, &values)?;
    let mut bytes = 0;
    let mut posts = Vec::with_capacity(rows.len());
    for row in &rows {
        let post = post(row)?;
        bytes += post.author.len() + post.text.len();
        posts.push(post);
        if bytes > READ_BYTES {
            break;
        }
    }
    Ok(posts)
}

fn post(row: &Row) -> Result<Post, Fault> {
    Ok(Post {
        id: row.number(0)?,
        author: row.text(1)?,
        text: row.text(2)?,
        node: row.id(3)?,
        sequence: row.count(4)?,
        time_ms: row.number(5)?,
    })
}
