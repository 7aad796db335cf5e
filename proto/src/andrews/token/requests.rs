//! Requests that wait for the token (`docs/board/protocol/token.md`, rules P).

use std::collections::VecDeque;

use crate::andrews::Request;
use crate::time::Instant;

/// If this number of requests wait, the node refuses further requests, so clients learn at once that the ring is
/// overloaded.
const WAITING_MAX: usize = 256;
/// One visit of the token serves at most this number of requests, so the token does not stay too long.
const REQUESTS_PER_VISIT_MAX: usize = 64;

/// The requests in the order of their arrival.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    waiting: VecDeque<(Request, Instant)>,
    /// The deadlines of the requests of the present visit, in the order of these requests.
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

    /// Adds a request. Returns whether the request fits.
    pub(crate) fn push(&mut self, request: Request, until: Instant) -> bool {
        let has_room = self.len() < WAITING_MAX;
        if has_room {
            self.waiting.push_back((request, until));
        }
        has_room
    }

    pub(crate) fn len(&self) -> usize {
        // Requests that are being served may return to the queue, so they count.
        self.waiting.len() + self.until.len()
    }

    /// Returns the number of requests that are being served.
    pub(crate) const fn served_count(&self) -> usize {
        self.until.len()
    }

    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(crate) fn take_for_visit(&mut self) -> Vec<Request> {
        let count = self.waiting.len().min(REQUESTS_PER_VISIT_MAX);
        let (requests, until) = self.waiting.drain(..count).unzip();
        self.until = until;
        requests
    }

    pub(crate) fn end_visit(&mut self) {
        self.until.clear();
    }

    /// If a visit had no effect, puts its requests back to the front of the queue.
    pub(crate) fn wait_again(&mut self, requests: Vec<Request>) {
        let until = std::mem::take(&mut self.until);
        // The last request goes first, so that the requests keep their order at the front.
        for both in requests.into_iter().zip(until).rev() {
            self.waiting.push_front(both);
        }
    }

    /// Removes and returns the next request that waited too long.
    pub(crate) fn take_expired(&mut self, now: Instant) -> Option<Request> {
        // All requests wait equally long, so the first request expires first.
        self.due().filter(|due| *due <= now)?;
        self.waiting.pop_front().map(|(request, _)| request)
    }

    pub(crate) fn due(&self) -> Option<Instant> {
        self.waiting.front().map(|(_, until)| *until)
    }

    pub(crate) fn take_all(&mut self) -> Vec<Request> {
        self.waiting.drain(..).map(|(request, _)| request).collect()
    }
}
