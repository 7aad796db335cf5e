//! `ringctl wait`: waits until a node is in a state. The command works for every system whose status and events contain
//! the key `state`.

use std::path::Path;
use std::time::Duration;

use ring_control::{NodeStatus, Reply, escape_control_characters};
use ring_runtime::clock;
use ring_text::format_duration;
use serde::Deserialize;

use super::super::nodes::{has_waitable_state, waitable_states};
use super::super::watch::{EventStream, WatchInput};
use super::super::{Error, client};
use super::options::Target;

/// The keys of a status or an event that `ringctl wait` reads.
#[derive(Debug, Deserialize)]
struct WaitedKeys {
    state: String,
    #[serde(default)]
    clients: Vec<WaitedClient>,
    /// The name of the lock that an event is about; `None` for the token.
    #[serde(default)]
    name: Option<String>,
}

#[derive(Debug, Deserialize)]
struct WaitedClient {
    holds: bool,
}

/// Waits until the node is in a state.
pub(super) fn wait(socket: &Path, target: Target, timeout: Option<Duration>) -> Result<(), Error> {
    let deadline = timeout.map(|timeout| clock::now().monotonic + timeout);
    let mut events = EventStream::open(socket, None, true)?;
    let mut last = String::from("its state is unknown");
    loop {
        let reply = match events.next(deadline)? {
            WatchInput::Reply(_, reply) => reply,
            WatchInput::TimedOut => {
                let after = format_duration(timeout.unwrap_or_default());
                return Err(Error::NotYet { after, last });
            }
            WatchInput::Closed => break,
        };
        let (state, is_held) = match reply {
            Reply::Snapshot(snapshot) => {
                check_target(target, &snapshot.status)?;
                let read = snapshot.status.json().decode();
                let WaitedKeys { state, clients, .. } =
                    read.map_err(|error: serde_json::Error| Error::Unexpected(error.to_string()))?;
                (state, clients.iter().any(|client| client.holds))
            }
            Reply::Event(event) => {
                let (Ok(head), Ok(keys)) = (event.head(), event.json().decode::<WaitedKeys>())
                else {
                    continue;
                };
                // Events about named locks have a name.
                (
                    keys.state,
                    head.event == "lock_granted" && keys.name.is_none(),
                )
            }
            Reply::Error(why) => return Err(Error::Refused(why)),
            _ => continue,
        };
        if target.is_reached(&state, is_held) {
            return Ok(());
        }
        last = format!("this node is {state}");
    }
    Err(Error::Gone(client::HUNG_UP_TEXT.to_owned()))
}

/// Refuses a state that does not exist in this system.
fn check_target(target: Target, status: &NodeStatus) -> Result<(), Error> {
    let system = status.system();
    if has_waitable_state(system.as_deref(), &target.name()) {
        return Ok(());
    }
    let known = waitable_states(system.as_deref());
    let (wanted, system) = (target.name(), system.unwrap_or_default());
    let system = if system.is_empty() {
        "a ring".to_owned()
    } else {
        escape_control_characters(&system)
    };
    Err(Error::Refused(match known {
        [] => format!("cannot wait: a node of {system} has no states to wait for"),
        known => format!(
            "cannot wait: a node of {system} has no state {wanted}; wait for one of {}",
            known.join(", ")
        ),
    }))
}
