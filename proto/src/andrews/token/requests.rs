//! Requests that wait for the token (`docs/board.md`, section 10).

use std::collections::VecDeque;

use crate::andrews::Request;
use crate::time::Instant;

/// The most that wait.
const MOST: usize = 256;
/// The most that one visit of the token answers.
const VISIT: usize = 64;

/// In the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    waiting: VecDeque<(Request, Instant)>,
    /// When those that are being served give up to wait, in their order.
    until: Vec<Instant>,
    has_listeners: bool,
}

impl Requests {
    pub(crate) const fn has_listeners(&self) -> bool {
        self.has_listeners
    }

    pub(crate) const fn set_listeners(&mut self, has_any: bool) {
        self.has_listeners = has_any;
    }

    /// Whether there is room for it.
    pub(crate) fn push(&mut self, request: Request, until: Instant) -> bool {
        let has_room = self.len() < MOST;
        if has_room {
            self.waiting.push_back((request, until));
        }
        has_room
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len() + self.until.len()
    }

    /// How many are being served.
    pub(crate) const fn served_count(&self) -> usize {
        self.until.len()
    }

    /// Whether any waits for the token.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// What the next visit serves.
    pub(crate) fn serve(&mut self) -> Vec<Request> {
        let count = self.waiting.len().min(VISIT);
        let (requests, until) = self.waiting.drain(..count).unzip();
        self.until = until;
        requests
    }

    /// The visit is over.
    pub(crate) fn served(&mut self) {
        self.until.clear();
    }

    /// The visit has done nothing: its requests wait again, before all others.
    pub(crate) fn wait_again(&mut self, requests: Vec<Request>) {
        let until = std::mem::take(&mut self.until);
        for both in requests.into_iter().zip(until).rev() {
            self.waiting.push_front(both);
        }
    }

    /// The next that has waited too long.
    pub(crate) fn late(&mut self, now: Instant) -> Option<Request> {
        self.due().filter(|due| *due <= now)?;
        self.waiting.pop_front().map(|(request, _)| request)
    }

    pub(crate) fn due(&self) -> Option<Instant> {
        self.waiting.front().map(|(_, until)| *until)
    }

    /// All that wait.
    pub(crate) fn give_up(&mut self) -> Vec<Request> {
        self.waiting.drain(..).map(|(request, _)| request).collect()
    }
}
