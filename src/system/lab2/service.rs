//! Serves clients of the control socket: locks, the token's data, pauses, and watching. Requests are in `requests.rs`
//! and `pauses.rs`, later messages in `outcomes.rs`.

mod announcing;
mod named;
mod outcomes;
mod pauses;
mod requests;
mod surveys;

use std::os::fd::BorrowedFd;
use std::time::Duration;

use ring_client::fencing::FencingToken;
use ring_codec::lab2::Token;
use ring_control::lab2::{ClientStatus, Grade, LockRequest, LockTotals, RefusalReason};
use ring_control::{RawJson, Refusal, Reply};
use ring_host::{LockLog, Watchers};
use ring_process::Backstops;
use ring_process::ClientId;
use ring_proto::lab2::{JobName, Lab2, RunEnd, RunView};
use ring_proto::time::{Instant, Now};
use ring_recording::Recorded;

use super::lock_texts::TextInputs;
use super::lock_totals::LockCount;
use super::locks::{Locks, Notice};
use super::named_locks::{NamedLocks, NamedNotice, ProgramLock};
use super::pausing::Pausing;
use super::recordings::{Cause, Recordings};
use super::runs::LostRuns;
use super::status::token_status;
use super::stored_pause::StoredPause;
use surveys::Surveys;

/// A result of a request, for watchers.
#[derive(Debug, Clone, Copy)]
enum RequestEffect {
    /// A pause has ended.
    Resumed,
    Ran(JobName, RunEnd),
}

/// All clients that requested more than the status.
#[derive(Debug)]
pub(super) struct Service {
    interface: String,
    /// The HEART_BEAT_PERIOD in the options of this node.
    heartbeat: Duration,
    /// The grade of clients that request none, and the lowest grade that clients may request.
    rule: Grade,
    locks: Locks,
    lock_log: LockLog,
    named: NamedLocks,
    named_log: LockLog,
    /// The holder that was announced to the members.
    announced: Option<(ClientId, Instant)>,
    count: LockCount,
    /// The earliest time at which a waiting client may get the token.
    grants_from: Option<Instant>,
    backstops: Backstops,
    watchers: Watchers,
    pausing: Pausing,
    stored_pause: StoredPause,
    lost_runs: LostRuns,
    surveys: Surveys,
    recordings: Recordings,
    /// Results of requests that watchers do not know yet.
    effects: Vec<RequestEffect>,
    /// Labels of released locks that watchers do not know yet. The lock is `None` for the token.
    released_labels: Vec<(String, Option<ProgramLock>)>,
    /// Clients whose state changed, and for each client whether it may be silent now.
    changed_clients: Vec<(ClientId, bool)>,
    pending_notices: Vec<(ClientId, LockRequest, Notice)>,
    named_notices: Vec<NamedNotice>,
}

impl Service {
    /// Creates a service without clients, for an interface and a HEART_BEAT_PERIOD. The random number distinguishes the
    /// sessions of this daemon from the sessions of an earlier daemon.
    pub(super) fn new(
        interface: &str,
        heartbeat: Duration,
        stored_pause: StoredPause,
        recordings: Recordings,
        random: u64,
    ) -> Self {
        Self {
            interface: interface.to_owned(),
            heartbeat,
            rule: Grade::Alone,
            locks: Locks::default(),
            lock_log: LockLog::default(),
            named: NamedLocks::new(random),
            named_log: LockLog::default(),
            announced: None,
            count: LockCount::default(),
            grants_from: None,
            backstops: Backstops::new(),
            watchers: Watchers::default(),
            pausing: Pausing::default(),
            stored_pause,
            lost_runs: LostRuns::default(),
            surveys: Surveys::default(),
            recordings,
            effects: Vec::new(),
            released_labels: Vec::new(),
            changed_clients: Vec::new(),
            pending_notices: Vec::new(),
            named_notices: Vec::new(),
        }
    }

    /// Sets the rule for all later requests: the grade of clients that request none, and the lowest grade that clients
    /// may request.
    pub(super) const fn set_rule(&mut self, rule: Grade) {
        self.rule = rule;
    }

