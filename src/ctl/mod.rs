//! `ringctl`: finds the daemon, asks it, and shows the answer.

mod client;
mod discover;
mod error;
mod options;
mod render;

use std::io::Write;
use std::path::{Path, PathBuf};

pub use error::Error;
pub use options::{Command, Options};

use crate::control::{CONTROL_DIR, Reply, Request};

/// Does what the options say, and prints to `output`.
///
/// # Errors
/// No daemon is found or reached, it answers with an error, or `output` takes nothing.
pub fn run(options: &Options, output: &mut impl Write) -> Result<(), Error> {
    let socket = socket(options)?;
    let Command::Status { json } = options.command;
    let Reply::Status(status) = client::ask(&socket, &Request::Status)? else {
        return Err(Error::Refused("something other than a status".to_owned()));
    };
    if json {
        serde_json::to_writer_pretty(&mut *output, &status).map_err(std::io::Error::from)?;
        writeln!(output)?;
    } else {
        render::status(&status, output)?;
    }
    Ok(output.flush()?)
}

fn socket(options: &Options) -> Result<PathBuf, Error> {
    let directory = Path::new(CONTROL_DIR);
    match (&options.socket, &options.interface) {
        (Some(path), _) => Ok(path.clone()),
        (None, Some(interface)) => Ok(directory.join(format!("{interface}.sock"))),
        (None, None) => discover::only_socket(directory),
    }
}
