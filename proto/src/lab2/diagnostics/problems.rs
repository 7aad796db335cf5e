//! Reports about problems between this node and other members. The module also lists all present problems.

use std::collections::VecDeque;
use std::mem::discriminant;

use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, Message, Token};

use super::{Diagnostics, Statement, end_statements, is_recent, note_statement, report};
use crate::lab2::envelope::Envelope;
use crate::lab2::machine::{Context, Output};
use crate::lab2::members::{Members, Peer};
use crate::lab2::tenure::Offer;
use crate::lab2::{Diagnostic, Event};
use crate::time::Instant;

/// If members name a holder to a LOOSER that does not hear this holder, the LOOSER reports a problem after this number
/// of WAITER_TIMEOUTs.
const UNHEARD_TIMEOUTS: u32 = 4;
/// The number of WAITER_TIMEOUTs after which the tables of two members should be equal. If the tables still differ at
/// that time, the node reports a problem.
const DIFFERENCE_TIMEOUTS: u32 = 64;
/// A report needs at least this number of refused frames in a row. Fewer refused frames may be an accident.
const SEND_FAILURES_MIN: u32 = 4;
/// The number of failed offers that this node remembers.
const FAILED_OFFERS_MAX: usize = 8;
/// This node remembers owners that it does not hear, although other members hear them. This constant is the maximum
/// number of such owners.
const UNHEARD_OWNERS_MAX: usize = 8;

#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct ProblemLog {
    /// Whether this node reported that it is deaf.
    reported_own_deafness: bool,
    /// Members that announce that they are deaf.
    deaf: Vec<Statement>,
    /// Latest failed offers, the oldest first.
    failed_offers: VecDeque<Offer>,
    /// For each kind of event: the last event and its time.
    events: Vec<(Instant, Diagnostic)>,
    /// The time at which other members began to name a holder that this node does not hear.
    named_since: Option<Instant>,
    /// Owners that other members hear and this node does not. Each owner has the time at which a member last named it.
    unheard_owners: Vec<(Instant, MacAddr)>,
    /// The owner with a different member table than this node.
    difference: Option<TableDifference>,
    /// The refused frames since this node's last successful frame.
    send_failures: Option<SendFailures>,
}

#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
struct SendFailures {
    since: Instant,
    count: u32,
    reported: bool,
}

#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
struct TableDifference {
    owner: MacAddr,
    since: Instant,
    last: Instant,
    reported: bool,
}

impl Diagnostics {
    /// Returns the present problems of this node. `token` is the token that this node knows, and `apart` states whether
    /// this node is apart.
    pub(crate) fn problems(
        &self,
        context: &Context,
        members: &Members,
        (token, apart): (Option<Token>, bool),
    ) -> impl Iterator<Item = Diagnostic> {
        let ProblemLog {
            deaf,
            events,
            unheard_owners,
            difference,
            send_failures,
            ..
        } = &self.problems;
        let is_now = move |at: Instant| is_recent(context, at);
        let deaf = deaf.iter().map(|deaf| deaf.mac);
        let deaf = deaf.filter(move |&mac| self.is_reported_deaf(context, members, mac));
        let deaf = deaf.map(|mac| Diagnostic::MemberDeaf { mac });
        let events = events.iter().filter(move |&&(at, _)| is_now(at));
        let events = events.map(|&(_, problem)| problem);
        let unheard_owners = unheard_owners.iter().filter(move |&&(at, _)| is_now(at));
        let unheard_owners = unheard_owners.map(|&(_, owner)| Diagnostic::OwnerUnheard { owner });
        let difference = difference.filter(|it| it.reported && is_now(it.last));
        let difference = difference.map(|it| Diagnostic::TablesDiffer { owner: it.owner });
        let send_failures = send_failures.filter(|send_failures| send_failures.reported);
        let send_failures = send_failures.map(|_| Diagnostic::CannotSend);
        let between = send_failures
            .into_iter()
            .chain(deaf)
            .chain(unheard_owners)
            .chain(difference);
        between
            .chain(self.reachability_problems(context, members))
            .chain(self.duplicate_mac_problems(context, members))
            .chain(self.apart_problems(apart))
            .chain(self.silence_reports.no_quorum())
            .chain(self.one_way.last_report())
            .chain(self.preferred.last_report())
            .chain(self.token_ahead(context, token))
            .chain(events)
    }

