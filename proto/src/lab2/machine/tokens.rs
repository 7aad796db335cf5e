//! Messages about the token, in every state (`docs/protocol.md`, "States").

use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, Token};

use super::outbox::Content;
use crate::lab2::envelope::Envelope;
use crate::lab2::tenure::{Role, Tenure};
use crate::lab2::{Lab2, Reason};

impl Lab2 {
    /// TOKEN_IS_HERE: a heartbeat, an acknowledgement or an answer. A heartbeat is answered, and its author is compared with.
    pub(super) fn on_token_is_here(
        &mut self,
        envelope: Envelope,
        (token, data): (Token, &[u8]),
        (digest, beat): (Digest, Option<u32>),
    ) {
        let gave_way = self.hear_of_token(envelope, token, data);
        let answered = self.confirm(envelope, (token, beat), digest);
        if gave_way && !answered {
            self.send_ping(envelope.from);
        }
        let (context, out) = (&self.context, &mut self.out);
        let (state, told) = (self.role.state(), (envelope, digest));
        let answered = gave_way || answered;
        self.members
            .compare_with_holder(context, out, state, told, answered);
        self.diagnostics
            .note_holder(context, &mut self.members, out, told);
    }

    /// Somebody says that it holds a token. Whether an OWNER has given way to it, which the other is to know.
    fn hear_of_token(&mut self, envelope: Envelope, token: Token, data: &[u8]) -> bool {
        let now = self.context.now();
        if envelope.broadcast {
            self.known.note_heartbeat(envelope.at);
        }
        self.members.set_wants(envelope.from, false);
        let gives_way = match self.role {
            Role::Owner(tenure) => {
                let offer = tenure.offer().map(|offer| offer.token());
                if offer.is_some_and(|offered| !offered.is_stronger_than(&token)) {
                    self.hand_over_complete(token, envelope.from);
                    false
                } else if self.gives_way(&tenure, envelope, token) {
                    true
                } else {
                    return false;
                }
            }
            Role::Looser(_) | Role::Generating(_) => {
                self.become_waiter(Reason::TokenHeard, token);
                false
            }
            Role::Waiter(_) => false,
        };
        self.learn(token, envelope.from, Some(data));
        // The token is alive at the envelope's author.
        self.known.hear(envelope.at);
        self.trust_the_token();
        self.set_owner(Some(envelope.from));
        // The holder of a token is told that a stronger one is known here, if that one is no longer
        // heard of: its own holder would have said so. A weaker token of the same chain has only
        // been overtaken on its way.
        let stronger = |known: &Token| known.is_stronger_than(&token);
        match self.known.token().filter(stronger) {
            None => self.known.vouch(now),
            Some(known) => {
                let heartbeat = self.context.constants().heartbeat;
                if !token.same_chain(&known)
                    && !self.known.is_vouched_for(&self.context)
                    && self.rivals.may_object(now, heartbeat)
                {
                    self.token_was_here(envelope.from);
                }
            }
        }
        gives_way
    }

    /// Somebody else says that it holds a token, too. Whether this OWNER gives way to it; otherwise it answers, or waits for
    /// what the other says next.
    fn gives_way(&mut self, tenure: &Tenure, envelope: Envelope, token: Token) -> bool {
        let (held, rival) = (tenure.token(), (envelope, token));
        if self.outdoes(token, envelope.from, held) {
            let is_offered = tenure.offer().is_some();
            if !is_offered && self.has_outbid(tenure, token, envelope.backing) {
                return false;
            }
            let (confidence, context) = (&mut self.confidence, &self.context);
            if confidence.awaits_backing(context, tenure, rival) {
                return false;
            }
            self.become_waiter(Reason::StrongerToken, token);
            // If the own token has just been offered, whoever took it speaks for it.
            self.known.vouch(self.context.now());
            return true;
        }
        let (confidence, context) = (&mut self.confidence, &self.context);
        if confidence.is_outranked(context, tenure, rival) {
            self.become_waiter(Reason::Outranked, token);
            return true;
        }
        self.note_rival(token, held);
        if !self.rivals.is_echo(&self.context, token, tenure) {
            self.token_is_here(envelope.from);
            self.token_is_here(MacAddr::BROADCAST);
        }
        false
    }

    fn note_rival(&mut self, theirs: Token, mine: Token) {
        self.rivals.note(self.context.now(), theirs, mine);
    }

    /// TAKE_TOKEN: an offer, or a duplicate of one.
    pub(super) fn on_take_token(&mut self, envelope: Envelope, token: Token, data: &[u8]) {
        match self.role {
            Role::Owner(tenure) => self.on_take_token_as_owner(envelope, token, data, &tenure),
            Role::Waiter(_) | Role::Looser(_) | Role::Generating(_)
                if self.known.is_outdone_by(&token) =>
            {
                self.take(envelope, token, data);
            }
            Role::Waiter(_) => self.token_was_here(envelope.from),
            Role::Looser(_) | Role::Generating(_) => {}
        }
    }

