//! The state machine of jobs that run once in a period (`docs/reference/lab2/once.md`). [`Jobs::handle`] takes inputs,
//! and [`Jobs::poll`] returns the resulting actions. The jobs never affect which node has the token. Start with `once`.

pub(super) mod job;
mod once;
mod snapshot;
mod stamps;
mod stamps_frame;

use std::collections::VecDeque;

use ring_codec::MacAddr;
use ring_codec::lab2::{Stamp as WireStamp, Token};

pub(crate) use stamps_frame::StampsFrame;

use super::machine::Context;
use super::members::Members;
use super::{Event, Grade, OnceRequest, RunEnd, RunView, StoredStamp};
use crate::StoreOutcome;
use crate::throttle::Throttle;
use crate::time::{Instant, Now};
use once::OnceJob;
use stamps::Stamps;

/// The known stamps, and the request of an application on this node.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Jobs {
    stamps: Stamps,
    once: Option<OnceJob>,
    /// The serial number of this node's last question or announcement.
    serial: u32,
    /// Limits how often this node announces all its stamps. Announcements of other members count too.
    announcements: Throttle,
    /// The sender and the serial number of an announcement with several parts. The received parts lack a stamp that
    /// this node knows.
    incomplete_announcement: Option<(MacAddr, u32)>,
    /// Limits answers to announcements.
    answers: Throttle,
    /// Whether an announcement is due. The announcement waits for the next timeout, so it does not count as an answer
    /// to a frame.
    is_announcement_due: bool,
    actions: VecDeque<JobAction>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum JobInput<'a> {
    /// The application requests a job.
    Begin(OnceRequest),
    End(u64, RunEnd),
    /// A STAMPS frame was received.
    Received {
        from: MacAddr,
        broadcast: bool,
        frame: StampsFrame,
        digest: u64,
        stamps: &'a [WireStamp],
    },
    /// The link accepted a STAMPS frame.
    Sent(StampsFrame),
    /// The link accepted a heartbeat.
    HeartbeatSent,
    /// The timer of [`JobAction::WakeAt`] is due.
    TimerFired,
    /// The tenure, or its grade, may have changed.
    TenureChanged,
}

/// An action that the surrounding state machine carries out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum JobAction {
    Send(MacAddr, StampsFrame),
    /// Sets the timer to this time. If the timer is already set, the new time replaces the earlier time.
    WakeAt(Instant),
    StopTimer,
    Report(Event),
}

/// The parts of the surrounding state machine that affect the jobs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JobContext<'a> {
    pub(super) context: &'a Context,
    pub(super) members: &'a Members,
    /// The held token. If this node holds none, the strongest known token. The token is `None` while the node may not
    /// send frames.
    pub(super) known: Option<Token>,
    /// The token under which a program may work, and the grade of this token. The pair is `None` if no program may
    /// work.
    pub(super) usable: Option<(Token, Grade)>,
    pub(super) is_owner: bool,
    /// Whether stamps can be stored.
    pub(super) is_stored: bool,
    /// The number of frames that the node may still send because of the current input.
    pub(super) replies_left: usize,
}

impl Jobs {
    pub(crate) fn load_stored(&mut self, stored: impl IntoIterator<Item = StoredStamp>) {
        self.stamps.load_stored(stored);
    }

    /// Computes the ages of the stored stamps. Call this function when the time is known.
    pub(crate) fn compute_ages(&mut self, now: Now) {
        self.stamps.compute_ages(now);
    }

    pub(crate) fn take_unstored(&mut self, now: Now) -> Option<StoredStamp> {
        self.stamps.take_unstored(now)
    }

    /// Notes whether the driver could store the last stamp.
    pub(crate) fn on_stored(&mut self, stored: StoreOutcome) {
        self.stamps.on_stored(stored);
    }

    /// Whether no request is open. Without an open request, changes of the tenure have no effect on the jobs.
    pub(crate) const fn is_idle(&self) -> bool {
        self.once.is_none()
    }

    /// Whether this node may announce its stamps after a heartbeat.
    pub(crate) fn follows_heartbeats(&self) -> bool {
        // A question contains all stamps, so while this node asks, an announcement would only repeat them.
        !self.stamps.is_empty() && !self.is_asking()
    }

    pub(crate) fn handle(&mut self, job_context: &JobContext<'_>, input: JobInput<'_>) {
        match input {
            JobInput::Begin(request) => self.begin(job_context, request),
            JobInput::End(id, end) => {
                self.end(job_context, Some(id), end);
                self.announce_if_due(job_context);
            }
            JobInput::Received {
                from,
                broadcast,
                frame,
                digest,
                stamps,
            } => self.on_stamps(job_context, (from, broadcast), frame, (digest, stamps)),
            JobInput::Sent(frame) => self.on_sent(job_context, frame),
            JobInput::HeartbeatSent => self.on_heartbeat_sent(job_context),
            JobInput::TimerFired => self.on_due(job_context),
            JobInput::TenureChanged => self.review(job_context),
        }
    }

    pub(crate) fn poll(&mut self) -> Option<JobAction> {
        self.actions.pop_front()
    }

    /// Continues the run under the token `minted`. In the same tenure, this token replaces `old`.
    pub(crate) fn on_token_renamed(&mut self, old: Token, minted: Token) {
        if let Some(once) = &mut self.once {
            once.on_token_renamed(old, minted);
        }
    }

    /// Returns the last known run of each job.
    pub(crate) fn runs(&self, now: Instant) -> impl Iterator<Item = RunView> {
        self.stamps.iter().map(move |entry| entry.view(now))
    }

    fn push_action(&mut self, action: JobAction) {
        self.actions.push_back(action);
    }

    /// Whether the node may send one more frame because of the current input. The frames that already wait in `actions`
    /// count too.
    fn may_reply(&self, job_context: &JobContext<'_>) -> bool {
        let pending = self.actions.iter();
        let pending = pending.filter(|action| matches!(action, JobAction::Send(..)));
        pending.count() < job_context.replies_left
    }
}
