//! Requests: waiting for the token, being served, answered (`docs/board.md`, section 10).

use super::Andrews;
use crate::andrews::database::{Answered, InHand};
use crate::andrews::{Answer, DatabaseState, Event, Outcome, Request, Work};

impl Andrews {
    pub(super) fn on_request(&mut self, request: Request) {
        let until = self.now + self.options.request_timeout;
        if self.leave_by.is_some() {
            self.answer(request.id, Answer::Token);
        } else if !self.requests.push(request, until) {
            self.answer(request.id, Answer::Crowded);
        }
    }

    pub(super) fn on_requests_due(&mut self) {
        let answer = match self.database.state() {
            DatabaseState::Up => Answer::Token,
            DatabaseState::Slow | DatabaseState::Gone => Answer::Database,
        };
        while let Some(request) = self.requests.late(self.now) {
            self.answer(request.id, answer);
        }
    }

    pub(super) fn answer(&mut self, request: u64, answer: Answer) {
        self.out.event(Event::Answered { request, answer });
    }

    /// The token that is held serves those who wait.
    pub(super) fn serve(&mut self) {
        let Some(sequence) = self.token.held() else {
            return;
        };
        let feed = self.requests.has_listeners();
        let work = Work::Serve {
            sequence,
            requests: self.requests.serve(),
            feed,
        };
        let job = self.database.start(self.now, work);
        self.token.begin_visit(job, feed);
    }

    /// The database has not answered in time: the token goes on without it.
    pub(super) fn give_up_visit(&mut self, job: InHand) {
        self.token.end_visit(job.id, true);
        self.requests.served();
        if let Work::Serve { requests, .. } = job.work {
            self.answer_all(&requests, Answer::Unknown);
        }
    }

    /// Of a request that only reads nothing can have been written.
    fn answer_all(&mut self, requests: &[Request], answer: Answer) {
        for request in requests {
            let answer = match answer {
                Answer::Unknown if !request.is_post => Answer::Database,
                answer => answer,
            };
            self.answer(request.id, answer);
        }
    }

    /// A visit has an outcome.
    pub(super) fn on_visit(
        &mut self,
        job: u64,
        sequence: u64,
        requests: Vec<Request>,
        outcome: &Outcome,
        answered: &Answered,
    ) {
        if *outcome == Outcome::Done {
            let posts = requests.iter().filter(|request| request.is_post).count();
            self.out.counters.posts += u64::try_from(posts).unwrap_or_default();
        }
        // What comes late was answered.
        if *answered == Answered::Late {
            return;
        }
        let is_here = self.token.end_visit(job, !requests.is_empty());
        match outcome {
            Outcome::Refused => {
                // A newer token was used.
                self.requests.wait_again(requests);
                self.database.distrust();
                if is_here {
                    self.lose_token();
                }
                return;
            }
            Outcome::Done | Outcome::Rows(_) => {
                self.answer_all(&requests, Answer::Done { sequence });
                self.out.event(Event::Fed);
            }
            Outcome::Failed => self.answer_all(&requests, Answer::Database),
            Outcome::Unknown => self.answer_all(&requests, Answer::Unknown),
        }
        self.requests.served();
    }
}
