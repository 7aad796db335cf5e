//! Pauses: requests of clients, the end of a pause at its time, and pauses of an earlier run.

use std::time::Duration;

use ring_control::Reply;
use ring_control::lab2::{LockRequest, PauseRequest, PauseStatus, PendingReason, RefusalReason};
use ring_host::Reaction;
use ring_process::Client;
use ring_proto::lab2::{Command, Lab2, Pause, State};
use ring_proto::time::{Instant, Now};
use tracing::info;

use super::super::pausing::PauseProgress;
use super::super::status::pause_status;
use super::super::stored_pause::PauseTerms;
use super::{RequestEffect, Service, refusal};
use crate::system::Error;
use crate::system::lab2::events;

/// The reason of the end of a pause, for clients that wait for it.
const RESUMED_BY_OPERATOR: &str = "ringctl resume has ended the pause";
const RESUMED_BY_TIME: &str = "the time of the pause is over, so the pause has ended";

impl Service {
    /// Pauses the node, or replaces the end and the reason of its pause.
    pub(super) fn pause(
        &mut self,
        now: Now,
        peer: Client,
        request: &PauseRequest,
        machine: &Lab2,
    ) -> Reaction<Command> {
        let id = peer.id;
        if self.pausing.involves(id) {
            return Reaction::error("this connection already waits for a pause");
        }
        let under = request.under.as_deref();
        let is_named = under.is_some_and(|under| self.named.name_of(under).is_some());
        if is_named || self.is_held_under(under) {
            let why = RefusalReason::AlreadyHeld;
            let text = self
                .text_inputs(now, machine)
                .refusal(why, &LockRequest::default());
            return Reaction::Reply(refusal(why, text));
        }
        // A further request without terms keeps the end and the reason. A package sends such a request before it
        // restarts the daemon.
        let kept = self.pausing.terms().filter(|_| !request.has_terms());
        let terms = kept
            .cloned()
            .or_else(|| PauseTerms::of_request(request, now));
        let Some(terms) = terms else {
            return Reaction::error(
                "the reason of a pause has at most 64 bytes and no control characters",
            );
        };
        let pause = terms.pause(now);
        if pause.until.is_some_and(|until| until <= now.monotonic) {
            return Reaction::error("the end of the pause has already passed");
        }
        if let Err(why) = self.store_pause(&terms, request.persist) {
            return Reaction::Reply(Reply::Error(why));
        }
        let is_new = if request.drain {
            self.locks.drain()
        } else {
            self.locks.pause(true)
        };
        let is_changed = self.pausing.set_terms(&terms, pause);
        if is_changed {
            self.locks.set_pause_terms(pause);
        }
        if is_new || is_changed {
            self.pausing.begin(peer);
        }
        let patience = Duration::from_millis(request.wait_ms.unwrap_or(0));
        self.pausing.wait(id, now.monotonic + patience);
        self.changed_clients.push((id, true));
        Reaction::Later
    }

    /// Stores a pause that survives a restart. A pause with an end survives, because it ends even if the operator
    /// forgets it. If a pause is already stored, the new terms replace its terms.
    fn store_pause(&self, terms: &PauseTerms, persists: bool) -> Result<(), String> {
        if persists || terms.has_end() || self.stored_pause.exists() {
            self.stored_pause.store(terms)
        } else {
            Ok(())
        }
    }

    pub(super) fn resume(&mut self, peer: Client) -> Reaction<Command> {
        if let Err(why) = self.stored_pause.forget() {
            return Reaction::Reply(Reply::Error(why));
        }
        if self.locks.pause(false) {
            let Client { pid, uid, .. } = peer;
            info!(event = events::RESUMED, pid, uid, "resumed by {peer}");
            self.pausing.end(RESUMED_BY_OPERATOR);
            self.effects.push(RequestEffect::Resumed);
        }
        Reaction::Reply(Reply::Done {})
    }

    /// Ends the pause if its time is over.
    pub(super) fn end_pause_in_time(&mut self, now: Now) {
        if !self.pausing.is_over(now.monotonic) {
            return;
        }
        // The file may stay, because it names a time that has passed, and the next start ignores it.
        let _ = self.stored_pause.forget();
        self.pausing.end(RESUMED_BY_TIME);
        if self.locks.pause(false) {
            info!(
                event = events::RESUMED,
                "resumed: the time of the pause is over"
            );
            self.effects.push(RequestEffect::Resumed);
        }
    }

    /// If an earlier run of the daemon stored a pause, pauses the node. Returns the pause.
    pub(in crate::system::lab2) fn restore_pause(
        &mut self,
        now: Now,
    ) -> Result<Option<Pause>, Error> {
        let stored = &self.stored_pause;
        let terms = stored.load().map_err(|source| Error::State {
            path: stored.path().to_owned(),
            source,
        })?;
        let Some(terms) = terms else { return Ok(None) };
        let pause = terms.pause(now);
        if pause.until.is_some_and(|until| until <= now.monotonic) {
            let _ = self.stored_pause.forget();
            return Ok(None);
        }
        self.locks.pause(true);
        self.locks.set_pause_terms(pause);
        self.pausing.set_terms(&terms, pause);
        Ok(Some(pause))
    }

    /// Returns the end and the reason of the pause.
    pub(in crate::system::lab2) fn pause_status(&self, now: Instant) -> Option<PauseStatus> {
        self.pausing.pause().map(|pause| pause_status(now, pause))
    }

    /// Returns the reason why a pause is not complete.
    pub(in crate::system::lab2) fn pending(&self, machine: &Lab2) -> Option<PendingReason> {
        match self.progress(machine) {
            PauseProgress::Pending(why) => Some(why),
            PauseProgress::Complete | PauseProgress::Over(_) => None,
        }
    }

    pub(super) fn progress(&self, machine: &Lab2) -> PauseProgress {
        if self.locks.is_leaving() {
            PauseProgress::Over("ringd is shutting down: it hands the token over first")
        } else if !self.locks.is_paused() {
            PauseProgress::Over(self.pausing.end_reason())
        } else if self.is_held() {
            PauseProgress::Pending(PendingReason::Holder)
        } else if machine.state() == State::Owner || !machine.is_paused() {
            PauseProgress::Pending(PendingReason::Token)
        } else {
            PauseProgress::Complete
        }
    }
}
