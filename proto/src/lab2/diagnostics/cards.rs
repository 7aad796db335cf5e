//! What members tell people about themselves (`docs/protocol.md`, "Cards"). No rule depends on it.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::card::{self, Card, Version};
use ring_codec::lab2::{Frame, Kind};

use super::Diagnostics;
use crate::lab2::Work;
use crate::lab2::envelope::Envelope;
use crate::lab2::machine::Context;
use crate::lab2::members::Members;
use crate::time::nanos;

/// What this node tells, and what it has heard.
#[derive(Debug, Clone, Default)]
pub(super) struct Cards {
    /// This node's version; `None`: it sends no cards.
    version: Option<Version>,
    /// The program of this node that holds the token.
    own: Option<Work>,
    /// What the owner that was heard last said about the program that holds its token.
    heard: Option<(MacAddr, Work)>,
}

impl Diagnostics {
    /// Tells the members this version.
    pub(crate) fn set_version(&mut self, version: Version) {
        self.cards.version = Some(version);
    }

    /// A program of this node holds the token, or none does any longer.
    pub(crate) fn announce(&mut self, work: Option<Work>) {
        self.cards.own = work;
    }

    /// The program of this node that holds the token.
    pub(crate) fn own_work(&self) -> Option<&Work> {
        self.cards.own.as_ref()
    }

    /// The program that holds the token, as far as this owner has told.
    pub(crate) fn work_of(&self, owner: Option<MacAddr>) -> Option<&Work> {
        let (mac, work) = self.cards.heard.as_ref()?;
        (owner == Some(*mac)).then_some(work)
    }

    /// The version that a member has told; `None`: it has told none.
    pub(crate) fn version_of(
        &self,
        context: &Context,
        members: &Members,
        mac: MacAddr,
    ) -> Option<Version> {
        let own = self.cards.version;
        if context.is_own(mac) {
            return own;
        }
        members.version_of(mac, own)
    }

    /// This node's card for a frame of this kind; `None`: it sends none.
    pub(crate) fn card(
        &self,
        context: &Context,
        members: &Members,
        kind: Kind,
    ) -> Option<Card<'_>> {
        let own = self.cards.own.as_ref();
        let own = own.filter(|_| kind == Kind::TokenIsHere);
        Some(Card {
            version: self.cards.version?,
            unheard: members.next_silent(context),
            work: own.map(|work| card::Work {
                held: nanos(context.now().since(work.since)),
                program: card::shortened(&work.program),
            }),
        })
    }

    /// A frame has come, with a card or without.
    pub(crate) fn note_card(
        &mut self,
        context: &Context,
        members: &mut Members,
        envelope: Envelope,
        frame: &Frame<'_>,
    ) {
        let kind = frame.message.kind();
        let is_heartbeat = kind == Kind::TokenIsHere && envelope.broadcast;
        let Some(card) = &frame.card else {
            // A card that does not fit cannot withdraw the owner's program.
            if is_heartbeat && frame.profile.is_some() {
                self.cards.heard.take_if(|(mac, _)| *mac == envelope.from);
            }
            return;
        };
        let differs = self.cards.version != Some(card.version);
        members.set_version(envelope.from, differs.then_some(card.version));
        self.note_unheard_by(context, members, envelope.from, card.unheard);
        if let Some(mac) = card.unheard {
            self.note_reported(members, mac);
        }
        if is_heartbeat {
            self.note_work(envelope, card.work.as_ref());
        }
    }

    fn note_work(&mut self, envelope: Envelope, work: Option<&card::Work<'_>>) {
        let Some(work) = work else {
            self.cards.heard = None;
            return;
        };
        let since = envelope.at.before(Duration::from_nanos(work.held));
        match &mut self.cards.heard {
            Some((mac, known)) if *mac == envelope.from && known.program == work.program => {
                known.since = since;
            }
            heard => {
                let program = work.program.to_owned();
                *heard = Some((envelope.from, Work { program, since }));
            }
        }
    }
}
