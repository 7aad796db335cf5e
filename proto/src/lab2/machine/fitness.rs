//! Begins and ends the times in which this node must not own the token.

use super::outbox::Content;
use super::timer::Timer;
use crate::StoreOutcome;
use crate::lab2::{Event, Lab2, Reason, State};

impl Lab2 {
    pub(super) fn may_own(&self) -> bool {
        self.fitness.may_own()
    }

    /// Pauses or resumes this node, and announces that.
    pub(super) fn set_paused(&mut self, paused: bool) {
        if !paused {
            self.recover();
        }
        if self.fitness.is_paused() == paused || self.is_shutting_down() {
            return;
        }
        self.fitness.set_paused(paused);
        if !self.context.is_up() {
            return;
        }
        if paused {
            // The giver would take the PING for the answer to its offer, so the acknowledgement comes first.
            self.acknowledge();
        }
        self.broadcast(Content::Ping);
        if !paused {
            return;
        }
        if let Some(candidate) = self.role.candidate() {
            self.stand_down(Reason::Paused, candidate);
        } else {
            self.hand_over();
        }
    }

    pub(super) fn on_stored(&mut self, stored: StoreOutcome) {
        let fails = stored == StoreOutcome::Failed;
        let changes = self.fitness.set_unstored(fails);
        if fails {
            self.undo_unstored();
        } else {
            self.known.note_stored();
        }
        if changes && fails && self.out.may_reply() {
            // The giver would take the PING for the answer to its offer, so the acknowledgement comes first.
            self.acknowledge();
        }
        if changes {
            self.event(Event::StorageChanged { failed: fails });
            // The announcement must not be a third answer to the current frame.
            self.out.set(Timer::Store, self.context.now());
        }
    }

    /// Undoes everything that depends on a failed write: no frame tells of it, and an OWNER or candidate becomes
    /// LOOSER.
    fn undo_unstored(&mut self) {
        // After a restart this node would accept tokens that it has handed over, and reuse numbers (section 2). An
        // offered token stays with its giver; one that was created here is lost, as if this node had died.
        self.out.outbox.drop_all(Content::needs_storage);
        self.known.restore();
        if matches!(self.state(), State::Owner | State::Generating) {
            self.enter_looser(Reason::NotStored, self.known.token());
            self.schedule_question();
        }
    }

    /// Retries a failed write, and announces once whether this node may own the token.
    pub(super) fn on_store_due(&mut self) {
        if self.fitness.is_unstored() {
            self.known.store_again();
            self.timer_in(Timer::Store, self.context.constants().heartbeat);
        }
        if self.fitness.take_change() && self.context.is_up() && !self.has_left() {
            self.broadcast(Content::Ping);
        }
    }

    /// Gives up the token because no member takes it, although members are heard and ask for it. They elect another
    /// owner.
    pub(super) fn become_unfit(&mut self) {
        // Unicast frames from or to this node are lost. If it kept the token, the locks of all others would time out.
        self.fitness.mark_unfit();
        self.event(Event::FitnessChanged { unfit: true });
        // The token is not handed over: no member takes it. The others elect an owner after WAITER_TIMEOUT.
        self.enter_looser(Reason::NoTaker, self.token());
        self.schedule_question();
        self.schedule_probe();
        self.broadcast(Content::Ping);
    }

    fn schedule_probe(&mut self) {
        self.timer_in(Timer::Probe, self.context.waiter_timeout() * 4);
    }

    /// Asks the holder by unicast where the token is: its unicast answer proves that unicast frames arrive again.
    /// Without a holder this node may own again at once.
    pub(super) fn on_probe_due(&mut self) {
        let holder = self.known.owner();
        let holder = holder.filter(|&owner| !self.context.is_own(owner));
        match holder.filter(|_| self.state() == State::Waiter) {
            _ if !self.fitness.is_unfit() => {}
            Some(holder) if !self.fitness.has_answer() => {
                self.schedule_probe();
                self.fitness.note_question(holder);
                self.send(holder, Content::WhereIsToken);
            }
            _ => self.recover(),
        }
    }

    /// Shortens the time to the next probe, since no owner is heard. If all nodes have let go, only this makes an owner
    /// again.
    pub(super) fn shorten_probe(&mut self) {
        let soon = self.context.now() + self.context.waiter_timeout();
        let due = self.out.due(Timer::Probe);
        if self.fitness.is_unfit() && due.is_none_or(|due| due > soon) {
            self.out.set(Timer::Probe, soon);
        }
    }

    /// Ends the state of being unfit, and announces that.
    fn recover(&mut self) {
        if self.fitness.recover() {
            self.out.stop(Timer::Probe);
            self.event(Event::FitnessChanged { unfit: false });
            if self.context.is_up() {
                self.broadcast(Content::Ping);
            }
        }
    }

    /// Whether the operator has paused this node: it takes part, but owns nothing.
    pub fn is_paused(&self) -> bool {
        self.fitness.is_paused()
    }

    /// Whether the state file can be written. A node that cannot write it owns nothing.
    pub fn is_stored(&self) -> bool {
        !self.fitness.is_unstored()
    }

    /// Whether this node owns nothing because no member takes the token from it.
    pub fn is_unfit(&self) -> bool {
        self.fitness.is_unfit()
    }

    /// Whether this node's timeouts are so far from the ring's that it neither elects nor owns.
    pub fn is_apart(&self) -> bool {
        self.fitness.is_apart()
    }
}
