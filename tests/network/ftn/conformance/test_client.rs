//! A client that the test controls. Its thread renews the session, repeats messages and answers surveys.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::super::wire::{Body, Token};
use super::stand::JudgedStand;
use super::test_peer::{Received, TestPeer};
use super::{lock, wait_until};

pub(super) const SHARED: i64 = 1;
pub(super) const EXCLUSIVE: i64 = -1;
pub(super) const UPDATE: i64 = 1;
pub(super) const DEASSIGN: i64 = 2;
/// Interval between two repetitions of a message, and between two renewals.
const REPEAT_INTERVAL: Duration = Duration::from_millis(200);
const POLL_INTERVAL: Duration = Duration::from_millis(5);
const FIRST_MSGNUM: i64 = 1_000;

/// A grant of a token. The test always requests a fencing number (`fence`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Grant {
    pub fence: u64,
    pub data: Vec<u8>,
}

impl Grant {
    /// Checks the data of the token. The error names the rule.
    pub(super) fn check_data(&self, rule: &str, data: &str) -> Result<()> {
        let own = String::from_utf8_lossy(&self.data);
        ensure!(own == data, "{rule}: the data are {own:?}, not {data:?}");
        Ok(())
    }

    /// Checks that the fencing number is larger than the fencing number of an earlier grant. The error names the rule.
    pub(super) fn check_fence_after(&self, rule: &str, before: &Self) -> Result<()> {
        let (now, before) = (self.fence, before.fence);
        ensure!(now > before, "{rule}: FENCE {now} after {before}");
        Ok(())
    }
}

/// A logged-in client. From the grant of a token until the server confirms the token's return, the client claims this
/// token in surveys.
pub(super) struct TestClient {
    peer: Arc<TestPeer>,
    state: Arc<Mutex<State>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<()>>>,
}

#[derive(Default)]
struct State {
    id: i64,
    configuration: i64,
    next_msgnum: i64,
    is_silent: bool,
    /// Time of the last repetition, or `None` if a new message waits.
    sent_at: Option<Instant>,
    /// REQUESTs and RETURNs without an answer, with their servers.
    outstanding: BTreeMap<i64, (usize, Body)>,
    /// Tokens that the client holds: their kind in a CATALOG, and their data.
    held: BTreeMap<Vec<u8>, (&'static str, Vec<u8>)>,
}

impl TestClient {
    /// Logs a client in on a node, and waits until the leader has confirmed a renewal.
    pub(super) fn log_in(stand: &JudgedStand, node: usize) -> Result<Self> {
        let peer = Arc::new(TestPeer::open(stand.servers(), node, 0)?);
        let state = Arc::new(Mutex::new(State {
            next_msgnum: FIRST_MSGNUM,
            ..State::default()
        }));
        let over = Arc::new(AtomicBool::new(false));
        let (its_peer, its_state, end) = (Arc::clone(&peer), Arc::clone(&state), Arc::clone(&over));
        let thread = thread::spawn(move || run(&its_peer, &its_state, &end));
        let client = Self {
            peer,
            state,
            over,
            thread: Some(thread),
        };
        client.wait_for("rules S7, S17 (sessions.md)", |received| {
            matches!(received.datagram.body, Body::Confirm { .. }).then_some(())
        })?;
        Ok(client)
    }

    pub(super) fn id(&self) -> i64 {
        lock(&self.state).id
    }

    pub(super) fn peer(&self) -> &TestPeer {
        &self.peer
    }

    pub(super) fn next_msgnum(&self) -> i64 {
        lock(&self.state).take_msgnum()
    }

    /// Sends one datagram of the session.
    pub(super) fn send(&self, server: usize, body: Body) -> Result<()> {
        self.peer.send(server, self.id(), body)
    }

    /// Requests a token from a server, and repeats the request until a GRANT arrives. Returns the msgnum.
    pub(super) fn request(&self, server: usize, name: &str, access: i64) -> i64 {
        let msgnum = self.next_msgnum();
        let token = (name.as_bytes().to_vec(), b"fence".to_vec());
        let body = Body::Request {
            msgnum,
            token,
            access,
        };
        self.repeat(server, msgnum, body);
        msgnum
    }

