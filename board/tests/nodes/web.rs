//! The page and its requests.

use std::io::{BufRead, BufReader, Write};
use std::thread;

use anyhow::{Context, Result, ensure};
use ring_segment::{PATIENCE, Test, tests};
use serde_json::{Value, json};

use super::http::{ask, connect, get, post, posting, raw};
use super::stand::{Kind, Stand};

/// How often a busy node is asked for another post in place of one that it may have written.
const TRIES: usize = 50;

pub fn tests() -> Vec<Test> {
    tests![
        posts_of_all_nodes_are_read_at_each_in_one_order,
        a_post_with_the_same_key_is_written_once,
        who_listens_gets_the_ring_and_each_post_once,
        what_is_no_request_is_refused_with_a_word,
        a_name_that_another_site_gave_this_node_is_refused,
        the_page_has_no_code_of_its_own_in_it,
    ]
}

fn posts_of_all_nodes_are_read_at_each_in_one_order() -> Result<()> {
    let stand = Stand::new(3, Kind::PostgreSql, &[])?;
    stand.wait_for_ring(&[1, 2, 3])?;
    for round in 0..3 {
        for id in 1..=3 {
            let said = post(
                &stand,
                id,
                &json!({"author": format!("{id}"), "text": format!(" {round} ")}),
            )?;
            ensure!(matches!(said.status, 200 | 201), "{said:?}");
        }
    }
    let read = |id: usize, path: &str| get(&stand, id, path)?.json();
    let all = read(1, "/posts")?;
    let texts = all["posts"].as_array().context("posts")?;
    let said = |post: &Value| (post["author"].clone(), post["text"].clone());
    let expected: Vec<_> = (0..3)
        .flat_map(|round| {
            (1..=3).map(move |id| (json!(format!("{id}")), json!(format!("{round}"))))
        })
        .collect();
    ensure!(
        texts.iter().map(said).collect::<Vec<_>>() == expected,
        "{all:#}"
    );
    let sequences: Vec<_> = texts.iter().map(|post| post["sequence"].as_u64()).collect();
    ensure!(sequences.is_sorted(), "{sequences:?}");
    for id in 2..=3 {
        ensure!(
            read(id, "/posts?limit=1000")? == all,
            "node {id} has others"
        );
    }
    let fourth = texts[3]["id"].clone();
    let few = read(2, &format!("/posts?after={fourth}&limit=2"))?;
    ensure!(
        few["posts"] == json!(texts[4..6]) && few["last"] == texts[5]["id"],
        "{few:#}"
    );
    // A smaller node that had won before may write so after the larger one has, which then starts once more.
    stand.wait(2, |status| status["coordinator"] == 3)?;
    let ring = read(2, "/ring")?;
    ensure!(
        ring["coordinator"].is_u64() && ring["counters"]["posts"].is_u64(),
        "{ring:#}"
    );
    Ok(())
}

fn a_post_with_the_same_key_is_written_once() -> Result<()> {
    let stand = Stand::new(2, Kind::Sqlite, &[])?;
    stand.wait_for_ring(&[1, 2])?;
    // Until one is written at its first attempt: of others it is not known whether an earlier one has.
    let mut tries = 0;
    let (what, first) = loop {
        let what = json!({"author": "a", "text": format!("b{tries}"), "key": format!("k{tries}")});
        let first = raw(&stand, 1, posting(&what).as_bytes())?;
        if first.status != 503 || tries == TRIES {
            break (what, first);
        }
        tries += 1;
    };
    let again = post(&stand, 2, &what)?;
    ensure!(
        first.status == 201 && again.status == 200,
        "{first:?} {again:?}"
    );
    ensure!(first.json()? == again.json()?);
    let all = get(&stand, 1, "/posts")?.json()?;
    let posts = all["posts"].as_array().context("posts")?;
    let count = posts.iter().filter(|it| it["text"] == what["text"]).count();
    ensure!(count == 1, "{all:#}");
    Ok(())
}

