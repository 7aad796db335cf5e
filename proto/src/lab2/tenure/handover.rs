//! Handing the token over, once and for all, to one successor.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{MAX_PROGRESS, Token};

use super::Tenure;
use crate::lab2::machine::Context;
use crate::time::Instant;

/// After so many failed hand-overs in a row only those count that are heard from then on.
const DOUBTS: u32 = 3;
/// So many hand-overs have failed in a row at least before an OWNER lets go.
const FAILURES: u32 = 4;

/// An offer that the interface refuses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unsent {
    pub(super) to: MacAddr,
    /// How often in a row.
    pub(super) times: u32,
    /// When it was refused last.
    pub(super) at: Instant,
}

/// A hand-over under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offer {
    pub(super) to: MacAddr,
    pub(super) token: Token,
    /// How many TAKE_TOKEN were accepted for sending.
    pub(super) attempts: u32,
    /// When the first one was.
    pub(super) since: Instant,
    /// The last one was just now, and by when it has left is not known yet.
    pub(super) departs: bool,
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

    /// When the first TAKE_TOKEN was sent.
    pub(crate) const fn since(&self) -> Instant {
        self.since
    }
}

/// Hand-overs that have failed in a row, in this tenure.
#[derive(Debug, Clone, Copy)]
pub(super) struct Failing {
    /// When the first of them began.
    pub(super) since: Instant,
    pub(super) count: u32,
}

/// Hand-overs have failed, without one that has not.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refusals {
    /// When the first of them began.
    pub(super) since: Instant,
    pub(super) count: u32,
    /// Somebody has asked for the token meanwhile.
    pub(super) is_asked: bool,
}

/// What follows when a TAKE_TOKEN was sent, or could not be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum OfferSent {
    /// The hand-over begins.
    Begun,
    /// It goes on, and its answer is waited for.
    Repeated,
    /// The token is still this node's, and is offered again in a while.
    Refused,
    /// The interface has refused a hand-over under way for too long.
    Failed(Offer),
    /// Nothing could be sent to the member for as long as a hand-over takes. It has no offer, so the token may go to
    /// another.
    NotOffered(Offer),
}

impl Tenure {
    pub(crate) const fn offer(&self) -> Option<Offer> {
        self.offer
    }

    /// The token as it is offered: its progress grows by a step, which is decided once. An offer that could not
    /// be sent is made again as it was. `None`: there is no progress left.
    pub(crate) fn offered_token(&mut self, step: impl FnOnce(Token) -> u64) -> Option<Token> {
        let Token { progress, .. } = self.token;
        if progress >= MAX_PROGRESS {
            return None;
        }
        let next = self.next_progress;
        let next = next.unwrap_or_else(|| (progress + step(self.token)).min(MAX_PROGRESS));
        self.next_progress = Some(next);
        Some(Token {
            progress: next,
            ..self.token
        })
    }

    /// Whether it was decided with which progress the token goes on.
    pub(crate) const fn is_going_on(&self) -> bool {
        self.next_progress.is_some()
    }

    /// A TAKE_TOKEN was sent, or could not be: then it is tried again, and does not count unless that
    /// goes on.
    pub(crate) fn on_offer_sent(
        &mut self,
        context: &Context,
        (to, token): (MacAddr, Token),
        accepted: bool,
    ) -> OfferSent {
        let (now, constants) = (context.now(), context.constants());
        let before = self.unsent.filter(|unsent| unsent.to == to);
        let times = before.map_or(0, |unsent| unsent.times) + 1;
        self.unsent = (!accepted).then_some(Unsent { to, times, at: now });
        // An interface that refuses all at once must not have all members offered the token at once.
        let in_vain = !accepted && times > constants.take_attempts;
        match &mut self.offer {
            Some(offer) if in_vain => OfferSent::Failed(*offer),
            Some(offer) => {
                offer.attempts += u32::from(accepted);
                offer.departs |= accepted;
                OfferSent::Repeated
            }
            None if in_vain => {
                self.unsent = None;
                let took = constants.take_timeout * constants.take_attempts;
                OfferSent::NotOffered(Offer {
                    to,
                    token,
                    attempts: 0,
                    since: now.before(took),
                    departs: false,
                })
            }
            None if accepted => {
                self.offer = Some(Offer {
                    to,
                    token,
                    attempts: 1,
                    since: now,
                    departs: true,
                });
                OfferSent::Begun
            }
            None => OfferSent::Refused,
        }
    }

