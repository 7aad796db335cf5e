//! Running a job once in a period: the holder asks what the members know, stamps the run, and has
//! them store the stamp before the run begins.

use ring_codec::MacAddr;
use ring_codec::lab2::{Purpose, RunOutcome, Token};

use super::{Jobs, Situation, Telling, Want};
use crate::lab2::confidence::promise_lasts;
use crate::lab2::members::Members;
use crate::lab2::{Event, Grade, JobName, OnceRequest, OnceStanding, RunEnd, RunView, Stamp};
use crate::time::Instant;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Phase {
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
pub(super) struct Once {
    pub(super) request: OnceRequest,
    /// The tenure under which it is.
    pub(super) token: Token,
    pub(super) phase: Phase,
    /// Since when it is in this phase.
    pub(super) since: Instant,
    /// A question has left since the table changed last.
    pub(super) asked: bool,
    /// Answers to questions from this one on count.
    pub(super) first: u32,
    /// Who agrees, in order of MAC, and since when.
    pub(super) agreed: Vec<(MacAddr, Instant)>,
}

impl Once {
    /// The tenure goes on with another token.
    pub(super) fn carry_on(&mut self, old: Token, minted: Token) {
        if self.token == old {
            self.token = minted;
        }
    }
}

impl Jobs {
    pub(super) fn begin(&mut self, situation: &Situation<'_>, request: OnceRequest) {
        self.end(situation, None, RunEnd::NotRun);
        self.tell_if_owed(situation);
        let Some((token, _)) = situation.usable else {
            return;
        };
        let phase = if situation.stamps_per_frame() == 0 {
            Phase::TooSmall
        } else {
            Phase::Reading
        };
        self.once = Some(Once {
            request,
            token,
            phase,
            since: situation.now(),
            asked: false,
            first: self.serial.wrapping_add(1),
            agreed: Vec::new(),
        });
        if phase == Phase::Reading {
            self.ask(situation);
        }
    }

    /// The job that was asked for, by this number if one is given, has ended.
    pub(super) fn end(&mut self, situation: &Situation<'_>, id: Option<u64>, end: RunEnd) {
        let is_meant = |once: &mut Once| id.is_none_or(|id| id == once.request.id);
        let Some(once) = self.once.take_if(is_meant) else {
            return;
        };
        self.want(Want::Rest);
        let stamp = match once.phase {
            Phase::Writing(stamp) => stamp,
            Phase::Begun(stamp) if end != RunEnd::Unknown => stamp,
            _ => return,
        };
        let outcome = match end {
            RunEnd::Done => RunOutcome::Done,
            RunEnd::Failed => RunOutcome::Failed,
            RunEnd::Unknown | RunEnd::NotRun => RunOutcome::Void,
        };
        if self.stamps.end(&stamp, outcome) {
            self.owe_telling(situation);
        }
    }

    fn ask(&mut self, situation: &Situation<'_>) {
        self.say(situation, Purpose::Ask);
        let soon = situation.now() + Members::longest_turn(situation.context);
        self.want(Want::Wake(soon));
    }

    /// Nobody, or not enough, have answered: asks again. Or says what it owes.
    pub(super) fn on_due(&mut self, situation: &Situation<'_>) {
        self.review(situation);
        self.tell_if_owed(situation);
        if self.is_asking() {
            self.ask(situation);
        }
    }

    pub(super) fn on_agreement(
        &mut self,
        situation: &Situation<'_>,
        from: MacAddr,
        telling: Telling,
    ) {
        let last = self.serial;
        let Some(once) = &mut self.once else {
            return;
        };
        let asked = last.wrapping_sub(once.first);
        let is_answer = last.wrapping_sub(telling.serial) <= asked && asked <= u32::MAX / 2;
        if telling.token == once.token && is_answer && situation.members.has(from) {
            match once.agreed.binary_search_by_key(&from, |&(mac, _)| mac) {
                Ok(at) => once.agreed[at].1 = situation.now(),
                Err(at) => once.agreed.insert(at, (from, situation.now())),
            }
        }
    }

    /// What was agreed about is not what is known now.
    pub(super) fn on_stamps_changed(&mut self, situation: &Situation<'_>) {
        if let Some(once) = &mut self.once {
            once.agreed.clear();
            once.asked = false;
            once.first = self.serial.wrapping_add(1);
        }
        if self.is_asking() {
            // Others may be about to tell more.
            let soon = situation.now() + situation.context.constants().take_timeout;
            self.want(Want::Wake(soon));
        } else if situation.is_owner {
            self.told.reset();
        }
    }

    pub(super) fn is_asking(&self) -> bool {
        let phase = self.once.as_ref().map(|once| once.phase);
        matches!(phase, Some(Phase::Reading | Phase::Writing(_)))
    }

    /// Goes on with the job that is asked for as far as it can, or gives it up with the tenure, or
    /// when the tenure is no longer as safe as is required.
    pub(super) fn review(&mut self, situation: &Situation<'_>) {
        let Some(Once { token, request, .. }) = self.once else {
            return;
        };
        let usable = situation.usable.filter(|&(usable, _)| usable == token);
        let grade = usable.map(|(_, grade)| grade);
        if grade.is_none_or(|grade| self.is_asking() && grade < request.require) {
            return self.end(situation, None, RunEnd::Unknown);
        }
        while self.is_asking() && self.have_enough_agreed(situation) {
            self.next_phase(situation);
        }
    }

    fn next_phase(&mut self, situation: &Situation<'_>) {
        let Some(Once {
            token,
            request,
            phase,
            ..
        }) = self.once
        else {
            return;
        };
        let phase = match phase {
            Phase::Writing(stamp) => Phase::Begun(stamp),
            _ => self.stamp_or_not(situation, &request, token),
        };
        if let Some(once) = &mut self.once {
            once.phase = phase;
            once.since = situation.now();
        }
        self.want(Want::Rest);
        if let Phase::Writing(stamp) = phase {
            self.on_stamps_changed(situation);
            self.want(Want::Tell(Event::RunStamped { stamp }));
            if !self.may_reply(situation) || self.stamps.len() > situation.stamps_per_frame() {
                // That would be more than the answer in hand may be answered with.
                self.want(Want::Wake(situation.now()));
            } else {
                self.ask(situation);
            }
        }
    }

    /// All that others know is known here: stamps a run, unless there was one.
    fn stamp_or_not(
        &mut self,
        situation: &Situation<'_>,
        request: &OnceRequest,
        token: Token,
    ) -> Phase {
        let now = situation.now();
        let known = self.stamps.get(request.name);
        if known.is_some_and(|it| request.is_met_by(&it.view(now))) {
            return Phase::Ran;
        }
        let (progress, run) = match known {
            // Also if a stronger token was lost: the newest run is the one that counts.
            Some(it) if it.stamp.progress >= token.progress => {
                (it.stamp.progress, it.stamp.run.saturating_add(1))
            }
            None if !self.stamps.has_room(now) => return Phase::Full,
            _ => (token.progress, 0),
        };
        let stamp = Stamp {
            name: request.name,
            progress,
            run,
            runner: situation.context.me(),
            outcome: RunOutcome::Begun,
            period: request.every,
        };
        if self.stamps.put(stamp, now) {
            Phase::Writing(stamp)
        } else {
            Phase::Full
        }
    }

    /// Whether all have stored what is known here, and know no more, who must have: a majority for a
    /// quorum, else all members. After the time that a silent owner would be trusted those do not count
    /// that were not heard meanwhile, and, where nothing is required, nobody is waited for any longer.
    fn have_enough_agreed(&self, situation: &Situation<'_>) -> bool {
        let Some(once) = self.once.as_ref().filter(|once| once.asked) else {
            return false;
        };
        let Situation {
            context, members, ..
        } = situation;
        let roster = members.roster(context);
        let patience = promise_lasts(context, roster);
        let now = situation.now();
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
        members.others(context).all(|(mac, peer)| {
            // By then who is there has answered a heartbeat.
            let is_silent = is_over && peer.last_seen().is_none_or(|seen| seen < lately);
            has_agreed(mac) || is_silent || is_over && once.request.require == Grade::Alone
        })
    }

    /// How far the job has come that was asked for last, by its number; `None`: there is none, or the
    /// token under which it was asked for is no longer held.
    pub(crate) fn standing(&self, now: Instant) -> Option<(u64, OnceStanding)> {
        let once = self.once.as_ref()?;
        let standing = match once.phase {
            Phase::Reading | Phase::Writing(_) => OnceStanding::Asking,
            Phase::Begun(_) => OnceStanding::Begun,
            Phase::Ran => OnceStanding::Ran(self.last_run(once.request.name, now)?),
            Phase::Full => OnceStanding::Full,
            Phase::TooSmall => OnceStanding::TooSmall,
        };
        Some((once.request.id, standing))
    }

    /// Whether this is the run that this node has begun.
    pub(crate) fn has_begun(&self, stamp: &Stamp) -> bool {
        let phase = self.once.as_ref().map(|once| once.phase);
        phase == Some(Phase::Begun(*stamp))
    }

    /// The run that makes another one of this job needless now, as far as is known here.
    pub(crate) fn met_by(&self, request: &OnceRequest, now: Instant) -> Option<RunView> {
        let run = self.last_run(request.name, now)?;
        // One that is about to begin may not, and one's own is no reason against itself.
        let is_unsure = self.once.as_ref().is_some_and(|once| match once.phase {
            Phase::Writing(_) => once.request.name == request.name,
            Phase::Begun(_) => once.request.id == request.id,
            _ => false,
        });
        (!is_unsure && request.is_met_by(&run)).then_some(run)
    }

    fn last_run(&self, name: JobName, now: Instant) -> Option<RunView> {
        self.stamps.get(name).map(|entry| entry.view(now))
    }
}
