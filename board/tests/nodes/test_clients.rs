//! Clients that write all the while, one at each node, and others that listen; and what must hold of what they were told.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ring_segment::{NetNs, PATIENCE, limit};
use serde_json::{Value, json};

use super::http::{exchange, get, posting};
use super::stand::Stand;

/// How long one waits for an answer before asking another node. A node that stands still answers nobody.
const ANSWER: Duration = Duration::from_secs(1);
/// Before one tries the next node, lest a node that refuses all be asked for nothing else.
const PAUSE: Duration = Duration::from_millis(10);

/// Where a node's page is: its machine, and its address there.
#[derive(Clone)]
struct Place(NetNs, std::net::Ipv4Addr);

impl Place {
    fn connect(&self) -> Result<TcpStream> {
        let address = (self.1, 8080).into();
        let stream = self
            .0
            .run(|| TcpStream::connect_timeout(&address, ANSWER))??;
        stream.set_read_timeout(Some(ANSWER))?;
        Ok(stream)
    }
}

/// What all of them share.
#[derive(Default)]
struct Shared {
    /// Nobody writes any more.
    is_over: AtomicBool,
    /// The last post that there is then, and until when who listens waits for it.
    last: OnceLock<(u64, Instant)>,
    acknowledged: AtomicUsize,
    refused: AtomicUsize,
}

/// Clients at work.
pub(crate) struct Crowd {
    shared: Arc<Shared>,
    writers: Vec<JoinHandle<Vec<(String, u64)>>>,
    listeners: Vec<JoinHandle<Vec<u64>>>,
}

impl Crowd {
    /// One that writes at each node, and one that listens there.
    pub(crate) fn start(stand: &Stand) -> Result<Self> {
        let place = |node: &ring_segment::Node| {
            let ip = node.ip().context("it has an address")?;
            Ok(Place(node.ns().clone(), ip))
        };
        let places: Result<Vec<Place>> = stand.segment().nodes().iter().map(place).collect();
        let (places, shared) = (places?, Arc::new(Shared::default()));
        let write = |first: usize| {
            let (places, shared) = (places.clone(), Arc::clone(&shared));
            thread::spawn(move || write(&places, first, &shared))
        };
        let listen = |place: &Place| {
            let (place, shared) = (place.clone(), Arc::clone(&shared));
            thread::spawn(move || listen(&place, &shared))
        };
        Ok(Self {
            writers: (0..places.len()).map(write).collect(),
            listeners: places.iter().map(listen).collect(),
            shared,
        })
    }

    /// Waits until this many more posts were acknowledged.
    pub(crate) fn wait_for_posts(&self, more: usize) {
        wait_for("posts are acknowledged", &self.shared.acknowledged, more);
    }

    /// Waits until this many more requests were answered 503.
    pub(crate) fn wait_for_refusals(&self, more: usize) {
        wait_for("requests are refused", &self.shared.refused, more);
    }

    /// Ends them, and looks at what all nodes have: each post that was acknowledged is there, as it was told; none is there
    /// twice; a client's posts are in the order in which it wrote them; and who listened has heard all of them in the order that they
    /// have.
    pub(crate) fn end(self, stand: &Stand) -> Result<()> {
        self.shared.is_over.store(true, Ordering::Relaxed);
        let join = |it: JoinHandle<_>| it.join().ok().context("a client panicked");
        let written: Result<Vec<_>> = self.writers.into_iter().map(join).collect();
        let posts = all_posts(stand, 1)?;
        for id in 2..=stand.segment().nodes().len() {
            ensure!(all_posts(stand, id)? == posts, "node {id} has others");
        }
        let field = |post: &Value, name: &str| post[name].as_u64();
        let ids: Option<Vec<u64>> = posts.iter().map(|post| field(post, "id")).collect();
        let ids = ids.context("ids")?;
        let last = *ids.last().context("nobody wrote anything")?;
        let until = (last, Instant::now() + PATIENCE);
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
    let wanted = count.load(Ordering::Relaxed) + more;
    limit::until(what, || count.load(Ordering::Relaxed) >= wanted);
}

/// Writes one post after the other, each with a key, at one node after the other until it is acknowledged. Returns the texts that
/// were, with their ids.
fn write(places: &[Place], first: usize, shared: &Shared) -> Vec<(String, u64)> {
    let (mut told, mut node) = (Vec::new(), first);
    while !shared.is_over.load(Ordering::Relaxed) {
        let text = format!("{first}-{}", told.len());
        let what = posting(&json!({"author": "a", "text": text, "key": text}));
        // The last one may be given up: nobody was told that it is there.
        while !shared.is_over.load(Ordering::Relaxed) {
            let place = &places[node % places.len()];
            let said = place.connect().and_then(|it| exchange(it, what.as_bytes()));
            match said.ok().map(|said| (said.status, said.json())) {
                Some((200 | 201, Ok(said))) => {
                    told.push((text, said["id"].as_u64().unwrap_or_default()));
                    shared.acknowledged.fetch_add(1, Ordering::Relaxed);
                    break;
                }
                Some((503, _)) => _ = shared.refused.fetch_add(1, Ordering::Relaxed),
                _ => (),
            }
            node += 1;
            thread::sleep(PAUSE);
        }
        node = first;
    }
    told
}

/// Listens at a node, again and again from where it was, until it has heard all. Returns the ids that it heard.
fn listen(place: &Place, shared: &Shared) -> Vec<u64> {
    let mut heard: Vec<u64> = Vec::new();
    let has_all = |heard: &[u64]| {
        let until = shared.last.get();
        until.is_some_and(|(last, give_up)| heard.last() >= Some(last) || Instant::now() > *give_up)
    };
    while !has_all(&heard) {
        let Ok(mut stream) = place.connect() else {
            thread::sleep(PAUSE);
            continue;
        };
        let last = heard.last().copied().unwrap_or_default();
        let request =
            format!("GET /events HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: {last}\r\n\r\n");
        if stream.write_all(request.as_bytes()).is_err() {
            continue;
        }
        // Silence ends it too.
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

fn all_posts(stand: &Stand, id: usize) -> Result<Vec<Value>> {
    let mut all: Vec<Value> = Vec::new();
    loop {
        let after = all.last().map_or(json!(0), |post| post["id"].clone());
        let said = get(stand, id, &format!("/posts?after={after}&limit=1000"))?;
        ensure!(said.status == 200, "{said:?}");
        let mut said = said.json()?;
        let more = said["posts"].as_array_mut().context("posts")?;
        if more.is_empty() {
            return Ok(all);
        }
        all.append(more);
    }
}
