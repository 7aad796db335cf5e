//! Serves clients of the control socket beyond the status: locks, the token's data, pauses, and watching.

mod announcing;
mod outcomes;
mod requests;

use std::time::Duration;

use ring_client::fencing::FencingToken;
use ring_codec::lab2::Token;
use ring_control::lab2::{ClientStatus, LockRequest, LockTotals, PendingReason, RefusalReason};
use ring_control::{OwnJson, Refusal, Reply};
use ring_host::{LockLog, Watchers};
use ring_process::Backstops;
use ring_process::ClientId;
use ring_proto::lab2::{JobName, Lab2, RunEnd, RunView, State};
use ring_proto::time::{Instant, Now};

use super::lock_totals::LockCount;
use super::locks::{Locks, Notice};
use super::pausing::{Pausing, Progress};
use super::runs::LostRuns;
use super::status::token_status;
use super::stored_pause::StoredPause;
use super::verdict::Scene;
use crate::system::Error;

/// What a request has changed.
#[derive(Debug, Clone, Copy)]
enum Done {
    /// A pause has ended.
    Resumed,
    /// A run of a job has ended; how.
    Ran(JobName, RunEnd),
}

/// All clients that want more than the status.
#[derive(Debug)]
pub(super) struct Service {
    interface: String,
    /// The ring's HEART_BEAT_PERIOD, as this node was told.
    heartbeat: Duration,
    locks: Locks,
    lock_log: LockLog,
    /// The client whose program the members were told of.
    announced: Option<(ClientId, Instant)>,
    count: LockCount,
    /// When a client that waits may be granted the token.
    grants_from: Option<Instant>,
    backstops: Backstops,
    watchers: Watchers,
    pausing: Pausing,
    stored_pause: StoredPause,
    lost_runs: LostRuns,
    /// What requests have changed, and watchers are not told yet.
    done: Vec<Done>,
    /// Labels of those that have given the token back, of which watchers are not told yet.
    released: Vec<String>,
    /// Clients whose state has changed, and whether they may be silent now.
    changed: Vec<(ClientId, bool)>,
    told: Vec<(ClientId, LockRequest, Notice)>,
}

impl Service {
    /// No clients yet, on an interface with this HEART_BEAT_PERIOD.
    pub(super) fn new(interface: &str, heartbeat: Duration, stored_pause: StoredPause) -> Self {
        Self {
            interface: interface.to_owned(),
            heartbeat,
            locks: Locks::default(),
            lock_log: LockLog::default(),
            announced: None,
            count: LockCount::default(),
            grants_from: None,
            backstops: Backstops::new(),
            watchers: Watchers::default(),
            pausing: Pausing::default(),
            stored_pause,
            lost_runs: LostRuns::default(),
            done: Vec::new(),
            released: Vec::new(),
            changed: Vec::new(),
            told: Vec::new(),
        }
    }

    /// When to call [`serve_clients`](Self::serve_clients) at the latest.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let deadlines = [
            self.locks.deadline(),
            self.lock_log.deadline(),
            self.announces_at(),
            self.grants_from,
            self.pausing.deadline(),
        ];
        deadlines.into_iter().flatten().min()
    }

    /// The daemon shuts down: nobody is granted the token from now on.
    pub(super) fn leave(&mut self) {
        self.locks.leave();
    }

    /// Returns who holds the token here and who waits for it.
    pub(super) fn clients(&self, now: Instant) -> Vec<ClientStatus> {
        self.locks.clients(now).collect()
    }

    /// Whether a run of a job was lost, as far as is known here.
    pub(super) fn is_lost(&self, now: Instant, run: &RunView, machine: &Lab2) -> bool {
        self.lost_runs.include(run, now, machine)
    }

    /// Returns how often locks were granted, refused and lost here.
    pub(super) fn lock_totals(&self) -> LockTotals {
        self.count.totals()
    }

    /// Whether a client of this machine holds the token.
    pub(super) const fn is_held(&self) -> bool {
        self.locks.is_held()
    }

    fn scene<'a>(&'a self, now: Now, machine: &'a Lab2) -> Scene<'a> {
        Scene {
            machine,
            now: now.monotonic,
            interface: &self.interface,
            first: self.locks.clients(now.monotonic).next(),
        }
    }

    /// Whether the lock that is held on this machine has this fencing token.
    fn is_held_under(&self, token: Option<&str>) -> bool {
        let token = token.and_then(|text| text.parse().ok());
        token.is_some_and(|token: FencingToken| self.locks.held().map(fencing) == Some(token))
    }

    /// Pauses the node if an earlier run was paused for good.
    pub(super) fn go_on_pausing(&mut self) -> Result<bool, Error> {
        let stored = &self.stored_pause;
        let paused = stored.is_stored().map_err(|source| Error::State {
            path: stored.path().to_owned(),
            source,
        })?;
        if paused {
            self.locks.pause(true);
        }
        Ok(paused)
    }

    /// Returns what an incomplete pause waits for.
    pub(super) fn pending(&self, machine: &Lab2) -> Option<PendingReason> {
        match self.progress(machine) {
            Progress::Pending(why) => Some(why),
            Progress::Complete | Progress::Over(_) => None,
        }
    }

    fn progress(&self, machine: &Lab2) -> Progress {
        if self.locks.is_leaving() {
            Progress::Over("ringd is shutting down: the token goes to another member first")
        } else if !self.locks.is_paused() {
            Progress::Over("the pause was ended by ringctl resume")
        } else if self.locks.is_held() {
            Progress::Pending(PendingReason::Holder)
        } else if machine.state() == State::Owner || !machine.is_paused() {
            Progress::Pending(PendingReason::Token)
        } else {
            Progress::Complete
        }
    }
}

/// A token as clients are shown it.
fn shown(token: Token) -> OwnJson {
    OwnJson::of(&token_status(token))
}

fn refused(why: RefusalReason, text: String) -> Reply {
    Reply::Refused(Refusal {
        why: why.name().to_owned(),
        text,
        lost: false,
    })
}

fn fencing(token: Token) -> FencingToken {
    FencingToken::from(token)
}
