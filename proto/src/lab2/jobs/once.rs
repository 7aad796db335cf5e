//! The rules for a holder that runs a job once in a period. The holder asks the members for the last run, and then
//! stamps a new run. The run begins when enough members store the stamp.

use ring_codec::MacAddr;
use ring_codec::lab2::{Purpose, RunOutcome, Token};

use super::{JobAction, JobContext, Jobs, StampsFrame};
use crate::lab2::confidence::promise_duration;
use crate::lab2::members::Members;
use crate::lab2::{Event, Grade, JobName, OnceProgress, OnceRequest, RunEnd, RunView, Stamp};
use crate::time::Instant;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(super) enum OncePhase {
    /// The holder asks the members for their stamps.
    Reading,
    /// The holder asks the members to store this new stamp.
    Writing(Stamp),
    Begun(Stamp),
    Ran,
    Full,
    TooSmall,
}

/// The request of an application on this node.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(super) struct OnceJob {
    pub(super) request: OnceRequest,
    /// The token under which the job runs.
    pub(super) token: Token,
    pub(super) phase: OncePhase,
    pub(super) since: Instant,
    /// Whether this node sent a question after the last change of the stamps.
    pub(super) asked: bool,
    /// The serial number of the first question whose answers count.
    pub(super) first: u32,
    /// The members that agreed, each with the time of its last answer. The list is sorted by MAC.
    pub(super) agreements: Vec<(MacAddr, Instant)>,
}

impl OnceJob {
    pub(super) fn on_token_renamed(&mut self, old: Token, minted: Token) {
        if self.token == old {
            self.token = minted;
        }
    }
}

impl Jobs {
    pub(super) fn begin(&mut self, job_context: &JobContext<'_>, request: OnceRequest) {
        // A node has one open request: a new request means that the caller has given up the earlier request.
        self.end(job_context, None, RunEnd::NotRun);
        self.announce_if_due(job_context);
        // The token may have been lost since the caller was granted it. Then `once_progress` returns `None`.
        let Some((token, _)) = job_context.usable else {
            return;
        };
        // No frame could carry the stamp, so the members would never agree.
        let phase = if job_context.stamps_per_frame() == 0 {
            OncePhase::TooSmall
        } else {
            OncePhase::Reading
        };
        self.once = Some(OnceJob {
            request,
            token,
            phase,
            since: job_context.now(),
            asked: false,
            first: self.serial.wrapping_add(1),
            agreements: Vec::new(),
        });
        if phase == OncePhase::Reading {
            self.ask_members(job_context);
        }
    }

    /// Ends the open request if `id` is its number, or if `id` is `None`.
    pub(super) fn end(&mut self, job_context: &JobContext<'_>, id: Option<u64>, end: RunEnd) {
        let is_meant = |once: &mut OnceJob| id.is_none_or(|id| id == once.request.id);
        let Some(once) = self.once.take_if(is_meant) else {
            return;
        };
        self.push_action(JobAction::StopTimer);
        let stamp = match once.phase {
            OncePhase::Writing(stamp) => stamp,
            // A begun run without a known result keeps its stamp, because its program may have worked.
            OncePhase::Begun(stamp) if end != RunEnd::Unknown => stamp,
            _ => return,
        };
        let outcome = match end {
            RunEnd::Done => RunOutcome::Done,
            RunEnd::Failed => RunOutcome::Failed,
            // The stamp was announced, but its run never began. With the outcome `void`, the stamp does not prevent the
            // next caller from running the job.
            RunEnd::Unknown | RunEnd::NotRun => RunOutcome::Void,
        };
        if self.stamps.end(&stamp, outcome) {
            self.schedule_announcement(job_context);
        }
    }

    fn ask_members(&mut self, job_context: &JobContext<'_>) {
        self.broadcast_stamps(job_context, Purpose::Ask);
        let soon = job_context.now() + Members::speaking_delay_max(job_context.context);
        // If a question or its answers are lost, the node asks again after this time.
        self.push_action(JobAction::WakeAt(soon));
    }

    /// Handles the timer: sends a due announcement, and asks again if too few members agreed.
    pub(super) fn on_due(&mut self, job_context: &JobContext<'_>) {
        self.review(job_context);
        self.announce_if_due(job_context);
        if self.is_asking() {
            self.ask_members(job_context);
        }
    }

