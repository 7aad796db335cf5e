//! The handover of the token to exactly one successor.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{PROGRESS_MAX, Token};

use super::Tenure;
use crate::lab2::machine::Context;
use crate::time::Instant;

/// After this many failed handovers in a row, only members that are heard from then on are offered the token.
const DOUBT_FAILURES: u32 = 3;
/// An OWNER lets go of the token only after at least this many failed handovers in a row.
const LET_GO_FAILURES: u32 = 4;

/// An offer that the interface did not send.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnsentOffer {
    pub(super) to: MacAddr,
    /// How often in a row it was not sent.
    pub(super) times: u32,
    pub(super) at: Instant,
}

/// A handover in progress.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offer {
    pub(super) to: MacAddr,
    pub(super) token: Token,
    /// How many TAKE_TOKENs the link has accepted.
    pub(super) attempts: u32,
    /// When the link accepted the first one.
    pub(super) since: Instant,
    /// Whether the last one was just accepted, and it is not known yet when it left.
    pub(super) awaits_flush: bool,
}

impl Offer {
    pub(crate) const fn to(&self) -> MacAddr {
        self.to
    }

    pub(crate) const fn token(&self) -> Token {
        self.token
    }

    pub(crate) const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Returns when the first TAKE_TOKEN was sent.
    pub(crate) const fn since(&self) -> Instant {
        self.since
    }
}

/// Consecutive failed handovers in this tenure.
#[derive(Debug, Clone, Copy)]
pub(super) struct FailureStreak {
    /// Start of the first of them.
    pub(super) since: Instant,
    pub(super) count: u32,
}

/// Failed handovers since the last success.
#[derive(Debug, Clone, Copy)]
pub(super) struct FailedOffers {
    /// Start of the first of them.
    pub(super) since: Instant,
    pub(super) count: u32,
    /// Whether a member has asked for the token meanwhile.
    pub(super) is_asked: bool,
}

/// The effect of a TAKE_TOKEN's outcome.
#[derive(Debug, Clone, Copy)]
pub(crate) enum OfferOutcome {
    /// The handover begins.
    Begun,
    /// The handover goes on, and its answer is awaited.
    Repeated,
    /// The interface did not send the first offer. It is repeated after TAKE_TIMEOUT.
    NotSent,
    /// The handover has failed: the interface has not sent the repetitions.
    Failed(Offer),
    /// No TAKE_TOKEN was sent for as long as a handover takes. So nobody can have the token, and it may go to another
    /// member.
    NotOffered(Offer),
}

impl Tenure {
    pub(crate) const fn offer(&self) -> Option<Offer> {
        self.offer
    }

    /// Returns the token to offer, with its progress raised by a step; `None` if no progress is left. The step is
    /// decided only once, so that a repeated offer is the same.
    pub(crate) fn prepare_offer(&mut self, step: impl FnOnce(Token) -> u64) -> Option<Token> {
        let Token { progress, .. } = self.token;
        // A handover needs a larger progress, and there is none. Only a forged frame can lead here.
        if progress >= PROGRESS_MAX {
            return None;
        }
        let next = self.next_progress;
        let next = next.unwrap_or_else(|| (progress + step(self.token)).min(PROGRESS_MAX));
        // A stored progress must not change, or two offers of one chain would differ.
        self.next_progress = Some(next);
        Some(Token {
            progress: next,
            ..self.token
        })
    }

    /// Whether the progress of the next offer was decided.
    pub(crate) const fn has_next_progress(&self) -> bool {
        self.next_progress.is_some()
    }

    /// Handles the outcome of a TAKE_TOKEN. One that was not sent is repeated, and counts as failed only after TAKE_ATTEMPTS.
    pub(crate) fn on_offer_sent(
        &mut self,
        context: &Context,
        (to, token): (MacAddr, Token),
        accepted: bool,
    ) -> OfferOutcome {
        let (now, constants) = (context.now(), context.constants());
        let before = self
            .unsent_offer
            .filter(|unsent_offer| unsent_offer.to == to);
        let times = before.map_or(0, |unsent_offer| unsent_offer.times) + 1;
        self.unsent_offer = (!accepted).then_some(UnsentOffer { to, times, at: now });
        // If one attempt were enough, an interface that sends nothing would fail at all members at once.
        let has_failed = !accepted && times > constants.take_attempts;
        match &mut self.offer {
            Some(offer) if has_failed => OfferOutcome::Failed(*offer),
            Some(offer) => {
                offer.attempts += u32::from(accepted);
                offer.awaits_flush |= accepted;
                OfferOutcome::Repeated
            }
            None if has_failed => {
                // The next member has its own attempts.
                self.unsent_offer = None;
                // The event reports the time since the first attempt.
                let took = constants.take_timeout * constants.take_attempts;
                OfferOutcome::NotOffered(Offer {
                    to,
                    token,
                    attempts: 0,
                    since: now.before(took),
                    awaits_flush: false,
                })
            }
            None if accepted => {
                self.offer = Some(Offer {
                    to,
                    token,
                    attempts: 1,
                    since: now,
                    awaits_flush: true,
                });
                OfferOutcome::Begun
            }
            None => OfferOutcome::NotSent,
        }
    }