    /// Whether this node reported a present member as deaf. If a node was the only member, it announces that it is deaf
    /// until it gets its first answer. Such a node is not reported.
    pub(crate) fn is_reported_deaf(
        &self,
        context: &Context,
        members: &Members,
        mac: MacAddr,
    ) -> bool {
        let mut deaf = self.problems.deaf.iter();
        deaf.any(|deaf| deaf.mac == mac && deaf.reported)
            && !members.is_gone(context, mac, members.silent_after(context))
    }

    /// Reports a single event. The event counts as a present problem for a while after its occurrence.
    pub(crate) fn note_event(&mut self, context: &Context, out: &mut Output, problem: Diagnostic) {
        self.remember_event(context, problem);
        report(out, problem, false);
    }

    /// Reports an event of a kind that may occur often. Only one event of each kind is reported per
    /// [`RECENT_TIMEOUTS`](super::RECENT_TIMEOUTS).
    pub(crate) fn note_recurring_event(
        &mut self,
        context: &Context,
        out: &mut Output,
        problem: Diagnostic,
    ) {
        let before = self.remember_event(context, problem);
        if before.is_none_or(|at| !is_recent(context, at)) {
            report(out, problem, false);
        }
    }

    /// Remembers an event. Returns the time of the previous event of the same kind.
    fn remember_event(&mut self, context: &Context, problem: Diagnostic) -> Option<Instant> {
        let now = context.now();
        let limit = context.waiter_timeout();
        // A slight delay must not hide a harmful delay, so these events count as different kinds.
        let kind = |it: &Diagnostic| (discriminant(it), it.is_slight(limit));
        let mut events = self.problems.events.iter_mut();
        if let Some(like) = events.find(|(_, it)| kind(it) == kind(&problem)) {
            let (at, _) = std::mem::replace(like, (now, problem));
            return Some(at);
        }
        self.problems.events.push((now, problem));
        None
    }

    /// Reports that this node has become deaf, or that it hears again.
    pub(crate) fn review_hearing(
        &mut self,
        context: &Context,
        members: &Members,
        out: &mut Output,
    ) {
        let deaf = members.is_deaf(context);
        if std::mem::replace(&mut self.problems.reported_own_deafness, deaf) != deaf {
            // A node that never heard another member may be the only node, and healthy.
            let heard_before = members.count_heard() > 1;
            out.event(Event::HearingChanged { deaf, heard_before });
        }
    }

    /// Notes the result of sending a frame. `refused` means that the frame was refused although the link is up.
    pub(crate) fn note_send_result(&mut self, context: &Context, out: &mut Output, refused: bool) {
        let now = context.now();
        if !refused {
            let send_failures = self.problems.send_failures.take();
            if send_failures.is_some_and(|send_failures| send_failures.reported) {
                report(out, Diagnostic::CannotSend, true);
            }
            return;
        }
        let send_failures = self.problems.send_failures.get_or_insert(SendFailures {
            since: now,
            count: 0,
            reported: false,
        });
        send_failures.count += 1;
        // A single refusal proves nothing: a queue may have been full for a moment.
        let lasts = send_failures.count >= SEND_FAILURES_MIN
            && now.since(send_failures.since) >= context.waiter_timeout();
        if lasts && !std::mem::replace(&mut send_failures.reported, true) {
            report(out, Diagnostic::CannotSend, false);
        }
    }

    /// Notes whether a member announces that it is deaf. If a node was the only member, it announces that it is deaf
    /// until a member answers its first frame.
    pub(crate) fn note_deafness(
        &mut self,
        context: &Context,
        out: &mut Output,
        mac: MacAddr,
        says_deaf: bool,
    ) {
        // Almost every received frame takes this path, so the path must be cheap.
        if self.problems.deaf.is_empty() && !says_deaf {
            return;
        }
        let lasts = (context.now(), context.deaf_after());
        if note_statement(&mut self.problems.deaf, mac, says_deaf, lasts) {
            report(out, Diagnostic::MemberDeaf { mac }, !says_deaf);
        }
    }

