//! `ringctl watch` and `ringctl wait`: events as they happen.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use ring_proto::time::Instant;

use super::connection::{Connection, Heard};
use super::options::Target;
use super::{Error, client};
use crate::control::{EventMessage, Reply, Request, Snapshot, Status, TokenStatus, harmless};
use crate::host::spoken;
use crate::sys::clock;

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
    while let Next::Reply(line, reply) = news.next(None)? {
        let number = match &reply {
            Reply::Snapshot(snapshot) => snapshot.number,
            Reply::Event(event) => event.number,
            Reply::Error(why) => return Err(Error::Refused(why.clone()).into()),
            _ => continue,
        };
        next = Some(number + 1);
        match reply {
            _ if json => {
                output.write_all(&line)?;
                output.write_all(b"\n")?;
            }
            Reply::Snapshot(snapshot) => show_snapshot(&snapshot, output)?,
            Reply::Event(event) => show_event(&event, output)?,
            _ => {}
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

/// Waits until the node is in a state.
///
/// # Errors
/// The node did not reach it within `timeout`, or an [`Error`] of asking.
pub(super) fn wait(socket: &Path, target: Target, timeout: Option<Duration>) -> Result<(), Error> {
    let deadline = timeout.map(|timeout| clock::now().monotonic + timeout);
    let mut news = News::from(socket, None, true)?;
    let mut last = String::from("its state is unknown");
    loop {
        let reply = match news.next(deadline)? {
            Next::Reply(_, reply) => reply,
            Next::Late => {
                let after = spoken(timeout.unwrap_or_default());
                return Err(Error::NotYet { after, last });
            }
            Next::End => break,
        };
        let (state, is_held) = match reply {
            Reply::Snapshot(snapshot) => {
                let Status { state, clients, .. } = snapshot.status;
                (state, clients.iter().any(|client| client.holds))
            }
            Reply::Event(event) => (event.state, event.event == "lock_granted"),
            Reply::Error(why) => return Err(Error::Refused(why)),
            _ => continue,
        };
        if target.is(&state, is_held) {
            return Ok(());
        }
        last = format!("this node is {state}");
    }
    Err(Error::Gone(client::HUNG_UP.to_owned()))
}

/// What a watch has received.
enum Next {
    /// A message: its line, and the line decoded.
    Reply(Vec<u8>, Reply),
    /// Nothing before the deadline.
    Late,
    /// The connection has ended.
    End,
}

/// The messages of a daemon.
struct News<'a>(Connection<'a>);

impl<'a> News<'a> {
    fn from(socket: &'a Path, from: Option<u64>, turns: bool) -> Result<Self, Error> {
        let mut daemon = Connection::open(socket)?;
        // If it has no room for one more client, it still says so.
        let _ = daemon.say(&Request::Watch { from, turns });
        Ok(Self(daemon))
    }

    /// Returns the next message that this version knows, if it comes before the deadline.
    fn next(&mut self, deadline: Option<Instant>) -> Result<Next, Error> {
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

fn show_snapshot(snapshot: &Snapshot, output: &mut impl Write) -> io::Result<()> {
    let status = &snapshot.status;
    writeln!(
        output,
        "{} now {} token {} owner {} members {}",
        snapshot.number,
        status.state,
        token(status.token.as_ref()),
        owner(status.owner.as_deref()),
        status.members.len()
    )
}

fn show_event(event: &EventMessage, output: &mut impl Write) -> io::Result<()> {
    let time = std::time::UNIX_EPOCH + Duration::from_millis(event.time_ms);
    let time = humantime::format_rfc3339_millis(time);
    write!(output, "{} {time} {}", event.number, event.event)?;
    match &event.from {
        Some(from) => write!(output, " {from}->{}", event.state)?,
        None => write!(output, " {}", event.state)?,
    }
    let token = token(event.token.as_ref());
    let owner = owner(event.owner.as_deref());
    write!(output, " token {token} owner {owner} grade {}", event.grade)?;
    let details = [
        ("reason", &event.reason),
        ("member", &event.member),
        ("label", &event.label),
    ];
    for (name, value) in details {
        if let Some(value) = value {
            write!(output, " {name} {}", harmless(value))?;
        }
    }
    if event.others > 0 {
        write!(output, " others {}", event.others)?;
    }
    writeln!(output)
}

fn token(token: Option<&TokenStatus>) -> String {
    token.map_or_else(
        || "none".to_owned(),
        |token| format!("{}-{}-{}", token.progress, token.author, token.number),
    )
}

fn owner(owner: Option<&str>) -> &str {
    owner.unwrap_or("unknown")
}
