//! The frames that this node sends, and what follows when they were.

use ring_codec::MacAddr;
use ring_codec::lab2::{self, ETHERNET_HEADER_LEN, Frame, Message, Profile};

use super::outbox::{Content, Outgoing};
use crate::lab2::jobs::Input;
use crate::lab2::{Event, Lab2};
use crate::{Sent, Ticket, Transmit};

impl Lab2 {
    /// Encodes the next frame.
    pub(super) fn next_frame(&mut self, buf: &mut [u8]) -> Option<Transmit> {
        loop {
            let outgoing = self.out.outbox.pop()?;
            self.members.hash_anew();
            let author = match outgoing.content {
                Content::Left(old) => old,
                _ => self.me(),
            };
            let beat = self.number_heartbeat(outgoing);
            if let Content::Stamps(telling) = &outgoing.content {
                self.jobs.lay_out(&self.context, &self.members, telling);
            }
            let frame = Frame {
                destination: outgoing.to,
                author,
                message: self.message(outgoing.content, beat),
                profile: None,
                card: None,
            };
            let frame = self.introduce(outgoing, frame);
            if let Ok(len) = frame.encode(self.context.constants().ethertype, buf) {
                let ticket = self.out.outbox.dispatch(outgoing);
                return Some(Transmit {
                    len,
                    to: (),
                    ticket,
                });
            }
            debug_assert!(false, "a frame that cannot be encoded: {outgoing:?}");
        }
    }

    /// The number of a frame that is a heartbeat, to everybody, if it has one.
    fn number_heartbeat(&mut self, outgoing: Outgoing) -> Option<u32> {
        let Outgoing { to, content } = outgoing;
        match content {
            Content::TokenIsHere(token) | Content::Elected(token) if to == MacAddr::BROADCAST => {
                (self.confidence).number_heartbeat(&self.context, &self.members, token)
            }
            _ => None,
        }
    }

    /// What a frame says.
    fn message(&self, content: Content, beat: Option<u32>) -> Message<'_> {
        let digest = self.members.digest();
        let data = self.known.data();
        match content {
            Content::TakeToken(token) => Message::TakeToken {
                token,
                digest,
                data,
            },
            Content::TokenIsHere(token) | Content::Elected(token) => Message::TokenIsHere {
                token,
                digest,
                data,
                beat,
            },
            Content::Ping => self.ping(None),
            Content::Promise(promise) => self.ping(Some(promise)),
            Content::TokenWasHereRecently(token, holder) => {
                Message::TokenWasHereRecently { token, holder }
            }
            Content::WhereIsToken => Message::WhereIsToken,
            Content::GeneratingToken(token) | Content::Standing(token, _) => {
                Message::GeneratingToken { token }
            }
            Content::RingMembers { first } => Message::RingMembers {
                digest,
                members: self.members.table_part(&self.context, first),
            },
            Content::WantToken => Message::WantToken,
            Content::Leaving | Content::Left(_) => Message::Leaving,
            Content::Stamps(telling) => self.jobs.message(&telling),
            Content::Forget => Message::Forget {
                members: self.members.named(),
            },
        }
    }

    fn ping(&self, promise: Option<lab2::Promise>) -> Message<'_> {
        Message::Ping {
            digest: self.members.digest(),
            ip: self.context.ip(),
            promise,
            paused: self.owns_nothing(),
        }
    }

    /// Adds the profile and the card of this node to a frame that has them: a hop costs nothing more. The
    /// profile is left out where an MTU is so small that it does not fit, even that of another member, which would not get
    /// the frame; but who hears nobody has to say so.
    fn introduce<'a>(&'a self, outgoing: Outgoing, frame: Frame<'a>) -> Frame<'a> {
        let Outgoing { to, content } = outgoing;
        let (context, members) = (&self.context, &self.members);
        let kind = content.kind();
        let is_ping = matches!(content, Content::Ping | Content::Promise(_));
        let speaks_to_all = to == MacAddr::BROADCAST && Profile::may_follow(kind);
        if !is_ping && !speaks_to_all {
            return frame;
        }
        let is_deaf = members.is_deaf(context);
        let with = Frame {
            profile: Some(members.own_profile(context, self.flags(content, is_deaf))),
            ..frame
        };
        let mtu = if is_deaf {
            context.mtu()
        } else {
            members.common_mtu(context)
        };
        let room = (ETHERNET_HEADER_LEN + mtu).checked_sub(with.encoded_len());
        let Some(room) = room else {
            return frame;
        };
        let card = self.diagnostics.card(context, members, kind);
        Frame {
            card: card.filter(|card| card.encoded_len() <= room),
            ..with
        }
    }

    /// What this node says of itself in such a frame, and of its tenure in a heartbeat.
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
            Content::Elected(_) if !self.wish.is_work() => Some(lab2::Backing::Unused),
            _ => None,
        };
        backing.map_or(flags, |backing| Profile::with_backing(flags, backing))
    }

    /// A frame was sent, or could not be.
    pub(super) fn on_sent(&mut self, ticket: Ticket, sent: Sent) {
        let Some(Outgoing { to, content }) = self.out.outbox.complete(ticket) else {
            return;
        };
        let kind = content.kind();
        let accepted = sent == Sent::Accepted;
        self.event(if accepted {
            Event::Transmitted { kind }
        } else {
            Event::TransmitFailed { kind }
        });
        if sent == Sent::TooLong {
            self.on_too_long(kind);
        }
        let refused = !accepted && self.context.is_up();
        self.diagnostics
            .note_outcome(&self.context, &mut self.out, refused);
        // What tells nothing of this node itself does not spare it saying so.
        if accepted && to == MacAddr::BROADCAST && Profile::may_follow(kind) {
            self.members.speak(self.context.now());
        }
        self.on_content_sent(to, content, accepted);
        self.review_jobs();
        self.want_soon();
    }

    /// What a frame's outcome changes: a state that a frame announces is entered only once the
    /// frame was accepted for sending.
    fn on_content_sent(&mut self, to: MacAddr, content: Content, accepted: bool) {
        match content {
            Content::TakeToken(token) => self.on_offer_sent(to, token, accepted),
            Content::TokenIsHere(_) if to == MacAddr::BROADCAST && accepted => {
                self.on_heartbeat_sent();
            }
            // That an offer was in vain, which all are told, answers nobody.
            Content::TokenWasHereRecently(..) if to == MacAddr::BROADCAST => {}
            Content::TokenIsHere(_) | Content::TokenWasHereRecently(..) => {
                self.on_ack_sent(to, accepted);
            }
            Content::Elected(token) if accepted => self.on_elected_sent(token),
            Content::Standing(candidate, reason) if accepted => {
                self.on_candidacy_sent(candidate, reason);
            }
            Content::WhereIsToken if accepted => self.on_question_sent(),
            Content::Stamps(telling) if accepted => self.tell_jobs(Input::Sent(telling)),
            Content::Leaving => self.finish(),
            Content::Forget => self.members.on_forget_sent(),
            _ => {}
        }
    }
}

#[cfg(test)]
impl Lab2 {
    /// What this node says of itself in a PING.
    pub(crate) fn profile(&self) -> Profile {
        let flags = self.flags(Content::Ping, self.is_deaf());
        self.members.own_profile(&self.context, flags)
    }

    /// The member that this node's next card names.
    pub(crate) fn unheard_member(&self) -> Option<MacAddr> {
        self.members.next_silent(&self.context)
    }
}
