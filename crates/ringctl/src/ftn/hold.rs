//! `ringctl token hold`: a token for a script that cannot wrap a command.

use std::io::Write;

use ring_client::token::{self, Access, Event, Session, Wake};

use super::acquiring::acquire;
use super::client::{Client, Outcome, failed};
use super::name::Name;
use super::nested;
use super::options::Acquire;

/// What is held, and how.
pub(super) struct Hold<'a> {
    pub(super) name: &'a Name,
    pub(super) access: Access,
    /// Until another client waits for it, and not only until a signal.
    pub(super) until_revoked: bool,
}

/// Holds a token, and says so.
///
/// # Errors
/// It is not granted or lost, or `output` takes nothing.
pub(super) fn hold(
    client: &Client,
    how: &Acquire,
    hold: &Hold,
    output: &mut impl Write,
) -> anyhow::Result<u8> {
    nested::check(&client.servers.resolved, hold.name, hold.access)?;
    let done = client.with_session(&how.introduction("ringctl token hold"), |session| {
        let grant = acquire(session, how, hold.name, hold.access)?;
        writeln!(output, "granted {}", grant.fence)?;
        output.flush()?;
        until_enough(session, hold).map_err(failed)?;
        session.release(hold.name.bytes(), None).map_err(failed)?;
        writeln!(output, "returned")?;
        Ok(output.flush()?)
    })?;
    Ok(match done {
        Outcome::Done(()) => 0,
        Outcome::Stopped(code) => code,
    })
}

/// Waits for a signal, or for somebody else who waits for the token.
fn until_enough(session: &mut Session, hold: &Hold) -> Result<(), token::Error> {
    let id = session.id();
    loop {
        match session.next(None)? {
            Wake::Ready => return Ok(()),
            Wake::Event(Event::Revoked { .. }) if hold.until_revoked => return Ok(()),
            Wake::Event(Event::Lost {
                session: lost,
                loss,
            }) if id.is_none_or(|id| id == lost) => return Err(token::Error::Lost(loss)),
            Wake::Event(_) | Wake::Renewed | Wake::Late => {}
        }
    }
}