    /// An OWNER is offered a token. While it passes its own on, what counts is the one that it has
    /// offered: to take a weaker one would keep both going round.
    fn on_take_token_as_owner(
        &mut self,
        envelope: Envelope,
        token: Token,
        data: &[u8],
        tenure: &Tenure,
    ) {
        let held = tenure.token();
        match tenure.offer().map(|offer| offer.token()) {
            Some(offered) if offered == token => {
                self.hand_over_complete(token, envelope.from);
                self.token_was_here(envelope.from);
            }
            Some(offered) if token.is_stronger_than(&offered) => {
                self.note_rival(offered, token);
                self.hand_over_complete(token, self.me());
                self.take(envelope, token, data);
            }
            Some(offered) if token.is_stronger_than(&held) => {
                self.note_rival(token, offered);
                self.token_was_here(envelope.from);
            }
            None if token.is_stronger_than(&held) && self.has_outbid(tenure, token, None) => {
                self.token_is_here(envelope.from);
            }
            None if token.is_stronger_than(&held) => {
                self.become_waiter(Reason::StrongerToken, token);
                self.take(envelope, token, data);
            }
            _ => {
                self.note_rival(token, held);
                self.token_is_here(envelope.from);
            }
        }
    }

    /// TOKEN_WAS_HERE_RECENTLY: a waiter's answer to a question, an election or a late offer, or
    /// its objection to a weaker token.
    pub(super) fn on_token_was_here(&mut self, token: Token, holder: MacAddr) {
        self.learn(token, holder, None);
        match self.role {
            Role::Owner(tenure) => match tenure.offer() {
                Some(offer) if !offer.token().is_stronger_than(&token) => {
                    self.hand_over_complete(token, holder);
                }
                Some(_) => {}
                None if tenure.gives_way(&self.context, token) => {
                    self.become_waiter(Reason::StrongerToken, token);
                    self.set_owner(Some(holder));
                }
                None => self.outgrow(&tenure, token),
            },
            Role::Looser(_) => {
                self.sleep();
                self.diagnostics
                    .note_unheard(&self.context, &mut self.out, holder);
            }
            Role::Generating(_) => self.stand_down(Reason::TokenWasHere, token),
            Role::Waiter(_) => {}
        }
    }

    /// WHERE_IS_TOKEN: a looser's question.
    pub(super) fn on_where_is_token(&mut self, envelope: Envelope) {
        match self.role {
            Role::Owner(_) => self.token_is_here(envelope.from),
            Role::Waiter(_) if envelope.broadcast => self.answer_as_follower(envelope.from),
            // Who is asked alone was OWNER not long ago.
            Role::Waiter(_) => self.token_was_here(envelope.from),
            Role::Looser(_) => self.overhear_question(envelope),
            Role::Generating(_) => {}
        }
    }

    /// GENERATING_TOKEN: somebody stands for election.
    pub(super) fn on_generating_token(&mut self, envelope: Envelope, theirs: Token) {
        match self.role {
            Role::Owner(_) => {
                self.token_is_here(envelope.from);
                self.token_is_here(MacAddr::BROADCAST);
            }
            Role::Waiter(_) => self.answer_as_follower(envelope.from),
            // By now that election is over.
            Role::Looser(_) if self.has_waited(envelope) => {}
            Role::Looser(_) => self.consider_standing(envelope.from, theirs),
            Role::Generating(mine) if theirs.is_stronger_than(&mine) => {
                self.stand_down(Reason::StrongerCandidate, theirs);
                self.note_beaten(theirs);
            }
            Role::Generating(mine) => {
                self.send(envelope.from, Content::GeneratingToken(mine));
            }
        }
    }

    /// Whether a frame has waited here for so long that it is no news: the process was stopped.
    fn has_waited(&self, envelope: Envelope) -> bool {
        let age = self.context.now().since(envelope.at);
        age >= self.context.constants().looser_answer_timeout()
    }

    /// Whether a token held by another station wins against the own one (section 2).
    fn outdoes(&self, theirs: Token, holder: MacAddr, mine: Token) -> bool {
        theirs.is_stronger_than(&mine) || (theirs == mine && holder < self.me())
    }

    /// Answers an asker with the strongest token known, if it is for this node to do so.
    fn answer_as_follower(&mut self, asker: MacAddr) {
        if self.members.is_follower(&self.context, asker) {
            self.token_was_here(asker);
        }
    }
}
