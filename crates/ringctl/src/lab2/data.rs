//! `ringctl data`: reads and writes the bytes that travel with the token.

use std::io::Write;
use std::path::Path;

use ring_control::lab2::RingRequest;
use ring_control::{Reply, Request};
use ring_text::format_bytes;
use ring_text::hex;

use super::super::client::CommonRequest;
use super::super::connection::Connection;
use super::super::prober::Reasons;
use super::super::values::read_data;
use super::super::{Error, client, fence};
use super::options::{AcquireOptions, DataCommand};
use super::requests::refusal_error;

type RingLockRequest = Request<RingRequest>;

const DATA_MAX: usize = 1024;

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
                "-" => read_data(DATA_MAX)?,
                value => value.as_bytes().to_vec(),
            };
            if bytes.len() > DATA_MAX {
                let text = match value.as_str() {
                    // Do not print the length, because the rest of the input was not read.
                    "-" => format!("at most {}", format_bytes(DATA_MAX)),
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
    match client::ask(socket, &CommonRequest::DataGet)? {
        Reply::Data(data) => Ok(data.hex),
        other => Err(Error::from_unexpected_reply(other)),
    }
}

/// Sets the data under the caller's lock, or under a new lock.
fn set(socket: &Path, hex: String, acquire: &AcquireOptions) -> Result<(), Error> {
    let token = fence::caller_lock()?.map(|token| token.to_string());
    if token.is_some() {
        return client::request_done(socket, &CommonRequest::DataSet { hex, token });
    }
    let lock = acquire.request("data set");
    let by = client::answer_deadline(lock.wait_ms);
    let mut daemon = Connection::open_for_lock(socket, "the token".to_owned(), Reasons::All)?;
    match daemon.ask(&RingLockRequest::Lock(lock), by)? {
        Reply::Granted(_) => daemon.on_token_granted(),
        Reply::Refused(refusal) => return Err(refusal_error(refusal, acquire)),
        other => return Err(Error::from_unexpected_reply(other)),
    }
    let set = CommonRequest::DataSet { hex, token };
    let is_set = match daemon.ask(&set, Some(client::step_deadline()))? {
        Reply::Done {} => Ok(()),
        other => Err(Error::from_unexpected_reply(other)),
    };
    // Wait for the release. Otherwise, the next command might find the lock still held.
    let unlocked = daemon.ask(
        &CommonRequest::Unlock { exit: None },
        Some(client::step_deadline()),
    );
    is_set.and(unlocked.map(drop))
}
