//! A token for a command that needs no keeper.

use ring_client::token::{self, Session};

use super::super::Error;
use super::client::{Interrupted, failed};
use super::holders;
use super::name::Name;
use super::options::Acquire;

/// Requests a token for this command and waits for it.
pub(super) fn acquire(
    session: &mut Session,
    acquire: &Acquire,
    name: &Name,
    access: token::Access,
) -> anyhow::Result<token::Grant> {
    match session.acquire(name.bytes(), access, acquire.wait_limits()) {
        Ok(grant) => Ok(grant),
        Err(token::Error::Interrupted) => Err(Interrupted.into()),
        Err(token::Error::NotGranted) => Err(Error::NotAcquired {
            text: holders::busy(session, name),
            code: acquire.conflict_exit_code,
        }
        .into()),
        Err(error) => Err(failed(error).into()),
    }
}
