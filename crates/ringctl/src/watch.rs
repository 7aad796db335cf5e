//! `ringctl watch`: prints events as they happen.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use ring_control::{EventHead, EventMessage, Reply};
use ring_proto::time::Instant;

use super::Error;
use super::client::CommonRequest;
use super::connection::{Connection, Received};
use super::render::{self, View};

/// Prints events until the daemon ends. With `turns`, also prints the handovers of the token.
///
/// # Errors
/// This function always ends with an error. It fails when the daemon ends, or if `output` cannot be written.
pub(super) fn watch(
    socket: &Path,
    json: bool,
    from: Option<u64>,
    turns: bool,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let mut events = EventStream::open(socket, from, turns)?;
    let mut next = from;
    // The snapshot has a view, which contains the names of the members.
    let mut view = None;
    while let WatchInput::Reply(line, reply) = events.next(None)? {
        match reply {
            Reply::Snapshot(snapshot) => {
                next = Some(snapshot.number + 1);
                if !json {
                    let number = snapshot.number;
                    let shown = render::view(snapshot.status)
                        .map_err(|reason| unexpected_reply(&reason))?;
                    writeln!(output, "{number} now {}", shown.summary())?;
                    view = Some(shown);
                }
            }
            Reply::Event(event) => {
                let head = event.head().map_err(|reason| unexpected_reply(&reason))?;
                next = Some(head.number + 1);
                if !json {
                    write_event(&event, &head, view.as_deref(), output)?;
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
        "ringd has closed the connection; when it runs again, continue with ringctl watch{from}{turns}"
    ))
    .into())
}

pub(super) enum WatchInput {
    /// A message: the received line, and its decoded form.
    Reply(Vec<u8>, Reply),
    TimedOut,
    Closed,
}

pub(super) struct EventStream<'a>(Connection<'a>);

impl<'a> EventStream<'a> {
    /// Starts a watch. If `from` is given, begins with the event that has this number.
    pub(super) fn open(socket: &'a Path, from: Option<u64>, turns: bool) -> Result<Self, Error> {
        let mut daemon = Connection::open(socket)?;
        // Ignore errors: a daemon that cannot serve another client closes the connection, but sends an answer before.
        let _ = daemon.send(&CommonRequest::Watch { from, turns });
        Ok(Self(daemon))
    }

    /// Returns the next message, or reports that the deadline has passed. Skips messages that this version of `ringctl`
    /// does not know.
    pub(super) fn next(&mut self, deadline: Option<Instant>) -> Result<WatchInput, Error> {
        loop {
            let line = match self.0.receive(|| deadline).map_err(Error::System)? {
                Received::Line(line) => line,
                Received::TimedOut => return Ok(WatchInput::TimedOut),
                Received::Closed => return Ok(WatchInput::Closed),
            };
            if let Ok(reply) = serde_json::from_slice(&line) {
                return Ok(WatchInput::Reply(line, reply));
            }
        }
    }
}

fn write_event(
    event: &EventMessage,
    head: &EventHead,
    view: Option<&dyn View>,
    output: &mut impl Write,
) -> io::Result<()> {
    let time = std::time::UNIX_EPOCH + Duration::from_millis(head.time_ms);
    let time = humantime::format_rfc3339_millis(time);
    let text = render::event_text(event, head, view);
    writeln!(output, "{} {time} {} {text}", head.number, head.event)
}

fn unexpected_reply(reason: &serde_json::Error) -> Error {
    Error::Unexpected(reason.to_string())
}
