//! Received frames: what is dropped, what every valid frame does, and which rule it goes to.

use std::time::Duration;

use ring_codec::lab2::{Backing, Frame, Message};
use ring_codec::{DecodeError, MacAddr, Problem};

use crate::lab2::jobs::telling::{ReceivedStamps, Telling};
use crate::lab2::members::table::Inserted;
use crate::lab2::{DropReason, Event, Lab2};
use crate::time::Instant;

/// A valid frame's addresses and time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Envelope {
    pub(crate) from: MacAddr,
    pub(crate) broadcast: bool,
    /// When it arrived, which is before now if it had to wait.
    pub(crate) at: Instant,
    /// How its author's tenure is backed, if it tells.
    pub(crate) backing: Option<Backing>,
}

impl Lab2 {
    pub(crate) fn receive(&mut self, bytes: &[u8], age: Duration) {
        let frame = match self.admit(bytes, age) {
            Ok(frame) => frame,
            Err(reason) => {
                if reason == DropReason::OwnFrame {
                    self.own_address_heard();
                }
                return self.event(Event::Dropped { reason });
            }
        };
        let envelope = Envelope {
            from: frame.author,
            broadcast: frame.destination == MacAddr::BROADCAST,
            at: self.context.now().before(age),
            backing: frame.profile.and_then(|said| said.backing()),
        };
        let only_wants = matches!(frame.message, Message::WantToken);
        let deaf = frame.profile.is_some_and(|said| said.is_deaf());
        let unheeded = self.is_unheeded(envelope.from, &frame.message, deaf);
        self.event(if unheeded {
            let reason = DropReason::AuthorDeaf;
            Event::Dropped { reason }
        } else {
            let kind = frame.message.kind();
            Event::Received { kind }
        });
        self.note_return(envelope.from);
        self.note_author(envelope, only_wants);
        self.hear(envelope, &frame.message, deaf);
        self.note_reach(envelope, frame.profile.as_ref());
        // Who hears nobody may do so because all that is said does not fit its MTU.
        if let Some(profile) = frame.profile {
            self.on_profile(envelope, profile);
        }
        match &frame.card {
            Some(card) => self.on_card(envelope, frame.message.kind(), card),
            None => self.on_no_card(envelope, &frame),
        }
        if unheeded {
            if matches!(
                frame.message,
                Message::TokenIsHere { .. } | Message::WhereIsToken
            ) {
                self.let_hear(envelope.from);
            }
            return;
        }
        self.dispatch(envelope, &frame.message);
        self.greet(envelope);
    }

