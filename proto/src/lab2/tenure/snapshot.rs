//! What the machine's future depends on of its state.

use std::hash::Hash;
use std::time::Duration;

use super::ack::{Ack, Announced};
use super::{Context, Offer, Role, Tenure};
use crate::lab2::machine::Writer;

impl Role {
    /// Who is `silent` for longer counts as never heard.
    pub(crate) fn snapshot(&self, writer: &mut Writer, context: &Context, silence: Duration) {
        self.state().hash(writer);
        match self {
            // By when it is due only people are told.
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
            unsent,
            offer,
            unacknowledged,
            ack,
            failing,
            refusals,
            rests_until,
            giver,
            ahead,
            interrupted,
            is_used,
        } = self;
        let (now, constants) = (writer.now, context.constants());
        let (take_timeout, objected) = (constants.take_timeout, constants.objected_within());
        (token, known_before, next_progress, offer.is_some()).hash(writer);
        (unacknowledged, is_used).hash(writer);
        let (step, at) = match *ack {
            Ack::Settled => (0, now),
            Ack::Due(by) => (1, by),
            Ack::Sent(by) => (2, by),
            Ack::Unsure(Announced::No) => (3, now),
            Ack::Unsure(Announced::Leaving) => (4, now),
            Ack::Unsure(Announced::At(at)) if at + objected <= now => (0, now),
            Ack::Unsure(Announced::At(at)) => (5, at + objected),
        };
        (step, at.since(now)).hash(writer);
        (rests_until.since(now), giver, ahead, interrupted).hash(writer);
        failing.map(|failing| failing.count).hash(writer);
        writer.age_up_to(failing.map(|failing| failing.since), silence);
        let refused = refusals.map(|refusals| (refusals.count, refusals.is_asked));
        refused.hash(writer);
        writer.age_up_to(refusals.map(|refusals| refusals.since), silence);
        unsent.map(|unsent| (unsent.to, unsent.times)).hash(writer);
        writer.age_up_to(unsent.map(|unsent| unsent.at), take_timeout);
        if let Some(Offer {
            to,
            token,
            attempts,
            since,
            // Known as soon as the frames that were sent with it have left.
            departs: _,
        }) = offer
        {
            (to, token, attempts).hash(writer);
            // A heartbeat waits for TAKE_TIMEOUT from here; nothing waits for longer.
            writer.age_up_to(Some(*since), take_timeout);
        }
    }
}
