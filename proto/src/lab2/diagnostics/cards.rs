//! Cards. Members attach cards to their frames. A card contains information for people
//! (`docs/reference/lab2/membership.md E1`). No rule depends on a card.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::card::{self, Card, Version};
use ring_codec::lab2::{Frame, Kind};

use super::Diagnostics;
use crate::lab2::envelope::Envelope;
use crate::lab2::machine::Context;
use crate::lab2::members::Members;
use crate::lab2::{HolderProgram, HostName, Pause};
use crate::time::{Instant, nanos};

/// Data for this node's card, and data from received cards.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Cards {
    /// Version of this node; `None` if this node sends no cards.
    version: Option<Version>,
    /// Host name of this node; `None` if this node announces no host name.
    host_name: Option<HostName>,
    /// Time of this node's last broadcast with its host name; `None` if a member that joined later may not know the
    /// host name.
    named_at: Option<Instant>,
    /// End and reason of this node's pause; `None` if no operator paused it.
    pause: Option<Pause>,
    /// The program on this node that holds the token; `None` if no program holds it.
    own: Option<HolderProgram>,
    /// The program that an owner named in its heartbeat, and the address of this owner. Only the last heartbeat with
    /// the name of a program counts.
    heard: Option<(MacAddr, HolderProgram)>,
}

impl Diagnostics {
    /// Sets the version that this node announces.
    pub(crate) fn set_version(&mut self, version: Version) {
        self.cards.version = Some(version);
    }

    /// Sets the host name that this node announces. Returns whether the name differs from the last name.
    pub(crate) fn set_host_name(&mut self, name: Option<HostName>) -> bool {
        std::mem::replace(&mut self.cards.host_name, name) != name
    }

    /// Returns the host name that this node announces.
    pub(crate) fn own_host_name(&self) -> Option<&HostName> {
        self.cards.host_name.as_ref()
    }

    /// Sets the pause that this node announces; `None` if no operator paused it. Returns whether the pause differs from
    /// the last pause.
    pub(crate) fn set_own_pause(&mut self, pause: Option<Pause>) -> bool {
        std::mem::replace(&mut self.cards.pause, pause) != pause
    }

    /// Returns the pause that this node announces.
    pub(crate) fn own_pause(&self) -> Option<&Pause> {
        self.cards.pause.as_ref()
    }

    /// Notes a broadcast with this node's host name.
    pub(crate) fn note_named_broadcast(&mut self, context: &Context) {
        self.cards.named_at = Some(context.now());
    }

    /// Notes a member that may not know this node's host name, so that the next broadcast has the host name.
    pub(crate) const fn note_newcomer(&mut self) {
        self.cards.named_at = None;
    }

    /// Whether a broadcast within the last `period` had this node's host name.
    pub(crate) fn has_named_broadcast(&self, context: &Context, period: Duration) -> bool {
        let at = self.cards.named_at;
        at.is_some_and(|at| context.now().since(at) < period)
    }

    /// Sets the program on this node that holds the token; `None` if no program holds it.
    pub(crate) fn announce(&mut self, work: Option<HolderProgram>) {
        self.cards.own = work;
    }

    /// Returns the program on this node that holds the token.
    pub(crate) fn own_work(&self) -> Option<&HolderProgram> {
        self.cards.own.as_ref()
    }

    /// Returns the program that holds the token, according to the last announcement of this owner.
    pub(crate) fn work_of(&self, owner: Option<MacAddr>) -> Option<&HolderProgram> {
        let (mac, work) = self.cards.heard.as_ref()?;
        (owner == Some(*mac)).then_some(work)
    }

    /// Returns the version from a member's announcement. Returns `None` if the member announced no version.
    pub(crate) fn version_of(
        &self,
        context: &Context,
        members: &Members,
        mac: MacAddr,
    ) -> Option<Version> {
        let own = self.cards.version;
        // The table stores only versions that differ from this node's version.
        if context.is_own(mac) {
            return own;
        }
        members.version_of(mac, own)
    }

    /// Returns the host name of a member. Returns `None` if the member announced no host name.
    pub(crate) fn host_name_of(
        &self,
        context: &Context,
        members: &Members,
        mac: MacAddr,
    ) -> Option<HostName> {
        if context.is_own(mac) {
            return self.cards.host_name;
        }
        members.host_name_of(mac)
    }

    /// Returns the card that this node attaches to a frame of this kind. Returns `None` if this node sends no cards.
    pub(crate) fn card(
        &self,
        context: &Context,
        members: &Members,
        kind: Kind,
    ) -> Option<Card<'_>> {
        let own = self.cards.own.as_ref();
        // Only a program of the owner can hold the token, and a short card fits into more frames.
        let own = own.filter(|_| kind == Kind::TokenIsHere);
        Some(Card {
            version: self.cards.version?,
            host_name: None,
            pause: None,
            unheard: members.next_silent_member(context),
            work: own.map(|work| card::Work {
                held: nanos(context.now().since(work.since)),
                program: card::shorten(&work.program),
            }),
        })
    }

    /// Handles the card of a received frame. Call this function even if the frame has no card.
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
            // A frame without a profile may have had no room for the card. So the absence of the card does not withdraw
            // the owner's program.
            if is_heartbeat && frame.profile.is_some() {
                self.cards.heard.take_if(|(mac, _)| *mac == envelope.from);
            }
            return;
        };
        // Only versions that differ from this node's version need memory. In most rings, all versions are equal.
        let differs = self.cards.version != Some(card.version);
        members.set_version(envelope.from, differs.then_some(card.version));
        self.note_one_way(context, members, envelope.from, card.unheard);
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
        // A card contains the time for which the program has held the token. It contains no clock time, because the
        // clocks of two machines may differ.
        let since = envelope.at.before(Duration::from_nanos(work.held));
        match &mut self.cards.heard {
            Some((mac, known)) if *mac == envelope.from && known.program == work.program => {
                // Usually the same program still holds the token, so this saves a copy of its name.
                known.since = since;
            }
            heard => {
                let program = work.program.to_owned();
                *heard = Some((envelope.from, HolderProgram { program, since }));
            }
        }
    }
}