    pub(super) fn on_agreement(
        &mut self,
        job_context: &JobContext<'_>,
        from: MacAddr,
        frame: StampsFrame,
    ) {
        let last = self.serial;
        let Some(once) = &mut self.once else {
            return;
        };
        let asked = last.wrapping_sub(once.first);
        // Serial numbers may wrap, so only differences are compared.
        let is_answer = last.wrapping_sub(frame.serial) <= asked && asked <= u32::MAX / 2;
        // An answer to a question of an earlier tenure may be about other stamps. A node that is not in the table does
        // not count for a majority.
        if frame.token == once.token && is_answer && job_context.members.has(from) {
            match once.agreements.binary_search_by_key(&from, |&(mac, _)| mac) {
                Ok(at) => once.agreements[at].1 = job_context.now(),
                Err(at) => once.agreements.insert(at, (from, job_context.now())),
            }
        }
    }

    /// Discards the members' agreements to the earlier stamps. Call this function when the stamps change.
    pub(super) fn on_stamps_changed(&mut self, job_context: &JobContext<'_>) {
        if let Some(once) = &mut self.once {
            once.agreements.clear();
            once.asked = false;
            // Answers to earlier questions are about other stamps.
            once.first = self.serial.wrapping_add(1);
        }
        if self.is_asking() {
            // Other members may be about to send more stamps, so the next question waits for them.
            let soon = job_context.now() + job_context.context.constants().take_timeout;
            self.push_action(JobAction::WakeAt(soon));
        } else if job_context.is_owner {
            // An owner with new stamps announces them with its next heartbeat, so that all members learn them soon.
            self.announcements.reset();
        }
    }

    pub(super) fn is_asking(&self) -> bool {
        let phase = self.once.as_ref().map(|once| once.phase);
        matches!(phase, Some(OncePhase::Reading | OncePhase::Writing(_)))
    }

    /// Takes all steps of the request that are possible now. Ends the request if the tenure is over, or if the required
    /// grade is lost before the run begins.
    pub(super) fn review(&mut self, job_context: &JobContext<'_>) {
        let Some(OnceJob { token, request, .. }) = self.once else {
            return;
        };
        let usable = job_context.usable.filter(|&(usable, _)| usable == token);
        let grade = usable.map(|(_, grade)| grade);
        // If the grade is lost after the run has begun, the end of its lock ends the run.
        if grade.is_none_or(|grade| self.is_asking() && grade < request.require) {
            return self.end(job_context, None, RunEnd::Unknown);
        }
        while self.is_asking() && self.has_enough_agreements(job_context) {
            self.enter_next_phase(job_context);
        }
    }

    fn enter_next_phase(&mut self, job_context: &JobContext<'_>) {
        let Some(OnceJob {
            token,
            request,
            phase,
            ..
        }) = self.once
        else {
            return;
        };
        let phase = match phase {
            OncePhase::Writing(stamp) => OncePhase::Begun(stamp),
            _ => self.stamp_run(job_context, &request, token),
        };
        if let Some(once) = &mut self.once {
            once.phase = phase;
            once.since = job_context.now();
        }
        self.push_action(JobAction::StopTimer);
        if let OncePhase::Writing(stamp) = phase {
            self.on_stamps_changed(job_context);
            self.push_action(JobAction::Report(Event::RunStamped { stamp }));
            if !self.may_reply(job_context) || self.stamps.len() > job_context.stamps_per_frame() {
                // The question may need more frames than the current input may cause, so it leaves at a timeout that is
                // due at once.
                self.push_action(JobAction::WakeAt(job_context.now()));
            } else {
                self.ask_members(job_context);
            }
        }
    }

