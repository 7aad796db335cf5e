//! The effects of messages about the token, in every state (`docs/reference/lab2/states.md`).

use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, Token};

use super::outbox::Content;
use crate::lab2::envelope::Envelope;
use crate::lab2::tenure::{Role, Tenure};
use crate::lab2::{Lab2, Reason};

impl Lab2 {
    /// Handles TOKEN_IS_HERE. This frame is a heartbeat, an acknowledgement, or an answer.
    pub(super) fn on_token_is_here(
        &mut self,
        envelope: Envelope,
        (token, data): (Token, &[u8]),
        (digest, beat): (Digest, Option<u32>),
    ) {
        let gave_way = self.on_token_claimed(envelope, token, data);
        let answered = self.answer_heartbeat(envelope, (token, beat), digest);
        // The other owner does not know yet that this node follows it.
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

    /// Handles a frame in which another node claims that it holds a token. Returns whether this node was OWNER and has
    /// given way. After a node has given way, the caller informs the other owner.
    fn on_token_claimed(&mut self, envelope: Envelope, token: Token, data: &[u8]) -> bool {
        let now = self.context.now();
        if envelope.broadcast {
            self.known.note_heartbeat(envelope.at);
        }
        // A member that holds a token no longer wants it.
        self.members.set_wants(envelope.from, false);
        let gives_way = match self.role {
            Role::Owner(tenure) => {
                // During a handover the offered token is compared, because the successor may already hold it.
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
        // The frame contains the data of the holder's token. They replace the data that belong to an older token.
        self.learn(token, envelope.from, Some(data));
        self.known.note_heard(envelope.at);
        self.restart_waiter_timeout();
        self.set_owner(Some(envelope.from));
        // This node may know a stronger token. If the holder of that token was not heard for a while, it cannot object,
        // so this node objects. A weaker token of the same chain needs no objection, because the token only overtook
        // this heartbeat.
        let stronger = |known: &Token| known.is_stronger_than(&token);
        match self.known.token().filter(stronger) {
            None => self.known.note_alive(now),
            Some(known) => {
                let heartbeat = self.context.constants().heartbeat;
                if !token.same_chain(&known)
                    && !self.known.is_known_alive(&self.context)
                    && self.rivals.take_objection(now, heartbeat)
                {
                    self.send_token_was_here(envelope.from);
                }
            }
        }
        gives_way
    }

    /// Decides whether this OWNER keeps its token or gives way to the author of a claim. Returns whether this node
    /// gives way. A node that does not give way outbids the author, answers the claim, or waits for the author's next
    /// heartbeat.
    fn resolve_claim(&mut self, tenure: &Tenure, envelope: Envelope, token: Token) -> bool {
        let (held, rival) = (tenure.token(), (envelope, token));
        if self.is_stronger_claim(token, envelope.from, held) {
            let is_offered = tenure.offer().is_some();
            // The successor may already hold an offered token, so this node must not mint a new token now.
            if !is_offered && self.try_outbid(tenure, token, envelope.backing) {
                return false;
            }
            let (confidence, context) = (&mut self.confidence, &self.context);
            if confidence.wait_for_backing(context, tenure, rival) {
                return false;
            }
            self.become_waiter(Reason::StrongerToken, token);
            // If this node has just offered its token, the member that took it can object.
            self.known.note_alive(self.context.now());
            return true;
        }
        let (confidence, context) = (&mut self.confidence, &self.context);
        // If the better backed owner had received this node's answers, it would have outbid this node by now. It does
        // not receive them, so this node gives way.
        if confidence.must_give_way(context, tenure, rival) {
            self.become_waiter(Reason::BetterBackedOwner, token);
            return true;
        }
        self.note_rival(token, held);
        if self.rivals.take_answer(&self.context, token, tenure) {
            self.send_token_is_here(envelope.from);
            // Members that have heard the weaker claim must learn of the stronger token too.
            self.send_token_is_here(MacAddr::BROADCAST);
        }
        false
    }

    fn note_rival(&mut self, theirs: Token, mine: Token) {
        self.rivals.note_rival(self.context.now(), theirs, mine);
    }

    /// Handles TAKE_TOKEN: an offer, or a copy of an earlier offer.
    pub(super) fn on_take_token(&mut self, envelope: Envelope, token: Token, data: &[u8]) {
        match self.role {
            Role::Owner(tenure) => self.on_take_token_as_owner(envelope, token, data, &tenure),
            Role::Waiter(_) | Role::Looser(_) | Role::Generating(_)
                if self.known.is_outdone_by(&token) =>
            {
                self.accept_offer(envelope, token, data);
            }
            // The offer is late or a copy. The giver must learn that the token has moved on, or it would count a failed
            // handover.
            Role::Waiter(_) => self.send_token_was_here(envelope.from),
            Role::Looser(_) | Role::Generating(_) => {}
        }
    }

    /// Handles an offer of a token to this node while it is OWNER. If this node is handing its token over, it compares
    /// the offer with the token that it offered. Otherwise, it compares the offer with the held token.
    fn on_take_token_as_owner(
        &mut self,
        envelope: Envelope,
        token: Token,
        data: &[u8],
        tenure: &Tenure,
    ) {
        // If a giver took a token that is weaker than its offered token, two tokens could circulate in a ring of two
        // members indefinitely.
        let held = tenure.token();
        match tenure.offer().map(|offer| offer.token()) {
            // This node's own offer came back, as a copy or a forgery. If the node accepted it, two nodes would hold
            // equal tokens.
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

    /// Handles a TOKEN_WAS_HERE_RECENTLY that was sent to this node. The frame answers a question, a candidate or a
    /// late offer, or it objects to a weaker token.
    pub(super) fn on_token_was_here(&mut self, token: Token, holder: MacAddr) {
        self.learn(token, holder, None);
        match self.role {
            Role::Owner(tenure) => match tenure.offer() {
                Some(offer) if !offer.token().is_stronger_than(&token) => {
                    self.on_handover_complete(token, holder);
                }
                // The successor decides what happens to the offered token, so this node neither mints nor gives way.
                Some(_) => {}
                None if tenure.is_replaced_by(&self.context, token) => {
                    self.become_waiter(Reason::StrongerToken, token);
                    self.set_owner(Some(holder));
                }
                // A member objects only if it has not heard the stronger token's holder for a while, so that token may
                // be lost.
                None => self.mint_beyond(&tenure, token),
            },
            Role::Looser(_) => {
                self.skip_election();
                self.diagnostics
                    .note_owner_unheard(&self.context, &mut self.out, holder);
            }
            // A token exists, so a new token would be its rival.
            Role::Generating(_) => self.stand_down(Reason::TokenWasHere, token),
            Role::Waiter(_) => {}
        }
    }

    pub(super) fn on_where_is_token(&mut self, envelope: Envelope) {
        match self.role {
            Role::Owner(_) => self.send_token_is_here(envelope.from),
            Role::Waiter(_) if envelope.broadcast => self.answer_as_follower(envelope.from),
            // The asker believes that this node is OWNER, because it was OWNER not long ago. The answer shows the asker
            // that unicast frames arrive.
            Role::Waiter(_) => self.send_token_was_here(envelope.from),
            // A LOOSER knows no owner, so it cannot answer.
            Role::Looser(_) => self.on_question_overheard(envelope),
            Role::Generating(_) => {}
        }
    }

    /// Handles a GENERATING_TOKEN of another candidate.
    pub(super) fn on_generating_token(&mut self, envelope: Envelope, theirs: Token) {
        match self.role {
            Role::Owner(_) => {
                self.send_token_is_here(envelope.from);
                self.send_token_is_here(MacAddr::BROADCAST);
            }
            Role::Waiter(_) => self.answer_as_follower(envelope.from),
            // The election to which a stale frame belongs is over.
            Role::Looser(_) if self.is_stale(envelope) => {}
            Role::Looser(_) => self.consider_candidacy(envelope.from, theirs),
            Role::Generating(mine) if theirs.is_stronger_than(&mine) => {
                self.stand_down(Reason::StrongerCandidate, theirs);
                self.note_beaten(theirs);
            }
            Role::Generating(mine) => {
                // The weaker candidate may not have heard this node's broadcast.
                self.send(envelope.from, Content::GeneratingToken(mine));
            }
        }
    }

    /// Whether a frame has waited for too long. While the frame waited, the election to which the frame belongs has
    /// ended. A frame can wait for so long if this process was stalled.
    fn is_stale(&self, envelope: Envelope) -> bool {
        let age = self.context.now().since(envelope.at);
        age >= self.context.constants().looser_answer_timeout()
    }

    /// Whether the token `theirs` of another node wins against this node's token `mine`
    /// (`docs/reference/lab2/states.md T2`).
    fn is_stronger_claim(&self, theirs: Token, holder: MacAddr, mine: Token) -> bool {
        theirs.is_stronger_than(&mine) || (theirs == mine && holder < self.me())
    }

    /// If this node is one of the eight members that follow the asker, sends the strongest known token to the asker.
    fn answer_as_follower(&mut self, asker: MacAddr) {
        if self.members.counts_as_follower(&self.context, asker) {
            self.send_token_was_here(asker);
        }
    }
}
