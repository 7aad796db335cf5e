//! `ringctl token hold`: holds a token for a script that cannot wrap a command.

use std::io::Write;

use ring_client::token::{self, Access, Event, Session, Wake};

use super::acquire::acquire_token;
use super::client::{Outcome, ServiceClient, session_error};
use super::name::TokenName;
use super::nested;
use super::options::AcquireOptions;

pub(super) struct HoldOptions<'a> {
    pub(super) name: &'a TokenName,
    pub(super) access: Access,
    /// Whether the hold ends when another client waits for the token. In any case, a signal ends the hold.
    pub(super) until_revoked: bool,
}

pub(super) fn hold(
    client: &ServiceClient,
    options: &AcquireOptions,
    hold: &HoldOptions,
    output: &mut impl Write,
) -> anyhow::Result<u8> {
    nested::refuse_nested(&client.servers.resolved, hold.name, hold.access)?;
    let done = client.with_session(&options.introduction("ringctl token hold"), |session| {
        let grant = acquire_token(session, options, hold.name, hold.access)?;
        writeln!(output, "granted {}", grant.fence)?;
        output.flush()?;
        wait_for_end(session, hold).map_err(session_error)?;
        session
            .release(hold.name.bytes(), None)
            .map_err(session_error)?;
        writeln!(output, "returned")?;
        Ok(output.flush()?)
    })?;
    Ok(match done {
        Outcome::Done(()) => 0,
        Outcome::Stopped(code) => code,
    })
}

/// Waits for a signal, or for another client that waits for the token.
fn wait_for_end(session: &mut Session, hold: &HoldOptions) -> Result<(), token::Error> {
    let id = session.id();
    loop {
        match session.next(None)? {
            Wake::Ready => return Ok(()),
            Wake::Event(Event::Revoked { .. }) if hold.until_revoked => return Ok(()),
            Wake::Event(Event::Lost {
                session: lost,
                loss,
            }) if id.is_none_or(|id| id == lost) => return Err(token::Error::Lost(loss)),
            Wake::Event(_) | Wake::Renewed | Wake::TimedOut => {}
        }
    }
}
