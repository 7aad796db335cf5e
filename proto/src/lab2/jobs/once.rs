//! Running a job once in a period: the holder asks what the members know, stamps the run, and has
//! them store the stamp before the run begins (`docs/once.md`).

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Purpose, RunOutcome, Token};

use crate::lab2::jobs::stamps::Stamps;
use crate::lab2::jobs::telling::Telling;
use crate::lab2::machine::timer::Timer;
use crate::lab2::tenure::role::Role;
use crate::lab2::{Event, Grade, JobName, Lab2, OnceRequest, OnceStanding, RunEnd, RunView, Stamp};
use crate::throttle::Throttle;
use crate::time::Instant;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Phase {
    /// What do the others know?
    Reading,
    /// They are to store this.
    Writing(Stamp),
    /// It has begun.
    Begun(Stamp),
    Ran,
    Full,
    TooSmall,
}

/// A job that the application wants to run.
#[derive(Debug, Clone)]
pub(crate) struct Once {
    pub(crate) request: OnceRequest,
    /// The tenure under which it is.
    pub(crate) token: Token,
    pub(crate) phase: Phase,
    /// Since when it is in this phase.
    pub(crate) since: Instant,
    /// A question has left since the table changed last.
    pub(crate) asked: bool,
    /// Answers to questions from this one on count.
    pub(crate) first: u32,
    /// Who agrees, in order of MAC, and since when.
    pub(crate) agreed: Vec<(MacAddr, Instant)>,
}

/// What this node knows of jobs, and what it does about them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Jobs {
    pub(crate) stamps: Stamps,
    pub(crate) once: Option<Once>,
    /// The number of the last question, or telling.
    pub(crate) serial: u32,
    /// Telling all stamps to everybody, by whomever.
    pub(crate) told: Throttle,
    /// The telling whose earlier parts lack what is known here.
    pub(crate) lacking: Option<(MacAddr, u32)>,
    /// Answers to a telling.
    pub(crate) answered: Throttle,
    /// Everybody is to be told, but not in answer to the frame in hand.
    pub(crate) owes: bool,
}

impl Lab2 {
    /// The application wants to run a job.
    pub(crate) fn begin_once(&mut self, request: OnceRequest) {
        self.end_once(None, RunEnd::NotRun);
        self.tell_if_owed();
        let Some(token) = self.token().filter(|_| self.may_use_token()) else {
            return;
        };
        let phase = if self.stamps_per_frame() == 0 {
            Phase::TooSmall
        } else {
            Phase::Reading
        };
        self.jobs.once = Some(Once {
            request,
            token,
            phase,
            since: self.context.now(),
            asked: false,
            first: self.jobs.serial.wrapping_add(1),
            agreed: Vec::new(),
        });
        if phase == Phase::Reading {
            self.ask_for_stamps();
        }
    }

    /// The job that was asked for by this number has ended.
    pub(crate) fn run_has_ended(&mut self, id: u64, end: RunEnd) {
        self.end_once(Some(id), end);
        self.tell_if_owed();
    }

    /// The job that was asked for, by this number if one is given, has ended.
    fn end_once(&mut self, id: Option<u64>, end: RunEnd) {
        let is_meant = |once: &Once| id.is_none_or(|id| id == once.request.id);
        if !self.jobs.once.as_ref().is_some_and(is_meant) {
            return;
        }
        self.out.stop(Timer::Stamps);
        let phase = self.jobs.once.take().map(|once| once.phase);
        let stamp = match phase {
            Some(Phase::Writing(stamp)) => stamp,
            Some(Phase::Begun(stamp)) if end != RunEnd::Unknown => stamp,
            _ => return,
        };
        let outcome = match end {
            RunEnd::Done => RunOutcome::Done,
            RunEnd::Failed => RunOutcome::Failed,
            RunEnd::Unknown | RunEnd::NotRun => RunOutcome::Void,
        };
        if self.jobs.stamps.end(&stamp, outcome) {
            self.owe_telling();
        }
    }

    fn ask_for_stamps(&mut self) {
        self.say_stamps(Purpose::Ask);
        self.timer_in(Timer::Stamps, self.longest_turn());
    }

