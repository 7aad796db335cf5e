//! `ringctl status`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use ring_control::{Health, Reply, Verdict, harmless};

use super::Error;
use super::client::{self, Plain};
use super::render::{self, View};

/// The exit code for a node whose health is critical.
const CRITICAL: u8 = 5;

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

/// Shows a node's status, and returns an exit code by the node's health.
///
/// # Errors
/// An [`Error`], or that `output` takes nothing.
pub(super) fn status(socket: &Path, shown: Shown, output: &mut impl Write) -> anyhow::Result<u8> {
    let view = ask(socket)?;
    show(&*view, shown, output).context("cannot write the answer")?;
    let is_critical = view.verdict().health == Health::Critical;
    Ok(if is_critical { CRITICAL } else { 0 })
}

/// Prints a line for a monitor, and returns the exit code that monitoring plugins have for it.
///
/// # Errors
/// `output` takes nothing.
pub(super) fn check(socket: Result<PathBuf, Error>, output: &mut impl Write) -> anyhow::Result<u8> {
    let (health, text) = match socket.and_then(|socket| ask(&socket)) {
        Ok(view) => {
            let Verdict { health, troubles } = view.verdict();
            let troubles: Vec<String> = troubles.iter().map(|it| harmless(it)).collect();
            let text = match troubles.as_slice() {
                [] => view.line(),
                troubles => troubles.join("; "),
            };
            (health, text)
        }
        Err(error) => (Health::Critical, one_line(&error)),
    };
    let (word, code) = match health {
        Health::Healthy => ("OK", 0),
        Health::Degraded => ("WARNING", 1),
        Health::Critical => ("CRITICAL", 2),
    };
    writeln!(output, "RINGD {word} - {text}").context("cannot write the answer")?;
    Ok(code)
}

fn one_line(error: &Error) -> String {
    let lines: Vec<String> = error
        .to_string()
        .lines()
        .map(|it| it.trim().to_owned())
        .collect();
    lines.join(" ")
}

fn ask(socket: &Path) -> Result<Box<dyn View>, Error> {
    match client::ask(socket, &Plain::Status)? {
        Reply::Status(status) => render::view(status).map_err(|reason| Error::Reply {
            path: socket.to_owned(),
            reason,
        }),
        other => Err(Error::unexpected(other)),
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
