//! `ringctl wait`: until a node is in a state. Any system will do whose status and events have it in `state`.

use std::path::Path;
use std::time::Duration;

use ring_control::{NodeStatus, Reply, harmless};
use ring_runtime::clock;
use ring_text::format_duration;
use serde::Deserialize;

use super::super::nodes::{can_be, waited_for};
use super::super::watch::{News, Next};
use super::super::{Error, client};
use super::options::Target;

/// What of a status, or of an event, is waited for.
#[derive(Debug, Deserialize)]
struct Standing {
    state: String,
    #[serde(default)]
    clients: Vec<Holding>,
}

/// A program of the machine.
#[derive(Debug, Deserialize)]
struct Holding {
    holds: bool,
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
                let after = format_duration(timeout.unwrap_or_default());
                return Err(Error::NotYet { after, last });
            }
            Next::End => break,
        };
        let (state, is_held) = match reply {
            Reply::Snapshot(snapshot) => {
                check(target, &snapshot.status)?;
                let read = snapshot.status.json().read();
                let Standing { state, clients } =
                    read.map_err(|error: serde_json::Error| Error::Unexpected(error.to_string()))?;
                (state, clients.iter().any(|client| client.holds))
            }
            Reply::Event(event) => {
                let (Ok(head), Ok(standing)) = (event.head(), event.json().read::<Standing>())
                else {
                    continue;
                };
                (standing.state, head.event == "lock_granted")
            }
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

/// Refuses what a node of this system never is.
fn check(target: Target, status: &NodeStatus) -> Result<(), Error> {
    let system = status.system();
    if can_be(system.as_deref(), &target.name()) {
        return Ok(());
    }
    let known = waited_for(system.as_deref());
    let (wanted, system) = (target.name(), system.unwrap_or_default());
    let system = if system.is_empty() {
        "a ring".to_owned()
    } else {
        harmless(&system)
    };
    Err(Error::Refused(match known {
        [] => format!("a node of {system} has no states to wait for"),
        known => format!(
            "a node of {system} is never seen as {wanted}: wait for one of {}",
            known.join(", ")
        ),
    }))
}
