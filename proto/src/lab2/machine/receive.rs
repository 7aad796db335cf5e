//! Received frames: which of them count, the effects common to all, and the dispatch by kind of message.

use std::time::Duration;

use ring_codec::lab2::{Frame, Message, Profile};
use ring_codec::{DecodeError, Field, MacAddr, Problem};

use super::timer::Timer;
use crate::lab2::envelope::Envelope;
use crate::lab2::jobs::{JobInput, StampsFrame};
use crate::lab2::{DropReason, Event, Lab2};

impl Lab2 {
    pub(super) fn receive(&mut self, bytes: &[u8], age: Duration) {
        let frame = match self.admit(bytes, age) {
            Ok(frame) => frame,
            Err(reason) => {
                if reason == DropReason::OwnFrame {
                    self.diagnostics
                        .note_own_address(&self.context, &mut self.out);
                }
                return self.event(Event::Dropped { reason });
            }
        };
        let envelope = Envelope {
            from: frame.author,
            broadcast: frame.destination == MacAddr::BROADCAST,
            at: self.context.now().before(age),
            // Only the profile of a broadcast heartbeat announces it.
            backing: frame.profile.and_then(|profile| profile.backing()),
        };
        if self.note_frame(envelope, &frame) {
            self.dispatch(envelope, &frame.message);
            self.members.greet(&self.context, &mut self.out, envelope);
        }
    }