    /// Sends a RETURN to a server, and repeats it until a CONFIRM arrives. Returns the msgnum.
    pub(super) fn give_back(&self, server: usize, name: &str, data: &str, flags: i64) -> i64 {
        let msgnum = self.next_msgnum();
        let token = (name.as_bytes().to_vec(), data.as_bytes().to_vec());
        let body = Body::Return {
            msgnum,
            token,
            flags,
        };
        self.repeat(server, msgnum, body);
        msgnum
    }

    fn repeat(&self, server: usize, msgnum: i64, body: Body) {
        // The thread sends the message, so a failure to send ends the thread.
        let mut state = lock(&self.state);
        state.outstanding.insert(msgnum, (server, body));
        state.sent_at = None;
    }

    /// Sends no further renewals and ALIVEs, and answers no further surveys.
    pub(super) fn fall_silent(&self) {
        lock(&self.state).is_silent = true;
    }

    pub(super) fn wait_for<T>(
        &self,
        rule: &str,
        find: impl Fn(&Received) -> Option<T>,
    ) -> Result<T> {
        self.peer.wait_for(rule, find)
    }

    /// Waits for the first GRANT of a REQUEST.
    pub(super) fn wait_for_grant(&self, rule: &str, msgnum: i64) -> Result<Grant> {
        self.wait_for(rule, |received| granted(received, msgnum))?
    }

    /// Waits until this number of GRANTs of a REQUEST have arrived.
    pub(super) fn wait_for_grants(&self, rule: &str, msgnum: i64, count: usize) -> Result<()> {
        wait_until(rule, || self.grants(msgnum).len() >= count)
    }

    /// Returns all GRANTs of a REQUEST.
    pub(super) fn grants(&self, msgnum: i64) -> Vec<Grant> {
        let inbox = self.peer.received();
        let grants = inbox
            .iter()
            .filter_map(|received| granted(received, msgnum)?.ok());
        grants.collect()
    }

    pub(super) fn has_grant(&self, msgnum: i64) -> bool {
        let inbox = self.peer.received();
        inbox
            .iter()
            .any(|received| granted(received, msgnum).is_some())
    }

    pub(super) fn wait_for_confirm(&self, rule: &str, msgnum: i64) -> Result<Duration> {
        self.wait_for(rule, |received| {
            (received.datagram.body == Body::Confirm { msgnum }).then_some(received.at)
        })
    }

    pub(super) fn wait_for_revoke(&self, rule: &str, name: &str) -> Result<()> {
        let revoke = Body::Revoke { name: name.into() };
        self.wait_for(rule, |received| {
            (received.datagram.body == revoke).then_some(())
        })
    }

    pub(super) fn wait_for_revokes(&self, rule: &str, count: usize) -> Result<()> {
        wait_until(rule, || self.revokes() >= count)
    }

    pub(super) fn revokes(&self) -> usize {
        let is_revoke =
            |received: &&Received| matches!(received.datagram.body, Body::Revoke { .. });
        self.peer.received().iter().filter(is_revoke).count()
    }
}

impl Drop for TestClient {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(Ok(Err(error))) = self.thread.take().map(JoinHandle::join) {
            eprintln!("a client of the test ended early: {error:#}");
        }
    }
}

impl State {
    const fn take_msgnum(&mut self) -> i64 {
        self.next_msgnum += 1;
        self.next_msgnum - 1
    }

    /// Returns the CATALOG with all tokens that the client holds (conventions.md C5, C6).
    fn catalog(&self) -> Vec<Token> {
        // FLOOR does not exceed an outstanding message, so this message keeps its msgnum.
        let floor = self.outstanding.keys().next();
        let floor = floor.unwrap_or(&self.next_msgnum);
        let head = format!("{} 0 1 {floor}", self.configuration);
        let mut holdings = vec![(Vec::new(), head.into_bytes())];
        for (name, (kind, data)) in &self.held {
            holdings.push((Vec::new(), kind.as_bytes().to_vec()));
            holdings.push((name.clone(), data.clone()));
        }
        holdings
    }

