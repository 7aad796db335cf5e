//! `ringctl status`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use ring_control::{Health, Reply, Verdict, escape_control_characters};

use super::Error;
use super::client::{self, CommonRequest};
use super::render::{self, View};

/// The exit code while the health of a node is critical.
pub(super) const CRITICAL: u8 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Nothing,
    Page,
    Json,
}

/// Prints a node's status. Returns exit code 5 if the node's health is critical.
pub(super) fn status(socket: &Path, format: Format, output: &mut impl Write) -> anyhow::Result<u8> {
    let view = fetch_view(socket)?;
    write_view(&*view, format, output).context("cannot write the answer")?;
    let is_critical = view.node().verdict().health == Health::Critical;
    Ok(if is_critical { CRITICAL } else { 0 })
}

/// Prints one line for a monitor. Returns the exit code that monitoring plugins use for this health.
pub(super) fn check(socket: Result<PathBuf, Error>, output: &mut impl Write) -> anyhow::Result<u8> {
    let (health, text) = match socket.and_then(|socket| fetch_view(&socket)) {
        Ok(view) => {
            let Verdict { health, troubles } = view.node().verdict();
            let troubles: Vec<String> = troubles
                .iter()
                .map(|it| escape_control_characters(it))
                .collect();
            let text = match troubles.as_slice() {
                [] => view.summary(),
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

fn fetch_view(socket: &Path) -> Result<Box<dyn View>, Error> {
    match client::ask(socket, &CommonRequest::Status)? {
        Reply::Status(status) => render::view(status).map_err(|reason| Error::Reply {
            path: socket.to_owned(),
            reason,
        }),
        other => Err(Error::from_unexpected_reply(other)),
    }
}

fn write_view(view: &dyn View, format: Format, output: &mut impl Write) -> io::Result<()> {
    match format {
        Format::Nothing => return Ok(()),
        Format::Page => view.write_page(output)?,
        Format::Json => render::write_json(view.node().json(), output)?,
    }
    output.flush()
}
