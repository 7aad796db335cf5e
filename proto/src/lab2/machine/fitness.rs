//! The rules for times in which this node must not own the token: how such a time begins, and how it ends.

use super::outbox::Content;
use super::timer::Timer;
use crate::StoreOutcome;
use crate::lab2::{Event, Lab2, Pause, Reason, State};

impl Lab2 {
    pub(super) fn may_own(&self) -> bool {
        self.fitness.may_own()
    }

    /// Pauses this node, replaces the end and the reason of its pause, or resumes it. Announces the change.
    pub(super) fn set_pause(&mut self, pause: Option<Pause>) {
        let paused = pause.is_some();
        if !paused {
            // An operator who resumes an unfit node has repaired the network, so the node does not wait for its probe.
            self.recover();
        }
        // A node that shuts down already hands the token over and refuses offers, and LEAVING must be its last frame.
        if self.is_shutting_down() || !self.diagnostics.set_own_pause(pause) {
            return;
        }
        let is_new = self.fitness.is_paused() != paused;
        self.fitness.set_paused(paused);
        if !self.context.is_up() {
            return;
        }
        if paused {
            // The giver would mistake the PING for the answer to its offer, so the acknowledgement comes first.
            self.acknowledge();
        }
        self.broadcast(Content::Ping);
        if !paused || !is_new {
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
            // The giver would mistake the PING for the answer to its offer, so the acknowledgement comes first.
            self.acknowledge();
        }
        if changes {
            self.event(Event::StorageChanged { failed: fails });
            // The announcement must not be a third answer to the current frame.
            self.out.set(Timer::Store, self.context.now());
        }
    }

    /// Undoes a change that could not be stored. Drops the frames that depend on the change. If this node is OWNER or a
    /// candidate, it becomes LOOSER.
    fn undo_unstored(&mut self) {
        // Without the stored state, a restarted node would accept tokens that it has handed over, and reuse numbers
        // (`docs/reference/lab2/states.md D2`). A token that was offered to this node stays with its giver. A token
        // that was created here is lost, as if this node had died.
        self.out.outbox.drop_all(Content::needs_storage);
        self.known.restore();
        if matches!(self.state(), State::Owner | State::Generating) {
            self.enter_looser(Reason::NotStored, self.known.token());
            self.schedule_question();
        }
    }

    /// Retries a failed write. Announces whether this node may own the token, unless the last announcement is still
    /// correct.
    pub(super) fn on_store_due(&mut self) {
        if self.fitness.is_unstored() {
            self.known.store_again();
            self.timer_in(Timer::Store, self.context.constants().heartbeat);
        }
        if self.fitness.take_change() && self.context.is_up() && !self.has_left() {
            self.broadcast(Content::Ping);
        }
    }

    /// Gives up the token, because no member takes it from this node, although this node hears members that ask for it.
    /// The other members elect another owner.
    pub(super) fn become_unfit(&mut self) {
        // Unicast frames from or to this node are lost. If it kept the token, the programs on all other nodes would
        // wait without success.
        self.fitness.mark_unfit();
        self.event(Event::FitnessChanged { unfit: true });
        // The node does not try to hand the token over first, because no member takes it. The others elect an owner
        // after WAITER_TIMEOUT.
        self.enter_looser(Reason::NoTaker, self.token());
        self.schedule_question();
        self.schedule_probe();
        self.broadcast(Content::Ping);
    }

    fn schedule_probe(&mut self) {
        self.timer_in(Timer::Probe, self.context.waiter_timeout() * 4);
    }

    /// Asks the holder by unicast where the token is. A unicast answer shows that unicast frames arrive again. If this
    /// node knows no holder, it counts as fit at once.
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
            // Either the holder has answered, or no owner is heard. In the second case, every node may have given up
            // the token, and no node could be elected.
            _ => self.recover(),
        }
    }

    /// Schedules the next probe for an earlier time. Call this function when this node hears no owner. If every node
    /// has given up the token, a node can own it again only after such a probe.
    pub(super) fn shorten_probe(&mut self) {
        let soon = self.context.now() + self.context.waiter_timeout();
        let due = self.out.due(Timer::Probe);
        if self.fitness.is_unfit() && due.is_none_or(|due| due > soon) {
            self.out.set(Timer::Probe, soon);
        }
    }

    /// Ends the time in which this node is unfit, and announces the end.
    fn recover(&mut self) {
        if self.fitness.recover() {
            self.out.stop(Timer::Probe);
            self.event(Event::FitnessChanged { unfit: false });
            if self.context.is_up() {
                self.broadcast(Content::Ping);
            }
        }
    }

    /// Whether an operator paused this node. A paused node takes part in the ring, but does not own the token.
    pub fn is_paused(&self) -> bool {
        self.fitness.is_paused()
    }

    /// Whether the state file can be written. If the state file cannot be written, this node does not own the token.
    pub fn is_stored(&self) -> bool {
        !self.fitness.is_unstored()
    }

    /// Whether this node is unfit: it does not own the token, because no member took the token from it.
    pub fn is_unfit(&self) -> bool {
        self.fitness.is_unfit()
    }

    /// Whether this node is apart, because its timeouts differ too much from the ring's. A node that is apart takes
    /// part in no election, and does not own the token.
    pub fn is_apart(&self) -> bool {
        self.fitness.is_apart()
    }
}