    /// Nobody, or not enough, have answered: asks again. Or says what it owes.
    pub(crate) fn on_stamps_due(&mut self) {
        self.review_once();
        self.tell_if_owed();
        if self.is_asking() {
            self.ask_for_stamps();
        }
    }

    pub(crate) fn on_agreement(&mut self, from: MacAddr, telling: Telling) {
        let last = self.jobs.serial;
        let Some(once) = &mut self.jobs.once else {
            return;
        };
        let asked = last.wrapping_sub(once.first);
        let is_answer = last.wrapping_sub(telling.serial) <= asked && asked <= u32::MAX / 2;
        if telling.token == once.token && is_answer && self.table.find(from).is_some() {
            match once.agreed.binary_search_by_key(&from, |&(mac, _)| mac) {
                Ok(at) => once.agreed[at].1 = self.context.now(),
                Err(at) => once.agreed.insert(at, (from, self.context.now())),
            }
        }
    }

    /// What was agreed about is not what is known now.
    pub(crate) fn stamps_changed(&mut self) {
        let next = self.jobs.serial.wrapping_add(1);
        let owns = matches!(self.role, Role::Owner(_));
        if let Some(once) = &mut self.jobs.once {
            once.agreed.clear();
            once.asked = false;
            once.first = next;
        }
        if self.is_asking() {
            // Others may be about to tell more.
            self.timer_in(Timer::Stamps, self.context.constants().take_timeout);
        } else if owns {
            self.jobs.told.reset();
        }
    }

    pub(crate) fn is_asking(&self) -> bool {
        let phase = self.jobs.once.as_ref().map(|once| once.phase);
        matches!(phase, Some(Phase::Reading | Phase::Writing(_)))
    }

    /// Goes on with the job that is asked for as far as it can, or gives it up with the tenure, or
    /// when the tenure is no longer as safe as is required.
    #[inline]
    pub(crate) fn review_once(&mut self) {
        if self.jobs.once.is_some() {
            self.go_on_with_once();
        }
    }

    fn go_on_with_once(&mut self) {
        let Some(once) = &self.jobs.once else { return };
        let Once { token, request, .. } = *once;
        let is_held = self.may_use_token() && self.token() == Some(token);
        if !is_held || self.is_asking() && self.grade() < request.require {
            return self.end_once(None, RunEnd::Unknown);
        }
        while self.is_asking() && self.have_enough_agreed() {
            self.next_phase();
        }
    }

    fn next_phase(&mut self) {
        let Some(once) = &self.jobs.once else { return };
        let (request, token, now) = (once.request, once.token, self.context.now());
        let phase = match once.phase {
            Phase::Writing(stamp) => Phase::Begun(stamp),
            _ => self.stamp_or_not(&request, token),
        };
        if let Some(once) = &mut self.jobs.once {
            once.phase = phase;
            once.since = now;
        }
        self.out.stop(Timer::Stamps);
        if let Phase::Writing(stamp) = phase {
            self.stamps_changed();
            self.event(Event::RunStamped { stamp });
            if !self.out.may_reply() || self.jobs.stamps.len() > self.stamps_per_frame() {
                // That would be more than the answer in hand may be answered with.
                self.timer_in(Timer::Stamps, Duration::ZERO);
            } else {
                self.ask_for_stamps();
            }
        }
    }

    /// All that others know is known here: stamps a run, unless there was one.
    fn stamp_or_not(&mut self, request: &OnceRequest, token: Token) -> Phase {
        let now = self.context.now();
        let known = self.jobs.stamps.get(request.name);
        if known.is_some_and(|it| request.is_met_by(&it.view(now))) {
            return Phase::Ran;
        }
        let (progress, run) = match known {
            // Also if a stronger token was lost: the newest run is the one that counts.
            Some(it) if it.stamp.progress >= token.progress => {
                (it.stamp.progress, it.stamp.run.saturating_add(1))
            }
            None if !self.jobs.stamps.has_room(now) => return Phase::Full,
            _ => (token.progress, 0),
        };
        let stamp = Stamp {
            name: request.name,
            progress,
            run,
            runner: self.me(),
            outcome: RunOutcome::Begun,
            period: request.every,
        };
        if self.jobs.stamps.put(stamp, now) {
            Phase::Writing(stamp)
        } else {
            Phase::Full
        }
    }

