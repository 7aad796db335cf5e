//! `ringctl`: finds the daemon, asks it, and shows the answer.

mod client;
mod discover;
mod error;
mod options;
mod render;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub use error::Error;
pub use options::{Command, Options};

use crate::control::{CONTROL_DIR, Reply, Request, Status};

/// Asks the daemon that the options choose.
///
/// # Errors
/// No daemon is found or reached, or it answers with an error.
pub fn ask(options: &Options) -> Result<Status, Error> {
    let Command::Status { .. } = options.command;
    match client::ask(&socket(options)?, &Request::Status)? {
        Reply::Status(status) => Ok(*status),
        Reply::Error(why) => Err(Error::Refused(why)),
        other => Err(Error::Unexpected(format!("{other:?}"))),
    }
}

/// Prints the answer to `output` in the form that the options choose.
///
/// # Errors
/// `output` takes nothing.
pub fn show(status: &Status, options: &Options, output: &mut impl Write) -> io::Result<()> {
    let Command::Status { json } = options.command;
    if json {
        serde_json::to_writer_pretty(&mut *output, status)?;
        writeln!(output)?;
    } else {
        render::status(status, output)?;
    }
    output.flush()
}

fn socket(options: &Options) -> Result<PathBuf, Error> {
    let directory = Path::new(CONTROL_DIR);
    match (&options.socket, &options.interface) {
        (Some(path), _) => Ok(path.clone()),
        (None, Some(interface)) => Ok(directory.join(format!("{interface}.sock"))),
        (None, None) => discover::only_socket(directory),
    }
}
