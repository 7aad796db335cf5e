//! `ringctl token get` and `set`: a token's data.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use ring_client::token::{self, Access, MAX_DATA};
use ring_proto::time::Instant;
use ring_runtime::clock;
use ring_text::format_bytes;

use super::super::Error;
use super::super::values::read_data;
use super::acquiring::acquire;
use super::client::{Client, Interrupted, Outcome, failed};
use super::name::Name;
use super::nested;
use super::options::Acquire;

/// Prints a token's data.
///
/// # Errors
/// An [`Error`], that there are none, or that `output` takes nothing.
pub(super) fn get(
    client: &Client,
    how: &Acquire,
    name: &Name,
    output: &mut impl Write,
) -> anyhow::Result<u8> {
    nested::check(&client.servers.resolved, name, Access::Shared)?;
    let done = client.with_session(&how.introduction("ringctl token get"), |session| {
        let grant = acquire(session, how, name, Access::Shared)?;
        // What was read was the token's data, whatever becomes of the session.
        match session.release_by(name.bytes(), None, by(how, clock::now().monotonic)) {
            Err(token::Error::Interrupted) => Err(Interrupted.into()),
            _ => Ok(grant.data),
        }
    })?;
    match done {
        // Nobody can tell data that were lost with a server from data that were never set.
        Outcome::Done(data) if data.is_empty() => {
            let text = format!(
                "{name} has no data: none were set, or they were lost with a server, whose log or heir's log says so; set \
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

/// Sets a token's data. Without any, or with `-`, they are those of standard input.
///
/// # Errors
/// They are too many, the token is not granted, or it is not known whether they were set.
pub(super) fn set(
    client: &Client,
    how: &Acquire,
    name: &Name,
    data: Option<&OsStr>,
) -> anyhow::Result<u8> {
    nested::check(&client.servers.resolved, name, Access::Exclusive)?;
    let data = match data {
        Some(data) if data != "-" => data.as_bytes().to_vec(),
        _ => read_data(MAX_DATA)?,
    };
    if data.len() > MAX_DATA {
        let most = format_bytes(MAX_DATA);
        let text = format!("data too long: a token has at most {most}");
        return Err(Error::Usage(text).into());
    }
    let done = client.with_session(&how.introduction("ringctl token set"), |session| {
        let until = by(how, clock::now().monotonic);
        acquire(session, how, name, Access::Exclusive)?;
        let set = session.release_by(name.bytes(), Some(&data), until);
        match set {
            Ok(()) => Ok(()),
            Err(token::Error::Interrupted) => Err(Interrupted.into()),
            Err(error @ token::Error::NotConfirmed) => Err(Error::NotAcquired {
                text: format!("{error}; whether the data were set is not known"),
                code: how.conflict_exit_code,
            }
            .into()),
            Err(error) => Err(match failed(error) {
                Error::HoldLost(why) => {
                    Error::HoldLost(format!("{why}; whether the data were set is not known"))
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

/// Until when a command that began at `began` may last, its end not included.
fn by(how: &Acquire, began: Instant) -> Option<Instant> {
    let longest = how.wait_limits().longest();
    longest.map(|longest| began + longest)
}
