//! Two clients for each node: one client writes without pauses, and the second client listens. This file also checks
//! the results of the clients.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ring_segment::{NetNs, WAIT_LIMIT, limit};
use serde_json::{Value, json};

use super::http::{PAGE, exchange, get, post_request};
use super::test_ring::TestRing;

/// The time that a client waits for an answer before it tries a different node. A stopped node does not answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// The pause before a client tries the next node. Without this pause, a client would flood nodes that refuse every
/// request.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// The page of a node on this machine.
#[derive(Clone)]
struct Page(NetNs);

impl Page {
    fn connect(&self) -> Result<TcpStream> {
        let stream = self
            .0
            .run(|| TcpStream::connect_timeout(&PAGE, ANSWER_TIMEOUT))??;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        Ok(stream)
    }
}

#[derive(Default)]
struct Shared {
    /// Whether the writing clients must stop.
    is_over: AtomicBool,
    /// The id of the last post, and the deadline of the listeners for this post.
    last: OnceLock<(u64, Instant)>,
    acknowledged: AtomicUsize,
    refused: AtomicUsize,
}

pub(crate) struct TestClients {
    shared: Arc<Shared>,
    writers: Vec<JoinHandle<Vec<(String, u64)>>>,
    listeners: Vec<JoinHandle<Vec<u64>>>,
}

impl TestClients {
    /// Starts a client that writes and a client that listens at each node.
    pub(crate) fn start(ring: &TestRing) -> Self {
        let nodes = ring.segment().nodes().iter();
        let pages: Vec<Page> = nodes.map(|node| Page(node.ns().clone())).collect();
        let shared = Arc::new(Shared::default());
        let write = |first: usize| {
            let (pages, shared) = (pages.clone(), Arc::clone(&shared));
            thread::spawn(move || write(&pages, first, &shared))
        };
        let listen = |page: &Page| {
            let (page, shared) = (page.clone(), Arc::clone(&shared));
            thread::spawn(move || listen(&page, &shared))
        };
        Self {
            writers: (0..pages.len()).map(write).collect(),
            listeners: pages.iter().map(listen).collect(),
            shared,
        }
    }

    /// Waits until `more` further posts are acknowledged.
    pub(crate) fn wait_for_posts(&self, more: usize) {
        wait_for("posts are acknowledged", &self.shared.acknowledged, more);
    }

    /// Waits until `more` further requests are refused with 503.
    pub(crate) fn wait_for_refusals(&self, more: usize) {
        wait_for("requests are refused", &self.shared.refused, more);
    }

    /// Stops the clients and checks their results. Each acknowledged post must exist, with the acknowledged text and
    /// id. No post may exist twice. The posts of each client must be in the order of the client's writes. Each listener
    /// must have received all posts in the order of their ids.
    pub(crate) fn end(self, ring: &TestRing) -> Result<()> {
        self.shared.is_over.store(true, Ordering::Relaxed);
        let join = |it: JoinHandle<_>| it.join().ok().context("a client panicked");
        let written: Result<Vec<_>> = self.writers.into_iter().map(join).collect();
        let posts = all_posts(ring, 1)?;
        for id in 2..=ring.segment().nodes().len() {
            ensure!(all_posts(ring, id)? == posts, "node {id} has others");
        }
        let field = |post: &Value, name: &str| post[name].as_u64();
        let ids: Option<Vec<u64>> = posts.iter().map(|post| field(post, "id")).collect();
        let ids = ids.context("ids")?;
        let last = *ids.last().context("nobody wrote anything")?;
        let until = (last, Instant::now() + WAIT_LIMIT);
        ensure!(self.shared.last.set(until).is_ok(), "it ends once");
        ensure!(
            ids.is_sorted_by(|one, next| one < next),
            "posts are not in the order of their ids"
        );
        let mut texts: Vec<&str> = posts.iter().filter_map(|it| it["text"].as_str()).collect();
        for told in written? {
            let order: Vec<u64> = told.iter().map(|(_, id)| *id).collect();
            ensure!(
                order.is_sorted_by(|one, next| one < next),
                "a client's posts changed places"
            );
            for (text, id) in &told {
                let is_it = |post: &&Value| field(post, "id") == Some(*id);
                let post = posts.iter().find(is_it);
                let post =
                    post.with_context(|| format!("post {id} was acknowledged and is lost"))?;
                ensure!(post["text"] == text.as_str(), "{id} is {text}, not {post}");
            }
        }
        let count = texts.len();
        texts.sort_unstable();
        texts.dedup();
        ensure!(texts.len() == count, "a post was written twice");
        let sequences = posts.iter().map(|post| field(post, "sequence"));
        ensure!(sequences.is_sorted(), "a sequence has decreased");
        for listener in self.listeners {
            let heard = listener.join().ok().context("a listener panicked")?;
            let other = heard.iter().zip(&ids).position(|(heard, id)| heard != id);
            ensure!(
                heard == ids,
                "who listens has heard {} of {} posts, and others from {other:?} on",
                heard.len(),
                ids.len()
            );
        }
        Ok(())
    }
}

