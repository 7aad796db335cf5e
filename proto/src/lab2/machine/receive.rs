//! Received frames. The code checks whether a frame counts, applies the effects that all frames have, and then handles
//! the frame according to its kind.

use std::time::Duration;

use ring_codec::lab2::{Frame, Message, Profile};
use ring_codec::{DecodeError, Field, MacAddr, Problem};

use super::survey::is_of_survey;
use super::timer::Timer;
use crate::lab2::envelope::Envelope;
use crate::lab2::jobs::{JobInput, StampsFrame};
use crate::lab2::locks::LocksInput;
use crate::lab2::{DropReason, Event, HostName, Lab2};

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
        if is_of_survey(&frame.message) {
            return self.on_survey_frame(&frame, age);
        }
        let envelope = Envelope {
            from: frame.author,
            broadcast: frame.destination == MacAddr::BROADCAST,
            at: self.context.now().before(age),
            // Only the profile of a broadcast heartbeat announces a backing.
            backing: frame.profile.and_then(|profile| profile.backing()),
            standing: frame.locks,
        };
        if self.note_frame(envelope, &frame) {
            self.dispatch(envelope, &frame.message);
            self.members.greet(&self.context, &mut self.out, envelope);
        }
    }

    /// Decodes a frame, or returns why it is dropped (`docs/reference/lab2/states.md R4`).
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
        // An interface in promiscuous mode also receives frames for other nodes.
        if frame.destination != me && !broadcast {
            return Err(DropReason::NotForUs);
        }
        if let Message::TakeToken { .. } = frame.message {
            // Several members would accept a broadcast offer, and all own the same token.
            if broadcast {
                return Err(DropReason::BroadcastTakeToken);
            }
            // By now, the giver has repeated the offer, or has given up this node and minted a new token.
            if age > self.members.offer_valid_for(&self.context, frame.author) {
                return Err(DropReason::StaleOffer);
            }
        }
        Ok(frame)
    }

    /// Applies the effects of a frame that are the same for all kinds of messages. Returns whether the message of the
    /// frame counts. If the author hears no member, some kinds of messages do not count.
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
        // These effects come first, because the effects of the message depend on them: the author may be new, or may
        // have been away.
        self.note_return(from);
        let host_name = frame.card.and_then(|card| HostName::new(card.host_name?));
        self.note_author(envelope, matches!(message, Message::WantToken), host_name);
        self.note_heard(envelope, message, says_deaf);
        let reach = (envelope, frame.profile.as_ref());
        self.diagnostics
            .note_reach(&self.context, &self.members, &mut self.out, reach);
        // A daemon that starts asks where the token is. If this node already knows the member, it sends no greeting.
        if matches!(message, Message::WhereIsToken) {
            self.diagnostics.note_newcomer();
        }
        // A deaf author's profile counts too. The author may be deaf because the frames of the other members do not fit
        // its MTU.
        if let Some(profile) = frame.profile {
            self.on_profile(envelope, profile);
        }
        self.diagnostics
            .note_card(&self.context, &mut self.members, envelope, frame);
        self.note_pause(envelope, frame);
        self.note_preference(envelope, frame);
        let asks = matches!(message, Message::TokenIsHere { .. } | Message::WhereIsToken);
        if ignored && asks {
            self.greet_deaf(from);
        }
        !ignored
    }

    /// Notes three facts about a frame that this node has heard: when it arrived, whether its author is deaf, and
    /// whether it answers a probe.
    fn note_heard(&mut self, envelope: Envelope, message: &Message<'_>, says_deaf: bool) {
        let (context, out, from) = (&self.context, &mut self.out, envelope.from);
        let was_deaf = self.members.note_heard(context, envelope.at);
        if Profile::may_follow(message.kind()) && self.members.set_deaf(from, says_deaf) {
            self.diagnostics
                .note_deafness(context, out, from, says_deaf);
        }
        // While this node was deaf, it offered the token to no member, and it may have no timer for a handover.
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
                // The node announces at the next timeout that it may own the token again. An announcement now could be
                // a third answer to this frame.
                self.out.set(Timer::Probe, self.context.now());
            }
        }
    }

    /// Sends PING to a deaf member that is an owner or asks for the token. With this PING, the deaf member hears a
    /// member. Without an answer, the deaf member would stand for election, and its new token would destroy the owner's
    /// token.
    fn greet_deaf(&mut self, deaf: MacAddr) {
        let context = &self.context;
        // If all members answered, each frame of a deaf node would cause n frames.
        if self.members.counts_as_follower(context, deaf) && self.members.allow_ping(context, deaf)
        {
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
            } => {
                self.on_token_is_here(envelope, (token, data), (digest, beat));
                let standing = envelope.standing;
                self.handle_locks_input(LocksInput::HeardOwner { from, standing });
            }
            Message::Ping {
                digest,
                ip,
                promise,
                paused,
            } => {
                // The pause may make an offer fail. Then the next offer comes before the table, because this frame may
                // cause only two answers.
                self.on_paused(from, paused);
                self.on_ping(envelope, digest, ip);
                if let Some(promise) = promise {
                    self.on_promise(from, &promise);
                }
                self.handle_locks_input(LocksInput::Pinged {
                    from,
                    promised: promise.map(|it| it.token),
                    standing: envelope.standing,
                });
            }
            Message::TokenWasHereRecently { token, .. } if envelope.broadcast => {
                // As a broadcast, this message announces a failed offer. It answers no question of this node.
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
                frame: StampsFrame::from_frame(token, serial, purpose),
                digest,
                stamps,
            }),
            Message::Forget { members } => self.on_forget(members),
            Message::Locks { .. } | Message::LocksQuestion { .. } => {
                self.on_locks(from, message);
            }
            // `receive` handles them.
            Message::Survey { .. }
            | Message::Report { .. }
            | Message::Probe { .. }
            | Message::Measures { .. } => {}
        }
    }
}

