//! Assumptions of `docs/guarantees.md` that do not hold, as far as a node can tell. Nothing is decided
//! here: people are told.

use std::collections::VecDeque;
use std::mem::discriminant;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, Message};

use crate::lab2::diagnostics::missing::{Reported, Watch};
use crate::lab2::diagnostics::reach::Reach;
use crate::lab2::diagnostics::unheard::Unheard;
use crate::lab2::machine::input::Envelope;
use crate::lab2::tenure::role::Offer;
use crate::lab2::{Event, Lab2, Trouble};
use crate::time::Instant;

/// A LOOSER that is told for so many WAITER_TIMEOUTs who holds the token does not hear that one.
const UNHEARD: u32 = 4;
/// After so many of them tables that differ will not become equal by themselves.
const DIFFERING: u32 = 64;
/// For so many of them what was noticed once is a trouble, and the same is not told again.
const RECENT: u32 = 128;
/// So many frames in a row that could not be sent are no accident.
const UNSENT: u32 = 4;
/// So many of the last offers that were given up are remembered.
const OFFERS: usize = 8;
/// So many of the owners that only others hear are named.
const OWNERS: usize = 8;

/// What was noticed, and told.
#[derive(Debug, Clone, Default)]
pub(crate) struct Troubles {
    /// Members that say that they hear nobody.
    deaf: Vec<Said>,
    /// What gets through between this node and others.
    pub(crate) reach: Reach,
    /// The last offers that were given up.
    given_up: VecDeque<Offer>,
    /// What happened at one moment, the last of each kind, and when.
    once: Vec<(Instant, Trouble)>,
    /// Since when this node has been told who holds the token, without hearing of it.
    named_since: Option<Instant>,
    /// The owners that only others hear, and when they last said so.
    unheard: Vec<(Instant, MacAddr)>,
    /// Members that do not hear this node.
    pub(crate) unheard_by: Unheard,
    /// Silent members of which only others know.
    pub(crate) reported: Reported,
    /// When it was looked for members that are silent.
    pub(crate) watch: Watch,
    /// Whose table differs from this node's.
    differing: Option<Differing>,
    /// When a frame of another station with the own address last came.
    pub(crate) shared_at: Option<Instant>,
    /// The strongest token is so far ahead of the wall clock that it was said.
    pub(crate) token_ahead: bool,
    /// There are too few members for a quorum.
    pub(crate) no_quorum: Option<Trouble>,
    /// Members whose times are too far from the ring's, in order.
    pub(crate) apart: Vec<MacAddr>,
    /// Frames that could not be sent, since the last that could.
    pub(crate) unsent: Option<Unsent>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Unsent {
    since: Instant,
    count: u32,
    told: bool,
}

/// Something that a member says of itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Said {
    pub(crate) mac: MacAddr,
    since: Instant,
    pub(crate) told: bool,
}

/// A member says of itself that something is so, or that it is not: whether people are to be told, once it has
/// said so for so long.
pub(crate) fn note_said(
    all: &mut Vec<Said>,
    mac: MacAddr,
    is_so: bool,
    (now, lasts): (Instant, Duration),
) -> bool {
    let place = all.iter().position(|said| said.mac == mac);
    if !is_so {
        return place.is_some_and(|at| all.swap_remove(at).told);
    }
    let at = place.unwrap_or_else(|| {
        let (since, told) = (now, false);
        all.push(Said { mac, since, told });
        all.len() - 1
    });
    let goes_on = now.since(all[at].since) >= lasts;
    goes_on && !std::mem::replace(&mut all[at].told, goes_on)
}

#[derive(Debug, Clone, Copy)]
struct Differing {
    owner: MacAddr,
    since: Instant,
    last: Instant,
    told: bool,
}

impl Lab2 {
    /// What is wrong just now.
    pub fn troubles(&self) -> impl Iterator<Item = Trouble> {
        let Troubles {
            deaf,
            once,
            unheard,
            differing,
            unsent,
            ..
        } = &self.troubles;
        let deaf = deaf.iter().filter(|deaf| self.is_told_deaf(deaf.mac));
        let deaf = deaf.map(|deaf| Trouble::MemberDeaf { mac: deaf.mac });
        let once = once.iter().filter(|&&(at, _)| self.is_recent(at));
        let once = once.map(|&(_, trouble)| trouble);
        let unheard = unheard.iter().filter(|&&(at, _)| self.is_recent(at));
        let unheard = unheard.map(|&(_, owner)| Trouble::OwnerUnheard { owner });
        let differing = differing.filter(|it| it.told && self.is_recent(it.last));
        let differing = differing.map(|it| Trouble::TablesDiffer { owner: it.owner });
        let unsent = unsent.filter(|unsent| unsent.told);
        let unsent = unsent.map(|_| Trouble::CannotSend);
        let between = unsent
            .into_iter()
            .chain(deaf)
            .chain(unheard)
            .chain(differing);
        let ahead = self.token_ahead();
        between
            .chain(self.reach_troubles())
            .chain(self.shared_addresses())
            .chain(self.apart_troubles())
            .chain(self.troubles.no_quorum)
            .chain(self.unheard_trouble())
            .chain(ahead)
            .chain(once)
    }

