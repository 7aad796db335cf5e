//! Acquires a token for the subcommands that use no keeper.

use ring_client::token::{self, Session};

use super::super::Error;
use super::busy;
use super::client::{Interrupted, session_error};
use super::name::TokenName;
use super::options::AcquireOptions;

pub(super) fn acquire_token(
    session: &mut Session,
    options: &AcquireOptions,
    name: &TokenName,
    access: token::Access,
) -> anyhow::Result<token::Grant> {
    match session.acquire(name.bytes(), access, options.wait_limits()) {
        Ok(grant) => Ok(grant),
        Err(token::Error::Interrupted) => Err(Interrupted.into()),
        Err(token::Error::NotGranted) => Err(Error::NotAcquired {
            text: busy::busy_text(session, name),
            code: options.conflict_exit_code,
        }
        .into()),
        Err(error) => Err(session_error(error).into()),
    }
}
