//! What begins and ends a time in which this node owns nothing.

use super::outbox::Content;
use super::timer::Timer;
use crate::Stored;
use crate::lab2::{Event, Lab2, Reason, State};

impl Lab2 {
    /// Whether the node takes part but owns nothing, for one reason or another.
    pub(super) fn owns_nothing(&self) -> bool {
        !self.fitness.may_own()
    }

    /// From now on this node owns nothing, or may own again. All are told.
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
            // Whoever hears that this node is paused would take it for its answer to the offer.
            self.acknowledge();
        }
        self.broadcast(Content::Ping);
        if !paused {
            return;
        }
        if let Some(candidate) = self.role.candidate() {
            self.stand_down(Reason::Paused, candidate);
        } else {
            self.pass();
        }
    }

    pub(super) fn on_stored(&mut self, stored: Stored) {
        let fails = stored == Stored::Failed;
        let changes = self.fitness.set_unstored(fails);
        if fails {
            self.take_back();
        } else {
            self.known.note_stored();
        }
        if changes && fails && self.out.may_reply() {
            // Whoever hears that this node owns nothing would take it for its answer to the offer.
            self.acknowledge();
        }
        if changes {
            self.event(Event::StorageChanged { failed: fails });
            self.out.set(Timer::Store, self.context.now());
        }
    }

    /// What could not be stored has not happened: no frame tells of it, and the node is not the OWNER of it. A
    /// token that was offered to it stays with its giver; one that it has made, or could not offer, is lost,
    /// as with a node that dies.
    fn take_back(&mut self) {
        self.out.outbox.drop_all(Content::needs_storage);
        self.known.restore();
        if matches!(self.state(), State::Owner | State::Generating) {
            self.enter_looser(Reason::NotStored, self.known.token());
            self.ask_later();
        }
    }

    /// Tells all whether the node owns nothing, once, and tries again to store what it could not.
    pub(super) fn on_store_due(&mut self) {
        if self.fitness.is_unstored() {
            self.known.store_again();
            self.timer_in(Timer::Store, self.context.constants().heartbeat);
        }
        if self.fitness.take_news() && self.context.is_up() && !self.has_left() {
            self.broadcast(Content::Ping);
        }
    }

    /// Nobody takes the token from this node, though others are heard and ask for it: what it sends to one
    /// alone, or what is sent to it, is lost. The others elect another owner.
    pub(super) fn let_go(&mut self) {
        self.fitness.let_go();
        self.event(Event::FitnessChanged { unfit: true });
        self.enter_looser(Reason::NobodyTakes, self.token());
        self.ask_later();
        self.probe_later();
        self.broadcast(Content::Ping);
    }

    fn probe_later(&mut self) {
        self.timer_in(Timer::Probe, self.context.waiter_timeout() * 4);
    }

    /// Asks the holder, alone, where the token is: the answer comes to this node alone as well. Where
    /// nobody owns the token any longer this node may as well.
    pub(super) fn probe(&mut self) {
        let holder = self.known.owner();
        let holder = holder.filter(|&owner| !self.context.is_own(owner));
        match holder.filter(|_| self.state() == State::Waiter) {
            _ if !self.fitness.is_unfit() => {}
            Some(holder) if !self.fitness.has_answer() => {
                self.probe_later();
                self.fitness.ask(holder);
                self.send(holder, Content::WhereIsToken);
            }
            _ => self.recover(),
        }
    }

    /// No owner is heard any longer. If that stays so for as long again this node may own: where all
    /// have let go nobody else would.
    pub(super) fn probe_soon(&mut self) {
        let soon = self.context.now() + self.context.waiter_timeout();
        let due = self.out.due(Timer::Probe);
        if self.fitness.is_unfit() && due.is_none_or(|due| due > soon) {
            self.out.set(Timer::Probe, soon);
        }
    }

    /// The node may own again, as far as it depends on this.
    fn recover(&mut self) {
        if self.fitness.recover() {
            self.out.stop(Timer::Probe);
            self.event(Event::FitnessChanged { unfit: false });
            if self.context.is_up() {
                self.broadcast(Content::Ping);
            }
        }
    }

    /// Whether the node takes part but owns nothing.
    pub fn is_paused(&self) -> bool {
        self.fitness.is_paused()
    }

    /// Whether what must survive a restart can be stored. A node that cannot owns nothing.
    pub fn is_stored(&self) -> bool {
        !self.fitness.is_unstored()
    }

    /// Whether nobody takes the token from this node, which therefore owns nothing.
    pub fn is_unfit(&self) -> bool {
        self.fitness.is_unfit()
    }

    /// Whether this node's constants are so far from the ring's that it neither elects nor owns.
    pub fn is_apart(&self) -> bool {
        self.fitness.is_apart()
    }
}