    /// Remembers a failed offer, because its answer may still arrive. An offer to a paused member is not remembered,
    /// because that member already answered.
    pub(crate) fn note_failed_offer(&mut self, members: &Members, offer: Offer) {
        if members.peer(offer.to()).is_some_and(Peer::is_paused) {
            return;
        }
        let failed_offers = &mut self.problems.failed_offers;
        if failed_offers.len() == FAILED_OFFERS_MAX {
            // An answer to an older offer is the least likely to arrive.
            failed_offers.pop_front();
        }
        failed_offers.push_back(offer);
    }

    /// If a unicast answer belongs to a failed offer, reports that the answer is late.
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
        let failed_offers = &mut self.problems.failed_offers;
        // A later answer does not belong to the offer: its member may have received the token in another way.
        failed_offers.retain(|offer| context.now().since(offer.since()) < context.waiter_timeout());
        // An answer names the offered token or a later token. An earlier token of the chain comes from a heartbeat.
        let place = failed_offers.iter().position(|offer| {
            offer.to() == envelope.from
                && token.same_chain(&offer.token())
                && !offer.token().is_stronger_than(&token)
        });
        if let Some(offer) = place.and_then(|place| failed_offers.remove(place)) {
            let late = Diagnostic::AnswerLate {
                mac: envelope.from,
                after: envelope.at.since(offer.since()),
            };
            self.note_recurring_event(context, out, late);
        }
    }

    /// If this node is LOOSER: notes that a member named the holder `owner` to it. A LOOSER should soon hear this
    /// holder or a new holder.
    pub(crate) fn note_owner_unheard(
        &mut self,
        context: &Context,
        out: &mut Output,
        owner: MacAddr,
    ) {
        // A member may not know yet that this node has lost the token.
        if context.is_own(owner) {
            return;
        }
        let now = context.now();
        // Every heartbeat resets this time, so it measures a period without a heartbeat.
        let since = *self.problems.named_since.get_or_insert(now);
        // Right after an election, the holder's first heartbeat may still be on its way.
        if now.since(since) < context.waiter_timeout() * UNHEARD_TIMEOUTS {
            return;
        }
        let unheard_owners = &mut self.problems.unheard_owners;
        unheard_owners.retain(|&(at, _)| is_recent(context, at));
        // If this node does not hear the next owner either, the reason is the same, so one report is enough.
        let is_news = unheard_owners.is_empty();
        unheard_owners.retain(|&(_, named)| named != owner);
        if unheard_owners.len() == UNHEARD_OWNERS_MAX {
            // The list is in the order in which owners were last named, so the first owner is the oldest.
            unheard_owners.remove(0);
        }
        unheard_owners.push((now, owner));
        if is_news {
            report(out, Diagnostic::OwnerUnheard { owner }, false);
        }
    }

    /// Handles a TOKEN_IS_HERE. A TOKEN_IS_HERE contains the digest of its author's table.
    pub(crate) fn note_holder(
        &mut self,
        context: &Context,
        members: &mut Members,
        out: &mut Output,
        (envelope, digest): (Envelope, Digest),
    ) {
        let owner = envelope.from;
        self.problems.named_since = None;
        self.end_owners_unheard(context, out, |mac| mac == owner);
        if envelope.broadcast {
            let differs = members.differs(digest);
            self.note_digest(context, out, owner, differs);
        }
    }

    /// Removes the unheard owners that match `ends`, and the owners that no member has named for a long time. When no
    /// unheard owner is left, reports the end of the problem.
    fn end_owners_unheard(
        &mut self,
        context: &Context,
        out: &mut Output,
        ends: impl Fn(MacAddr) -> bool,
    ) {
        let unheard_owners = &mut self.problems.unheard_owners;
        let Some(&(_, mut last)) = unheard_owners.first() else {
            return;
        };
        unheard_owners.retain(|&(at, mac)| {
            let stays = !ends(mac) && is_recent(context, at);
            last = if stays { last } else { mac };
            stays
        });
        if unheard_owners.is_empty() {
            report(out, Diagnostic::OwnerUnheard { owner: last }, true);
        }
    }

    fn note_digest(&mut self, context: &Context, out: &mut Output, owner: MacAddr, differs: bool) {
        let (now, waiter_timeout) = (context.now(), context.waiter_timeout());
        let before = &mut self.problems.difference;
        if !differs {
            if let Some(TableDifference {
                owner,
                reported: true,
                ..
            }) = before.take()
            {
                report(out, Diagnostic::TablesDiffer { owner }, true);
            }
            return;
        }
        let difference = before.get_or_insert(TableDifference {
            owner,
            since: now,
            last: now,
            reported: false,
        });
        // The report keeps its owner, so that the report of the end names the same owner.
        if difference.reported {
            difference.last = now;
            return;
        }
        if now.since(difference.last) >= waiter_timeout {
            // No difference was seen for a while, so the tables may have been equal in that time.
            difference.since = now;
        }
        (difference.owner, difference.last) = (owner, now);
        if now.since(difference.since) >= waiter_timeout * DIFFERENCE_TIMEOUTS {
            difference.reported = true;
            report(out, Diagnostic::TablesDiffer { owner }, false);
        }
    }

    /// Ends the problems of members that were removed or left.
    pub(crate) fn on_members_gone(
        &mut self,
        context: &Context,
        out: &mut Output,
        gone: &[MacAddr],
    ) {
        for mac in end_statements(&mut self.problems.deaf, gone) {
            report(out, Diagnostic::MemberDeaf { mac }, true);
        }
        self.reachability.end_for(out, gone);
        self.end_owners_unheard(context, out, |mac| gone.contains(&mac));
    }

    /// Forgets removed members. If a removed member returns, it counts as a new member.
    pub(crate) fn forget(&mut self, removed: &[MacAddr]) {
        self.duplicate_macs.forget(removed);
    }

    /// Ends all problems with the link. Call this function when the link went down.
    pub(crate) fn note_link_lost(&mut self, out: &mut Output) {
        // Reports about shared addresses and about members that are apart do not depend on this node's link, so they
        // stay.
        let before = std::mem::take(&mut self.problems);
        let reachability = std::mem::take(&mut self.reachability);
        let one_way = std::mem::take(&mut self.one_way);
        let preferred = std::mem::take(&mut self.preferred);
        let send_failures = before
            .send_failures
            .filter(|send_failures| send_failures.reported);
        let send_failures = send_failures.map(|_| Diagnostic::CannotSend);
        let deaf = before.deaf.iter().filter(|deaf| deaf.reported);
        let deaf = deaf.map(|deaf| Diagnostic::MemberDeaf { mac: deaf.mac });
        let unheard_owners = before.unheard_owners.last();
        let unheard_owners = unheard_owners.map(|&(_, owner)| Diagnostic::OwnerUnheard { owner });
        let difference = before.difference.filter(|it| it.reported);
        let difference = difference.map(|it| Diagnostic::TablesDiffer { owner: it.owner });
        let ended = send_failures.into_iter().chain(deaf).chain(unheard_owners);
        let reachability = reachability.problems().chain(self.silence_reports.reset());
        let all = ended.chain(difference).chain(reachability);
        let all = all.chain(one_way.last_report());
        for problem in all.chain(preferred.last_report()) {
            report(out, problem, true);
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
        let waiter_timeout = context.waiter_timeout();
        let mac = MacAddr([5; 6]);
        let [slight, harmful] = [waiter_timeout / 20, waiter_timeout / 4]
            .map(|after| Diagnostic::AnswerLate { mac, after });
        for problem in [slight, harmful, slight, harmful] {
            diagnostics.note_recurring_event(&context, &mut out, problem);
        }
        let events = diagnostics.problems.events.iter().map(|&(_, it)| it);
        assert_eq!(events.collect::<Vec<_>>(), [slight, harmful]);
    }
}
