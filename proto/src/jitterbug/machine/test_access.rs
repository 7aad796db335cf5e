//! Access of tests to the state machine.

use std::time::Duration;

use ring_codec::jitterbug::{Node, TokenId};

use super::Jitterbug;
use crate::jitterbug::data::Data;
use crate::jitterbug::nodes::Penalties;

impl Jitterbug {
    pub(crate) const fn set_token(&mut self, id: TokenId) {
        self.token_id = id;
    }

    /// Makes the node a leader with this token id. The node treats the token as if it had just announced it.
    pub(crate) fn lead_with(&mut self, id: TokenId) {
        self.set_token_id(id);
        self.announcements.note_sent(self.now);
    }

    pub(crate) const fn set_work(&mut self, has_work: bool) {
        self.has_work = has_work;
    }

    pub(crate) const fn data_mut(&mut self) -> &mut Data {
        &mut self.data
    }

    pub(crate) const fn penalties_mut(&mut self) -> &mut Penalties {
        &mut self.penalties
    }

    pub(crate) fn force_orphan(&mut self) {
        self.become_orphan();
    }

    pub(crate) fn force_waiter(&mut self) {
        self.become_waiter(false);
    }

    pub(crate) fn stronger_leader(&self) -> Option<Node> {
        self.stronger().map(|it| it.leader)
    }

    pub(crate) fn force_leader(&mut self) {
        self.become_leader();
    }

    pub(crate) fn change_token(&mut self, id: TokenId) {
        self.set_token_id(id);
    }

    pub(crate) fn restore_min(&self) -> Duration {
        self.least_restore()
    }

    /// Whether other nodes follow this node's token.
    pub(crate) fn is_followed(&self) -> bool {
        self.rank().is_followed == Some(true)
    }
}
