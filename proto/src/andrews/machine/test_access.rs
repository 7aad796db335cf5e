//! Access of tests to the parts of the state machine.

use super::Andrews;
use crate::andrews::ring::{Inbound, Proof, Role};
use crate::andrews::token::Token;

impl Andrews {
    pub(crate) const fn role(&self) -> &Role {
        &self.role
    }

    pub(crate) const fn inbound(&self) -> &Inbound {
        &self.inbound
    }

    pub(crate) const fn proof(&self) -> &Proof {
        &self.proof
    }

    pub(crate) const fn token(&self) -> &Token {
        &self.token
    }

    /// Starts an election although no rule requires one.
    pub(crate) fn start_unasked_election(&mut self) {
        self.start_election();
    }
}