fn who_listens_gets_the_ring_and_each_post_once() -> Result<()> {
    let stand = Stand::new(2, Kind::Sqlite, &[])?;
    stand.wait_for_ring(&[1, 2])?;
    for text in ["old", "new"] {
        post(&stand, 2, &json!({"author": "a", "text": text}))?;
    }
    let mut stream = connect(&stand, 1, PATIENCE)?;
    stream.write_all(
        b"GET /events?after=0 HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: 1\r\n\r\n",
    )?;
    let mut lines = BufReader::new(stream).lines();
    let mut data = |kind: &str| -> Result<String> {
        loop {
            let line = lines.next().context("the stream has ended")??;
            if line == format!("event: {kind}") {
                let mut line = lines.next().context("the stream has ended")??;
                if kind == "post" {
                    line = lines.next().context("the stream has ended")??;
                }
                return Ok(line);
            }
        }
    };
    ensure!(data("ring")?.contains(r#""state":"MEMBER""#));
    ensure!(
        data("post")?.contains(r#""text":"new""#),
        "the last one that it has had came again"
    );
    let said = post(&stand, 2, &json!({"author": "a", "text": "news"}))?;
    ensure!(matches!(said.status, 200 | 201), "{said:?}");
    ensure!(data("post")?.contains(r#""text":"news""#));
    Ok(())
}

fn what_is_no_request_is_refused_with_a_word() -> Result<()> {
    let stand = Stand::new(1, Kind::Sqlite, &[])?;
    stand.wait_for_ring(&[1])?;
    let (kind, long) = ("Content-Type: application/json\r\n", "a".repeat(16_385));
    let origin = format!("{kind}Origin: http://evil\r\n");
    let cases = [
        ("GET /nothing", "", "", 404, "not_found"),
        ("PUT /posts", "", "", 405, "method"),
        ("POST /ring", "", "", 405, "method"),
        ("GET /posts?limit=0", "", "", 400, "malformed"),
        ("POST /posts", kind, "{", 400, "malformed"),
        ("POST /posts", kind, long.as_str(), 413, "too_large"),
        (
            "POST /posts",
            "Content-Type: text/plain\r\n",
            "{}",
            415,
            "type",
        ),
        ("POST /posts", origin.as_str(), "{}", 403, "origin"),
    ];
    for (line, headers, body, status, word) in cases {
        let said = ask(&stand, 1, line, headers, body)?;
        ensure!(said.status == status, "{line}: {said:?}");
        ensure!(said.json()?["error"] == word, "{line}: {said:?}");
        ensure!(
            status != 405 || said.head.contains("\r\nallow: "),
            "{said:?}"
        );
    }
    let long = format!(
        "GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n",
        "a".repeat(20_000)
    );
    let said = raw(&stand, 1, long.as_bytes())?;
    ensure!(said.status == 431, "{said:?}");
    // A head, and a body, that never end: each for as long as a request may take, side by side.
    let body =
        format!("POST /posts HTTP/1.1\r\nHost: localhost\r\n{kind}Content-Length: 9\r\n\r\n{{");
    let endless = ["GET / HTTP/1.1\r\nHo", body.as_str()];
    let stand = &stand;
    thread::scope(|scope| {
        let asked = endless.map(|request| scope.spawn(move || raw(stand, 1, request.as_bytes())));
        for said in asked {
            let said = said.join().expect("it does not panic")?;
            ensure!(said.status == 408, "{said:?}");
        }
        Ok(())
    })
}

/// A page of that site would be one of this node to a browser, Origin included.
fn a_name_that_another_site_gave_this_node_is_refused() -> Result<()> {
    let stand = Stand::new(1, Kind::Sqlite, &[("--http-name", "board.example")])?;
    stand.wait_for_ring(&[1])?;
    let body = json!({"author": "a", "text": "b"}).to_string();
    let length = body.len();
    let head = "Connection: close\r\nContent-Type: application/json";
    for (host, written) in [("evil.example:8080", false), ("board.example:8080", true)] {
        for request in [
            format!("GET /posts HTTP/1.1\r\nHost: {host}\r\n{head}\r\n\r\n"),
            format!(
                "POST /posts HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n{head}\r\nContent-Length: {length}\r\n\r\n{body}"
            ),
        ] {
            let said = raw(&stand, 1, request.as_bytes())?;
            if written {
                ensure!(said.status == 200 || said.status == 201, "{said:?}");
            } else {
                ensure!(said.status == 421, "{said:?}");
                ensure!(said.json()?["error"] == "host", "{said:?}");
            }
        }
    }
    let all = get(&stand, 1, "/posts")?.json()?;
    ensure!(all["posts"].as_array().map(Vec::len) == Some(1), "{all:#}");
    Ok(())
}

fn the_page_has_no_code_of_its_own_in_it() -> Result<()> {
    let stand = Stand::new(1, Kind::Sqlite, &[])?;
    stand.wait_for_ring(&[1])?;
    let page = get(&stand, 1, "/")?;
    ensure!(
        page.status == 200 && page.head.contains("text/html"),
        "{page:?}"
    );
    ensure!(
        !page.body.contains("<style") && !page.body.contains("<script>"),
        "{page:?}"
    );
    for path in ["/", "/board.js", "/board.css"] {
        let said = get(&stand, 1, path)?;
        for header in [
            "content-security-policy: default-src 'self'",
            "x-content-type-options: nosniff",
        ] {
            ensure!(
                said.status == 200 && said.head.contains(header),
                "{path}: {said:?}"
            );
        }
    }
    ensure!(!get(&stand, 1, "/board.js")?.body.contains("innerHTML"));
    Ok(())
}
