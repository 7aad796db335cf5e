//! The writes and reads during a visit of the token.

use std::sync::Mutex;

use anyhow::{Context, Result, ensure};
use ring_board::database::{ListedNodes, Session, VisitContext, run};
use ring_board::posts::{BoardRequest, NewPost, PendingRequests, Post, PostFeed, RequestResult};
use ring_proto::andrews::{Outcome, Request, Work};

use crate::test_database::{TestDatabase, lines, query, run_with_requests, token};
use crate::{Test, test_list};

pub(crate) fn tests() -> Vec<(&'static str, Test)> {
    test_list![
        posts_are_written_and_read_in_the_order_of_the_requests,
        a_smaller_sequence_than_was_used_writes_and_reads_nothing,
        the_same_key_again_gives_the_first_post,
        a_read_is_bounded_by_its_limit_and_by_its_bytes,
        those_who_listen_get_what_comes_after_theirs_once_it_is_committed,
        any_text_comes_back_as_it_was,
    ]
}

fn post(author: &str, text: &str, key: Option<&str>) -> BoardRequest {
    BoardRequest::Post(NewPost {
        author: author.to_owned(),
        text: text.to_owned(),
        key: key.map(str::to_owned),
        time_ms: 1_700_000_000_000,
    })
}

fn read(after: i64, limit: u16) -> BoardRequest {
    BoardRequest::Read { after, limit }
}

/// Runs a visit with these requests. Returns the outcome of the visit, and the result of each request.
fn visit(
    session: &mut dyn Session,
    own: u32,
    sequence: u64,
    contents: Vec<BoardRequest>,
) -> Result<(Outcome, Vec<Option<RequestResult>>)> {
    let pending = PendingRequests::default();
    let mut requests = Vec::new();
    for (id, content) in (1..).zip(contents) {
        let is_post = matches!(content, BoardRequest::Post(_));
        pending.add(id, content);
        requests.push(Request { id, is_post });
    }
    let ids: Vec<u64> = requests.iter().map(|request| request.id).collect();
    let work = Work::Serve {
        sequence,
        requests,
        feed: false,
    };
    let outcome = run_with_requests(session, own, &work, &pending)?;
    Ok((
        outcome,
        ids.into_iter().map(|id| pending.take(id)).collect(),
    ))
}

fn texts(found: Option<&RequestResult>) -> Result<Vec<&str>> {
    match found {
        Some(RequestResult::Posts(posts)) => {
            Ok(posts.iter().map(|post| post.text.as_str()).collect())
        }
        other => anyhow::bail!("no posts: {other:?}"),
    }
}

fn posts_are_written_and_read_in_the_order_of_the_requests(database: &TestDatabase) -> Result<()> {
    let mut session = database.open_prepared()?;
    let session = session.as_mut();
    let requests = vec![
        read(0, 100),
        post("a", "one", None),
        read(0, 100),
        post("b", "two", None),
    ];
    let (outcome, found) = visit(session, 3, 10, requests)?;
    ensure!(outcome == Outcome::Done);
    ensure!(texts(found[0].as_ref())?.is_empty());
    ensure!(texts(found[2].as_ref())? == ["one"]);
    let Some(RequestResult::Written {
        id,
        sequence: 10,
        is_old: false,
    }) = found[1]
    else {
        anyhow::bail!("{found:?}");
    };
    // First the same token again, then a newer one of another node.
    visit(session, 3, 10, vec![post("a", "three", None)])?;
    let (_, found) = visit(session, 4, 12, vec![read(id, 2)])?;
    ensure!(texts(found[0].as_ref())? == ["two", "three"], "{found:?}");
    let Some(Some(RequestResult::Posts(posts))) = found.first() else {
        anyhow::bail!("{found:?}");
    };
    let expected = Post {
        id: posts[0].id,
        author: "b".to_owned(),
        text: "two".to_owned(),
        node: 3,
        sequence: 10,
        time_ms: 1_700_000_000_000,
    };
    ensure!(posts[0] == expected && posts[0].id > id, "{posts:?}");
    // A read uses the token too.
    ensure!(token(session)? == (12, Some(4)));
    Ok(())
}

fn a_smaller_sequence_than_was_used_writes_and_reads_nothing(
    database: &TestDatabase,
) -> Result<()> {
    let mut session = database.open_prepared()?;
    let session = session.as_mut();
    visit(session, 3, 10, vec![])?;
    for (own, sequence) in [(3, 9), (4, 10), (4, 9)] {
        let requests = vec![post("a", "late", None), read(0, 9)];
        let (outcome, found) = visit(session, own, sequence, requests)?;
        ensure!(
            outcome == Outcome::Refused,
            "{own}, {sequence}: {outcome:?}"
        );
        ensure!(found.iter().all(Option::is_none), "{found:?}");
    }
    ensure!(query(session, "SELECT id FROM messages")?.is_empty());
    ensure!(token(session)? == (10, Some(3)));
    Ok(())
}

