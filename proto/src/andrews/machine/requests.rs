//! Requests of clients. The path of a request: it waits for the token, is served, and gets an answer
//! (`docs/board/protocol/token.md`, rules P).

use super::Andrews;
use crate::andrews::database::{RunningJob, Timeliness};
use crate::andrews::{DatabaseState, Event, Outcome, Request, RequestAnswer, Work};

impl Andrews {
    pub(super) fn on_request(&mut self, request: Request) {
        let until = self.now + self.options.request_timeout;
        if self.leave_by.is_some() {
            self.answer(request.id, RequestAnswer::Token);
        } else if !self.requests.push(request, until) {
            self.answer(request.id, RequestAnswer::Crowded);
        }
    }

    pub(super) fn on_requests_due(&mut self) {
        // The answer names the cause: without the database the token would not help either.
        let answer = match self.database.state() {
            DatabaseState::Up => RequestAnswer::Token,
            DatabaseState::Slow | DatabaseState::Gone => RequestAnswer::Database,
        };
        while let Some(request) = self.requests.take_expired(self.now) {
            self.answer(request.id, answer);
        }
    }

    pub(super) fn answer(&mut self, request: u64, answer: RequestAnswer) {
        self.out.push_event(Event::Answered { request, answer });
    }

    /// Starts a job that serves the waiting requests under the held token.
    pub(super) fn serve(&mut self) {
        let Some(sequence) = self.token.held_sequence() else {
            return;
        };
        let feed = self.requests.has_listeners();
        let work = Work::Serve {
            sequence,
            // There may be no request, if the visit only reads for listeners.
            requests: self.requests.take_for_visit(),
            feed,
        };
        let job = self.database.start(self.now, work);
        self.token.begin_visit(job, feed);
    }

    /// Gives up a job that the database did not answer in time. The token does not wait for the job.
    pub(super) fn give_up_visit(&mut self, job: RunningJob) {
        // The visit counts as work, so that the token leaves at once and does not wait for a slow database.
        self.token.end_visit(job.id, true);
        self.requests.end_visit();
        // The transaction may still be committed, so the answer must not exclude a commit.
        if let Work::Serve { requests, .. } = job.work {
            self.answer_all(&requests, RequestAnswer::Unknown);
        }
    }

    /// Answers requests. A request that only reads never gets `unknown`, because such a request writes no post.
    fn answer_all(&mut self, requests: &[Request], answer: RequestAnswer) {
        for request in requests {
            let answer = match answer {
                RequestAnswer::Unknown if !request.is_post => RequestAnswer::Database,
                answer => answer,
            };
            self.answer(request.id, answer);
        }
    }

    /// Handles the outcome of a job for posts.
    pub(super) fn on_visit(
        &mut self,
        job: u64,
        sequence: u64,
        requests: Vec<Request>,
        outcome: &Outcome,
        timeliness: &Timeliness,
    ) {
        // The posts of a late job were committed too, so the counter includes them.
        if *outcome == Outcome::Done {
            let posts = requests.iter().filter(|request| request.is_post).count();
            self.out.counters.posts += u64::try_from(posts).unwrap_or_default();
        }
        // The clients of a late job got their answers when the node gave up the job.
        if *timeliness == Timeliness::Late {
            return;
        }
        let is_here = self.token.end_visit(job, !requests.is_empty());
        match outcome {
            Outcome::Refused => {
                // Another node has used a newer token. The requests had no effect, so they wait for the next token.
                self.requests.wait_again(requests);
                self.database.mark_stale();
                if is_here {
                    self.lose_token();
                }
                return;
            }
            Outcome::Done | Outcome::Rows(_) => {
                self.answer_all(&requests, RequestAnswer::Done { sequence });
                self.out.push_event(Event::PostsRead);
            }
            Outcome::Failed => self.answer_all(&requests, RequestAnswer::Database),
            Outcome::Unknown => self.answer_all(&requests, RequestAnswer::Unknown),
        }
        self.requests.end_visit();
    }
}
