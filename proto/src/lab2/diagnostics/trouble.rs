//! What goes wrong between this node and others.

use std::collections::VecDeque;
use std::mem::discriminant;

use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, Message, Token};

use super::{Diagnostics, Said, end_said, is_recent, note_said, tell};
use crate::lab2::envelope::Envelope;
use crate::lab2::machine::{Context, Output};
use crate::lab2::members::{Members, Peer};
use crate::lab2::tenure::Offer;
use crate::lab2::{Event, Trouble};
use crate::time::Instant;

/// A LOOSER that is told for so many WAITER_TIMEOUTs who holds the token does not hear that one.
const UNHEARD: u32 = 4;
/// After so many of them tables that differ will not become equal by themselves.
const DIFFERING: u32 = 64;
/// So many frames in a row that could not be sent are no accident.
const UNSENT: u32 = 4;
/// So many of the last offers that were given up are remembered.
const OFFERS: usize = 8;
/// So many of the owners that only others hear are named.
const OWNERS: usize = 8;

#[derive(Debug, Clone, Default)]
pub(super) struct Troubles {
    /// It was said that nobody is heard.
    told_own_deafness: bool,
    /// Members that say that they hear nobody.
    deaf: Vec<Said>,
    /// The last offers that were given up.
    given_up: VecDeque<Offer>,
    /// What happened at one moment, the last of each kind, and when.
    once: Vec<(Instant, Trouble)>,
    /// Since when this node has been told who holds the token, without hearing of it.
    named_since: Option<Instant>,
    /// The owners that only others hear, and when they last said so.
    unheard: Vec<(Instant, MacAddr)>,
    /// Whose table differs from this node's.
    differing: Option<Differing>,
    /// Frames that could not be sent, since the last that could.
    unsent: Option<Unsent>,
}

#[derive(Debug, Clone, Copy)]
struct Unsent {
    since: Instant,
    count: u32,
    told: bool,
}

#[derive(Debug, Clone, Copy)]
struct Differing {
    owner: MacAddr,
    since: Instant,
    last: Instant,
    told: bool,
}

impl Diagnostics {
    /// What is wrong just now at a node that knows this token, and is perhaps apart.
    pub(crate) fn troubles(
        &self,
        context: &Context,
        members: &Members,
        (token, apart): (Option<Token>, bool),
    ) -> impl Iterator<Item = Trouble> {
        let Troubles {
            deaf,
            once,
            unheard,
            differing,
            unsent,
            ..
        } = &self.troubles;
        let is_now = move |at: Instant| is_recent(context, at);
        let deaf = deaf.iter().map(|deaf| deaf.mac);
        let deaf = deaf.filter(move |&mac| self.is_told_deaf(context, members, mac));
        let deaf = deaf.map(|mac| Trouble::MemberDeaf { mac });
        let once = once.iter().filter(move |&&(at, _)| is_now(at));
        let once = once.map(|&(_, trouble)| trouble);
        let unheard = unheard.iter().filter(move |&&(at, _)| is_now(at));
        let unheard = unheard.map(|&(_, owner)| Trouble::OwnerUnheard { owner });
        let differing = differing.filter(|it| it.told && is_now(it.last));
        let differing = differing.map(|it| Trouble::TablesDiffer { owner: it.owner });
        let unsent = unsent.filter(|unsent| unsent.told);
        let unsent = unsent.map(|_| Trouble::CannotSend);
        let between = unsent
            .into_iter()
            .chain(deaf)
            .chain(unheard)
            .chain(differing);
        between
            .chain(self.reach_troubles(context, members))
            .chain(self.shared_addresses(context, members))
            .chain(self.apart_troubles(apart))
            .chain(self.missing.no_quorum())
            .chain(self.unheard.told())
            .chain(self.token_ahead(context, token))
            .chain(once)
    }

    /// Whether a member that is there says that it hears nobody, and not only while it is being greeted.
    pub(crate) fn is_told_deaf(&self, context: &Context, members: &Members, mac: MacAddr) -> bool {
        let mut deaf = self.troubles.deaf.iter();
        deaf.any(|deaf| deaf.mac == mac && deaf.told)
            && !members.is_gone(context, mac, members.silence(context))
    }

    /// Something has gone wrong just now: it is told, and is a trouble for a while.
    pub(crate) fn note_once(&mut self, context: &Context, out: &mut Output, trouble: Trouble) {
        self.remember_once(context, trouble);
        tell(out, trouble, false);
    }

    /// Something has gone wrong just now that may happen again and again: the like of it is told once in a while.
    pub(crate) fn note_recurring(&mut self, context: &Context, out: &mut Output, trouble: Trouble) {
        let before = self.remember_once(context, trouble);
        if before.is_none_or(|at| !is_recent(context, at)) {
            tell(out, trouble, false);
        }
    }