    /// Whether a member that is there says that it hears nobody, and not only while it is being greeted.
    pub(crate) fn is_told_deaf(&self, mac: MacAddr) -> bool {
        let mut deaf = self.troubles.deaf.iter();
        deaf.any(|deaf| deaf.mac == mac && deaf.told) && !self.is_gone(mac, self.silence())
    }

    pub(crate) fn is_recent(&self, at: Instant) -> bool {
        self.context.now().since(at) < self.context.constants().waiter_timeout() * RECENT
    }

    pub(crate) fn tell_trouble(&mut self, trouble: Trouble, over: bool) {
        self.event(Event::Trouble { trouble, over });
    }

    /// Something has gone wrong just now: it is told, and is a trouble for a while.
    pub(crate) fn note_once(&mut self, trouble: Trouble) {
        self.remember_once(trouble);
        self.tell_trouble(trouble, false);
    }

    /// The same, of what may happen again and again: the like of it is told once in a while.
    pub(crate) fn note_recurring(&mut self, trouble: Trouble) {
        let before = self.remember_once(trouble);
        if before.is_none_or(|at| !self.is_recent(at)) {
            self.tell_trouble(trouble, false);
        }
    }

    /// When the like of it was remembered last.
    fn remember_once(&mut self, trouble: Trouble) -> Option<Instant> {
        let now = self.context.now();
        let once = &mut self.troubles.once;
        let limit = self.context.constants().waiter_timeout();
        // A slight one must not hide one that harms.
        let kind = |it: &Trouble| (discriminant(it), it.is_slight(limit));
        let like = once.iter_mut().find(|(_, it)| kind(it) == kind(&trouble));
        if let Some(like) = like {
            let (at, _) = std::mem::replace(like, (now, trouble));
            return Some(at);
        }
        once.push((now, trouble));
        None
    }

    /// A frame was sent, and others before it were not.
    pub(crate) fn note_sent(&mut self) {
        if self
            .troubles
            .unsent
            .take()
            .is_some_and(|unsent| unsent.told)
        {
            self.tell_trouble(Trouble::CannotSend, true);
        }
    }

    /// A frame could not be sent.
    pub(crate) fn note_unsent(&mut self) {
        let now = self.context.now();
        let lasting = self.context.constants().waiter_timeout();
        let unsent = self.troubles.unsent.get_or_insert(Unsent {
            since: now,
            count: 0,
            told: false,
        });
        unsent.count += 1;
        let lasts = unsent.count >= UNSENT && now.since(unsent.since) >= lasting;
        if lasts && !std::mem::replace(&mut unsent.told, true) {
            self.tell_trouble(Trouble::CannotSend, false);
        }
    }

    /// A frame of a member says whether that hears anybody. Who was alone until now does not, until it has
    /// the answer to its first frame.
    pub(crate) fn note_deafness(&mut self, mac: MacAddr, says_deaf: bool) {
        if self.troubles.deaf.is_empty() && !says_deaf {
            return;
        }
        let lasts = (self.context.now(), self.context.deaf_after());
        if note_said(&mut self.troubles.deaf, mac, says_deaf, lasts) {
            let over = !says_deaf;
            self.tell_trouble(Trouble::MemberDeaf { mac }, over);
        }
    }

    /// An offer was given up: whoever it was to may answer yet. One that is paused has.
    pub(crate) fn note_given_up(&mut self, offer: Offer) {
        let peer = self.table.find(offer.to).map(|at| &self.table.peers()[at]);
        if peer.is_some_and(|peer| peer.paused) {
            return;
        }
        let given_up = &mut self.troubles.given_up;
        if given_up.len() == OFFERS {
            given_up.pop_front();
        }
        given_up.push_back(offer);
    }

    /// An answer to this node alone, perhaps to an offer that was given up.
    pub(crate) fn note_late_answer(&mut self, envelope: Envelope, message: &Message<'_>) {
        let (Message::TokenIsHere { token, .. } | Message::TokenWasHereRecently { token, .. }) =
            *message
        else {
            return;
        };
        let now = self.context.now();
        let patience = self.context.constants().waiter_timeout();
        let given_up = &mut self.troubles.given_up;
        given_up.retain(|offer| now.since(offer.since) < patience);
        // An earlier token of the chain was heard of in a heartbeat.
        let Some(place) = given_up.iter().position(|offer| {
            offer.to == envelope.from
                && token.same_chain(&offer.token)
                && !offer.token.is_stronger_than(&token)
        }) else {
            return;
        };
        let Some(offer) = given_up.remove(place) else {
            return;
        };
        let late = Trouble::AnswerLate {
            mac: envelope.from,
            after: envelope.at.since(offer.since),
        };
        self.note_recurring(late);
    }

