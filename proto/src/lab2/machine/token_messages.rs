//! Messages about the token, in every state (`docs/protocol.md`, "States").

use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, Token};

use super::outbox::Content;
use crate::lab2::envelope::Envelope;
use crate::lab2::tenure::{Role, Tenure};
use crate::lab2::{Lab2, Reason};

impl Lab2 {
    /// Handles TOKEN_IS_HERE: a heartbeat, an acknowledgement or an answer.
    pub(super) fn on_token_is_here(
        &mut self,
        envelope: Envelope,
        (token, data): (Token, &[u8]),
        (digest, beat): (Digest, Option<u32>),
    ) {
        let gave_way = self.on_token_claimed(envelope, token, data);
        let answered = self.answer_heartbeat(envelope, (token, beat), digest);
        // The other owner should know that this node is there, and now follows it.
        if gave_way && !answered {
            self.send_ping(envelope.from);
        }
        let (context, out) = (&self.context, &mut self.out);
        let (state, claim) = (self.role.state(), (envelope, digest));
        let answered = gave_way || answered;
        self.members
            .compare_with_holder(context, out, state, claim, answered);
        self.diagnostics
            .note_holder(context, &mut self.members, out, claim);
    }

    /// Applies another node's claim to a token. Returns whether this OWNER has given way: then the other must learn
    /// that.
    fn on_token_claimed(&mut self, envelope: Envelope, token: Token, data: &[u8]) -> bool {
        let now = self.context.now();
        if envelope.broadcast {
            self.known.note_heartbeat(envelope.at);
        }
        // A holder has what it asked for.
        self.members.set_wants(envelope.from, false);
        let gives_way = match self.role {
            Role::Owner(tenure) => {
                // During a handover the offered token counts, because the successor may hold it already.
                let offer = tenure.offer().map(|offer| offer.token());
                if offer.is_some_and(|offered| !offered.is_stronger_than(&token)) {
                    self.on_handover_complete(token, envelope.from);
                    false
                } else if self.resolve_claim(&tenure, envelope, token) {
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
        // The holder's data belong to its token: they replace the ones that are known for an older one.
        self.learn(token, envelope.from, Some(data));
        self.known.note_heard(envelope.at);
        self.restart_waiter_timeout();
        self.set_owner(Some(envelope.from));
        // If a stronger token is known but no longer heard of, its holder cannot object, so this node does. A weaker
        // token of the same chain was only overtaken on its way.
        let stronger = |known: &Token| known.is_stronger_than(&token);
        match self.known.token().filter(stronger) {
            None => self.known.note_alive(now),
            Some(known) => {
                let heartbeat = self.context.constants().heartbeat;
                if !token.same_chain(&known)
                    && !self.known.is_known_alive(&self.context)
                    && self.rivals.may_object(now, heartbeat)
                {
                    self.send_token_was_here(envelope.from);
                }
            }
        }
        gives_way
    }

    /// Decides between this OWNER and another one. Returns whether this node gives way. Otherwise it answers, or waits
    /// for the other's next heartbeat.
    fn resolve_claim(&mut self, tenure: &Tenure, envelope: Envelope, token: Token) -> bool {
        let (held, rival) = (tenure.token(), (envelope, token));
        if self.is_stronger_claim(token, envelope.from, held) {
            let is_offered = tenure.offer().is_some();
            if !is_offered && self.try_outbid(tenure, token, envelope.backing) {
                return false;
            }
            let (confidence, context) = (&mut self.confidence, &self.context);
            if confidence.wait_for_backing(context, tenure, rival) {
                return false;
            }
            self.become_waiter(Reason::StrongerToken, token);
            // If this node's token has just been offered, its taker defends it.
            self.known.note_alive(self.context.now());
            return true;
        }
        let (confidence, context) = (&mut self.confidence, &self.context);
        // This node's answers do not reach the better backed owner, which would have outbid it by now.
        if confidence.must_give_way(context, tenure, rival) {
            self.become_waiter(Reason::BetterBackedOwner, token);
            return true;
        }
        self.note_rival(token, held);
        if !self.rivals.is_answered_claim(&self.context, token, tenure) {
            self.send_token_is_here(envelope.from);
            self.send_token_is_here(MacAddr::BROADCAST);
        }
        false
    }

    fn note_rival(&mut self, theirs: Token, mine: Token) {
        self.rivals.note_rival(self.context.now(), theirs, mine);
    }

    /// Handles TAKE_TOKEN: an offer, or a duplicate of one.
    pub(super) fn on_take_token(&mut self, envelope: Envelope, token: Token, data: &[u8]) {
        match self.role {
            Role::Owner(tenure) => self.on_take_token_as_owner(envelope, token, data, &tenure),
            Role::Waiter(_) | Role::Looser(_) | Role::Generating(_)
                if self.known.is_outdone_by(&token) =>
            {
                self.accept_offer(envelope, token, data);
            }
            Role::Waiter(_) => self.send_token_was_here(envelope.from),
            Role::Looser(_) | Role::Generating(_) => {}
        }
    }

    /// Handles an offer to an OWNER. During a handover it is compared with the token that this node has offered.
    fn on_take_token_as_owner(
        &mut self,
        envelope: Envelope,
        token: Token,
        data: &[u8],
        tenure: &Tenure,
    ) {
        // If a giver took a token that is weaker than its own offer, two tokens could go round in a ring of two without
        // end.
        let held = tenure.token();
        match tenure.offer().map(|offer| offer.token()) {
            // The offer itself came back, as a copy or a forgery. Accepting it would make two equal tokens.
            Some(offered) if offered == token => {
                self.on_handover_complete(token, envelope.from);
                self.send_token_was_here(envelope.from);
            }
            Some(offered) if token.is_stronger_than(&offered) => {
                self.note_rival(offered, token);
                self.on_handover_complete(token, self.me());
                self.accept_offer(envelope, token, data);
            }
            Some(offered) if token.is_stronger_than(&held) => {
                self.note_rival(token, offered);
                self.send_token_was_here(envelope.from);
            }
            None if token.is_stronger_than(&held) && self.try_outbid(tenure, token, None) => {
                self.send_token_is_here(envelope.from);
            }
            None if token.is_stronger_than(&held) => {
                self.become_waiter(Reason::StrongerToken, token);
                self.accept_offer(envelope, token, data);
            }
            _ => {
                self.note_rival(token, held);
                self.send_token_is_here(envelope.from);
            }
        }
    }

    /// Handles TOKEN_WAS_HERE_RECENTLY to this node: an answer to a question, a candidacy or a late offer, or an
    /// objection to a weaker token.
    pub(super) fn on_token_was_here(&mut self, token: Token, holder: MacAddr) {
        self.learn(token, holder, None);
        match self.role {
            Role::Owner(tenure) => match tenure.offer() {
                Some(offer) if !offer.token().is_stronger_than(&token) => {
                    self.on_handover_complete(token, holder);
                }
                Some(_) => {}
                None if tenure.is_replaced_by(&self.context, token) => {
                    self.become_waiter(Reason::StrongerToken, token);
                    self.set_owner(Some(holder));
                }
                // The holder of the stronger token has been silent, or it would have objected itself.
                None => self.mint_beyond(&tenure, token),
            },
            Role::Looser(_) => {
                self.skip_election();
                self.diagnostics
                    .note_owner_unheard(&self.context, &mut self.out, holder);
            }
            // A token exists, so a new one would be a rival.
            Role::Generating(_) => self.stand_down(Reason::TokenWasHere, token),
            Role::Waiter(_) => {}
        }
    }

    /// Handles WHERE_IS_TOKEN.
    pub(super) fn on_where_is_token(&mut self, envelope: Envelope) {
        match self.role {
            Role::Owner(_) => self.send_token_is_here(envelope.from),
            Role::Waiter(_) if envelope.broadcast => self.answer_as_follower(envelope.from),
            // The asker believes that this node is OWNER. It was, not long ago, and its answer shows that unicast
            // frames arrive.
            Role::Waiter(_) => self.send_token_was_here(envelope.from),
            // A LOOSER knows no owner, so it has no answer.
            Role::Looser(_) => self.on_question_overheard(envelope),
            Role::Generating(_) => {}
        }
    }

    /// Handles GENERATING_TOKEN of another candidate.
    pub(super) fn on_generating_token(&mut self, envelope: Envelope, theirs: Token) {
        match self.role {
            Role::Owner(_) => {
                self.send_token_is_here(envelope.from);
                self.send_token_is_here(MacAddr::BROADCAST);
            }
            Role::Waiter(_) => self.answer_as_follower(envelope.from),
            // That election is over by now.
            Role::Looser(_) if self.is_stale(envelope) => {}
            Role::Looser(_) => self.consider_candidacy(envelope.from, theirs),
            Role::Generating(mine) if theirs.is_stronger_than(&mine) => {
                self.stand_down(Reason::StrongerCandidate, theirs);
                self.note_beaten(theirs);
            }
            Role::Generating(mine) => {
                self.send(envelope.from, Content::GeneratingToken(mine));
            }
        }
    }

    /// Whether a frame has waited for too long to be news, because this process was stopped.
    fn is_stale(&self, envelope: Envelope) -> bool {
        let age = self.context.now().since(envelope.at);
        age >= self.context.constants().looser_answer_timeout()
    }

    /// Whether another node's token wins against this node's (section 2).
    fn is_stronger_claim(&self, theirs: Token, holder: MacAddr, mine: Token) -> bool {
        theirs.is_stronger_than(&mine) || (theirs == mine && holder < self.me())
    }

    /// Answers with the strongest known token, if this node is one of the eight that follow the asker.
    fn answer_as_follower(&mut self, asker: MacAddr) {
        if self.members.is_follower(&self.context, asker) {
            self.send_token_was_here(asker);
        }
    }
}
