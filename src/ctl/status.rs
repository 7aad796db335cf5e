//! `ringctl status`.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;

use super::client::{self, Plain};
use super::systems::{self, View};
use super::{Error, render};
use crate::control::Reply;

/// The exit code for a node that is not healthy: one of a ring that is in none.
const NOT_HEALTHY: u8 = 5;

/// How a status is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// Not at all.
    No,
    /// As a page for people.
    Page,
    /// As JSON.
    Json,
}

/// Shows a node's status, and returns an exit code by whether the node is healthy.
///
/// # Errors
/// An [`Error`], or that `output` takes nothing.
pub(super) fn status(socket: &Path, shown: Shown, output: &mut impl Write) -> anyhow::Result<u8> {
    let view = ask(socket)?;
    show(&*view, shown, output).context("cannot write the answer")?;
    Ok(if view.is_healthy() { 0 } else { NOT_HEALTHY })
}

fn ask(socket: &Path) -> Result<Box<dyn View>, Error> {
    match client::ask(socket, &Plain::Status)? {
        Reply::Status(status) => systems::view(status).map_err(|reason| Error::Reply {
            path: socket.to_owned(),
            reason,
        }),
        Reply::Error(why) => Err(Error::Refused(why)),
        other => Err(Error::Unexpected(format!("{other:?}"))),
    }
}

fn show(view: &dyn View, shown: Shown, output: &mut impl Write) -> io::Result<()> {
    match shown {
        Shown::No => return Ok(()),
        Shown::Page => view.show(output)?,
        Shown::Json => render::json(view.json().json(), output)?,
    }
    output.flush()
}
