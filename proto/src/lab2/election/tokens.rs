//! Messages about the token, in every state (`docs/protocol.md`, "States").

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

use crate::lab2::machine::input::Envelope;
use crate::lab2::machine::outbox::Content;
use crate::lab2::machine::timer::Timer;
use crate::lab2::tenure::role::{Role, Tenure};
use crate::lab2::{Lab2, Reason};

impl Lab2 {
    /// TOKEN_IS_HERE: a heartbeat, an acknowledgement or an answer. Whether an OWNER has given way to
    /// it, which the other is to know.
    pub(crate) fn on_token_is_here(
        &mut self,
        envelope: Envelope,
        token: Token,
        data: &[u8],
    ) -> bool {
        let mut gives_way = false;
        if envelope.broadcast {
            self.last_broadcast = self.last_broadcast.max(Some(envelope.at));
        }
        self.table.set_wants(envelope.from, false);
        match self.role {
            Role::Owner(tenure) => {
                if tenure
                    .offer
                    .is_some_and(|offer| !offer.token.is_stronger_than(&token))
                {
                    self.hand_over_complete(token, envelope.from);
                } else if self.outdoes(token, envelope.from, tenure.token) {
                    if tenure.offer.is_none() && self.outbids(&tenure, token, envelope.backing) {
                        self.carry_on(&tenure, token);
                        return false;
                    }
                    if self.awaits_backing(envelope, token, &tenure) {
                        return false;
                    }
                    self.become_waiter(Reason::StrongerToken, token);
                    gives_way = true;
                    // If the own token has just been offered, whoever took it speaks for it.
                    self.known.vouch(self.context.now());
                } else if self.is_outranked(envelope, token, &tenure) {
                    self.become_waiter(Reason::Outranked, token);
                    gives_way = true;
                } else {
                    self.note_rival(token, tenure.token);
                    if !self.is_echo(token, tenure) {
                        self.token_is_here(envelope.from);
                        self.token_is_here(MacAddr::BROADCAST);
                    }
                    return false;
                }
            }
            Role::Looser(_) | Role::Generating(_) => self.become_waiter(Reason::TokenHeard, token),
            Role::Waiter(_) => {}
        }
        self.learn(token, envelope.from, Some(data));
        self.heard_of_token(envelope);
        self.object_to(token, envelope);
        gives_way
    }

    /// Tells the holder of a token that a stronger one is known here, if that one is no longer
    /// heard of: its own holder would have said so. A weaker token of the same chain has only
    /// been overtaken on its way.
    fn object_to(&mut self, token: Token, envelope: Envelope) {
        let now = self.context.now();
        let stronger = |known: &Token| known.is_stronger_than(&token);
        let Some(known) = self.known.token().filter(stronger) else {
            self.known.vouch(now);
            return;
        };
        if !token.same_chain(&known)
            && !self.known.is_vouched_for(now, self.hearsay_lasts())
            && self
                .rivals
                .may_object(now, self.context.constants().heartbeat)
        {
            self.token_was_here(envelope.from);
        }
    }

    /// For how long a token counts as alive that was heard of.
    pub(crate) fn hearsay_lasts(&self) -> Duration {
        self.context.constants().heartbeat + 2 * self.context.constants().take_timeout
    }

    fn note_rival(&mut self, theirs: Token, mine: Token) {
        self.rivals.note(self.context.now(), theirs, mine);
    }

    /// Whether a weaker claim needs no answer: an earlier tenure of the own chain that the token has
    /// overtaken on its way, or a claim soon after one that was answered, to all. The answers may
    /// be overtaken in their turn, and be answered by the next OWNER: they would double every time.
    fn is_echo(&mut self, theirs: Token, tenure: Tenure) -> bool {
        let own_chain = theirs.same_chain(&tenure.token);
        let overtaken = |before| theirs.is_stronger_than(&before);
        if own_chain && tenure.known_before.is_some_and(overtaken) {
            return true;
        }
        let pause = if own_chain {
            self.context.constants().heartbeat
        } else {
            self.context.constants().take_timeout
        };
        !self.rivals.may_answer(self.context.now(), pause)
    }

    /// TAKE_TOKEN: an offer, or a duplicate of one.
    pub(crate) fn on_take_token(&mut self, envelope: Envelope, token: Token, data: &[u8]) {
        match self.role {
            Role::Owner(tenure) => self.on_take_token_as_owner(envelope, token, data, tenure),
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
        tenure: Tenure,
    ) {
        match tenure.offer.map(|offer| offer.token) {
            Some(offered) if offered == token => {
                self.hand_over_complete(token, envelope.from);
                self.token_was_here(envelope.from);
            }
            Some(offered) if token.is_stronger_than(&offered) => {
                self.note_rival(offered, token);
                self.hand_over_complete(token, self.me());
                self.take(envelope, token, data);
            }
            Some(offered) if token.is_stronger_than(&tenure.token) => {
                self.note_rival(token, offered);
                self.token_was_here(envelope.from);
            }
            None if token.is_stronger_than(&tenure.token) && self.outbids(&tenure, token, None) => {
                self.carry_on(&tenure, token);
                self.token_is_here(envelope.from);
            }
            None if token.is_stronger_than(&tenure.token) => {
                self.become_waiter(Reason::StrongerToken, token);
                self.take(envelope, token, data);
            }
            _ => {
                self.note_rival(token, tenure.token);
                self.token_is_here(envelope.from);
            }
        }
    }

    /// TOKEN_WAS_HERE_RECENTLY: a waiter's answer to a question, an election or a late offer, or
    /// its objection to a weaker token.
    pub(crate) fn on_token_was_here(&mut self, token: Token, holder: MacAddr) {
        self.learn(token, holder, None);
        match self.role {
            Role::Owner(Tenure {
                offer: Some(offer), ..
            }) => {
                if !offer.token.is_stronger_than(&token) {
                    self.hand_over_complete(token, holder);
                }
            }
            Role::Owner(tenure) if self.gives_way(&tenure, token) => {
                self.become_waiter(Reason::StrongerToken, token);
                self.set_owner(Some(holder));
            }
            Role::Owner(tenure) => self.outbid(tenure, token),
            Role::Looser(_) => {
                self.sleep();
                self.note_unheard(holder);
            }
            Role::Generating(_) => self.stand_down(Reason::TokenWasHere, token),
            Role::Waiter(_) => {}
        }
    }

    /// WHERE_IS_TOKEN: a looser's question.
    pub(crate) fn on_where_is_token(&mut self, envelope: Envelope) {
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
    pub(crate) fn on_generating_token(&mut self, envelope: Envelope, theirs: Token) {
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

    /// The token is alive at the envelope's author.
    fn heard_of_token(&mut self, envelope: Envelope) {
        self.known.hear(envelope.at);
        self.trust_the_token();
        self.set_owner(Some(envelope.from));
    }

    /// TOKEN_IS_HERE with the token held; nothing if there is none.
    pub(crate) fn token_is_here(&mut self, to: MacAddr) {
        if let Role::Owner(tenure) = self.role {
            self.send(to, Content::TokenIsHere(tenure.token));
            // Who offers the token and has asked for it again has unsaid that to everybody.
            if to == MacAddr::BROADCAST && self.out.is_set(Timer::Want) {
                self.timer_in(Timer::Want, Duration::ZERO);
            }
        }
    }

    /// TOKEN_WAS_HERE_RECENTLY with the strongest token known.
    pub(crate) fn token_was_here(&mut self, to: MacAddr) {
        if let Some(token) = self.known.token() {
            self.send(
                to,
                Content::TokenWasHereRecently(token, self.known.holder()),
            );
        }
    }
}
