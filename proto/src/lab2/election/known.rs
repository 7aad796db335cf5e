//! What the node knows of the token: the strongest that it has seen, and its own part in it. What must
//! survive a restart changes here alone, and is stored because it has changed.

use std::hash::Hash;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{MAX_DATA_LEN, Token};

use crate::lab2::Durable;
use crate::lab2::machine::snapshot::Writer;
use crate::time::Instant;

/// `known`, the token with its holder and data; and currentMyTokenNumber and heardAboutToken.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    token: Option<Token>,
    holder: MacAddr,
    data: Vec<u8>,
    /// currentMyTokenNumber.
    own_number: u32,
    /// heardAboutToken.
    heard: Option<Instant>,
    /// When the token was last strengthened, or heard of as alive.
    vouched: Option<Instant>,
    /// It is to be stored.
    unstored: bool,
}

impl Known {
    /// What an earlier run has stored: its holder and data are no longer known.
    pub(crate) fn new(stored: &Durable) -> Self {
        Self {
            token: stored.known,
            holder: author_of(stored.known),
            data: Vec::with_capacity(MAX_DATA_LEN),
            own_number: stored.my_token_number,
            heard: None,
            vouched: None,
            unstored: false,
        }
    }

    pub(crate) const fn token(&self) -> Option<Token> {
        self.token
    }

    pub(crate) const fn holder(&self) -> MacAddr {
        self.holder
    }

    pub(crate) fn data(&self) -> &[u8] {
        &self.data
    }

    pub(crate) fn set_data(&mut self, data: &[u8]) {
        self.data.clear();
        self.data.extend_from_slice(data);
    }

    /// Whether `token` is stronger than what is known.
    pub(crate) fn is_outdone_by(&self, token: &Token) -> bool {
        self.token
            .is_none_or(|known| token.is_stronger_than(&known))
    }

    /// Takes over a token that is not weaker, and says whether it is stronger: then it is to be stored.
    pub(crate) fn learn(
        &mut self,
        now: Instant,
        token: Token,
        holder: MacAddr,
        data: Option<&[u8]>,
    ) -> bool {
        let stronger = self.is_outdone_by(&token);
        if stronger || self.token == Some(token) {
            self.token = Some(token);
            self.holder = holder;
            if let Some(data) = data {
                self.set_data(data);
            }
        }
        if stronger {
            self.unstored = true;
            self.vouched = Some(now);
        }
        stronger
    }

    /// The number of the next token that this node makes.
    pub(crate) const fn next_number(&self) -> u32 {
        self.own_number.wrapping_add(1)
    }

    /// A token that this node makes has this number, which none has after it.
    pub(crate) fn use_number(&mut self, number: u32) {
        self.own_number = number;
        self.unstored = true;
    }

    /// heardAboutToken.
    pub(crate) const fn heard(&self) -> Option<Instant> {
        self.heard
    }

    /// The token was heard of.
    pub(crate) fn hear(&mut self, at: Instant) {
        self.heard = self.heard.max(Some(at));
    }

    /// Somebody has spoken for the token.
    pub(crate) fn vouch(&mut self, now: Instant) {
        self.vouched = Some(now);
    }

    /// Whether somebody has spoken for the token less than `lately` ago.
    pub(crate) fn is_vouched_for(&self, now: Instant, lately: Duration) -> bool {
        self.vouched.is_some_and(|at| now.since(at) < lately)
    }

    /// What must survive a restart, as it is now.
    pub(crate) fn durable(&self) -> Durable {
        Durable {
            my_token_number: self.own_number,
            known: self.token,
            stamp: None,
        }
    }

    /// Whether it is to be stored: not again until it changes.
    pub(crate) fn take_unstored(&mut self) -> bool {
        std::mem::take(&mut self.unstored)
    }

    /// Has it stored, though it has not changed.
    pub(crate) fn store_again(&mut self) {
        self.unstored = true;
    }

    /// What the future depends on: a WAITER's patience that has run out can run out no further, nor is
    /// it asked who has spoken for the token longer ago than `lately`.
    pub(crate) fn snapshot(&self, writer: &mut Writer, patience: Duration, lately: Duration) {
        let Self {
            token,
            holder,
            data,
            own_number,
            heard,
            vouched,
            unstored,
        } = self;
        (token, holder, data, own_number, unstored).hash(writer);
        writer.age_up_to(*heard, patience);
        writer.within(*vouched, lately);
    }

    /// Forgets the token that could not be stored.
    pub(crate) fn restore(&mut self, token: Option<Token>) {
        if self.token != token {
            self.token = token;
            self.holder = author_of(token);
        }
    }
}

fn author_of(token: Option<Token>) -> MacAddr {
    token.map_or_else(MacAddr::default, |token| token.author)
}
