//! The state of a handover of the token to exactly one successor.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{PROGRESS_MAX, Token};

use super::Tenure;
use crate::lab2::machine::Context;
use crate::time::Instant;

/// After this number of failed handovers in a row, this node offers the token to fewer members. Only members that this
/// node has heard since the first of these handovers get an offer.
const DOUBT_FAILURES: u32 = 3;
/// The minimum number of successive failed handovers before an OWNER gives the token up.
const LET_GO_FAILURES: u32 = 4;

/// An offer that the interface has not sent.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
pub(super) struct UnsentOffer {
    pub(super) to: MacAddr,
    /// The number of attempts in a row that failed, because the interface did not send the frame.
    pub(super) times: u32,
    pub(super) at: Instant,
}

/// A handover in progress.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
pub(crate) struct Offer {
    pub(super) to: MacAddr,
    pub(super) token: Token,
    /// The number of TAKE_TOKENs of this handover that the link accepted.
    pub(super) attempts: u32,
    /// The time at which the link accepted the first TAKE_TOKEN of this handover.
    pub(super) since: Instant,
    /// Whether the link accepted a TAKE_TOKEN, but the time at which it left the host is unknown.
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

    /// Returns the time at which the first TAKE_TOKEN was sent.
    pub(crate) const fn since(&self) -> Instant {
        self.since
    }
}

/// Successive failed handovers of this tenure.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
pub(super) struct FailureStreak {
    /// The time at which the first failed handover began.
    pub(super) since: Instant,
    pub(super) count: u32,
}

/// Failed handovers since the last success.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
pub(super) struct FailedOffers {
    /// The time at which the first failed handover began.
    pub(super) since: Instant,
    pub(super) count: u32,
    /// Whether a member has asked for the token since the first of these handovers failed.
    pub(super) is_asked: bool,
}

/// The effect of an attempt to send TAKE_TOKEN.
#[derive(Debug, Clone, Copy)]
pub(crate) enum OfferOutcome {
    /// The handover begins.
    Begun,
    /// The handover continues, and this node waits for an answer.
    Repeated,
    /// The interface did not send the first TAKE_TOKEN. This node tries again after TAKE_TIMEOUT.
    NotSent,
    /// The handover failed, because the interface sent none of the repeated TAKE_TOKENs.
    Failed(Offer),
    /// The interface sent no TAKE_TOKEN during the time of a handover. So no other node can have the token, and this
    /// node may offer the token to a different member.
    NotOffered(Offer),
}

impl Tenure {
    pub(crate) const fn offer(&self) -> Option<Offer> {
        self.offer
    }

    /// Returns the token to offer. The progress of the offered token is larger than the progress of the held token by
    /// the step that `step` returns. Returns `None` if the progress is already at its maximum. The step is computed
    /// only once per held token. So repeated offers contain the same token.
    pub(crate) fn prepare_offer(&mut self, step: impl FnOnce(Token) -> u64) -> Option<Token> {
        let next = self.next_token(step)?;
        // A stored progress must not change, or two offers of one chain would differ.
        self.next_progress = Some(next.progress);
        Some(next)
    }

    /// Returns the token of the next offer, like [`prepare_offer`](Self::prepare_offer). Does not fix the progress for
    /// later calls.
    pub(crate) fn next_token(&self, step: impl FnOnce(Token) -> u64) -> Option<Token> {
        let Token { progress, .. } = self.token;
        // A handover needs a larger progress, and this is the largest progress. Only a forged frame can cause this
        // case.
        if progress >= PROGRESS_MAX {
            return None;
        }
        let next = self.next_progress;
        let next = next.unwrap_or_else(|| (progress + step(self.token)).min(PROGRESS_MAX));
        Some(Token {
            progress: next,
            ..self.token
        })
    }

    /// Whether the progress of the next offered token is already decided.
    pub(crate) const fn has_next_progress(&self) -> bool {
        self.next_progress.is_some()
    }