fn the_same_key_again_gives_the_first_post(database: &TestDatabase) -> Result<()> {
    let mut session = database.open_prepared()?;
    let session = session.as_mut();
    let again = || post("a", "once", Some("k"));
    let (_, first) = visit(session, 1, 5, vec![again(), again()])?;
    let (_, later) = visit(session, 2, 6, vec![again(), post("a", "none", None)])?;
    let Some(RequestResult::Written {
        id,
        sequence: 5,
        is_old: false,
    }) = first[0]
    else {
        anyhow::bail!("{first:?}");
    };
    let old = RequestResult::Written {
        id,
        sequence: 5,
        is_old: true,
    };
    ensure!(first[1].as_ref() == Some(&old), "{first:?}");
    ensure!(later[0].as_ref() == Some(&old), "{later:?}");
    ensure!(query(session, "SELECT id FROM messages")?.len() == 2);
    Ok(())
}

fn a_read_is_bounded_by_its_limit_and_by_its_bytes(database: &TestDatabase) -> Result<()> {
    let mut session = database.open_prepared()?;
    let session = session.as_mut();
    let long = "\u{1f600}".repeat(2_000);
    let many = || (0..64).map(|_| post("a", &long, None)).collect::<Vec<_>>();
    for sequence in 1..=4 {
        visit(session, 1, sequence, many())?;
    }
    let (_, found) = visit(session, 1, 5, vec![read(0, 3), read(0, 1_000)])?;
    let lengths: Vec<usize> = found
        .iter()
        .map(|found| texts(found.as_ref()).map(|texts| texts.len()))
        .collect::<Result<_>>()?;
    // 131 posts of 8,001 bytes are less than 1 MiB, and one more exceeds it.
    ensure!(lengths == [3, 132], "{lengths:?}");
    Ok(())
}

#[derive(Debug, Default)]
struct RecordingFeed {
    received: Mutex<Vec<Post>>,
    after: i64,
}

impl PostFeed for RecordingFeed {
    fn next_start(&self) -> Option<i64> {
        Some(self.after)
    }

    fn publish(&self, _: i64, posts: &[Post]) {
        self.received.lock().unwrap().extend(posts.iter().cloned());
    }
}

fn those_who_listen_get_what_comes_after_theirs_once_it_is_committed(
    database: &TestDatabase,
) -> Result<()> {
    let mut session = database.open_prepared()?;
    let (lines, pending) = (lines(), PendingRequests::default());
    let (_, found) = visit(session.as_mut(), 1, 5, vec![post("a", "old", None)])?;
    let Some(RequestResult::Written { id, .. }) = found[0] else {
        anyhow::bail!("{found:?}");
    };
    let feed = RecordingFeed {
        after: id,
        ..RecordingFeed::default()
    };
    let mut serve = |sequence, text, feeds| -> Result<Outcome> {
        pending.add(1, post("a", text, None));
        let request = Request {
            id: 1,
            is_post: true,
        };
        let work = Work::Serve {
            sequence,
            requests: vec![request],
            feed: feeds,
        };
        let (nodes, context) = (
            ListedNodes {
                own: 1,
                lines: &lines,
            },
            VisitContext {
                pending: &pending,
                feed: &feed,
            },
        );
        Ok(run(session.as_mut(), &nodes, context, &work)?)
    };
    ensure!(serve(6, "new", true)? == Outcome::Done);
    ensure!(serve(7, "not asked for", false)? == Outcome::Done);
    ensure!(serve(3, "refused", true)? == Outcome::Refused);
    let received = feed.received.lock().unwrap();
    let received: Vec<_> = received.iter().map(|post| post.text.as_str()).collect();
    ensure!(received == ["new"], "{received:?}");
    Ok(())
}

fn any_text_comes_back_as_it_was(database: &TestDatabase) -> Result<()> {
    let mut session = database.open_prepared()?;
    let odd = "'); DROP TABLE messages; -- $1 ?1 \\ \" \u{1f600}\n\t<b>";
    let requests = vec![post(odd, odd, Some("'$1?1\"")), read(0, 1)];
    let (_, found) = visit(session.as_mut(), 1, 5, requests)?;
    let Some(Some(RequestResult::Posts(posts))) = found.get(1) else {
        anyhow::bail!("{found:?}");
    };
    let read = posts.first().context("a post")?;
    ensure!(read.text == odd && read.author == odd, "{read:?}");
    Ok(())
}
