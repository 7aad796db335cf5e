//! The strongest token that the node has seen.

use ring_codec::MacAddr;
use ring_codec::lab2::{MAX_DATA_LEN, Token};

/// `known`: the token with its holder and data.
#[derive(Debug, Clone, Hash)]
pub(super) struct Known {
    token: Option<Token>,
    holder: MacAddr,
    data: Vec<u8>,
}

impl Known {
    /// What an earlier run has stored: its holder and data are not known any more.
    pub(super) fn new(token: Option<Token>) -> Self {
        let holder = token.map_or_else(MacAddr::default, |token| token.author);
        Self {
            token,
            holder,
            data: Vec::with_capacity(MAX_DATA_LEN),
        }
    }

    pub(super) const fn token(&self) -> Option<Token> {
        self.token
    }

    pub(super) const fn holder(&self) -> MacAddr {
        self.holder
    }

    pub(super) fn data(&self) -> &[u8] {
        &self.data
    }

    pub(super) fn set_data(&mut self, data: &[u8]) {
        self.data.clear();
        self.data.extend_from_slice(data);
    }

    /// Forgets what could not be stored.
    pub(super) fn restore(&mut self, token: Option<Token>) {
        if self.token != token {
            self.token = token;
            self.holder = token.map_or_else(MacAddr::default, |token| token.author);
        }
    }

    /// Whether `token` is stronger than what is known.
    pub(super) fn is_outdone_by(&self, token: &Token) -> bool {
        self.token
            .is_none_or(|known| token.is_stronger_than(&known))
    }

    /// Takes over a token that is not weaker, and says whether it is stronger.
    pub(super) fn learn(&mut self, token: Token, holder: MacAddr, data: Option<&[u8]>) -> bool {
        let stronger = self.is_outdone_by(&token);
        if stronger || self.token == Some(token) {
            self.token = Some(token);
            self.holder = holder;
            if let Some(data) = data {
                self.set_data(data);
            }
        }
        stronger
    }
}
