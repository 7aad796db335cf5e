//! Calls from the server's threads to the loop, and the loop's replies.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;

use ring_proto::andrews::{Request, RequestAnswer};
use ring_runtime::worker::WakeUp;
use tokio::sync::oneshot;

use super::{Clients, Listeners, Login};
use crate::posts::{BoardRequest, PendingRequests, RequestResult};

#[derive(Debug)]
pub(crate) enum LoopCall {
    /// Passes a request to the state machine.
    Request(Request, oneshot::Sender<RequestAnswer>),
    /// Asks for the node's status, as JSON.
    Status(oneshot::Sender<String>),
}

/// The reply channel of each request that the state machine handles. The key is the id of the request.
pub(crate) type ReplySenders = HashMap<u64, oneshot::Sender<RequestAnswer>>;

/// The server's threads use this handle to call the loop. The functions of the handle never block a thread.
#[derive(Debug)]
pub(crate) struct LoopHandle {
    /// The channel to the loop.
    pub calls: Sender<LoopCall>,
    /// Wakes the loop.
    pub bell: Arc<WakeUp>,
    /// The requests of clients. The key of each request is its id in the state machine.
    pub pending: Arc<PendingRequests>,
    /// The rules of the page.
    pub rules: PageRules,
    /// The limits of each client.
    pub clients: Clients,
    /// The clients that listen for new posts.
    pub listeners: Arc<Listeners>,
    /// The id of the last request.
    pub last_id: AtomicU64,
}

/// The visitors that the page admits.
#[derive(Debug)]
pub(crate) struct PageRules {
    /// The names that browsers may use for this node, in addition to its addresses.
    pub names: Vec<String>,
    /// The login; `None` if the page has no password.
    pub login: Option<Login>,
    /// Whether a reverse proxy of this machine forwards the requests.
    pub is_behind_proxy: bool,
}

/// A pending request. Dropping this value removes the request. The value is dropped when the client stops waiting, for
/// example because its connection ended.
struct PendingEntry<'a> {
    pending: &'a PendingRequests,
    id: u64,
}

impl Drop for PendingEntry<'_> {
    fn drop(&mut self) {
        self.pending.take(self.id);
    }
}

impl LoopHandle {
    /// Gives a request to the node, and waits for the answer. Returns `None` if the node has ended.
    pub(crate) async fn run_request(
        &self,
        request: BoardRequest,
    ) -> Option<Result<RequestResult, RequestAnswer>> {
        let id = 1 + self.last_id.fetch_add(1, Ordering::Relaxed);
        let is_post = matches!(request, BoardRequest::Post(_));
        self.pending.add(id, request);
        let entry = PendingEntry {
            pending: &self.pending,
            id,
        };
        let (reply, answer) = oneshot::channel();
        self.send(LoopCall::Request(Request { id, is_post }, reply));
        let answer = answer.await.ok()?;
        Some(match answer {
            RequestAnswer::Done { .. } => entry.pending.take(id).ok_or(RequestAnswer::Unknown),
            other => Err(other),
        })
    }

    /// Returns the node's status, or `None` if the node has ended.
    pub(crate) async fn status(&self) -> Option<String> {
        let (reply, answer) = oneshot::channel();
        self.send(LoopCall::Status(reply));
        answer.await.ok()
    }

    /// Wakes the loop after a change of the listeners.
    pub(crate) fn wake_loop(&self) {
        self.bell.ring();
    }

    fn send(&self, call: LoopCall) {
        // If the loop has ended, the reply channel is dropped together with the call, so the caller notices the end.
        let _ = self.calls.send(call);
        self.bell.ring();
    }
}
