//! `ringctl wait`: until a node is in a state.

use std::path::Path;
use std::time::Duration;

use super::super::watch::{News, Next};
use super::super::{Error, client};
use super::options::Target;
use crate::control::Reply;
use crate::control::lab2::{RingEvent, Status};
use crate::host::spoken;
use crate::sys::clock;

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
                let Status { state, clients, .. } = super::read(&snapshot.status)?;
                (state, clients.iter().any(|client| client.holds))
            }
            Reply::Event(event) => {
                let (Ok(head), Ok(ring)) = (event.head(), event.json().read::<RingEvent>()) else {
                    continue;
                };
                (ring.state, head.event == "lock_granted")
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
