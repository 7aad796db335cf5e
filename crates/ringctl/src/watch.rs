//! `ringctl watch`: events as they happen.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use ring_control::{EventHead, EventMessage, Reply};
use ring_proto::time::Instant;

use super::Error;
use super::client::Plain;
use super::connection::{Connection, Heard};
use super::render::{self, View};

/// Prints events, with or without turns of the token, until the daemon ends.
///
/// # Errors
/// An [`Error`], at the latest when the daemon ends, or that `output` takes nothing.
pub(super) fn watch(
    socket: &Path,
    json: bool,
    from: Option<u64>,
    turns: bool,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let mut news = News::from(socket, from, turns)?;
    let mut next = from;
    // Has the names of the members.
    let mut view = None;
    while let Next::Reply(line, reply) = news.next(None)? {
        match reply {
            Reply::Snapshot(snapshot) => {
                next = Some(snapshot.number + 1);
                if !json {
                    let number = snapshot.number;
                    let shown =
                        render::view(snapshot.status).map_err(|reason| unreadable(&reason))?;
                    writeln!(output, "{number} now {}", shown.line())?;
                    view = Some(shown);
                }
            }
            Reply::Event(event) => {
                let head = event.head().map_err(|reason| unreadable(&reason))?;
                next = Some(head.number + 1);
                if !json {
                    show_event(&event, &head, view.as_deref(), output)?;
                }
            }
            Reply::Error(why) => return Err(Error::Refused(why).into()),
            _ => continue,
        }
        if json {
            output.write_all(&line)?;
            output.write_all(b"\n")?;
        }
        output.flush()?;
    }
    let from = next.map_or_else(String::new, |next| format!(" --from {next}"));
    let turns = if turns { " --turns" } else { "" };
    Err(Error::Gone(format!(
        "ringd has closed the connection; once it runs again, go on with ringctl watch{from}{turns}"
    ))
    .into())
}

/// What a watch has received.
pub(super) enum Next {
    /// A message: its line, and the line decoded.
    Reply(Vec<u8>, Reply),
    /// Nothing before the deadline.
    Late,
    /// The connection has ended.
    End,
}

/// The messages of a daemon.
pub(super) struct News<'a>(Connection<'a>);

impl<'a> News<'a> {
    /// Watches from now on, or from the event of a number on.
    pub(super) fn from(socket: &'a Path, from: Option<u64>, turns: bool) -> Result<Self, Error> {
        let mut daemon = Connection::open(socket)?;
        // If it has no room for one more client, it still says so.
        let _ = daemon.say(&Plain::Watch { from, turns });
        Ok(Self(daemon))
    }

    /// Returns the next message that this version knows, if it comes before the deadline.
    pub(super) fn next(&mut self, deadline: Option<Instant>) -> Result<Next, Error> {
        loop {
            let line = match self.0.hear(|| deadline).map_err(Error::System)? {
                Heard::Line(line) => line,
                Heard::Late => return Ok(Next::Late),
                Heard::End => return Ok(Next::End),
            };
            if let Ok(reply) = serde_json::from_slice(&line) {
                return Ok(Next::Reply(line, reply));
            }
        }
    }
}

fn show_event(
    event: &EventMessage,
    head: &EventHead,
    view: Option<&dyn View>,
    output: &mut impl Write,
) -> io::Result<()> {
    let time = std::time::UNIX_EPOCH + Duration::from_millis(head.time_ms);
    let time = humantime::format_rfc3339_millis(time);
    let text = render::event_text(event, head);
    let text = match view {
        Some(view) => view.named(text),
        None => text,
    };
    writeln!(output, "{} {time} {} {text}", head.number, head.event)
}

fn unreadable(reason: &serde_json::Error) -> Error {
    Error::Unexpected(reason.to_string())
}
