//! Calls from the server's threads to the loop, and its replies.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;

use ring_proto::andrews::{Request, RequestAnswer};
use ring_runtime::worker::WakeUp;
use tokio::sync::oneshot;

use super::{Clients, Listeners};
use crate::posts::{BoardRequest, PendingRequests, RequestResult};

#[derive(Debug)]
pub(crate) enum LoopCall {
    /// Hands a request to the state machine.
    Request(Request, oneshot::Sender<RequestAnswer>),
    /// Asks for the node's status, as JSON.
    Status(oneshot::Sender<String>),
}

/// The requests that the state machine has, by id, each with the channel for its answer.
pub(crate) type ReplySenders = HashMap<u64, oneshot::Sender<RequestAnswer>>;

/// A handle of the loop for the server's threads. A call never blocks a thread.
#[derive(Debug)]
pub(crate) struct LoopHandle {
    /// The channel to the loop.
    pub calls: Sender<LoopCall>,
    /// Wakes the loop.
    pub bell: Arc<WakeUp>,
    /// The requests of clients, by the ids that the state machine knows.
    pub pending: Arc<PendingRequests>,
    /// The names by which browsers may ask for this node, in addition to its addresses.
    pub names: Vec<String>,
    /// The limits of each client.
    pub clients: Clients,
    /// The clients that listen for new posts.
    pub listeners: Arc<Listeners>,
    /// The id of the last request.
    pub last_id: AtomicU64,
}

/// A pending request. It is removed when the client no longer waits, even if its connection ended.
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
    /// Carries out a request. `None`: the node has ended.
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

    /// Returns the node's status. `None`: the node has ended.
    pub(crate) async fn status(&self) -> Option<String> {
        let (reply, answer) = oneshot::channel();
        self.send(LoopCall::Status(reply));
        answer.await.ok()
    }

    /// Wakes the loop after the listeners have changed.
    pub(crate) fn wake_loop(&self) {
        self.bell.ring();
    }

    fn send(&self, call: LoopCall) {
        // If the loop has ended, the reply channel is dropped with the call, and the caller notices it.
        let _ = self.calls.send(call);
        self.bell.ring();
    }
}
