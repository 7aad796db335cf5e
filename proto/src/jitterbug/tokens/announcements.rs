//! The announcements of a leader (`docs/jitterbug.md`, section 8).

use ring_codec::jitterbug::TokenId;

use crate::time::Instant;

/// When announcements of the node's token, and of another one, were last sent or heard.
///
/// The other token may become the node's own when it is taken. Without this memory every node of a ring would announce
/// each token again.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Announcements {
    own: Option<Instant>,
    /// When this node sent an announcement last.
    introduced: Option<Instant>,
    other: Option<(TokenId, Instant)>,
}

impl Announcements {
    pub(crate) const fn note_sent(&mut self, now: Instant) {
        self.own = Some(now);
    }

    /// Notes that this node has sent its terms to all nodes.
    pub(crate) const fn note_introduced(&mut self, now: Instant) {
        self.introduced = Some(now);
    }

    /// Returns when this node last sent its terms to all nodes.
    pub(crate) const fn last_own(&self) -> Option<Instant> {
        self.introduced
    }

    /// Notes an announcement that was heard. `own` is the id of the node's token.
    pub(crate) fn note_heard(&mut self, id: TokenId, own: TokenId, now: Instant) {
        if id.compare(own).is_eq() {
            self.own = Some(now);
        } else {
            self.other = Some((id, now));
        }
    }

    /// Notes that the node has another token.
    pub(crate) fn on_token_changed(&mut self, id: TokenId) {
        let known = self.other.filter(|(other, _)| other.compare(id).is_eq());
        self.own = known.map(|(_, at)| at);
    }

    pub(crate) const fn last(&self) -> Option<Instant> {
        self.own
    }
}