fn drop_reason(error: DecodeError) -> DropReason {
    match (error.problem, error.field) {
        (Problem::Unknown { .. }, _) => DropReason::UnknownKind,
        (Problem::Reserved { .. }, _) => DropReason::Reserved,
        (Problem::TooLarge { .. }, Field::Progress) => DropReason::ProgressTooLarge,
        (Problem::TooLarge { .. }, Field::Count) => DropReason::TooManyMembers,
        (Problem::TooLarge { .. }, Field::StampCount)
        | (Problem::Illegal { .. }, Field::Name | Field::Purpose | Field::Outcome) => {
            DropReason::NotAStamp
        }
        (
            Problem::TooLarge { .. },
            Field::Probes
            | Field::Span
            | Field::HolderLen
            | Field::TroublesLen
            | Field::PaddingLen
            | Field::RowCount,
        )
        | (
            Problem::Illegal { .. },
            Field::SurveyPurpose
            | Field::NodeState
            | Field::NodeGrade
            | Field::Health
            | Field::Busy
            | Field::RequiredGrade
            | Field::HolderLen
            | Field::HolderName
            | Field::Troubles
            | Field::Number
            | Field::IsAnswer,
        )
        | (Problem::NotUnicast, Field::SurveyorMAC | Field::PeerMAC) => DropReason::NotASurvey,
        (Problem::TooLarge { .. }, Field::LockCount) | (Problem::Illegal { .. }, _) => {
            DropReason::NotALock
        }
        (Problem::TooLarge { .. }, _) => DropReason::DataTooLong,
        (Problem::NotUnicast, Field::MessageAuthorMAC) => DropReason::AuthorNotAStation,
        (Problem::NotUnicast, Field::RunnerMAC) => DropReason::NotAStamp,
        (Problem::NotUnicast, Field::MemberMAC) => DropReason::NotALock,
        (Problem::NotUnicast, _) => DropReason::MemberNotAStation,
        (Problem::NotTheSource, _) => DropReason::AuthorNotSource,
        _ => DropReason::Truncated,
    }
}
