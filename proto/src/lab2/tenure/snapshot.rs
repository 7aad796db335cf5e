//! The state's part of a [snapshot](crate::lab2::Lab2::snapshot).

use std::hash::Hash;
use std::time::Duration;

use super::ack::{Ack, Announcement};
use super::{Context, Offer, Role, Tenure};
use crate::lab2::machine::Writer;

impl Role {
    /// Members that are not heard for longer than `silence` count as never heard.
    pub(crate) fn snapshot(&self, writer: &mut Writer, context: &Context, silence: Duration) {
        self.state().hash(writer);
        match self {
            // Its deadline only matters to people.
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
            Ack::Unsure(Announcement::Left(at)) if at + objected <= now => (0, now),
            Ack::Unsure(Announcement::Left(at)) => (5, at + objected),
        };
        (step, at.since(now)).hash(writer);
        (hold_until.since(now), giver, passed_over, interrupted_round).hash(writer);
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
            // It becomes false as soon as the frames of the same input have left.
            awaits_flush: _,
        }) = offer
        {
            (to, token, attempts).hash(writer);
            // A heartbeat waits for TAKE_TIMEOUT from here on, and nothing waits for longer.
            writer.age_up_to(Some(*since), take_timeout);
        }
    }
}