    /// Section 1: which frames count at all.
    fn admit<'a>(&self, bytes: &'a [u8], age: Duration) -> Result<Frame<'a>, DropReason> {
        let (Some(me), true) = (
            self.context.mac(),
            self.context.is_up() && !self.is_finished(),
        ) else {
            return Err(DropReason::NotListening);
        };
        let frame = Frame::decode(bytes).map_err(drop_reason)?;
        let broadcast = frame.destination == MacAddr::BROADCAST;
        if frame.author == me {
            return Err(DropReason::OwnFrame);
        }
        if frame.destination != me && !broadcast {
            return Err(DropReason::NotForUs);
        }
        if let Message::TakeToken { .. } = frame.message {
            if broadcast {
                return Err(DropReason::BroadcastTakeToken);
            }
            // By now its giver has repeated it, or given this node up and minted.
            if age > self.offer_lasts(frame.author) {
                return Err(DropReason::StaleOffer);
            }
        }
        Ok(frame)
    }

    fn note_author(&mut self, envelope: Envelope, only_wants: bool) {
        let Envelope {
            from,
            broadcast,
            at: arrived,
            backing: _,
        } = envelope;
        self.table.removed.is_back(from);
        let mut inserted = self.table.insert(from);
        if inserted == Inserted::Full && self.make_room() {
            inserted = self.table.insert(from);
        }
        let at = match inserted {
            Inserted::Known(at) => at,
            Inserted::New(at) => {
                self.table.peer_at(at).owed_ping = broadcast && !self.is_large();
                self.member_added(from);
                at
            }
            Inserted::Full => return self.event(Event::TableFull { author: from }),
        };
        self.table.heard(at, arrived, only_wants);
    }

    fn dispatch(&mut self, envelope: Envelope, message: &Message<'_>) {
        match *message {
            Message::TakeToken { token, data, .. } => self.on_take_token(envelope, token, data),
            Message::TokenIsHere {
                token,
                digest,
                data,
                beat,
            } => {
                let gave_way = self.on_token_is_here(envelope, token, data);
                let answered = self.confirm(envelope, token, digest, beat);
                if gave_way && !answered {
                    self.send_ping(envelope.from);
                }
                self.compare_with_holder(envelope, digest, gave_way || answered);
                self.note_holder(envelope, digest);
            }
            Message::Ping {
                digest,
                ip,
                promise,
                paused,
            } => {
                // An offer that is to be made is, and the table has what is left of the replies.
                self.on_paused(envelope.from, paused);
                self.on_ping(envelope, digest, ip);
                if let Some(promise) = promise {
                    self.on_promise(envelope.from, &promise);
                }
            }
            Message::TokenWasHereRecently { token, .. } if envelope.broadcast => {
                self.release(token);
            }
            Message::TokenWasHereRecently { token, holder } => {
                self.on_token_was_here(token, holder);
            }
            Message::WhereIsToken => self.on_where_is_token(envelope),
            Message::GeneratingToken { token } => self.on_generating_token(envelope, token),
            Message::RingMembers { digest, members } => {
                self.on_ring_members(envelope, digest, members);
            }
            Message::WantToken => self.on_want_token(envelope),
            Message::Leaving => self.on_leaving(envelope),
            Message::Stamps {
                token,
                serial,
                purpose,
                digest,
                stamps,
            } => {
                let telling = Telling {
                    token,
                    serial,
                    purpose,
                    first: 0,
                };
                self.on_stamps(envelope, telling, &ReceivedStamps { digest, stamps });
            }
            Message::Forget { members } => self.on_forget(members),
        }
    }

    /// Section 3: a new member's broadcast is answered with PING, unless the frame has been answered as
    /// often as one may be; then its next broadcast is. In a large ring the holder's table tells of it.
    fn greet(&mut self, envelope: Envelope) {
        if !envelope.broadcast || !self.out.may_reply() {
            return;
        }
        let is_large = self.is_large();
        let Some(peer) = self.table.peer_mut(envelope.from) else {
            return;
        };
        if std::mem::take(&mut peer.owed_ping) && !is_large {
            self.send_ping(envelope.from);
        }
    }
}

/// The reason that a frame's error is counted under.
fn drop_reason(error: DecodeError) -> DropReason {
    match (error.problem, error.field) {
        (Problem::Unknown { .. }, _) => DropReason::UnknownKind,
        (Problem::Reserved { .. }, _) => DropReason::Reserved,
        (Problem::TooLarge { .. }, "progress") => DropReason::ProgressTooLarge,
        (Problem::TooLarge { .. }, "count") => DropReason::TooManyMembers,
        (Problem::TooLarge { .. }, "stampCount") | (Problem::Illegal { .. }, _) => {
            DropReason::NotAStamp
        }
        (Problem::TooLarge { .. }, _) => DropReason::DataTooLong,
        (Problem::NotAStation, "messageAuthorMAC") => DropReason::AuthorNotAStation,
        (Problem::NotAStation, "runnerMAC") => DropReason::NotAStamp,
        (Problem::NotAStation, _) => DropReason::MemberNotAStation,
        (Problem::NotTheSource, _) => DropReason::AuthorNotSource,
        _ => DropReason::Truncated,
    }
}
