//! Requests: they wait for the token, are served, and get an answer (`docs/board.md`, section 10).

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

    /// Starts a job with the requests that wait, under the token that is held.
    pub(super) fn serve(&mut self) {
        let Some(sequence) = self.token.held_sequence() else {
            return;
        };
        let feed = self.requests.has_listeners();
        let work = Work::Serve {
            sequence,
            requests: self.requests.take_for_visit(),
            feed,
        };
        let job = self.database.start(self.now, work);
        self.token.begin_visit(job, feed);
    }

    /// Gives up a job that the database did not answer in time. The token goes on without it.
    pub(super) fn give_up_visit(&mut self, job: RunningJob) {
        self.token.end_visit(job.id, true);
        self.requests.end_visit();
        if let Work::Serve { requests, .. } = job.work {
            self.answer_all(&requests, RequestAnswer::Unknown);
        }
    }

    /// Answers requests. A request that only reads never gets `unknown`, because it cannot have written anything.
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
        if *outcome == Outcome::Done {
            let posts = requests.iter().filter(|request| request.is_post).count();
            self.out.counters.posts += u64::try_from(posts).unwrap_or_default();
        }
        // The clients of a late job got their answer when it was given up.
        if *timeliness == Timeliness::Late {
            return;
        }
        let is_here = self.token.end_visit(job, !requests.is_empty());
        match outcome {
            Outcome::Refused => {
                // Another node has used a newer token.
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
