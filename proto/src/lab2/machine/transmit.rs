//! Encodes outgoing frames, and applies the effects of sending them.

use ring_codec::MacAddr;
use ring_codec::lab2::{
    self, Card, ETHERNET_HEADER_LEN, Frame, LocksStanding, Message, Profile, host_name, preference,
};

use super::outbox::{Content, Outgoing};
use crate::lab2::jobs::JobInput;
use crate::lab2::members::notice;
use crate::lab2::{Event, HostName, Lab2};
use crate::{SendOutcome, Ticket, Transmit};

impl Lab2 {
    /// Encodes the next frame into `buf`.
    pub(super) fn next_frame(&mut self, buf: &mut [u8]) -> Option<Transmit> {
        loop {
            let outgoing = self.out.outbox.pop()?;
            // Many frames contain the digest, so the node computes it at most once per change of the table.
            self.members.update_hash();
            let author = match outgoing.content {
                // LEAVING is about its author, so it must come from the old address.
                Content::LeavingOld(old) => old,
                _ => self.me(),
            };
            let beat = self.number_heartbeat(outgoing);
            if let Content::Stamps(stamps) = &outgoing.content {
                self.jobs
                    .encode_stamps(&self.context, &self.members, stamps);
            }
            match &outgoing.content {
                Content::Locks(frame) => self.locks.encode_records(self.context.now(), frame),
                Content::LocksQuestion(question) => self.locks.encode_sums(question),
                _ => {}
            }
            let Some(message) = self.message(outgoing.content, beat) else {
                continue;
            };
            let frame = Frame {
                destination: outgoing.to,
                author,
                message,
                profile: None,
                card: None,
                locks: None,
                preference: 0,
            };
            let frame = self.add_profile_and_card(outgoing, &frame);
            let frame = self.add_standing(outgoing, &frame);
            let frame = self.add_announcements(outgoing, &frame);
            if self.is_too_long_for_locks(outgoing.content, &frame) {
                continue;
            }
            let has_name = frame.card.is_some_and(|card| card.host_name.is_some());
            if let Ok(len) = frame.encode(self.context.constants().ethertype, buf) {
                if has_name && outgoing.to == MacAddr::BROADCAST {
                    self.diagnostics.note_named_broadcast(&self.context);
                }
                let ticket = self.out.outbox.dispatch(outgoing);
                return Some(Transmit {
                    len,
                    to: (),
                    ticket,
                });
            }
            // In a release build, one lost frame is better than a daemon that ends.
            debug_assert!(false, "a frame that cannot be encoded: {outgoing:?}");
        }
    }

    /// Whether a frame about locks no longer fits the smallest MTU. The MTU may have become smaller while the frame
    /// waited.
    fn is_too_long_for_locks(&self, content: Content, frame: &Frame<'_>) -> bool {
        let is_about_locks = matches!(content, Content::Locks(_) | Content::LocksQuestion(_));
        let (mtu, _) = self.members.smallest_mtu(&self.context);
        is_about_locks && frame.encoded_len() > ETHERNET_HEADER_LEN + mtu
    }

    /// If the frame is a broadcast heartbeat, numbers it and returns the number. Returns `None` for other frames, and
    /// while the node asks for no promises.
    fn number_heartbeat(&mut self, outgoing: Outgoing) -> Option<u32> {
        let Outgoing { to, content } = outgoing;
        match content {
            Content::TokenIsHere(token) | Content::FirstHeartbeat(token)
                if to == MacAddr::BROADCAST =>
            {
                (self.confidence).number_heartbeat(&self.context, &self.members, token)
            }
            _ => None,
        }
    }

