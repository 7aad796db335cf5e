//! Assumptions of `docs/guarantees.md` that do not hold, as far as a node can tell. Nothing is decided
//! here: people are told.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, Message, Token};

use super::input::Envelope;
use super::role::{Offer, Role};
use super::{Event, Lab2, Trouble};
use crate::proto::time::Instant;

/// After so many WAITER_TIMEOUTs without a heartbeat it is no election that a LOOSER waits for.
const UNHEARD: u32 = 4;
/// After so many of them tables that differ will not become equal by themselves.
const DIFFERING: u32 = 64;
/// For so many of them an answer that was late is a trouble, and others are not told of.
const LATE: u32 = 128;

/// What was noticed.
#[derive(Debug, Clone, Default)]
pub(super) struct Troubles {
    /// Members that say that they hear nobody.
    deaf: Vec<Deaf>,
    /// The last offer that was given up.
    given_up: Option<Offer>,
    /// The last answer that was too late, when it came.
    late: Option<(Instant, Trouble)>,
    /// The owner that only others hear.
    unheard: Option<MacAddr>,
    /// Whose table differs from this node's.
    differing: Option<Differing>,
}

#[derive(Debug, Clone, Copy)]
struct Deaf {
    mac: MacAddr,
    since: Instant,
    told: bool,
}

#[derive(Debug, Clone, Copy)]
struct Differing {
    owner: MacAddr,
    since: Instant,
    told: bool,
}

impl Lab2 {
    /// What is wrong just now.
    pub fn troubles(&self) -> impl Iterator<Item = Trouble> {
        let Troubles {
            deaf,
            late,
            unheard,
            differing,
            ..
        } = &self.troubles;
        let deaf = deaf.iter().filter(|deaf| deaf.told);
        let deaf = deaf.map(|deaf| Trouble::MemberDeaf { mac: deaf.mac });
        let recent = late.filter(|&(at, _)| self.now.monotonic.since(at) < self.lateness());
        let late = recent.map(|(_, late)| late);
        let unheard = unheard.map(|owner| Trouble::OwnerUnheard { owner });
        let differing = differing.filter(|differing| differing.told);
        let differing = differing.map(|it| Trouble::TablesDiffer { owner: it.owner });
        deaf.chain(late).chain(unheard).chain(differing)
    }

    /// Whether a member says that it hears nobody, and not only while it is being greeted.
    pub(super) fn is_told_deaf(&self, mac: MacAddr) -> bool {
        let mut deaf = self.troubles.deaf.iter();
        deaf.any(|deaf| deaf.mac == mac && deaf.told)
    }

    fn lateness(&self) -> Duration {
        self.constants.waiter_timeout() * LATE
    }

    fn tell_trouble(&mut self, trouble: Trouble, over: bool) {
        self.event(Event::Trouble { trouble, over });
    }

    /// A frame of a member says whether that hears anybody. Who was alone until now does not, until it has
    /// the answer to its first frame.
    pub(super) fn note_deafness(&mut self, mac: MacAddr, says_deaf: bool) {
        if self.troubles.deaf.is_empty() && !says_deaf {
            return;
        }
        let now = self.now.monotonic;
        let earshot = self.earshot();
        let deaf = &mut self.troubles.deaf;
        let place = deaf.iter().position(|deaf| deaf.mac == mac);
        let tell = match (place, says_deaf) {
            (None, false) => false,
            (None, true) => {
                let table = &self.table;
                deaf.retain(|deaf| table.find(deaf.mac).is_some());
                deaf.push(Deaf {
                    mac,
                    since: now,
                    told: false,
                });
                false
            }
            (Some(at), true) => {
                let goes_on = now.since(deaf[at].since) >= earshot;
                goes_on && !std::mem::replace(&mut deaf[at].told, goes_on)
            }
            (Some(at), false) => deaf.swap_remove(at).told,
        };
        if tell {
            let over = !says_deaf;
            self.tell_trouble(Trouble::MemberDeaf { mac }, over);
        }
    }

    /// An offer was given up: whoever it was to may answer yet.
    pub(super) fn note_given_up(&mut self, offer: Offer) {
        self.troubles.given_up = Some(offer);
    }

    /// An answer to this node alone, perhaps to an offer that was given up.
    pub(super) fn note_late_answer(&mut self, envelope: Envelope, message: &Message<'_>) {
        let token: Token = match *message {
            Message::TokenIsHere { token, .. } | Message::TokenWasHereRecently { token, .. } => {
                token
            }
            _ => return,
        };
        let patience = self.constants.waiter_timeout();
        let answered = self.troubles.given_up.take_if(|offer| {
            let after = envelope.at.since(offer.since);
            offer.to == envelope.from && token.same_chain(&offer.token) && after < patience
        });
        let Some(offer) = answered else { return };
        let was_told = self.troubles.late;
        let late = Trouble::AnswerLate {
            mac: envelope.from,
            after: envelope.at.since(offer.since),
        };
        let now = self.now.monotonic;
        self.troubles.late = Some((now, late));
        if was_told.is_none_or(|(at, _)| now.since(at) >= self.lateness()) {
            self.tell_trouble(late, false);
        }
    }

    /// A LOOSER is told who holds the token. While tokens are looked for, and for as long as the answers
    /// are what is left of a dead owner, that is in order.
    pub(super) fn note_unheard(&mut self, owner: MacAddr) {
        let heard = self.heard.max(self.up_since);
        let patience = self.constants.waiter_timeout() * UNHEARD;
        let is_late = heard.is_some_and(|at| self.now.monotonic.since(at) >= patience);
        if is_late
            && matches!(self.role, Role::Looser)
            && !self.is_own(owner)
            && self.troubles.unheard != Some(owner)
        {
            self.troubles.unheard = Some(owner);
            self.tell_trouble(Trouble::OwnerUnheard { owner }, false);
        }
    }

    /// A heartbeat, with the digest of its author's table.
    pub(super) fn note_heartbeat(&mut self, envelope: Envelope, digest: Digest) {
        let owner = envelope.from;
        if self.troubles.unheard.take_if(|it| *it == owner).is_some() {
            self.tell_trouble(Trouble::OwnerUnheard { owner }, true);
        }
        if !envelope.broadcast {
            return;
        }
        if !self.table.differs(digest) {
            let before = self.troubles.differing.take();
            if before.is_some_and(|it| it.told) {
                self.tell_trouble(Trouble::TablesDiffer { owner }, true);
            }
            return;
        }
        let now = self.now.monotonic;
        let patience = self.constants.waiter_timeout() * DIFFERING;
        let differing = self.troubles.differing.get_or_insert(Differing {
            owner,
            since: now,
            told: false,
        });
        differing.owner = owner;
        if !differing.told && now.since(differing.since) >= patience {
            differing.told = true;
            self.tell_trouble(Trouble::TablesDiffer { owner }, false);
        }
    }

    /// The link went down: what others say from now on is another matter.
    pub(super) fn forget_troubles(&mut self) {
        self.troubles = Troubles::default();
    }
}
