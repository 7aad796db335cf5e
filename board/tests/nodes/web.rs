//! The page and its requests.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ring_segment::{Test, WAIT_LIMIT, limit, tests};
use serde_json::{Value, json};

use super::http::{self, PAGE, ask, connect, exchange, get, post, post_request, raw, request};
use super::logins::{PASSWORD, PasswordFile, basic};
use super::test_ring::{DatabaseKind, TestRing};

/// Maximum number of posts that a test sends to a busy node. When the node answers a post with any status except 503,
/// the test sends no further posts.
const ATTEMPTS_MAX: usize = 50;

pub(crate) fn tests() -> Vec<Test> {
    tests![
        each_node_shows_all_posts_in_the_same_order,
        a_post_with_the_same_key_is_written_once,
        a_listener_gets_the_ring_and_each_post_once,
        an_illegal_request_gets_an_error_text,
        a_foreign_name_of_this_node_is_refused,
        the_page_has_no_inline_code,
        a_client_that_does_not_read_leaves_memory_and_views_to_others,
        vanished_browsers_free_their_live_views,
        ended_live_views_are_free_at_once_and_one_client_has_a_quarter,
        a_client_that_posts_too_much_must_wait,
    ]
}

fn each_node_shows_all_posts_in_the_same_order() -> Result<()> {
    let ring = TestRing::new(3, DatabaseKind::PostgreSql, &[])?;
    ring.wait_for_ring(&[1, 2, 3])?;
    for round in 0..3 {
        for id in 1..=3 {
            let answer = post(
                &ring,
                id,
                &json!({"author": format!("{id}"), "text": format!(" {round} ")}),
            )?;
            ensure!(matches!(answer.status, 200 | 201), "{answer:?}");
        }
    }
    let read = |id: usize, path: &str| get(&ring, id, path)?.json();
    let all = read(1, "/posts")?;
    let texts = all["posts"].as_array().context("posts")?;
    let answer = |post: &Value| (post["author"].clone(), post["text"].clone());
    let expected: Vec<_> = (0..3)
        .flat_map(|round| {
            (1..=3).map(move |id| (json!(format!("{id}")), json!(format!("{round}"))))
        })
        .collect();
    ensure!(
        texts.iter().map(answer).collect::<Vec<_>>() == expected,
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
    // A smaller node that won an earlier election may still overwrite the row of the larger node. Then the larger node
    // starts another election.
    ring.wait(2, |status| status["coordinator"] == 3)?;
    let ring = read(2, "/ring")?;
    ensure!(
        ring["coordinator"].is_u64() && ring["counters"]["posts"].is_u64(),
        "{ring:#}"
    );
    Ok(())
}

fn a_post_with_the_same_key_is_written_once() -> Result<()> {
    let ring = TestRing::new(2, DatabaseKind::Sqlite, &[])?;
    ring.wait_for_ring(&[1, 2])?;
    // A post counts only if the node answered its first attempt. Otherwise an earlier attempt may have written the
    // post.
    let mut tries = 0;
    let (what, first) = loop {
        let what = json!({"author": "a", "text": format!("b{tries}"), "key": format!("k{tries}")});
        let first = raw(&ring, 1, post_request(&what).as_bytes())?;
        if first.status != 503 || tries == ATTEMPTS_MAX {
            break (what, first);
        }
        tries += 1;
    };
    let again = post(&ring, 2, &what)?;
    ensure!(
        first.status == 201 && again.status == 200,
        "{first:?} {again:?}"
    );
    ensure!(first.json()? == again.json()?);
    let all = get(&ring, 1, "/posts")?.json()?;
    let posts = all["posts"].as_array().context("posts")?;
    let count = posts.iter().filter(|it| it["text"] == what["text"]).count();
    ensure!(count == 1, "{all:#}");
    Ok(())
}

fn a_listener_gets_the_ring_and_each_post_once() -> Result<()> {
    let ring = TestRing::new(2, DatabaseKind::Sqlite, &[])?;
    ring.wait_for_ring(&[1, 2])?;
    for text in ["old", "new"] {
        post(&ring, 2, &json!({"author": "a", "text": text}))?;
    }
    let mut stream = connect(&ring, 1, WAIT_LIMIT)?;
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
    let answer = post(&ring, 2, &json!({"author": "a", "text": "news"}))?;
    ensure!(matches!(answer.status, 200 | 201), "{answer:?}");
    ensure!(data("post")?.contains(r#""text":"news""#));
    Ok(())
}

fn an_illegal_request_gets_an_error_text() -> Result<()> {
    let ring = TestRing::new(1, DatabaseKind::Sqlite, &[])?;
    ring.wait_for_ring(&[1])?;
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
        let answer = ask(&ring, 1, line, headers, body)?;
        ensure!(answer.status == status, "{line}: {answer:?}");
        ensure!(answer.json()?["error"] == word, "{line}: {answer:?}");
        ensure!(
            status != 405 || answer.head.contains("\r\nallow: "),
            "{answer:?}"
        );
    }
    let long = format!(
        "GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n",
        "a".repeat(20_000)
    );
    let answer = raw(&ring, 1, long.as_bytes())?;
    ensure!(answer.status == 431, "{answer:?}");
    // Send a head and a body that never end at the same time, because each takes as long as a request may take.
    let body =
        format!("POST /posts HTTP/1.1\r\nHost: localhost\r\n{kind}Content-Length: 9\r\n\r\n{{");
    let endless = ["GET / HTTP/1.1\r\nHo", body.as_str()];
    let ring = &ring;
    thread::scope(|scope| {
        let asked = endless.map(|request| scope.spawn(move || raw(ring, 1, request.as_bytes())));
        for answer in asked {
            let answer = answer.join().expect("it does not panic")?;
            ensure!(answer.status == 408, "{answer:?}");
        }
        Ok(())
    })
}

/// Checks the defense against DNS rebinding: a foreign name leads to the address of this node. A browser then sends the
/// foreign name in Host and in Origin.
fn a_foreign_name_of_this_node_is_refused() -> Result<()> {
    let ring = TestRing::new(1, DatabaseKind::Sqlite, &[("--http-name", "board.example")])?;
    ring.wait_for_ring(&[1])?;
    let body = json!({"author": "a", "text": "b"}).to_string();
    let length = body.len();
    let head = "Connection: close\r\nContent-Type: application/json";
    for (host, written) in [("evil.example:8080", false), ("board.example:8080", true)] {
        for request in [
            format!("GET /posts HTTP/1.1\r\nHost: {host}\r\n{head}\r\n\r\n"),
            format!(
                "POST /posts HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n{head}\r\n\
                 Content-Length: {length}\r\n\r\n{body}"
            ),
        ] {
            let answer = raw(&ring, 1, request.as_bytes())?;
            if written {
                ensure!(answer.status == 200 || answer.status == 201, "{answer:?}");
            } else {
                ensure!(answer.status == 421, "{answer:?}");
                ensure!(answer.json()?["error"] == "host", "{answer:?}");
            }
        }
    }
    let all = get(&ring, 1, "/posts")?.json()?;
    ensure!(all["posts"].as_array().map(Vec::len) == Some(1), "{all:#}");
    Ok(())
}

fn the_page_has_no_inline_code() -> Result<()> {
    let ring = TestRing::new(1, DatabaseKind::Sqlite, &[])?;
    ring.wait_for_ring(&[1])?;
    let page = get(&ring, 1, "/")?;
    ensure!(
        page.status == 200 && page.head.contains("text/html"),
        "{page:?}"
    );
    ensure!(
        !page.body.contains("<style") && !page.body.contains("<script>"),
        "{page:?}"
    );
    for path in ["/", "/board.js", "/live.js", "/board.css"] {
        let answer = get(&ring, 1, path)?;
        for header in [
            "content-security-policy: default-src 'self'; frame-ancestors 'none'; form-action 'self'; \
             base-uri 'none'\r\n",
            "x-content-type-options: nosniff",
            "cache-control: no-store",
            "referrer-policy: same-origin",
            "cross-origin-opener-policy: same-origin",
            "cross-origin-resource-policy: same-origin",
        ] {
            ensure!(
                answer.status == 200 && answer.head.contains(header),
                "{path}: {answer:?}"
            );
        }
    }
    for path in ["/board.js", "/live.js"] {
        ensure!(!get(&ring, 1, path)?.body.contains("innerHTML"));
    }
    Ok(())
}

/// Connects to the page from a different address of the same machine.
fn connect_from(ring: &TestRing, from: Ipv4Addr) -> Result<TcpStream> {
    let node = ring.segment().node(0);
    let stream = node
        .ns()
        .run(|| http::connect_from(PAGE, from, WAIT_LIMIT))??;
    stream.set_read_timeout(Some(WAIT_LIMIT))?;
    Ok(stream)
}

/// Starts a node whose long posts together exceed the maximum length of an answer.
fn ring_with_long_posts(options: &[(&str, &str)]) -> Result<TestRing> {
    let ring = TestRing::new(1, DatabaseKind::Sqlite, options)?;
    ring.wait_for_ring(&[1])?;
    let text = "\u{1f600}".repeat(2_000);
    for _ in 0..140 {
        let answer = post(&ring, 1, &json!({"author": "a", "text": text}))?;
        ensure!(matches!(answer.status, 200 | 201), "{answer:?}");
    }
    Ok(ring)
}

fn a_client_that_does_not_read_leaves_memory_and_views_to_others() -> Result<()> {
    let mut ring = ring_with_long_posts(&[])?;
    let pid = ring.node(1).pid();
    let memory = || -> Result<usize> {
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
        Ok(kib.context("VmHWM in kB")?.parse::<usize>()? << 10)
    };
    let before = memory()?;
    let request = request("GET /posts?limit=1000", "", "");
    let ask = || -> Result<TcpStream> {
        let mut stream = connect_from(&ring, Ipv4Addr::new(127, 0, 0, 2))?;
        // The node may refuse the client before it has received the request.
        let _ = stream.write_all(request.as_bytes());
        Ok(stream)
    };
    let mut deaf: Vec<_> = (0..128).map(|_| ask()).collect::<Result<_>>()?;
    // The client has used all its connections. The node refuses each further connection of this client, and serves
    // other clients.
    let answer = exchange(ask()?, b"")?;
    ensure!(
        answer.status == 429 && answer.json()?["error"] == "rate",
        "{answer:?}"
    );
    ensure!(answer.head.contains("\r\nretry-after: "), "{answer:?}");
    let mut more: Vec<_> = (0..384).map(|_| ask()).collect::<Result<_>>()?;
    let answers: Vec<_> = more.iter_mut().map(status).collect::<Result<_>>()?;
    let refused = answers.iter().filter(|status| *status == "429").count();
    // One of the first 128 connections may end after 10 s, so that the node accepts a further connection.
    ensure!(refused >= 256, "{answers:?}");
    deaf.append(&mut more);
    let answer = get(&ring, 1, "/posts?limit=1000")?;
    ensure!(
        answer.status == 200 && answer.body.len() > 1 << 20,
        "{}",
        answer.head
    );
    let took = memory()? - before;
    // One client may use a quarter of the bytes of all answers. The allocator may need the same amount again.
    ensure!(took < 64 << 20, "{took} bytes");
    Ok(())
}

/// Reads the status of an answer, and leaves the other bytes unread.
fn status(stream: &mut TcpStream) -> Result<String> {
    let mut line = [0; 12];
    stream.read_exact(&mut line)?;
    Ok(String::from_utf8_lossy(&line[9..]).into_owned())
}

/// Requests a live view. Returns the connection and the status code of the answer. A page without a password ignores
/// the password of the request.
fn listen(mut stream: TcpStream) -> Result<(TcpStream, String)> {
    stream.set_read_timeout(Some(WAIT_LIMIT))?;
    stream.write_all(request("GET /events", &basic(PASSWORD), "").as_bytes())?;
    let status = status(&mut stream)?;
    Ok((stream, status))
}

/// Opens the maximum number of live views. A quarter of the views come from each of four addresses.
fn open_all_views(connect: impl Fn(u8) -> Result<TcpStream>) -> Result<Vec<TcpStream>> {
    let mut views = Vec::new();
    for at in 0..64 {
        let (stream, status) = listen(connect(at / 16)?)?;
        ensure!(status == "200", "view {at}: {status}");
        views.push(stream);
    }
    Ok(views)
}

/// This test takes 15 seconds, because the node waits this long for a silent client.
fn vanished_browsers_free_their_live_views() -> Result<()> {
    let password = PasswordFile::new()?;
    let ring = TestRing::new(2, DatabaseKind::Sqlite, &password.options())?;
    ring.wait_for_ring(&[1, 2])?;
    let (page, elsewhere) = (ring.segment().node(0), ring.segment().node(1));
    let page = SocketAddr::from((page.ip().context("it has an address")?, 8080));
    let address = |at| Ipv4Addr::new(10, 77, 0, 100 + at);
    for at in 0..4 {
        let line = format!("addr add {}/24 dev eth0\n", address(at));
        elsewhere.ns().ip(&line)?;
    }
    let browsers = open_all_views(|at| {
        let connect = || http::connect_from(page, address(at), WAIT_LIMIT);
        Ok(elsewhere.ns().run(connect)??)
    })?;
    let (_, status) = listen(connect(&ring, 1, WAIT_LIMIT)?)?;
    ensure!(status == "503", "{status}");
    ring.set_link(2, "down")?;
    limit::wait_until("a live view is free", || {
        let listened = connect(&ring, 1, WAIT_LIMIT).and_then(listen);
        listened.is_ok_and(|(_, status)| status == "200")
    });
    drop(browsers);
    Ok(())
}

fn ended_live_views_are_free_at_once_and_one_client_has_a_quarter() -> Result<()> {
    // A comment would also discover that a view has ended, but the node sends comments only every 15 s.
    const AT_ONCE: Duration = Duration::from_secs(5);
    let ring = TestRing::new(1, DatabaseKind::Sqlite, &[])?;
    ring.wait_for_ring(&[1])?;
    let connect = |at| connect_from(&ring, Ipv4Addr::new(127, 0, 0, 2 + at));
    let views = open_all_views(connect)?;
    let (_, one_client) = listen(connect(0)?)?;
    let (_, all_clients) = listen(connect(4)?)?;
    ensure!(
        (one_client.as_str(), all_clients.as_str()) == ("429", "503"),
        "{one_client}, {all_clients}"
    );
    drop(views);
    let end = Instant::now();
    limit::wait_until("all live views are free", || {
        open_all_views(connect).is_ok()
    });
    let took = end.elapsed();
    ensure!(took < AT_ONCE, "{took:?}");
    Ok(())
}

fn a_client_that_posts_too_much_must_wait() -> Result<()> {
    let ring = TestRing::new(1, DatabaseKind::Sqlite, &[("--post-rate", "1KiB")])?;
    ring.wait_for_ring(&[1])?;
    let text = "a".repeat(2_000);
    let mut written = 0;
    let answer = loop {
        let what = json!({"author": "a", "text": text});
        let answer = raw(&ring, 1, post_request(&what).as_bytes())?;
        match answer.status {
            200 | 201 => written += 1,
            503 => {}
            _ => break answer,
        }
        ensure!(written < 100, "nothing is refused");
    };
    ensure!(
        answer.status == 429 && answer.json()?["error"] == "rate",
        "{answer:?}"
    );
    ensure!(answer.head.contains("\r\nretry-after: "), "{answer:?}");
    // Another client may still post.
    let other = connect_from(&ring, Ipv4Addr::new(127, 0, 0, 2))?;
    let what = json!({"author": "a", "text": text});
    let answer = exchange(other, post_request(&what).as_bytes())?;
    ensure!(matches!(answer.status, 201 | 503), "{answer:?}");
    Ok(())
}
