//! `ringctl data`: the bytes that travel with the token.

use std::io::Write;
use std::path::Path;

use ring_control::lab2::RingRequest;
use ring_control::{Reply, Request};
use ring_text::format_bytes;
use ring_text::hex;

use super::super::client::Plain;
use super::super::connection::Connection;
use super::super::prober::Reasons;
use super::super::values::read_data;
use super::super::{Error, client, fence};
use super::asking::lock_denied;
use super::options::{Acquire, DataCommand};

/// As a node of a ring is asked for its lock.
type RingLock = Request<RingRequest>;

/// Maximum length of a token's data in bytes.
const MOST: usize = 1024;

/// Gets or sets the data.
///
/// # Errors
/// An [`Error`], or that `output` takes nothing.
pub(super) fn data(
    socket: &Path,
    command: &DataCommand,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    match command {
        DataCommand::Get { raw } => {
            let digits = get(socket)?;
            if *raw {
                let bytes = hex::decode(&digits).ok_or(Error::Unexpected(digits))?;
                output.write_all(&bytes)?;
            } else {
                writeln!(output, "{digits}")?;
            }
            output.flush()?;
        }
        DataCommand::Set { value, acquire } => {
            let bytes = match value.as_str() {
                "-" => read_data(MOST)?,
                value => value.as_bytes().to_vec(),
            };
            if bytes.len() > MOST {
                let text = match value.as_str() {
                    // The rest was not read.
                    "-" => format!("at most {}", format_bytes(MOST)),
                    _ => format!("{}, at most 1,024", format_bytes(bytes.len())),
                };
                return Err(Error::TooMuch(text).into());
            }
            set(socket, hex::encode(&bytes), acquire)?;
        }
    }
    Ok(())
}

fn get(socket: &Path) -> Result<String, Error> {
    match client::ask(socket, &Plain::DataGet)? {
        Reply::Data(data) => Ok(data.hex),
        other => Err(Error::unexpected(other)),
    }
}

/// Sets the data under the caller's lock, or under one of its own.
fn set(socket: &Path, hex: String, acquire: &Acquire) -> Result<(), Error> {
    let token = fence::lock_of_caller()?.map(|token| token.to_string());
    if token.is_some() {
        return client::done(socket, &Plain::DataSet { hex, token });
    }
    let lock = acquire.request("data set");
    let by = client::answers_by(lock.wait_ms);
    let mut daemon = Connection::for_the_token(socket, Reasons::All)?;
    match daemon.ask(&RingLock::Lock(lock), by)? {
        Reply::Granted(_) => daemon.has_the_token(),
        Reply::Refused(refusal) => return Err(lock_denied(refusal, acquire)),
        other => return Err(Error::unexpected(other)),
    }
    let set = Plain::DataSet { hex, token };
    let is_set = match daemon.ask(&set, Some(client::answers_soon()))? {
        Reply::Done {} => Ok(()),
        other => Err(Error::unexpected(other)),
    };
    // The next command must not find the lock still held.
    let is_free = daemon.ask(&Plain::Unlock { exit: None }, Some(client::answers_soon()));
    is_set.and(is_free.map(drop))
}