    /// Returns the message of a frame with the present values. Returns `None` if the survey of the frame has ended.
    pub(super) fn message(&self, content: Content, beat: Option<u32>) -> Option<Message<'_>> {
        let digest = self.members.digest();
        let data = self.known.data();
        Some(match content {
            Content::TakeToken(token) => Message::TakeToken {
                token,
                digest,
                data,
            },
            Content::TokenIsHere(token) | Content::FirstHeartbeat(token) => Message::TokenIsHere {
                token,
                digest,
                data,
                beat,
            },
            Content::Ping => self.ping(None),
            Content::HeartbeatAnswer(promise) => self.ping(promise),
            Content::TokenWasHereRecently(token, holder) => {
                Message::TokenWasHereRecently { token, holder }
            }
            Content::WhereIsToken => Message::WhereIsToken,
            Content::GeneratingToken(token) | Content::Candidacy(token, _) => {
                Message::GeneratingToken { token }
            }
            Content::RingMembers { first } => Message::RingMembers {
                digest,
                members: self.members.table_part(&self.context, first),
            },
            Content::WantToken => Message::WantToken,
            Content::Leaving | Content::LeavingOld(_) => Message::Leaving,
            Content::Stamps(stamps) => self.jobs.message(&stamps),
            Content::Locks(frame) => self.locks.message(&frame),
            Content::LocksQuestion(question) => self.locks.question(&question),
            Content::Survey(frame) => return self.survey.message(frame),
            Content::Forget => Message::Forget {
                members: self.members.forget_list(),
            },
        })
    }

    fn ping(&self, promise: Option<lab2::Promise>) -> Message<'_> {
        Message::Ping {
            digest: self.members.digest(),
            ip: self.context.ip(),
            promise,
            paused: !self.may_own(),
        }
    }

    /// Adds this node's profile and card to a frame, if frames of this kind have them and if they fit the MTU.
    fn add_profile_and_card<'a>(&'a self, outgoing: Outgoing, frame: &Frame<'a>) -> Frame<'a> {
        let Outgoing { to, content } = outgoing;
        let (context, members) = (&self.context, &self.members);
        let kind = content.kind();
        let is_ping = matches!(content, Content::Ping | Content::HeartbeatAnswer(_));
        let speaks_to_all = to == MacAddr::BROADCAST && Profile::may_follow(kind);
        if !is_ping && !speaks_to_all {
            // A frame of a hop carries no profile and no card, so that a hop does not become slower.
            return *frame;
        }
        let is_deaf = members.is_deaf(context);
        let with = Frame {
            profile: Some(members.own_profile(context, self.flags(content, is_deaf))),
            ..*frame
        };
        // A frame with a profile may be too long for a member with a smaller MTU. A deaf node adds the profile
        // nevertheless, because the other members must learn that it is deaf.
        let mtu = if is_deaf {
            context.mtu()
        } else {
            members.broadcast_mtu(context)
        };
        let room = (ETHERNET_HEADER_LEN + mtu).checked_sub(with.encoded_len());
        let Some(room) = room else {
            return *frame;
        };
        let card = self.diagnostics.card(context, members, kind);
        Frame {
            card: card.filter(|card| card.encoded_len() <= room),
            ..with
        }
    }

    /// Adds the trailer about named locks to a frame, if frames of this kind have this trailer and if it fits the MTU.
    pub(super) fn add_standing<'a>(&'a self, outgoing: Outgoing, frame: &Frame<'a>) -> Frame<'a> {
        let Some(locks) = self.locks_standing(outgoing.content) else {
            return *frame;
        };
        let (mtu, _) = self.members.smallest_mtu(&self.context);
        let room = (ETHERNET_HEADER_LEN + mtu).saturating_sub(frame.encoded_len());
        Frame {
            locks: Some(locks).filter(|_| room >= LocksStanding::LEN),
            ..*frame
        }
    }

    /// Adds this node's host name and its pause to a frame with a card, each only if it is due and fits the MTU. Also
    /// adds this node's preference to a frame with a profile.
    fn add_announcements<'a>(&'a self, outgoing: Outgoing, frame: &Frame<'a>) -> Frame<'a> {
        if !self.is_name_due(outgoing) {
            return *frame;
        }
        let is_introduction = matches!(
            outgoing.content,
            Content::Ping | Content::HeartbeatAnswer(_) | Content::WhereIsToken
        );
        let (mtu, _) = self.members.smallest_mtu(&self.context);
        let len_max = ETHERNET_HEADER_LEN + mtu;
        let preference = frame.profile.filter(|_| is_introduction);
        let preference = preference.map_or(0, |_| self.context.preference());
        // A rule depends on the preference, so it comes before the texts for people.
        let fits = frame.encoded_len() + preference::LEN <= len_max;
        let frame = Frame {
            preference: Some(preference).filter(|_| fits).unwrap_or(0),
            ..*frame
        };
        let Some(card) = frame.card else { return frame };
        let room = len_max.saturating_sub(frame.encoded_len());
        let name = self.diagnostics.own_host_name().map(HostName::as_str);
        let name = name.filter(|name| host_name::encoded_len(name) <= room);
        let room = room - name.map_or(0, host_name::encoded_len);
        let pause = self.diagnostics.own_pause().filter(|_| is_introduction);
        let pause = pause.map(|pause| notice(pause, self.context.now()));
        Frame {
            card: Some(Card {
                host_name: name,
                pause: pause.filter(|pause| pause.encoded_len() <= room),
                ..card
            }),
            ..frame
        }
    }

    /// Whether this frame announces the host name, the pause and the preference if it has a card. They never make a
    /// frequent kind of frame longer (`docs/reference/lab2/membership.md E5`).
    fn is_name_due(&self, outgoing: Outgoing) -> bool {
        let to_all = outgoing.to == MacAddr::BROADCAST;
        match outgoing.content {
            Content::HeartbeatAnswer(_) => to_all,
            Content::TokenIsHere(_) | Content::FirstHeartbeat(_) | Content::WantToken => {
                let period = self.members.sign_of_life_period(&self.context);
                to_all && !self.diagnostics.has_named_broadcast(&self.context, period)
            }
            _ => true,
        }
    }

    /// Returns the profile's flags. In a heartbeat, the flags also announce the backing of the tenure.
    fn flags(&self, content: Content, is_deaf: bool) -> u8 {
        let deaf = if is_deaf { Profile::DEAF } else { 0 };
        let unreached = if self.diagnostics.hears_no_broadcasts() {
            Profile::UNREACHED
        } else {
            0
        };
        let flags = deaf | unreached;
        let backing = match content {
            Content::TokenIsHere(_) => self.backing(),
            // The node is still a candidate, so it has no tenure from which the backing could follow.
            Content::FirstHeartbeat(_) if !self.local_work.has_work() => {
                Some(lab2::Backing::Unused)
            }
            _ => None,
        };
        backing.map_or(flags, |backing| Profile::with_backing(flags, backing))
    }

    /// Handles the outcome of sending a frame.
    pub(super) fn on_sent(&mut self, ticket: Ticket, sent: SendOutcome) {
        let Some(Outgoing { to, content }) = self.out.outbox.complete(ticket) else {
            return;
        };
        let kind = content.kind();
        let accepted = sent == SendOutcome::Accepted;
        self.event(if accepted {
            Event::Transmitted { kind }
        } else {
            Event::TransmitFailed { kind }
        });
        // A frame of a survey influences nothing, even if the link refuses it.
        if let Content::Survey(_) = content {
            return;
        }
        if sent == SendOutcome::TooLong {
            self.on_too_long(kind);
        }
        let refused = !accepted && self.context.is_up();
        self.diagnostics
            .note_send_result(&self.context, &mut self.out, refused);
        // Members expect a broadcast that can carry a profile from time to time. Other frames do not postpone it.
        if accepted && to == MacAddr::BROADCAST && Profile::may_follow(kind) {
            self.members.note_broadcast(self.context.now());
        }
        self.on_content_sent(to, content, accepted);
        self.review_jobs();
        self.schedule_request();
    }

    /// Applies the effects of a frame after the link accepts or refuses it. If a frame announces a new state, this
    /// state begins only when the link accepts the frame (`docs/reference/lab2/states.md R7`).
    fn on_content_sent(&mut self, to: MacAddr, content: Content, accepted: bool) {
        match content {
            Content::TakeToken(token) => self.on_offer_sent(to, token, accepted),
            Content::TokenIsHere(_) if to == MacAddr::BROADCAST && accepted => {
                self.on_heartbeat_sent();
            }
            // This broadcast announces a failed offer. It is not an acknowledgement.
            Content::TokenWasHereRecently(..) if to == MacAddr::BROADCAST => {}
            Content::TokenIsHere(_) | Content::TokenWasHereRecently(..) => {
                self.on_ack_sent(to, accepted);
            }
            Content::FirstHeartbeat(token) if accepted => self.on_first_heartbeat_sent(token),
            Content::Candidacy(candidate, reason) if accepted => {
                self.on_candidacy_sent(candidate, reason);
            }
            Content::WhereIsToken if accepted => self.on_question_sent(),
            Content::Stamps(stamps) if accepted => self.handle_job_input(JobInput::Sent(stamps)),
            // The node ends even if LEAVING could not be sent. The members will notice its silence.
            Content::Leaving => self.finish(),
            Content::Forget => self.members.on_forget_sent(),
            _ => {}
        }
    }
}

#[cfg(test)]
impl Lab2 {
    /// Returns the profile of a PING from this node.
    pub(crate) fn profile(&self) -> Profile {
        let flags = self.flags(Content::Ping, self.is_deaf());
        self.members.own_profile(&self.context, flags)
    }

    /// Returns the silent member that this node will name in its next card.
    pub(crate) fn unheard_member(&self) -> Option<MacAddr> {
        self.members.next_silent_member(&self.context)
    }
}
