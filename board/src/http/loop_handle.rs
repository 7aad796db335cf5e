//! The way from a request to the loop and back.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;

use ring_proto::andrews::{Answer, Request};
use ring_runtime::worker::Bell;
use tokio::sync::oneshot;

use super::{Clients, Listeners};
use crate::posts::{Desk, Found, Wanted};

/// What is asked of the loop.
#[derive(Debug)]
pub(crate) enum Asked {
    /// To give the machine a request.
    Request(Request, oneshot::Sender<Answer>),
    /// How the node sees itself and the others, as JSON.
    Ring(oneshot::Sender<String>),
}

/// Requests that the machine has, by their ids, with who waits for each.
pub(crate) type Replies = HashMap<u64, oneshot::Sender<Answer>>;

/// Where the threads of the server ask the loop. The loop is never waited for.
#[derive(Debug)]
pub(crate) struct Counter {
    /// To the loop.
    pub asked: Sender<Asked>,
    /// Rings there.
    pub bell: Arc<Bell>,
    /// What requests stand for.
    pub desk: Arc<Desk>,
    /// Names of this node beside its addresses.
    pub names: Vec<String>,
    /// Limits of one client.
    pub clients: Clients,
    /// Those who listen.
    pub listeners: Arc<Listeners>,
    /// The last request's id.
    pub last: AtomicU64,
}

/// A request that lies on the desk for as long as somebody waits for it.
struct Ticket<'a> {
    desk: &'a Desk,
    id: u64,
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.desk.take(self.id);
    }
}

impl Counter {
    /// What comes of a request. `None`: the node has ended.
    pub(crate) async fn ask(&self, wanted: Wanted) -> Option<Result<Found, Answer>> {
        let id = 1 + self.last.fetch_add(1, Ordering::Relaxed);
        let is_post = matches!(wanted, Wanted::Post(_));
        self.desk.leave(id, wanted);
        let ticket = Ticket {
            desk: &self.desk,
            id,
        };
        let (reply, answer) = oneshot::channel();
        self.give(Asked::Request(Request { id, is_post }, reply));
        let answer = answer.await.ok()?;
        Some(match answer {
            Answer::Done { .. } => ticket.desk.take(id).ok_or(Answer::Unknown),
            other => Err(other),
        })
    }

    /// How the node sees itself and the others. `None`: the node has ended.
    pub(crate) async fn ring(&self) -> Option<String> {
        let (reply, answer) = oneshot::channel();
        self.give(Asked::Ring(reply));
        answer.await.ok()
    }

    /// Wakes the loop: who listens has changed.
    pub(crate) fn ring_bell(&self) {
        self.bell.ring();
    }

    fn give(&self, asked: Asked) {
        // If the loop has ended the reply is dropped with what was asked.
        let _ = self.asked.send(asked);
        self.bell.ring();
    }
}
