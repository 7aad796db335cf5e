//! What tests look at inside the machine.

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

    /// Starts an election that no rule calls for.
    pub(crate) fn elect(&mut self) {
        self.start_election();
    }
}
