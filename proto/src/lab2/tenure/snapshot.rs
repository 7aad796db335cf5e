//! Writes the four states into a [snapshot](crate::lab2::Lab2::snapshot).

use std::hash::Hash;
use std::time::Duration;

use super::ack::{Ack, Announcement};
use super::{Context, Offer, Role, Tenure};
use crate::lab2::machine::Writer;

impl Role {
    /// Writes the state. The ages of failed handovers are written only up to `silence`. If a member was not heard for
    /// longer, it counts as never heard, so a larger age has no other effect.
    pub(crate) fn snapshot(&self, writer: &mut Writer, context: &Context, silence: Duration) {
        self.state().hash(writer);
        match self {
            // Only a report to people depends on the deadline of the acknowledgement.
            Self::Waiter(owed) => owed.map(|owed| owed.to()).hash(writer),
            Self::Looser(search) => search.snapshot(writer),
            Self::Generating(candidate) => candidate.hash(writer),
            Self::Owner(tenure) => tenure.snapshot(writer, context, silence),
        }
    }
}

impl Tenure {
    fn snapshot(&self, writer: &mut Writer, context: &Context, silence: Duration) {
        let Self {
            token,
            known_before,
            next_progress,
            unsent_offer,
            offer,
            unacknowledged,
            ack,
            failure_streak,
            failed_offers,
            hold_until,
            idle_hold,
            giver,
            passed_over,
            interrupted_round,
            is_used,
        } = self;
        let (now, constants) = (writer.now, context.constants());
        let (take_timeout, objected) = (constants.take_timeout, constants.objection_period());
        (token, known_before, next_progress, offer.is_some()).hash(writer);
        (unacknowledged, is_used).hash(writer);
        let (step, at) = match *ack {
            Ack::Settled => (0, now),
            Ack::Due(by) => (1, by),
            Ack::Sent(by) => (2, by),
            Ack::Unsure(Announcement::Pending) => (3, now),
            Ack::Unsure(Announcement::Accepted) => (4, now),
            // After the time for objections, the rules treat the token like a token that was acknowledged in time.
            Ack::Unsure(Announcement::Left(at)) if at + objected <= now => (0, now),
            Ack::Unsure(Announcement::Left(at)) => (5, at + objected),
        };
        (step, at.since(now)).hash(writer);
        (
            hold_until.since(now),
            idle_hold,
            giver,
            passed_over,
            interrupted_round,
        )
            .hash(writer);
        failure_streak
            .map(|failure_streak| failure_streak.count)
            .hash(writer);
        writer.age_up_to(
            failure_streak.map(|failure_streak| failure_streak.since),
            silence,
        );
        let counted =
            failed_offers.map(|failed_offers| (failed_offers.count, failed_offers.is_asked));
        counted.hash(writer);
        writer.age_up_to(
            failed_offers.map(|failed_offers| failed_offers.since),
            silence,
        );
        unsent_offer
            .map(|unsent_offer| (unsent_offer.to, unsent_offer.times))
            .hash(writer);
        writer.age_up_to(
            unsent_offer.map(|unsent_offer| unsent_offer.at),
            take_timeout,
        );
        if let Some(Offer {
            to,
            token,
            attempts,
            since,
            // The flag becomes false as soon as the frames of the same input have left, so it is false between inputs.
            awaits_flush: _,
        }) = offer
        {
            (to, token, attempts).hash(writer);
            // The time matters only to a heartbeat, which waits until TAKE_TIMEOUT after the first TAKE_TOKEN.
            writer.age_up_to(Some(*since), take_timeout);
        }
    }
}
