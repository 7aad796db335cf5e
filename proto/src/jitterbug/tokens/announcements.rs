//! The announcements of a leader (`docs/jitterbug/protocol/announcements.md` N1 to N3).

use ring_codec::jitterbug::TokenId;

use crate::time::Instant;

/// The times of the last announcements of two tokens: the node's own token, and one other token. Both sent and heard
/// announcements count.
///
/// The node may take the other token later. Without a memory of announcements, every node would announce each token
/// that it takes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Announcements {
    own: Option<Instant>,
    /// The time of this node's last announcement.
    introduced: Option<Instant>,
    other: Option<(TokenId, Instant)>,
}

impl Announcements {
    pub(crate) const fn note_sent(&mut self, now: Instant) {
        self.own = Some(now);
    }

    /// Notes that this node sent its terms to all nodes.
    pub(crate) const fn note_introduced(&mut self, now: Instant) {
        self.introduced = Some(now);
    }

    /// Returns the time at which this node last sent its terms to all nodes.
    pub(crate) const fn last_own(&self) -> Option<Instant> {
        self.introduced
    }

    /// Notes an announcement that was heard. `own` is the id of the node's token.
    pub(crate) fn note_heard(&mut self, id: TokenId, own: TokenId, now: Instant) {
        // The comparison ignores the sign, which an announcement has and the node's id lacks.
        if id.compare(own).is_eq() {
            self.own = Some(now);
        } else {
            self.other = Some((id, now));
        }
    }

    /// Notes that the node has a new token.
    pub(crate) fn on_token_changed(&mut self, id: TokenId) {
        // The node may have heard announcements of this token before it took the token.
        let known = self.other.filter(|(other, _)| other.compare(id).is_eq());
        self.own = known.map(|(_, at)| at);
    }

    pub(crate) const fn last(&self) -> Option<Instant> {
        self.own
    }
}