    fn leader(&self, peer: &TestPeer) -> Result<usize> {
        let count = i64::try_from(peer.server_count())?;
        Ok(usize::try_from(self.configuration % count)?)
    }

    fn on_received(&mut self, peer: &TestPeer, received: &Received) -> Result<()> {
        let Body::Config { leader, .. } = received.datagram.body else {
            return self.on_answer(&received.datagram.body);
        };
        if leader < self.configuration {
            return Ok(());
        }
        self.configuration = leader;
        let to = received.datagram.to;
        if self.id == 0 && to != 0 && received.server == self.leader(peer)? {
            self.id = to;
        } else if self.id != 0 && to == self.id && !self.is_silent {
            let holdings = self.catalog();
            peer.send(received.server, self.id, Body::Catalog { holdings })?;
        }
        Ok(())
    }

    /// Sends LOGIN, or renews the session and repeats the outstanding messages.
    fn send_all(&mut self, peer: &TestPeer) -> Result<()> {
        if self.id == 0 {
            for server in 0..peer.server_count() {
                peer.send(server, 0, peer.login()?)?;
            }
            return Ok(());
        }
        if self.is_silent {
            return Ok(());
        }
        let (leader, msgnum) = (self.leader(peer)?, self.take_msgnum());
        peer.send(leader, self.id, Body::Alive)?;
        peer.send(leader, self.id, renewal(msgnum, self.configuration))?;
        for (server, body) in self.outstanding.values() {
            peer.send(*server, self.id, body.clone())?;
        }
        Ok(())
    }

    /// Notes a grant or a confirmation.
    fn on_answer(&mut self, body: &Body) -> Result<()> {
        match body {
            Body::Grant { msgnum, token } => {
                if let Some((_, Body::Request { access, .. })) = self.outstanding.remove(msgnum) {
                    let (_, data) = split_fence(&token.1).context("no FENCE")?;
                    let kind = if access == EXCLUSIVE { "x" } else { "s" };
                    self.held.insert(token.0.clone(), (kind, data));
                }
            }
            Body::Confirm { msgnum } => {
                if let Some((_, Body::Return { token, flags, .. })) =
                    self.outstanding.remove(msgnum)
                {
                    if flags & DEASSIGN != 0 {
                        self.held.remove(&token.0);
                    } else if let Some((_, data)) = self.held.get_mut(&token.0) {
                        *data = token.1;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Returns a renewal (conventions.md C2).
pub(super) fn renewal(msgnum: i64, configuration: i64) -> Body {
    let data = configuration.to_string().into_bytes();
    Body::Return {
        msgnum,
        token: (Vec::new(), data),
        flags: DEASSIGN,
    }
}

/// If a datagram is the GRANT with this msgnum, returns the grant, or an error if FENCE is missing.
pub(super) fn granted(received: &Received, wanted: i64) -> Option<Result<Grant>> {
    let Body::Grant { msgnum, token } = &received.datagram.body else {
        return None;
    };
    let grant = || {
        let parts = split_fence(&token.1);
        let (fence, data) =
            parts.context("rule N13 (numbers.md): the data do not begin with FENCE")?;
        Ok(Grant { fence, data })
    };
    (*msgnum == wanted).then(grant)
}

/// Divides the data of a GRANT into FENCE and the data of the token (conventions.md C8).
fn split_fence(data: &[u8]) -> Option<(u64, Vec<u8>)> {
    let at = data.iter().position(|byte| *byte == b' ')?;
    let fence = std::str::from_utf8(&data[..at]).ok()?.parse().ok()?;
    Some((fence, data[at + 1..].to_vec()))
}

fn run(peer: &TestPeer, state: &Mutex<State>, over: &AtomicBool) -> Result<()> {
    let mut read = 0;
    while !over.load(Ordering::Relaxed) {
        let inbox = peer.received();
        let mut state = lock(state);
        for received in &inbox[read..] {
            state.on_received(peer, received)?;
        }
        read = inbox.len();
        let is_due = |at: Instant| at.elapsed() >= REPEAT_INTERVAL;
        if state.sent_at.is_none_or(is_due) {
            state.sent_at = Some(Instant::now());
            state.send_all(peer)?;
        }
        drop(state);
        thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}
