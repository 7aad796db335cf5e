//! `ringctl wait --quorum`: waits until the members that this node hears are a quorum.

use std::path::Path;
use std::thread;
use std::time::Duration;

use ring_control::lab2::Status;
use ring_control::{NodeStatus, Reply, escape_control_characters};
use ring_runtime::clock;
use ring_text::format_duration;

use super::super::Error;
use super::super::client::{self, CommonRequest};
use super::super::connection::Connection;
use super::super::render::quorum_obstacle;

/// Time between two requests for the status. Polling is necessary, because the daemon sends no event when a member
/// becomes present again.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Waits until the node is in a ring with a quorum.
pub(super) fn wait(socket: &Path, timeout: Option<Duration>) -> Result<(), Error> {
    let deadline = timeout.map(|timeout| clock::now().monotonic + timeout);
    let mut daemon = Connection::open(socket)?;
    loop {
        let by = client::step_deadline();
        let status = match daemon.ask(&CommonRequest::Status, Some(by))? {
            Reply::Status(status) => status,
            Reply::Error(why) => return Err(Error::Refused(why)),
            other => return Err(Error::from_unexpected_reply(other)),
        };
        let Some(last) = quorum_obstacle(&read(&status)?) else {
            return Ok(());
        };
        let now = clock::now().monotonic;
        let left = deadline.map_or(POLL_INTERVAL, |deadline| deadline.since(now));
        if left.is_zero() {
            let after = format_duration(timeout.unwrap_or_default());
            return Err(Error::NotYet { after, last });
        }
        thread::sleep(left.min(POLL_INTERVAL));
    }
}

fn read(status: &NodeStatus) -> Result<Status, Error> {
    if let Some(system) = status.system() {
        let system = escape_control_characters(&system);
        return Err(Error::Refused(format!(
            "cannot wait: a node of {system} knows no quorum"
        )));
    }
    let read = status.json().decode();
    read.map_err(|error: serde_json::Error| Error::Unexpected(error.to_string()))
}
