//! The clients: their requests, the answers, and the resulting posts (`docs/board/protocol/token.md`, rules P;
//! `promises.md`, rules Q).

use ring_proto::andrews::{Command, Request, RequestAnswer};

use super::node::HostInput;
use super::outcome::{Excuse, Rule};
use super::system::{AndrewsEvent, World};

const MS: u64 = 1_000_000;
/// The maximum number of requests that wait at one node.
const WAITING_REQUESTS_MAX: usize = 256;

/// All requests, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Clients {
    asked: Vec<ClientRequest>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ClientRequest {
    pub(super) node: usize,
    pub(super) life: u32,
    is_post: bool,
    /// The key, if the request has a key. Only one of the posts with the same key is written.
    key: Option<u64>,
    /// The time, in nanoseconds.
    pub(super) at: u64,
    pub(super) answer: Option<RequestAnswer>,
}

impl Clients {
    pub(super) fn key(&self, request: u64) -> Option<u64> {
        self.get(request)?.key
    }

    pub(super) fn get(&self, request: u64) -> Option<&ClientRequest> {
        self.asked.get(usize::try_from(request).ok()?)
    }

    /// Returns the requests without an answer.
    pub(super) fn open(&self) -> impl Iterator<Item = (u64, &ClientRequest)> {
        let asked = (0..).zip(&self.asked);
        asked.filter(|(_, asked)| asked.answer.is_none())
    }

    pub(super) fn count(&self) -> usize {
        self.asked.len()
    }

    /// Whether all requests from `first` on are done.
    pub(super) fn are_done(&self, first: usize) -> bool {
        let mut asked = self.asked.iter().skip(first);
        asked.all(|it| matches!(it.answer, Some(RequestAnswer::Done { .. })))
    }

    fn all(&self) -> impl Iterator<Item = (u64, &ClientRequest)> {
        (0..).zip(&self.asked)
    }
}

impl World {
    /// Sends a client's request to a node. A repeated request has the key of the first request.
    pub(super) fn ask(&mut self, at: usize, is_post: bool, again: Option<u64>) {
        if self.nodes[at].driver.is_none() {
            return;
        }
        let has_key = is_post && self.rng.chance(400);
        let node = &mut self.nodes[at];
        let asked = &mut self.system.clients.asked;
        let id = asked.len() as u64;
        // Only some posts have a key, because a key is optional in the protocol.
        let key = again.or_else(|| has_key.then_some(id));
        asked.push(ClientRequest {
            node: at,
            life: node.life,
            is_post,
            key,
            at: self.now,
            answer: None,
        });
        node.own.process.asked += 1;
        let request = Request { id, is_post };
        self.give_input(at, HostInput::Command(Command::Request(request)));
    }

    /// Sends many requests to a node. Some of these requests only read.
    pub(super) fn ask_many(&mut self, at: usize, count: u16) {
        for _ in 0..count {
            let is_post = !self.rng.chance(250);
            self.ask(at, is_post, None);
        }
    }

    /// Handles a node's answer to a request.
    pub(super) fn on_answer(&mut self, at: usize, request: u64, answer: RequestAnswer) {
        let now = self.now;
        let place = usize::try_from(request).unwrap_or(usize::MAX);
        let Some(asked) = self.system.clients.asked.get_mut(place) else {
            let what = format!("it answers {request}, which is not a request");
            return self.report_at(at, Rule::Answered, what);
        };
        let before = asked.answer.replace(answer);
        let asked = *asked;
        let life = self.nodes[at].life;
        let own = &mut self.nodes[at].own;
        let waited = own.process.asked;
        own.process.asked = own.process.asked.saturating_sub(1);
        let (is_leaving, troubled_at) = (own.process.is_leaving, own.process.troubled_at);
        if before.is_some() || asked.node != at || asked.life != life {
            let what = format!("{request} is answered twice: {before:?}, {answer:?}");
            return self.report_at(at, Rule::Answered, what);
        }
        let counters = &mut self.system.stats.counters;
        *match answer {
            RequestAnswer::Done { .. } => &mut counters.answers_done,
            RequestAnswer::Token => &mut counters.answers_token,
            RequestAnswer::Database => &mut counters.answers_database,
            RequestAnswer::Unknown => &mut counters.answers_unknown,
            RequestAnswer::Crowded => &mut counters.answers_crowded,
        } += 1;
        // A slow node sends its answer at the end of its loop iteration.
        let waited_for = (now + self.nodes[at].slow).saturating_sub(asked.at);
        let is_allowed = match answer {
            RequestAnswer::Done { .. } => true,
            // Clocks may run a little fast.
            RequestAnswer::Token => {
                is_leaving || waited_for >= self.system.request_timeout / 100 * 98
            }
            RequestAnswer::Database | RequestAnswer::Unknown => {
                troubled_at.is_some_and(|it| it >= asked.at)
            }
            RequestAnswer::Crowded => waited > WAITING_REQUESTS_MAX,
        };
        if !is_allowed {
            let what = format!("{request} is answered {answer:?} without a reason");
            return self.report_at(at, Rule::Answered, what);
        }
        match answer {
            RequestAnswer::Done { sequence } => self.check_posted(at, request, sequence),
            RequestAnswer::Unknown => {
                self.system.findings.excuse(Excuse::Unknown);
                self.ask_again(request);
            }
            _ => {}
        }
    }

    fn check_posted(&mut self, at: usize, request: u64, sequence: u64) {
        let is_post = self
            .system
            .clients
            .get(request)
            .is_some_and(|it| it.is_post);
        let found = self
            .system
            .tables
            .count(request, self.system.clients.key(request));
        if is_post && found != 1 {
            let what = format!("{request}, acknowledged under {sequence}, is there {found} times");
            self.report_at(at, Rule::Acknowledged, what);
        }
    }

    /// If the result of a request is unknown, sends the request again with the same key, to a random node.
    fn ask_again(&mut self, request: u64) {
        if let Some(key) = self.system.clients.key(request)
            && self.rng.chance(700)
        {
            let node = self.rng.index(self.len());
            let due = self.now + self.rng.between(MS, 200 * MS);
            self.later(due, AndrewsEvent::AskAgain { node, key });
        }
    }

    /// Counts the open requests of a process that has died. The clients of these requests get no answer.
    pub(super) fn excuse_open_requests(&mut self, at: usize) {
        let life = self.nodes[at].life;
        let open = self.system.clients.open();
        let theirs = open.filter(|(_, it)| it.node == at && it.life == life);
        let count = theirs.count();
        for _ in 0..count {
            self.system.findings.excuse(Excuse::Died);
        }
    }

    /// Checks the posts in the table against the answers.
    pub(super) fn check_clients(&mut self) {
        let mut wrong = Vec::new();
        for (request, asked) in self.system.clients.all().filter(|(_, it)| it.is_post) {
            let own = self.system.tables.count(request, None);
            let of_key = self.system.tables.count(request, asked.key);
            let is_right = match asked.answer {
                Some(RequestAnswer::Done { .. }) => of_key == 1,
                Some(RequestAnswer::Token | RequestAnswer::Database | RequestAnswer::Crowded) => {
                    own == 0
                }
                Some(RequestAnswer::Unknown) | None => of_key <= 1,
            };
            if !is_right {
                let answer = asked.answer;
                let what = format!("{request}, answered {answer:?}, is there {own} times");
                wrong.push((asked.node, what));
            }
        }
        for (at, what) in wrong {
            self.report_at(at, Rule::Acknowledged, what);
        }
    }
}
