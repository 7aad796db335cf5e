//! `ringctl token get` and `set`: read and write a token's data.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use ring_client::token::{self, Access, DATA_BYTES_MAX};
use ring_proto::time::Instant;
use ring_runtime::clock;
use ring_text::format_bytes;

use super::super::Error;
use super::super::values::read_data;
use super::acquire::acquire_token;
use super::client::{Interrupted, Outcome, ServiceClient, session_error};
use super::name::TokenName;
use super::nested;
use super::options::AcquireOptions;

pub(super) fn get(
    client: &ServiceClient,
    options: &AcquireOptions,
    name: &TokenName,
    output: &mut impl Write,
) -> anyhow::Result<u8> {
    nested::refuse_nested(&client.servers.resolved, name, Access::Shared)?;
    let done = client.with_session(&options.introduction("ringctl token get"), |session| {
        let grant = acquire_token(session, options, name, Access::Shared)?;
        // If the release fails because the session is lost, the data are still correct, because they were read while
        // the session held the token.
        match session.release_by(
            name.bytes(),
            None,
            deadline(options, clock::now().monotonic),
        ) {
            Err(token::Error::Interrupted) => Err(Interrupted.into()),
            _ => Ok(grant.data),
        }
    })?;
    match done {
        // Empty data may mean that the data were never set, or that they were lost with a server. The servers cannot
        // distinguish these cases.
        Outcome::Done(data) if data.is_empty() => {
            let text = format!(
                "{name} has no data: no client has set any, or a server has lost them (see the servers' logs); set \
                 them again"
            );
            Err(Error::NoData(text).into())
        }
        Outcome::Done(data) => {
            output.write_all(&data)?;
            output.flush()?;
            Ok(0)
        }
        Outcome::Stopped(code) => Ok(code),
    }
}

/// Sets a token's data. If `data` is missing or `-`, reads the data from standard input.
///
/// # Errors
/// Fails if the data are too long, if the token is not granted, or if it is unknown whether the data were set.
pub(super) fn set(
    client: &ServiceClient,
    options: &AcquireOptions,
    name: &TokenName,
    data: Option<&OsStr>,
) -> anyhow::Result<u8> {
    nested::refuse_nested(&client.servers.resolved, name, Access::Exclusive)?;
    let data = match data {
        Some(data) if data != "-" => data.as_bytes().to_vec(),
        _ => read_data(DATA_BYTES_MAX)?,
    };
    if data.len() > DATA_BYTES_MAX {
        let most = format_bytes(DATA_BYTES_MAX);
        let text = format!("data too long: a token has at most {most}");
        return Err(Error::Usage(text).into());
    }
    let done = client.with_session(&options.introduction("ringctl token set"), |session| {
        let until = deadline(options, clock::now().monotonic);
        acquire_token(session, options, name, Access::Exclusive)?;
        let set = session.release_by(name.bytes(), Some(&data), until);
        match set {
            Ok(()) => Ok(()),
            Err(token::Error::Interrupted) => Err(Interrupted.into()),
            Err(error @ token::Error::NotConfirmed) => Err(Error::NotAcquired {
                text: format!("{error}; it is unknown whether the data were set"),
                code: options.conflict_exit_code,
            }
            .into()),
            Err(error) => Err(match session_error(error) {
                Error::HoldLost(why) => {
                    Error::HoldLost(format!("{why}; it is unknown whether the data were set"))
                }
                other => other,
            }
            .into()),
        }
    })?;
    Ok(match done {
        Outcome::Done(()) => 0,
        Outcome::Stopped(code) => code,
    })
}

/// Returns the time until which a command that began at `began` may wait.
fn deadline(options: &AcquireOptions, began: Instant) -> Option<Instant> {
    let longest = options.wait_limits().total_max();
    longest.map(|longest| began + longest)
}