fn wait_for(what: &str, count: &AtomicUsize, more: usize) {
    let request = count.load(Ordering::Relaxed) + more;
    limit::wait_until(what, || count.load(Ordering::Relaxed) >= request);
}

/// Writes posts one by one. Each post has a key. Tries one node after the other until a node acknowledges the post.
/// Returns the acknowledged texts with their ids.
fn write(pages: &[Page], first: usize, shared: &Shared) -> Vec<(String, u64)> {
    let (mut told, mut node) = (Vec::new(), first);
    while !shared.is_over.load(Ordering::Relaxed) {
        let text = format!("{first}-{}", told.len());
        let what = post_request(&json!({"author": "a", "text": text, "key": text}));
        // A writer may give up its last post, because this post was not acknowledged.
        while !shared.is_over.load(Ordering::Relaxed) {
            let page = &pages[node % pages.len()];
            let answer = page.connect().and_then(|it| exchange(it, what.as_bytes()));
            match answer.ok().map(|answer| (answer.status, answer.json())) {
                Some((200 | 201, Ok(answer))) => {
                    told.push((text, answer["id"].as_u64().unwrap_or_default()));
                    shared.acknowledged.fetch_add(1, Ordering::Relaxed);
                    break;
                }
                Some((503, _)) => _ = shared.refused.fetch_add(1, Ordering::Relaxed),
                _ => (),
            }
            node += 1;
            thread::sleep(RETRY_INTERVAL);
        }
        node = first;
    }
    told
}

/// Listens at a node until all posts have arrived. If the connection ends, connects again. Returns the ids of the posts
/// that arrived.
fn listen(page: &Page, shared: &Shared) -> Vec<u64> {
    let mut heard: Vec<u64> = Vec::new();
    let has_all = |heard: &[u64]| {
        let until = shared.last.get();
        until.is_some_and(|(last, give_up)| heard.last() >= Some(last) || Instant::now() > *give_up)
    };
    while !has_all(&heard) {
        let Ok(mut stream) = page.connect() else {
            thread::sleep(RETRY_INTERVAL);
            continue;
        };
        let last = heard.last().copied().unwrap_or_default();
        let request =
            format!("GET /events HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: {last}\r\n\r\n");
        if stream.write_all(request.as_bytes()).is_err() {
            continue;
        }
        // If no event comes for a while, this loop ends too.
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if let Some(id) = line.strip_prefix("id: ") {
                heard.extend(id.parse::<u64>());
            }
            if has_all(&heard) {
                break;
            }
        }
    }
    heard
}

fn all_posts(ring: &TestRing, id: usize) -> Result<Vec<Value>> {
    let mut all: Vec<Value> = Vec::new();
    loop {
        let after = all.last().map_or(json!(0), |post| post["id"].clone());
        let answer = get(ring, id, &format!("/posts?after={after}&limit=1000"))?;
        ensure!(answer.status == 200, "{answer:?}");
        let mut answer = answer.json()?;
        let more = answer["posts"].as_array_mut().context("posts")?;
        if more.is_empty() {
            return Ok(all);
        }
        all.append(more);
    }
}
