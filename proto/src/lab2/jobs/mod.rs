//! Jobs that run once in a period (`docs/once.md`): a machine inside the machine. It is told what happens with
//! [`Jobs::handle`], and what it wants is fetched with [`Jobs::poll`] after that.

pub(super) mod job;
mod once;
mod snapshot;
mod stamps;
mod telling;

use std::collections::VecDeque;

use ring_codec::MacAddr;
use ring_codec::lab2::{Stamp as WireStamp, Token};

pub(crate) use telling::Telling;

use super::machine::Context;
use super::members::Members;
use super::{Event, Grade, OnceRequest, RunEnd, RunView, StoredStamp};
use crate::Stored;
use crate::throttle::Throttle;
use crate::time::{Instant, Now};
use once::Once;
use stamps::Stamps;

/// What this node knows of jobs, and what it does about them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Jobs {
    stamps: Stamps,
    once: Option<Once>,
    /// The number of the last question, or telling.
    serial: u32,
    /// Telling all stamps to everybody, by whomever.
    told: Throttle,
    /// The telling whose earlier parts lack what is known here.
    lacking: Option<(MacAddr, u32)>,
    /// Answers to a telling.
    answered: Throttle,
    /// Everybody is to be told, but not in answer to the frame in hand.
    owes: bool,
    wants: VecDeque<Want>,
}

/// Something that happens to jobs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Input<'a> {
    /// The application wants to run a job.
    Begin(OnceRequest),
    /// The job that was asked for by this number has ended.
    End(u64, RunEnd),
    /// STAMPS has come: from a member, to all or not, with a digest.
    Heard {
        from: MacAddr,
        broadcast: bool,
        telling: Telling,
        digest: u64,
        stamps: &'a [WireStamp],
    },
    /// STAMPS has left.
    Sent(Telling),
    /// A heartbeat has left.
    HeartbeatSent,
    /// The time that was [wanted](Want::Wake) has come.
    Due,
    /// The tenure or its grade has perhaps changed.
    Changed,
}

/// Something that is to be done for jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    Send(MacAddr, Telling),
    /// To be told of this time, and of no earlier one.
    Wake(Instant),
    /// To be told of no time.
    Rest,
    Tell(Event),
}

/// What the machine around the jobs is like just now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Situation<'a> {
    pub(super) context: &'a Context,
    pub(super) members: &'a Members,
    /// The token held, or else the strongest known, unless nothing may be said of it.
    pub(super) known: Option<Token>,
    /// The token under which a program may work, and how safe that is.
    pub(super) usable: Option<(Token, Grade)>,
    pub(super) is_owner: bool,
    /// Whether stamps can be stored.
    pub(super) is_stored: bool,
    /// How many more frames the input in hand may lead to.
    pub(super) replies_left: usize,
}

impl Jobs {
    /// What an earlier run has stored.
    pub(crate) fn remember(&mut self, stored: impl IntoIterator<Item = StoredStamp>) {
        self.stamps.remember(stored);
    }

    /// The time is told for the first time: what was stored gets its age.
    pub(crate) fn recall(&mut self, now: Now) {
        self.stamps.recall(now);
    }

    /// The next stamp that is to be stored.
    pub(crate) fn take_unstored(&mut self, now: Now) -> Option<StoredStamp> {
        self.stamps.take_unstored(now)
    }

    /// Whether the stamp that was taken last could be stored.
    pub(crate) fn on_stored(&mut self, stored: Stored) {
        self.stamps.on_stored(stored);
    }

    /// Whether nothing that happens to the tenure matters to jobs.
    pub(crate) const fn is_idle(&self) -> bool {
        self.once.is_none()
    }

    /// Whether a heartbeat may be followed by stamps.
    pub(crate) fn follows_heartbeats(&self) -> bool {
        !self.stamps.is_empty() && !self.is_asking()
    }

    pub(crate) fn handle(&mut self, situation: &Situation<'_>, input: Input<'_>) {
        match input {
            Input::Begin(request) => self.begin(situation, request),
            Input::End(id, end) => {
                self.end(situation, Some(id), end);
                self.tell_if_owed(situation);
            }
            Input::Heard {
                from,
                broadcast,
                telling,
                digest,
                stamps,
            } => self.hear(situation, (from, broadcast), telling, (digest, stamps)),
            Input::Sent(telling) => self.on_sent(situation, telling),
            Input::HeartbeatSent => self.tell_in_time(situation),
            Input::Due => self.on_due(situation),
            Input::Changed => self.review(situation),
        }
    }

    /// What is to be done next.
    pub(crate) fn poll(&mut self) -> Option<Want> {
        self.wants.pop_front()
    }

    /// The tenure goes on with another token, and with the run under it.
    pub(crate) fn carry_on(&mut self, old: Token, minted: Token) {
        if let Some(once) = &mut self.once {
            once.carry_on(old, minted);
        }
    }

    /// The last run of each job that is known.
    pub(crate) fn runs(&self, now: Instant) -> impl Iterator<Item = RunView> {
        self.stamps.iter().map(move |entry| entry.view(now))
    }

    fn want(&mut self, want: Want) {
        self.wants.push_back(want);
    }

    /// How many more frames the input in hand may lead to, beside those that are wanted.
    fn may_reply(&self, situation: &Situation<'_>) -> bool {
        let wanted = self.wants.iter();
        let wanted = wanted.filter(|want| matches!(want, Want::Send(..)));
        wanted.count() < situation.replies_left
    }
}
