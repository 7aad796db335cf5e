//! What members tell people about themselves (`docs/protocol.md`, "Cards"). No rule depends on it.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::card::{self, Card, Version};
use ring_codec::lab2::{Frame, Kind};

use crate::lab2::machine::input::Envelope;
use crate::lab2::machine::outbox::Content;
use crate::lab2::tenure::role::Role;
use crate::lab2::{Lab2, Work};
use crate::time::nanos;

/// What this node tells, and what it has heard.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cards {
    /// This node's version; `None`: it sends no cards.
    version: Option<Version>,
    /// The program of this node that holds the token.
    own: Option<Work>,
    /// What the owner that was heard last said about the program that holds its token.
    heard: Option<(MacAddr, Work)>,
}

impl Lab2 {
    /// Makes the machine tell its members this version.
    #[must_use]
    pub fn with_version(mut self, version: Version) -> Self {
        self.cards.version = Some(version);
        self
    }

    /// Returns the program that holds the token, as far as its owner has told.
    #[must_use]
    pub fn work(&self) -> Option<&Work> {
        if let Role::Owner(_) = self.role {
            return self.cards.own.as_ref();
        }
        let (mac, work) = self.cards.heard.as_ref()?;
        (self.owner == Some(*mac)).then_some(work)
    }

    /// Returns the version that a member has told; `None`: it has told none.
    pub(crate) fn version_of(&self, mac: MacAddr) -> Option<Version> {
        let own = self.cards.version;
        if self.is_own(mac) {
            return own;
        }
        let peer = self.table.find(mac).map(|at| &self.table.peers()[at]);
        if !peer.is_some_and(|peer| peer.told_version) {
            return None;
        }
        self.table.other_version_of(mac).or(own)
    }

    /// A program of this node holds the token, or none does any longer.
    pub(crate) fn announce(&mut self, work: Option<Work>) {
        self.cards.own = work;
    }

    /// Adds this node's card to a frame with a profile, unless the frame would be longer than `most` bytes.
    pub(crate) fn add_card<'a>(
        &'a self,
        content: Content,
        frame: Frame<'a>,
        most: usize,
    ) -> Frame<'a> {
        let Some(version) = self.cards.version else {
            return frame;
        };
        let own = self.cards.own.as_ref();
        let own = own.filter(|_| content.kind() == Kind::TokenIsHere);
        let card = Card {
            version,
            unheard: self.unheard_member(),
            work: own.map(|work| card::Work {
                held: nanos(self.context.now().since(work.since)),
                program: card::shortened(&work.program),
            }),
        };
        if frame.encoded_len() + card.encoded_len() > most {
            return frame;
        }
        Frame {
            card: Some(card),
            ..frame
        }
    }

    /// Handles a frame without a card: forgets the owner's program, because a card that does not fit cannot withdraw it.
    pub(crate) fn on_no_card(&mut self, envelope: Envelope, frame: &Frame<'_>) {
        let had_room = frame.message.kind() == Kind::TokenIsHere && frame.profile.is_some();
        if had_room && envelope.broadcast {
            self.cards.heard.take_if(|(mac, _)| *mac == envelope.from);
        }
    }

    /// A member has told something.
    pub(crate) fn on_card(&mut self, envelope: Envelope, kind: Kind, card: &Card<'_>) {
        let differs = self.cards.version != Some(card.version);
        self.table
            .set_version(envelope.from, differs.then_some(card.version));
        self.note_unheard_by(envelope.from, card.unheard);
        if let Some(mac) = card.unheard {
            self.note_reported(mac);
        }
        if kind != Kind::TokenIsHere || !envelope.broadcast {
            return;
        }
        let Some(work) = card.work else {
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
