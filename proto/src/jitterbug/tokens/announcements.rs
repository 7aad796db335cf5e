//! When a leader has to say that there is one (`docs/jitterbug.md`, section 8).

use ring_codec::jitterbug::TokenId;

use crate::time::Instant;

/// When an announcement of the own token, and of another one, was last sent or heard.
///
/// That of another one may turn out to be of the own one, when that token is taken: without it every node of a ring
/// would announce a token that is new to it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Announcements {
    own: Option<Instant>,
    /// When this node sent one last.
    introduced: Option<Instant>,
    other: Option<(TokenId, Instant)>,
}

impl Announcements {
    /// An announcement of the own token was sent.
    pub(crate) const fn sent(&mut self, now: Instant) {
        self.own = Some(now);
    }

    /// This node has told all of its terms.
    pub(crate) const fn introduced(&mut self, now: Instant) {
        self.introduced = Some(now);
    }

    /// When it did last.
    pub(crate) const fn last_own(&self) -> Option<Instant> {
        self.introduced
    }

    /// An announcement was heard; `own` is the id of the own token.
    pub(crate) fn heard(&mut self, id: TokenId, own: TokenId, now: Instant) {
        if id.compare(own).is_eq() {
            self.own = Some(now);
        } else {
            self.other = Some((id, now));
        }
    }

    /// The own token is another one from now on.
    pub(crate) fn changed(&mut self, id: TokenId) {
        let known = self.other.filter(|(other, _)| other.compare(id).is_eq());
        self.own = known.map(|(_, at)| at);
    }

    /// When the own token was last announced, by whomever.
    pub(crate) const fn last(&self) -> Option<Instant> {
        self.own
    }
}
