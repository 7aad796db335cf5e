//! Client of the token service, for comparisons with other services.

use anyhow::Result;
use ring_codec::ftn::{Flags, Message};

use super::exchange::Exchange;
use super::raw::Session;
use super::server::ServerProcesses;

/// A client that requests and returns a token with REQUEST and RETURN.
pub(crate) struct Ftn {
    session: Session,
    /// Name of the token that this client requests instead of the given name.
    token: Option<String>,
}

impl Ftn {
    pub(crate) fn connect(servers: &ServerProcesses) -> Result<Self> {
        let session = Session::log_in(servers)?;
        Ok(Self {
            session,
            token: None,
        })
    }
}

impl Exchange for Ftn {
    fn request(&mut self, name: &str) -> Result<()> {
        let session = &mut self.session;
        let token = self
            .token
            .get_or_insert_with(|| session.name_with_prefix(name));
        session.request(token.as_bytes())?;
        session.send()
    }

    fn release(&mut self, _: &str) -> Result<()> {
        let Self { session, token } = self;
        let token = token.as_deref().unwrap_or_default();
        session.give_back(token.as_bytes(), b"", Flags::Deassign)?;
        session.send()
    }

    fn poll(&mut self) -> Result<bool> {
        let mut has_come = false;
        self.session.receive(|message| {
            has_come |= matches!(message, Message::Grant { .. } | Message::Confirm { .. });
        })?;
        Ok(has_come)
    }
}