    /// Stamps a new run. If the last run satisfies the request, no new run is necessary. Call this function only when
    /// this node knows the stamps of all members that count.
    fn stamp_run(
        &mut self,
        job_context: &JobContext<'_>,
        request: &OnceRequest,
        token: Token,
    ) -> OncePhase {
        let now = job_context.now();
        let known = self.stamps.get(request.name);
        if known.is_some_and(|it| request.is_satisfied_by(&it.view(now))) {
            return OncePhase::Ran;
        }
        let (progress, run) = match known {
            // The new stamp must be newer than the known stamp, even if the known stamp was written under a stronger
            // token that was lost.
            Some(it) if it.stamp.progress >= token.progress => {
                (it.stamp.progress, it.stamp.run.saturating_add(1))
            }
            None if !self.stamps.has_room(now) => return OncePhase::Full,
            _ => (token.progress, 0),
        };
        let stamp = Stamp {
            name: request.name,
            progress,
            run,
            runner: job_context.context.me(),
            outcome: RunOutcome::Begun,
            period: request.every,
        };
        if self.stamps.put(stamp, now) {
            OncePhase::Writing(stamp)
        } else {
            OncePhase::Full
        }
    }

    /// Whether enough members store exactly the stamps that this node knows. If the request requires a quorum, a
    /// majority of the ring must agree. Otherwise, all members must agree at first. When the request has waited for the
    /// duration of a promise, members that were not heard in that time need not agree. If the request then requires
    /// only the grade `alone`, no member need agree.
    fn has_enough_agreements(&self, job_context: &JobContext<'_>) -> bool {
        let Some(once) = self.once.as_ref().filter(|once| once.asked) else {
            return false;
        };
        let JobContext {
            context, members, ..
        } = job_context;
        let ring_size = members.ring_size(context);
        let duration = promise_duration(context, ring_size);
        let now = job_context.now();
        // The clocks of two members may differ, so an agreement counts for a little less than a promise.
        let lasts = duration / 32 * 31;
        let is_fresh = |at: Instant| now.since(at) < lasts;
        if once.request.require == Grade::Quorum {
            let agreements = once.agreements.iter().filter(|&&(_, at)| is_fresh(at));
            // The holder itself has the stamps, so it counts as a member that agrees.
            return 1 + agreements.count() > ring_size / 2;
        }
        let has_agreed = |mac: MacAddr| {
            let place = once.agreements.binary_search_by_key(&mac, |&(mac, _)| mac);
            place.is_ok_and(|at| is_fresh(once.agreements[at].1))
        };
        let lately = now.before(duration);
        let is_over = now.since(once.since) >= duration;
        members.others(context).all(|(mac, peer)| {
            // By this time, every present member has answered a heartbeat.
            let is_silent = is_over && peer.last_seen().is_none_or(|seen| seen < lately);
            has_agreed(mac) || is_silent || is_over && once.request.require == Grade::Alone
        })
    }

    /// Returns the number and the progress of the latest request. Returns `None` if there is no request, or if this
    /// node no longer holds the request's token.
    pub(crate) fn standing(&self, now: Instant) -> Option<(u64, OnceProgress)> {
        let once = self.once.as_ref()?;
        let standing = match once.phase {
            OncePhase::Reading | OncePhase::Writing(_) => OnceProgress::Asking,
            OncePhase::Begun(_) => OnceProgress::Begun,
            OncePhase::Ran => OnceProgress::Ran(self.last_run(once.request.name, now)?),
            OncePhase::Full => OnceProgress::Full,
            OncePhase::TooSmall => OnceProgress::TooSmall,
        };
        Some((once.request.id, standing))
    }

    /// Whether this node began the run with this stamp.
    pub(crate) fn has_begun(&self, stamp: &Stamp) -> bool {
        let phase = self.once.as_ref().map(|once| once.phase);
        phase == Some(OncePhase::Begun(*stamp))
    }

    /// If the last known run satisfies this request, returns this run. Then no new run is necessary.
    pub(crate) fn met_by(&self, request: &OnceRequest, now: Instant) -> Option<RunView> {
        let run = self.last_run(request.name, now)?;
        // A run that is about to begin may still be cancelled. And the run that this request itself has begun does not
        // count.
        let is_unsure = self.once.as_ref().is_some_and(|once| match once.phase {
            OncePhase::Writing(_) => once.request.name == request.name,
            OncePhase::Begun(_) => once.request.id == request.id,
            _ => false,
        });
        (!is_unsure && request.is_satisfied_by(&run)).then_some(run)
    }

    fn last_run(&self, name: JobName, now: Instant) -> Option<RunView> {
        self.stamps.get(name).map(|entry| entry.view(now))
    }
}