    /// When the like of it was remembered last.
    fn remember_once(&mut self, context: &Context, trouble: Trouble) -> Option<Instant> {
        let now = context.now();
        let limit = context.waiter_timeout();
        // A slight one must not hide one that harms.
        let kind = |it: &Trouble| (discriminant(it), it.is_slight(limit));
        let mut once = self.troubles.once.iter_mut();
        if let Some(like) = once.find(|(_, it)| kind(it) == kind(&trouble)) {
            let (at, _) = std::mem::replace(like, (now, trouble));
            return Some(at);
        }
        self.troubles.once.push((now, trouble));
        None
    }

    /// Says once that nobody is heard, and when somebody is again.
    pub(crate) fn review_hearing(
        &mut self,
        context: &Context,
        members: &Members,
        out: &mut Output,
    ) {
        let deaf = members.is_deaf(context);
        if std::mem::replace(&mut self.troubles.told_own_deafness, deaf) != deaf {
            let heard_before = members.heard_members() > 1;
            out.event(Event::HearingChanged { deaf, heard_before });
        }
    }

    /// A frame was sent, or could not be although the link is up.
    pub(crate) fn note_outcome(&mut self, context: &Context, out: &mut Output, refused: bool) {
        let now = context.now();
        if !refused {
            let unsent = self.troubles.unsent.take();
            if unsent.is_some_and(|unsent| unsent.told) {
                tell(out, Trouble::CannotSend, true);
            }
            return;
        }
        let unsent = self.troubles.unsent.get_or_insert(Unsent {
            since: now,
            count: 0,
            told: false,
        });
        unsent.count += 1;
        let lasts = unsent.count >= UNSENT && now.since(unsent.since) >= context.waiter_timeout();
        if lasts && !std::mem::replace(&mut unsent.told, true) {
            tell(out, Trouble::CannotSend, false);
        }
    }

    /// A frame of a member says whether that hears anybody. Who was alone until now does not, until it has
    /// the answer to its first frame.
    pub(crate) fn note_deafness(
        &mut self,
        context: &Context,
        out: &mut Output,
        mac: MacAddr,
        says_deaf: bool,
    ) {
        if self.troubles.deaf.is_empty() && !says_deaf {
            return;
        }
        let lasts = (context.now(), context.deaf_after());
        if note_said(&mut self.troubles.deaf, mac, says_deaf, lasts) {
            tell(out, Trouble::MemberDeaf { mac }, !says_deaf);
        }
    }

    /// An offer was given up: whoever it was to may answer yet. One that is paused has.
    pub(crate) fn note_given_up(&mut self, members: &Members, offer: Offer) {
        if members.peer(offer.to()).is_some_and(Peer::is_paused) {
            return;
        }
        let given_up = &mut self.troubles.given_up;
        if given_up.len() == OFFERS {
            given_up.pop_front();
        }
        given_up.push_back(offer);
    }

    /// An answer to this node alone, perhaps to an offer that was given up.
    pub(crate) fn note_late_answer(
        &mut self,
        context: &Context,
        out: &mut Output,
        envelope: Envelope,
        message: &Message<'_>,
    ) {
        let (Message::TokenIsHere { token, .. } | Message::TokenWasHereRecently { token, .. }) =
            *message
        else {
            return;
        };
        let given_up = &mut self.troubles.given_up;
        given_up.retain(|offer| context.now().since(offer.since()) < context.waiter_timeout());
        // An earlier token of the chain was heard of in a heartbeat.
        let place = given_up.iter().position(|offer| {
            offer.to() == envelope.from
                && token.same_chain(&offer.token())
                && !offer.token().is_stronger_than(&token)
        });
        if let Some(offer) = place.and_then(|place| given_up.remove(place)) {
            let late = Trouble::AnswerLate {
                mac: envelope.from,
                after: envelope.at.since(offer.since()),
            };
            self.note_recurring(context, out, late);
        }
    }

    /// A LOOSER is told who holds the token. Soon it hears that one, or a new one.
    pub(crate) fn note_unheard(&mut self, context: &Context, out: &mut Output, owner: MacAddr) {
        if context.is_own(owner) {
            return;
        }
        let now = context.now();
        let since = *self.troubles.named_since.get_or_insert(now);
        if now.since(since) < context.waiter_timeout() * UNHEARD {
            return;
        }
        let unheard = &mut self.troubles.unheard;
        unheard.retain(|&(at, _)| is_recent(context, at));
        // The next owner is not heard for the same reason.
        let is_news = unheard.is_empty();
        unheard.retain(|&(_, named)| named != owner);
        if unheard.len() == OWNERS {
            unheard.remove(0);
        }
        unheard.push((now, owner));
        if is_news {
            tell(out, Trouble::OwnerUnheard { owner }, false);
        }
    }