    /// A LOOSER is told who holds the token. Soon it hears that one, or a new one.
    pub(crate) fn note_unheard(&mut self, owner: MacAddr) {
        if self.is_own(owner) {
            return;
        }
        let now = self.context.now();
        let since = *self.troubles.named_since.get_or_insert(now);
        if now.since(since) < self.context.constants().waiter_timeout() * UNHEARD {
            return;
        }
        let mut unheard = std::mem::take(&mut self.troubles.unheard);
        unheard.retain(|&(at, _)| self.is_recent(at));
        // The next owner is not heard for the same reason.
        let is_news = unheard.is_empty();
        unheard.retain(|&(_, named)| named != owner);
        if unheard.len() == OWNERS {
            unheard.remove(0);
        }
        unheard.push((now, owner));
        self.troubles.unheard = unheard;
        if is_news {
            self.tell_trouble(Trouble::OwnerUnheard { owner }, false);
        }
    }

    /// A TOKEN_IS_HERE, with the digest of its author's table.
    pub(crate) fn note_holder(&mut self, envelope: Envelope, digest: Digest) {
        let owner = envelope.from;
        self.troubles.named_since = None;
        self.end_unheard(|mac| mac == owner);
        if envelope.broadcast {
            self.note_digest(owner, digest);
        }
    }

    /// Owners are heard, or gone, and so are those that nobody has named for long. It is over when none
    /// is left.
    fn end_unheard(&mut self, ends: impl Fn(MacAddr) -> bool) {
        let Some(&(_, named)) = self.troubles.unheard.first() else {
            return;
        };
        let mut last = named;
        let mut unheard = std::mem::take(&mut self.troubles.unheard);
        unheard.retain(|&(at, mac)| {
            let stays = !ends(mac) && self.is_recent(at);
            last = if stays { last } else { mac };
            stays
        });
        let over = unheard.is_empty();
        self.troubles.unheard = unheard;
        if over {
            self.tell_trouble(Trouble::OwnerUnheard { owner: last }, true);
        }
    }

    fn note_digest(&mut self, owner: MacAddr, digest: Digest) {
        let now = self.context.now();
        let patience = self.context.constants().waiter_timeout();
        if !self.table.differs(digest) {
            if let Some(Differing {
                owner, told: true, ..
            }) = self.troubles.differing.take()
            {
                self.tell_trouble(Trouble::TablesDiffer { owner }, true);
            }
            return;
        }
        let differing = self.troubles.differing.get_or_insert(Differing {
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
            self.tell_trouble(Trouble::TablesDiffer { owner }, false);
        }
    }

    /// Members were removed, or one has left.
    pub(crate) fn end_troubles_of(&mut self, gone: &[MacAddr]) {
        let mut ended = Vec::new();
        self.troubles.deaf.retain(|deaf| {
            let goes = gone.contains(&deaf.mac);
            if goes && deaf.told {
                ended.push(Trouble::MemberDeaf { mac: deaf.mac });
            }
            !goes
        });
        self.troubles.reach.end_of(gone, &mut ended);
        for trouble in ended {
            self.tell_trouble(trouble, true);
        }
        self.end_unheard(|mac| gone.contains(&mac));
        self.review_constants();
    }

    /// The link went down: what others say from now on is another matter.
    pub(crate) fn forget_troubles(&mut self) {
        let forgotten = Troubles {
            watch: self.troubles.watch,
            shared_at: self.troubles.shared_at,
            token_ahead: self.troubles.token_ahead,
            apart: std::mem::take(&mut self.troubles.apart),
            ..Troubles::default()
        };
        let before = std::mem::replace(&mut self.troubles, forgotten);
        let unsent = before.unsent.filter(|unsent| unsent.told);
        let unsent = unsent.map(|_| Trouble::CannotSend);
        let deaf = before.deaf.iter().filter(|deaf| deaf.told);
        let deaf = deaf.map(|deaf| Trouble::MemberDeaf { mac: deaf.mac });
        let unheard = before.unheard.last();
        let unheard = unheard.map(|&(_, owner)| Trouble::OwnerUnheard { owner });
        let differing = before.differing.filter(|it| it.told);
        let differing = differing.map(|it| Trouble::TablesDiffer { owner: it.owner });
        let reach = before.reach.all().chain(before.no_quorum);
        let reach = reach.chain(before.unheard_by.told());
        let ended = unsent.into_iter().chain(deaf).chain(unheard);
        for trouble in ended.chain(differing).chain(reach) {
            self.tell_trouble(trouble, true);
        }
    }
}