    /// Applies the rule to a request. Refuses a request for a lower grade.
    fn apply_rule(&self, request: &mut LockRequest) -> Result<(), RefusalReason> {
        if request.require.is_some_and(|grade| grade < self.rule) {
            return Err(RefusalReason::Rule);
        }
        if self.rule > Grade::Alone {
            request.require.get_or_insert(self.rule);
        }
        Ok(())
    }

    /// Returns the latest time for the next call of [`serve_clients`](Self::serve_clients).
    pub(super) fn deadline(&self) -> Option<Instant> {
        let deadlines = [
            self.locks.deadline(),
            self.lock_log.deadline(),
            self.announcement_due(),
            self.grants_from,
            self.named_deadline(),
            self.pausing.deadline(),
            self.recordings.deadline(),
        ];
        deadlines.into_iter().flatten().min()
    }

    /// Stops granting the token, because the daemon shuts down.
    pub(super) fn leave(&mut self) {
        self.locks.stop_granting();
    }

    /// Returns the holder and the waiting clients.
    pub(super) fn clients(&self, now: Instant) -> Vec<ClientStatus> {
        self.locks.clients(now).collect()
    }

    /// Whether a run of a job is lost, as this node knows it.
    pub(super) fn is_lost(&self, now: Instant, run: &RunView, machine: &Lab2) -> bool {
        self.lost_runs.contains(run, now, machine)
    }

    /// Returns the numbers of granted, refused and lost locks of this machine.
    pub(super) fn lock_totals(&self) -> LockTotals {
        self.count.totals()
    }

    /// Returns the recordings of the node.
    pub(super) const fn recordings(&mut self) -> &mut Recordings {
        &mut self.recordings
    }

    /// Writes a recording if a client requested one, or if there is a problem.
    pub(super) fn write_recording(
        &mut self,
        now: Instant,
        problem: Option<Cause>,
        machine: &Recorded<Lab2>,
    ) {
        let losses = self.lock_log.wrong_losses() + self.named_log.wrong_losses();
        // A lost lock is a consequence of the other problem, and says more about its effect.
        if let Some(cause) = self.recordings.check_losses(losses).or(problem) {
            self.recordings.on_problem(now, cause);
        }
        self.recordings.write_wanted(now, machine);
    }

    /// Whether a client holds the token or a named lock.
    pub(super) fn is_held(&self) -> bool {
        self.locks.is_held() || self.named.is_busy()
    }

    /// Returns the life line of each client that holds the token or a named lock, with the number of the line. An item
    /// is `None` if its client passed no life line.
    pub(super) fn holder_lines(&self) -> impl Iterator<Item = Option<(u64, BorrowedFd<'_>)>> {
        let holders = self.locks.holder().into_iter().chain(self.named.holders());
        holders.map(|client| self.backstops.line(client))
    }

    fn holds(&self, client: ClientId) -> bool {
        self.locks.holds(client) || self.named.holds(client)
    }

    fn involves(&self, client: ClientId) -> bool {
        self.locks.involves(client) || self.named.involves(client)
    }

    fn text_inputs<'a>(&'a self, now: Now, machine: &'a Lab2) -> TextInputs<'a> {
        TextInputs {
            machine,
            now: now.monotonic,
            interface: &self.interface,
            rule: self.rule,
            first: self.locks.clients(now.monotonic).next(),
        }
    }

    /// Whether a lock with this fencing token is held on this machine.
    fn is_held_under(&self, token: Option<&str>) -> bool {
        let token = token.and_then(|text| text.parse().ok());
        token.is_some_and(|token: FencingToken| self.locks.held_token().map(fencing) == Some(token))
    }
}

fn token_json(token: Token) -> RawJson {
    RawJson::encode(&token_status(token))
}

fn refusal(why: RefusalReason, text: String) -> Reply {
    Reply::Refused(Refusal {
        why: why.name().to_owned(),
        text,
        lost: false,
    })
}

fn fencing(token: Token) -> FencingToken {
    FencingToken::from(token)
}