    /// The offer has left by now, and how many have. Who is offered the token has its time from when the offer has left,
    /// not from when it was to leave.
    pub(crate) fn take_departed_offer(&mut self) -> Option<u32> {
        let offer = self.offer.as_mut()?;
        std::mem::take(&mut offer.departs).then_some(offer.attempts)
    }

    /// The member that an offer could not be sent to, and when it is offered the token again.
    pub(crate) fn unsent(&self, context: &Context) -> Option<(MacAddr, Instant)> {
        let take_timeout = context.constants().take_timeout;
        self.unsent.map(|it| (it.to, it.at + take_timeout))
    }

    /// Whether the token has been here for IDLE_HOLD.
    pub(crate) fn has_rested(&self, context: &Context, now: Instant) -> bool {
        let unsent = self.unsent(context).map(|(_, again)| again);
        now >= unsent.unwrap_or(self.rests_until)
    }

    /// The holder that had it before, if that may have passed a member over. What it has just minted shows that it
    /// has tried somebody without success.
    pub(crate) fn suspected_giver(&self) -> Option<MacAddr> {
        let is_known = self
            .known_before
            .is_some_and(|known| known.same_chain(&self.token));
        self.giver
            .filter(|&giver| self.token.author != giver || is_known)
    }

    /// The member that is offered the token before its turn, if there is one.
    pub(crate) fn set_ahead(&mut self, ahead: Option<MacAddr>) {
        self.ahead = ahead;
    }

    /// After whom the round goes on when `failed` has not taken the token: who was passed over had it before its turn.
    pub(crate) fn goes_on_after(&self, failed: MacAddr, me: MacAddr) -> MacAddr {
        if self.ahead == Some(failed) {
            me
        } else {
            failed
        }
    }

    /// A round waits for objections, and goes on after this member then.
    pub(crate) fn interrupt(&mut self, last: Option<MacAddr>) {
        self.interrupted = last;
    }

    /// Whether a round waits for objections.
    pub(crate) const fn is_interrupted(&self) -> bool {
        self.interrupted.is_some()
    }

    /// The member after which a round goes on that has waited for objections.
    pub(crate) fn take_interrupted(&mut self) -> Option<MacAddr> {
        self.interrupted.take()
    }

    /// A hand-over that began at `since` has failed. After some in a row: since when they have.
    pub(crate) fn note_failure(&mut self, since: Instant) -> Option<Instant> {
        let before = self.failing.take();
        let failing = Failing {
            since: before.map_or(since, |before| before.since),
            count: before.map_or(0, |before| before.count) + 1,
        };
        if failing.count >= DOUBTS {
            return Some(failing.since);
        }
        self.failing = Some(failing);
        None
    }

    /// A hand-over has failed. Returns since when they have, without one that has not.
    pub(crate) fn note_refusal(&mut self, offer: &Offer) -> Instant {
        let refusals = self.refusals.get_or_insert(Refusals {
            since: offer.since,
            count: 0,
            is_asked: false,
        });
        refusals.count += 1;
        refusals.since
    }

    /// Somebody asks for the token.
    pub(crate) fn note_asked(&mut self) {
        if let Some(refusals) = &mut self.refusals {
            refusals.is_asked = true;
        }
    }

    /// Whether hand-overs have failed, without one that has not.
    pub(crate) const fn is_refused(&self) -> bool {
        self.refusals.is_some()
    }

    /// Some author is there again after a while: that it was not is why hand-overs to it have failed.
    pub(crate) fn forget_refusals(&mut self) {
        self.refusals = None;
    }

    /// Whether it is to be seen if anybody takes the token from this node: those that ask for it have not
    /// for so long that the others are offered it as well, whatever work there is here.
    pub(crate) fn is_in_doubt(&self, now: Instant, patience: Duration) -> bool {
        self.refusals.is_some_and(|refusals| {
            now.since(refusals.since) >= patience && refusals.count >= FAILURES && refusals.is_asked
        })
    }
}