    /// A TOKEN_IS_HERE, with the digest of its author's table.
    pub(crate) fn note_holder(
        &mut self,
        context: &Context,
        members: &mut Members,
        out: &mut Output,
        (envelope, digest): (Envelope, Digest),
    ) {
        let owner = envelope.from;
        self.troubles.named_since = None;
        self.end_unheard(context, out, |mac| mac == owner);
        if envelope.broadcast {
            let differs = members.differs(digest);
            self.note_digest(context, out, owner, differs);
        }
    }

    /// Owners are heard, or gone, and so are those that nobody has named for long. It is over when none
    /// is left.
    fn end_unheard(&mut self, context: &Context, out: &mut Output, ends: impl Fn(MacAddr) -> bool) {
        let unheard = &mut self.troubles.unheard;
        let Some(&(_, mut last)) = unheard.first() else {
            return;
        };
        unheard.retain(|&(at, mac)| {
            let stays = !ends(mac) && is_recent(context, at);
            last = if stays { last } else { mac };
            stays
        });
        if unheard.is_empty() {
            tell(out, Trouble::OwnerUnheard { owner: last }, true);
        }
    }

    fn note_digest(&mut self, context: &Context, out: &mut Output, owner: MacAddr, differs: bool) {
        let (now, patience) = (context.now(), context.waiter_timeout());
        let before = &mut self.troubles.differing;
        if !differs {
            if let Some(Differing {
                owner, told: true, ..
            }) = before.take()
            {
                tell(out, Trouble::TablesDiffer { owner }, true);
            }
            return;
        }
        let differing = before.get_or_insert(Differing {
            owner,
            since: now,
            last: now,
            told: false,
        });
        if differing.told {
            differing.last = now;
            return;
        }
        if now.since(differing.last) >= patience {
            // What was meanwhile is not known.
            differing.since = now;
        }
        (differing.owner, differing.last) = (owner, now);
        if now.since(differing.since) >= patience * DIFFERING {
            differing.told = true;
            tell(out, Trouble::TablesDiffer { owner }, false);
        }
    }

    /// Members were removed, or one has left.
    pub(crate) fn note_gone(&mut self, context: &Context, out: &mut Output, gone: &[MacAddr]) {
        for mac in end_said(&mut self.troubles.deaf, gone) {
            tell(out, Trouble::MemberDeaf { mac }, true);
        }
        self.reach.end_of(out, gone);
        self.end_unheard(context, out, |mac| gone.contains(&mac));
    }

    /// Members were removed, and are strangers if they come back.
    pub(crate) fn forget(&mut self, removed: &[MacAddr]) {
        self.shared.forget(removed);
    }

    /// The link went down: what others say from now on is another matter.
    pub(crate) fn note_link_lost(&mut self, out: &mut Output) {
        let before = std::mem::take(&mut self.troubles);
        let reach = std::mem::take(&mut self.reach);
        let unheard_by = std::mem::take(&mut self.unheard);
        let unsent = before.unsent.filter(|unsent| unsent.told);
        let unsent = unsent.map(|_| Trouble::CannotSend);
        let deaf = before.deaf.iter().filter(|deaf| deaf.told);
        let deaf = deaf.map(|deaf| Trouble::MemberDeaf { mac: deaf.mac });
        let unheard = before.unheard.last();
        let unheard = unheard.map(|&(_, owner)| Trouble::OwnerUnheard { owner });
        let differing = before.differing.filter(|it| it.told);
        let differing = differing.map(|it| Trouble::TablesDiffer { owner: it.owner });
        let ended = unsent.into_iter().chain(deaf).chain(unheard);
        let reach = reach.all().chain(self.missing.begin_anew());
        let all = ended.chain(differing).chain(reach);
        for trouble in all.chain(unheard_by.told()) {
            tell(out, trouble, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab2::Constants;

    #[test]
    fn a_slight_lateness_does_not_hide_one_that_harms() {
        let context = Context::new(Constants::default());
        let (mut diagnostics, mut out) = (Diagnostics::default(), Output::new());
        let patience = context.waiter_timeout();
        let mac = MacAddr([5; 6]);
        let [slight, harmful] =
            [patience / 20, patience / 4].map(|after| Trouble::AnswerLate { mac, after });
        for trouble in [slight, harmful, slight, harmful] {
            diagnostics.note_recurring(&context, &mut out, trouble);
        }
        let once = diagnostics.troubles.once.iter().map(|&(_, it)| it);
        assert_eq!(once.collect::<Vec<_>>(), [slight, harmful]);
    }
}