    /// Whether all have stored what is known here, and know no more, who must have: a majority for a
    /// quorum, else all members. After the time that a silent owner would be trusted those do not count
    /// that were not heard meanwhile, and, where nothing is required, nobody is waited for any longer.
    fn have_enough_agreed(&self) -> bool {
        let Some(once) = self.jobs.once.as_ref().filter(|once| once.asked) else {
            return false;
        };
        let roster = self.roster();
        let patience = self.promise_lasts(roster);
        let now = self.context.now();
        // Clocks may differ by a hundredth each.
        let lasts = patience / 32 * 31;
        let is_fresh = |at: Instant| now.since(at) < lasts;
        if once.request.require == Grade::Quorum {
            let agreed = once.agreed.iter().filter(|&&(_, at)| is_fresh(at));
            return 1 + agreed.count() > roster / 2;
        }
        let has_agreed = |mac: MacAddr| {
            let place = once.agreed.binary_search_by_key(&mac, |&(mac, _)| mac);
            place.is_ok_and(|at| is_fresh(once.agreed[at].1))
        };
        let lately = now.before(patience);
        let is_over = now.since(once.since) >= patience;
        let members = self.table.members().iter().zip(self.table.peers());
        let mut others = members.filter(|(member, _)| !self.is_own(member.mac));
        others.all(|(member, peer)| {
            // By then who is there has answered a heartbeat.
            let is_silent = is_over && peer.last_seen().is_none_or(|seen| seen < lately);
            has_agreed(member.mac) || is_silent || is_over && once.request.require == Grade::Alone
        })
    }

    /// How long members that answer, and those that are gone, let a job wait at the most: for reading and for
    /// writing as long as a promise lasts, and as long once more for what is lost or changes meanwhile.
    #[must_use]
    pub fn asking_lasts(&self) -> Duration {
        self.promise_lasts(self.roster()).saturating_mul(3)
    }

    /// How far the job has come that was asked for last, by its number; `None`: there is none, or the
    /// token under which it was asked for is no longer held.
    #[must_use]
    pub fn once(&self) -> Option<(u64, OnceStanding)> {
        let once = self.jobs.once.as_ref()?;
        let standing = match once.phase {
            Phase::Reading | Phase::Writing(_) => OnceStanding::Asking,
            Phase::Begun(_) => OnceStanding::Begun,
            Phase::Ran => OnceStanding::Ran(self.last_run(once.request.name)?),
            Phase::Full => OnceStanding::Full,
            Phase::TooSmall => OnceStanding::TooSmall,
        };
        Some((once.request.id, standing))
    }

    /// Whether the tenure is over under which a run began, though nobody has said how it has ended. That may be on its
    /// way.
    #[must_use]
    pub fn is_over(&self, stamp: &Stamp) -> bool {
        let Some(token) = self.token().filter(|it| it.progress > stamp.progress) else {
            return false;
        };
        // An owner that has outbid another one goes on with the run, under a token that it has minted.
        let goes_on = if self.is_own(stamp.runner) {
            let phase = self.jobs.once.as_ref().map(|once| once.phase);
            phase == Some(Phase::Begun(*stamp))
        } else {
            token.author == stamp.runner && self.owner == Some(stamp.runner)
        };
        stamp.outcome == RunOutcome::Begun && !goes_on
    }

    /// The run that makes another one of this job needless now, as far as is known here.
    #[must_use]
    pub fn met_by(&self, request: &OnceRequest) -> Option<RunView> {
        let run = self.last_run(request.name)?;
        // One that is about to begin may not, and one's own is no reason against itself.
        let is_unsure = self
            .jobs
            .once
            .as_ref()
            .is_some_and(|once| match once.phase {
                Phase::Writing(_) => once.request.name == request.name,
                Phase::Begun(_) => once.request.id == request.id,
                _ => false,
            });
        (!is_unsure && request.is_met_by(&run)).then_some(run)
    }

    fn last_run(&self, name: JobName) -> Option<RunView> {
        let entry = self.jobs.stamps.get(name)?;
        Some(entry.view(self.context.now()))
    }
}