    /// Decodes a frame, or returns why it is dropped (section 1 of `docs/protocol.md`).
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
        // The link may be in promiscuous mode.
        if frame.destination != me && !broadcast {
            return Err(DropReason::NotForUs);
        }
        if let Message::TakeToken { .. } = frame.message {
            // Several members would accept it, and own one token.
            if broadcast {
                return Err(DropReason::BroadcastTakeToken);
            }
            // By now its giver has repeated the offer, or given this node up and minted.
            if age > self.members.offer_valid_for(&self.context, frame.author) {
                return Err(DropReason::StaleOffer);
            }
        }
        Ok(frame)
    }

    /// Applies the parts of a frame that do not depend on its message. Returns whether the message counts: one of an
    /// author that hears nobody does not.
    fn note_frame(&mut self, envelope: Envelope, frame: &Frame<'_>) -> bool {
        let (from, message) = (envelope.from, &frame.message);
        let says_deaf = frame.profile.is_some_and(|profile| profile.is_deaf());
        let ignored = self.members.is_ignored(from, message, says_deaf);
        self.event(if ignored {
            let reason = DropReason::AuthorDeaf;
            Event::Dropped { reason }
        } else {
            let kind = message.kind();
            Event::Received { kind }
        });
        // This comes before the message: an author that is new or back changes the effect of its message.
        self.note_return(from);
        self.note_author(envelope, matches!(message, Message::WantToken));
        self.note_heard(envelope, message, says_deaf);
        let reach = (envelope, frame.profile.as_ref());
        self.diagnostics
            .note_reach(&self.context, &self.members, &mut self.out, reach);
        // A deaf author's profile counts: perhaps it is deaf only because the others' frames do not fit its MTU.
        if let Some(profile) = frame.profile {
            self.on_profile(envelope, profile);
        }
        self.diagnostics
            .note_card(&self.context, &mut self.members, envelope, frame);
        let asks = matches!(message, Message::TokenIsHere { .. } | Message::WhereIsToken);
        if ignored && asks {
            self.greet_deaf(from);
        }
        !ignored
    }

    /// Notes that this node hears, whether the author is deaf, and whether the frame answers a probe.
    fn note_heard(&mut self, envelope: Envelope, message: &Message<'_>, says_deaf: bool) {
        let (context, out, from) = (&self.context, &mut self.out, envelope.from);
        let was_deaf = self.members.note_heard(context, envelope.at);
        if Profile::may_follow(message.kind()) && self.members.set_deaf(from, says_deaf) {
            self.diagnostics
                .note_deafness(context, out, from, says_deaf);
        }
        // A deaf owner has offered the token to no member, and no timer is set.
        if was_deaf {
            self.schedule_idle_handover();
        }
        let answers = matches!(
            message,
            Message::TokenIsHere { .. } | Message::TokenWasHereRecently { .. }
        );
        if answers && !envelope.broadcast {
            self.diagnostics
                .note_late_answer(&self.context, &mut self.out, envelope, message);
            if self.fitness.note_answer(from) {
                // The node may own at the next wake-up: announcing it now could be a third answer to this frame.
                self.out.set(Timer::Probe, self.context.now());
            }
        }
    }

    /// Sends PING to a deaf owner or asker, so that it hears somebody. Unanswered, it would stand for election, and its
    /// token would destroy the owner's.
    fn greet_deaf(&mut self, deaf: MacAddr) {
        let context = &self.context;
        if self.members.is_follower(context, deaf) && self.members.allow_ping(context, deaf) {
            self.send_ping(deaf);
        }
    }

    fn dispatch(&mut self, envelope: Envelope, message: &Message<'_>) {
        let from = envelope.from;
        match *message {
            Message::TakeToken { token, data, .. } => self.on_take_token(envelope, token, data),
            Message::TokenIsHere {
                token,
                digest,
                data,
                beat,
            } => self.on_token_is_here(envelope, (token, data), (digest, beat)),
            Message::Ping {
                digest,
                ip,
                promise,
                paused,
            } => {
                // A pending offer goes out first; the table uses the replies that are left.
                self.on_paused(from, paused);
                self.on_ping(envelope, digest, ip);
                if let Some(promise) = promise {
                    self.on_promise(from, &promise);
                }
            }
            Message::TokenWasHereRecently { token, .. } if envelope.broadcast => {
                self.confidence.release_promise(&self.context, token);
            }
            Message::TokenWasHereRecently { token, holder } => {
                self.on_token_was_here(token, holder);
            }
            Message::WhereIsToken => self.on_where_is_token(envelope),
            Message::GeneratingToken { token } => self.on_generating_token(envelope, token),
            Message::RingMembers { digest, members } => {
                let (context, out, table) = (&self.context, &mut self.out, (digest, members));
                let state = self.role.state();
                self.members
                    .on_ring_members(context, out, state, envelope, table);
            }
            Message::WantToken => self.on_want_token(envelope),
            Message::Leaving => self.on_leaving(envelope),
            Message::Stamps {
                token,
                serial,
                purpose,
                digest,
                stamps,
            } => self.handle_job_input(JobInput::Received {
                from,
                broadcast: envelope.broadcast,
                frame: StampsFrame::received(token, serial, purpose),
                digest,
                stamps,
            }),
            Message::Forget { members } => self.on_forget(members),
        }
    }
}

fn drop_reason(error: DecodeError) -> DropReason {
    match (error.problem, error.field) {
        (Problem::Unknown { .. }, _) => DropReason::UnknownKind,
        (Problem::Reserved { .. }, _) => DropReason::Reserved,
        (Problem::TooLarge { .. }, Field::Progress) => DropReason::ProgressTooLarge,
        (Problem::TooLarge { .. }, Field::Count) => DropReason::TooManyMembers,
        (Problem::TooLarge { .. }, Field::StampCount) | (Problem::Illegal { .. }, _) => {
            DropReason::NotAStamp
        }
        (Problem::TooLarge { .. }, _) => DropReason::DataTooLong,
        (Problem::NotUnicast, Field::MessageAuthorMAC) => DropReason::AuthorNotAStation,
        (Problem::NotUnicast, Field::RunnerMAC) => DropReason::NotAStamp,
        (Problem::NotUnicast, _) => DropReason::MemberNotAStation,
        (Problem::NotTheSource, _) => DropReason::AuthorNotSource,
        _ => DropReason::Truncated,
    }
}