    /// Returns the number of attempts if an offer has just left the host. The member's time counts from then on, not
    /// from when the link accepted the frame.
    pub(crate) fn take_flushed_offer(&mut self) -> Option<u32> {
        let offer = self.offer.as_mut()?;
        std::mem::take(&mut offer.awaits_flush).then_some(offer.attempts)
    }

    /// Returns the member of the unsent offer, and when the offer is repeated.
    pub(crate) fn unsent_offer(&self, context: &Context) -> Option<(MacAddr, Instant)> {
        let take_timeout = context.constants().take_timeout;
        self.unsent_offer.map(|it| (it.to, it.at + take_timeout))
    }

    /// Whether the token has been here for IDLE_HOLD.
    pub(crate) fn is_hold_over(&self, context: &Context, now: Instant) -> bool {
        let unsent_offer = self.unsent_offer(context).map(|(_, again)| again);
        // An unsent offer is repeated even if IDLE_HOLD is longer.
        now >= unsent_offer.unwrap_or(self.hold_until)
    }

    /// Returns the previous holder if it may have passed a member over.
    pub(crate) fn suspected_giver(&self) -> Option<MacAddr> {
        // A giver that has just minted has tried a member without success, so it passed none over.
        let is_known = self
            .known_before
            .is_some_and(|known| known.same_chain(&self.token));
        self.giver
            .filter(|&giver| self.token.author != giver || is_known)
    }

    /// Sets the member that is offered the token before its turn.
    pub(crate) fn set_passed_over(&mut self, passed_over: Option<MacAddr>) {
        self.passed_over = passed_over;
    }

    /// Returns the member after which the round goes on when `failed` has not taken the token. A member that was passed
    /// over was tried before its turn, so the round then begins after this node.
    pub(crate) fn resume_after(&self, failed: MacAddr, me: MacAddr) -> MacAddr {
        if self.passed_over == Some(failed) {
            me
        } else {
            failed
        }
    }

    /// Interrupts a round until members had time to object. It goes on after this member.
    pub(crate) fn interrupt_round(&mut self, last: Option<MacAddr>) {
        self.interrupted_round = last;
    }

    pub(crate) const fn is_round_interrupted(&self) -> bool {
        self.interrupted_round.is_some()
    }

    /// Returns the member after which the interrupted round goes on.
    pub(crate) fn take_interrupted_round(&mut self) -> Option<MacAddr> {
        self.interrupted_round.take()
    }

    /// Notes a failed handover that began at `since`. After [`DOUBT_FAILURES`] in a row, returns the start of the
    /// first.
    pub(crate) fn note_failure(&mut self, since: Instant) -> Option<Instant> {
        let before = self.failure_streak.take();
        let failure_streak = FailureStreak {
            since: before.map_or(since, |before| before.since),
            count: before.map_or(0, |before| before.count) + 1,
        };
        // The streak begins again, so that doubt is not raised for each further failure.
        if failure_streak.count >= DOUBT_FAILURES {
            return Some(failure_streak.since);
        }
        self.failure_streak = Some(failure_streak);
        None
    }

    /// Notes a failed handover. Returns the start of the first since the last success.
    pub(crate) fn record_failed_offer(&mut self, offer: &Offer) -> Instant {
        let failed_offers = self.failed_offers.get_or_insert(FailedOffers {
            since: offer.since,
            count: 0,
            is_asked: false,
        });
        failed_offers.count += 1;
        failed_offers.since
    }

    /// Notes that a member asks for the token.
    pub(crate) fn note_asked(&mut self) {
        if let Some(failed_offers) = &mut self.failed_offers {
            failed_offers.is_asked = true;
        }
    }

    /// Whether handovers have failed since the last success.
    pub(crate) const fn has_failed_offers(&self) -> bool {
        self.failed_offers.is_some()
    }

    /// Forgets the failed handovers: they failed because a member was away.
    pub(crate) fn forget_failed_offers(&mut self) {
        self.failed_offers = None;
    }

    /// Whether it is doubtful that any member takes the token from this node: members that ask for it have failed to
    /// take it for a whole WAITER_TIMEOUT. Then all other members are offered it too, even if a program here works.
    pub(crate) fn is_in_doubt(&self, now: Instant, waiter_timeout: Duration) -> bool {
        self.failed_offers.is_some_and(|failed_offers| {
            now.since(failed_offers.since) >= waiter_timeout
                && failed_offers.count >= LET_GO_FAILURES
                && failed_offers.is_asked
        })
    }
}