    /// Handles the outcome of a TAKE_TOKEN. If the interface did not send the TAKE_TOKEN, this node tries again. After
    /// TAKE_ATTEMPTS such repetitions without success, the handover has failed.
    pub(crate) fn on_offer_sent(
        &mut self,
        context: &Context,
        (to, token): (MacAddr, Token),
        accepted: bool,
    ) -> OfferOutcome {
        let (now, constants) = (context.now(), context.constants());
        // Only failures to send to the same member count together: the interface may refuse just one destination.
        let before = self
            .unsent_offer
            .filter(|unsent_offer| unsent_offer.to == to);
        let times = before.map_or(0, |unsent_offer| unsent_offer.times) + 1;
        self.unsent_offer = (!accepted).then_some(UnsentOffer { to, times, at: now });
        // If one attempt were enough, an interface that sends nothing would make the handovers to all members fail at
        // once.
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
                // The failure counts from the first attempt, although no offer exists.
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

    /// If a TAKE_TOKEN left the host just now, returns the number of TAKE_TOKENs of this handover. The member's time
    /// for an answer begins now, not when the link accepted the frame.
    pub(crate) fn take_flushed_offer(&mut self) -> Option<u32> {
        let offer = self.offer.as_mut()?;
        std::mem::take(&mut offer.awaits_flush).then_some(offer.attempts)
    }

    /// If the interface did not send an offer, returns the offer's receiver, and the time of the next attempt.
    pub(crate) fn unsent_offer(&self, context: &Context) -> Option<(MacAddr, Instant)> {
        let take_timeout = context.constants().take_timeout;
        self.unsent_offer.map(|it| (it.to, it.at + take_timeout))
    }

    /// Whether the time to offer the token has come. If an offer could not be sent, the time of the next attempt
    /// decides. Otherwise, the end of IDLE_HOLD decides.
    pub(crate) fn is_hold_over(&self, context: &Context, now: Instant) -> bool {
        let unsent_offer = self.unsent_offer(context).map(|(_, again)| again);
        // The node has already decided to hand the token over, so the repetition does not wait for IDLE_HOLD.
        now >= unsent_offer.unwrap_or(self.hold_until)
    }

    /// Returns the previous holder if this holder may have passed over a member that it does not hear.
    pub(crate) fn suspected_giver(&self) -> Option<MacAddr> {
        // A giver that has just minted this chain had offered the token to a member without success. So it has not
        // passed over that member.
        let is_known = self
            .known_before
            .is_some_and(|known| known.same_chain(&self.token));
        self.giver
            .filter(|&giver| self.token.author != giver || is_known)
    }

    /// Sets a member to which this node offers the token before the turn of this member.
    pub(crate) fn set_passed_over(&mut self, passed_over: Option<MacAddr>) {
        self.passed_over = passed_over;
    }

    /// Returns the member after which the round continues when the member `failed` did not take the token. Usually this
    /// is `failed`. If `failed` got its offer before its turn, it is this node, so the round starts with the first
    /// member after this node.
    pub(crate) fn resume_after(&self, failed: MacAddr, me: MacAddr) -> MacAddr {
        if self.passed_over == Some(failed) {
            me
        } else {
            failed
        }
    }

    /// Interrupts a round to give the members time to object. Later, the round continues with the members after `last`.
    pub(crate) fn interrupt_round(&mut self, last: Option<MacAddr>) {
        self.interrupted_round = last;
    }

    pub(crate) const fn is_round_interrupted(&self) -> bool {
        self.interrupted_round.is_some()
    }

    /// Ends the interruption of a round. Returns the member after which the round continues.
    pub(crate) fn take_interrupted_round(&mut self) -> Option<MacAddr> {
        self.interrupted_round.take()
    }

    /// Notes a failed handover that began at `since`. If this is failure number [`DOUBT_FAILURES`] in a row, returns
    /// the start of the first of these handovers. Otherwise returns `None`.
    pub(crate) fn note_failure(&mut self, since: Instant) -> Option<Instant> {
        let before = self.failure_streak.take();
        let failure_streak = FailureStreak {
            since: before.map_or(since, |before| before.since),
            count: before.map_or(0, |before| before.count) + 1,
        };
        // The streak begins again, so that the next doubt needs as many failures as the first doubt.
        if failure_streak.count >= DOUBT_FAILURES {
            return Some(failure_streak.since);
        }
        self.failure_streak = Some(failure_streak);
        None
    }

    /// Notes a failed handover. Returns the start of the first failed handover since the last success.
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

    /// Whether handovers failed since the last success.
    pub(crate) const fn has_failed_offers(&self) -> bool {
        self.failed_offers.is_some()
    }

    /// Forgets the failed handovers. They failed only because a member was away.
    pub(crate) fn forget_failed_offers(&mut self) {
        self.failed_offers = None;
    }

    /// Whether it is doubtful that any member can take the token from this node. The reason for the doubt: all
    /// handovers of a whole WAITER_TIMEOUT failed, although a member asked for the token. During this doubt, this node
    /// offers the token to all other members, even if a program on this node works.
    pub(crate) fn is_in_doubt(&self, now: Instant, waiter_timeout: Duration) -> bool {
        self.failed_offers.is_some_and(|failed_offers| {
            // A short burst of lost frames makes several handovers fail, so both a time and a number must be reached.
            now.since(failed_offers.since) >= waiter_timeout
                && failed_offers.count >= LET_GO_FAILURES
                && failed_offers.is_asked
        })
    }
}
