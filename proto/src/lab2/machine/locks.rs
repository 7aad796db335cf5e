//! Connects the other parts of the state machine with the named [`Locks`](crate::lab2::locks::Locks).

use ring_codec::MacAddr;
use ring_codec::lab2::{self, LocksStanding};

use super::outbox::Content;
use super::timer::Timer;
use crate::lab2::locks::{
    LocksAction, LocksContext, LocksInput, LocksTenure, ReceivedLocks, ReceivedQuestion,
};
use crate::lab2::{Lab2, LockView, State};
use crate::time::Instant;

impl Lab2 {
    fn locks_context(&self) -> LocksContext<'_> {
        LocksContext {
            context: &self.context,
            members: &self.members,
            tenure: self.locks_tenure(),
        }
    }

    fn locks_tenure(&self) -> LocksTenure {
        let may_send = self.context.is_up() && !self.has_left();
        LocksTenure {
            known: self.token().filter(|_| may_send),
            owner: self.owner(),
            held: self.token().filter(|_| self.state() == State::Owner),
            may_serve: self.grantable_token(self.context.now()).is_some(),
            grade: self.grade(),
            stays: may_send && !self.is_shutting_down(),
        }
    }

    /// Passes an input to the locks, and executes their actions.
    pub(super) fn handle_locks_input(&mut self, input: LocksInput<'_>) {
        let context = LocksContext {
            tenure: self.locks_tenure(),
            context: &self.context,
            members: &self.members,
        };
        self.locks.handle(&context, input);
        let wake = self.locks.next_wake(&context);
        let lets_go = self.locks.stops_keeping_token(&context);
        match wake.filter(|_| !self.has_left()) {
            Some(at) => self.out.set(Timer::Locks, at),
            None => self.out.stop(Timer::Locks),
        }
        self.execute_locks_actions();
        if lets_go {
            self.resume_handover();
        }
    }

    /// Schedules the handover that waited for the locks. The handover waits for its timer, because the present input
    /// may already have caused an offer that is not sent yet.
    fn resume_handover(&mut self) {
        let is_planned = self.out.is_set(Timer::Handover);
        if is_planned || self.has_left() || !self.can_hand_over() {
            return;
        }
        let is_urgent = self.is_handover_urgent();
        let hold = self.role.tenure().filter(|_| !is_urgent);
        let now = self.context.now();
        let at = hold.map_or(now, |tenure| tenure.hold_until().max(now));
        self.out.set(Timer::Handover, at);
    }

    fn execute_locks_actions(&mut self) {
        // The answers to a received frame may not have been sent yet, and a frame has at most two answers. So the
        // frames about locks wait for a timeout that is due at once.
        let may_send = !self.out.is_replying();
        while let Some(action) = self.locks.poll(may_send) {
            match action {
                LocksAction::Send(to, frame) => self.send(to, Content::Locks(frame)),
                LocksAction::Ask(to, question) => self.send(to, Content::LocksQuestion(question)),
                LocksAction::Confirm => self.ask_to_confirm(),
                LocksAction::Report(event) => self.event(event),
            }
        }
        if self.locks.has_actions() && !self.has_left() {
            self.out.set(Timer::Locks, self.context.now());
        }
    }

    /// Informs the locks that the tenure, or its grade, may have changed.
    #[inline]
    pub(super) fn review_locks(&mut self) {
        // Every hop comes here, and most rings have no named lock.
        if !self.locks.is_idle() {
            self.handle_locks_input(LocksInput::TenureChanged);
        }
    }

    pub(super) fn on_locks(&mut self, from: MacAddr, message: &lab2::Message<'_>) {
        match *message {
            lab2::Message::Locks {
                token,
                serial,
                purpose,
                grade,
                digest,
                from: first,
                to,
                locks,
            } => {
                let frame = ReceivedLocks {
                    token,
                    serial,
                    purpose,
                    grade,
                    digest,
                    from: first,
                    to,
                    records: locks,
                    is_bound: self.confidence.is_bound_to(&self.context, token, from),
                };
                self.handle_locks_input(LocksInput::Received { from, frame });
            }
            lab2::Message::LocksQuestion {
                grade,
                from: first,
                sums,
            } => {
                let question = ReceivedQuestion {
                    grade,
                    from: first,
                    sums,
                };
                self.handle_locks_input(LocksInput::Asked { from, question });
            }
            _ => {}
        }
    }

    /// Returns the trailer about locks for a frame of this kind.
    pub(super) fn locks_standing(&self, content: Content) -> Option<LocksStanding> {
        let kind = content.kind();
        let has_standing = LocksStanding::may_follow(kind)
            && self.locks.has_standing(&self.context, &self.members, kind);
        if !has_standing {
            return None;
        }
        self.locks.standing(&self.locks_context(), kind)
    }

    /// Whether this node keeps the token for a moment, because members are about to store changes of locks.
    pub(super) fn keeps_token_for_locks(&self) -> bool {
        self.locks.keeps_token(&self.locks_context())
    }

    /// Returns all known named locks, and the sessions that wait for them.
    pub fn locks(&self) -> impl Iterator<Item = LockView> {
        self.locks.views(self.context.now())
    }

    /// Returns the time until which the program of a session of this node may rely on its lock. Returns `None` if the
    /// session has no lock.
    pub fn lock_lease_end(&self, session: u64) -> Option<Instant> {
        let lasts = self.locks_context().lease_lasts();
        self.locks.lease_end(session, lasts)
    }
    /// Returns the number of times at which leases of this node's locks were renewed. While the number stays the same,
    /// no lease ends later than before.
    pub const fn lock_renewals(&self) -> u64 {
        self.locks.renewals()
    }
}
