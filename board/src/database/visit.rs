//! The transactions on posts. In a visit of the token, a node carries out requests and reads new posts for listeners.

use ring_proto::andrews::{Outcome, Request};

use super::value::large_number;
use super::{Fault, Row, Session, TransactionKind, Value, VisitContext, transaction};
use crate::posts::{BoardRequest, NewPost, Post, RequestResult};

/// Limit for the text of a read, in bytes. If the text exceeds this limit after a post, the read ends with this post.
/// The texts of 64 reads must fit into memory.
const READ_BYTES_MAX: usize = 1 << 20;

/// The maximum number of posts that one visit reads for listeners.
const LISTENER_POSTS_MAX: u16 = 256;

const SELECT_POSTS_AFTER: &str = "SELECT id, author, text, node, sequence, time_ms FROM messages \
     WHERE id > $1 ORDER BY id LIMIT $2";

/// The work of a node during one visit of the token.
#[derive(Debug, Clone, Copy)]
pub(super) struct Visit<'a> {
    /// The token's sequence.
    pub sequence: u64,
    /// The requests, in their order.
    pub requests: &'a [Request],
    /// Whether this visit also reads new posts for listeners.
    pub reads_for_listeners: bool,
}

/// Uses the token: writes the guard, carries out the requests in order, and reads new posts for listeners. Publishes
/// the results after the commit.
///
/// # Errors
/// Returns a fault if the transaction failed, or if it is unknown whether it was committed.
pub(super) fn serve(
    session: &mut dyn Session,
    own: u32,
    visit: Visit<'_>,
    context: VisitContext<'_>,
) -> Result<Outcome, Fault> {
    let VisitContext { pending, feed } = context;
    let Visit { sequence, .. } = visit;
    let after = visit
        .reads_for_listeners
        .then(|| feed.next_start())
        .flatten();
    let done = transaction(session, TransactionKind::Write, |session| {
        if !write_guard(session, own, sequence)? {
            return Ok(None);
        }
        let mut results = Vec::with_capacity(visit.requests.len());
        for &Request { id, .. } in visit.requests {
            // The client has disconnected, or has already got the answer that its post may have been written.
            let Some(request) = pending.get(id) else {
                continue;
            };
            results.push((id, run_request(session, own, sequence, &request)?));
        }
        let new_posts = after
            .map(|after| read_posts(session, after, LISTENER_POSTS_MAX))
            .transpose()?;
        Ok(Some((results, new_posts)))
    })?;
    let Some((results, new_posts)) = done else {
        return Ok(Outcome::Refused);
    };
    if let (Some(after), Some(new_posts)) = (after, new_posts) {
        feed.publish(after, &new_posts);
    }
    for (id, result) in results {
        pending.set_result(id, result);
    }
    Ok(Outcome::Done)
}

/// Writes the guard. Even requests that only read need this write. Returns whether this token is valid: no node has
/// used a newer token.
fn write_guard(session: &mut dyn Session, own: u32, sequence: u64) -> Result<bool, Fault> {
    let changed = session.execute(
        "UPDATE token SET sequence = $1, holder = $2 WHERE sequence < $1 OR (sequence = $1 AND holder = $2)",
        &[large_number(sequence)?, own.into()],
    )?;
    Ok(changed == 1)
}

fn run_request(
    session: &mut dyn Session,
    own: u32,
    sequence: u64,
    request: &BoardRequest,
) -> Result<RequestResult, Fault> {
    match request {
        BoardRequest::Post(post) => write_post(session, own, sequence, post),
        BoardRequest::Read { after, limit } => {
            read_posts(session, *after, *limit).map(RequestResult::Posts)
        }
    }
}

fn write_post(
    session: &mut dyn Session,
    own: u32,
    sequence: u64,
    post: &NewPost,
) -> Result<RequestResult, Fault> {
    let key = post.key.as_deref().map_or(Value::Null, Value::Text);
    let new = session.query(
        "INSERT INTO messages (author, text, node, sequence, time_ms, key) VALUES ($1, $2, $3, $4, $5, $6) \
         ON CONFLICT (key) DO NOTHING RETURNING id, sequence",
        &[
            post.author.as_str().into(),
            post.text.as_str().into(),
            own.into(),
            large_number(sequence)?,
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
        Fault::Failed("the post is missing from the table after it was written".to_owned())
    })?;
    Ok(RequestResult::Written {
        id: row.number(0)?,
        sequence: row.count(1)?,
        is_old,
    })
}

fn read_posts(session: &mut dyn Session, after: i64, limit: u16) -> Result<Vec<Post>, Fault> {
    let values = [Value::Number(after), Value::Number(limit.into())];
    let rows = session.query(SELECT_POSTS_AFTER, &values)?;
    let mut bytes = 0;
    let mut posts = Vec::with_capacity(rows.len());
    for row in &rows {
        let post = post_of_row(row)?;
        bytes += post.author.len() + post.text.len();
        posts.push(post);
        if bytes > READ_BYTES_MAX {
            break;
        }
    }
    Ok(posts)
}

fn post_of_row(row: &Row) -> Result<Post, Fault> {
    Ok(Post {
        id: row.number(0)?,
        author: row.text(1)?,
        text: row.text(2)?,
        node: row.id(3)?,
        sequence: row.count(4)?,
        time_ms: row.number(5)?,
    })
}
