//! `ringctl pause`: keeps the token away from a machine, for maintenance.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use ring_control::lab2::{PauseRequest, RingRequest};
use ring_control::{Reply, Request};
use ring_proto::time::Instant;
use ring_runtime::clock;

use super::super::connection::Connection;
use super::super::values::duration_ms;
use super::super::{Error, client, fence};
use super::options::PauseOptions;
use super::requests::fetch_status;

/// Time after which the obstacle is printed, if the pause is still not complete. A holder needs up to one second to end
/// its work.
const EXPLAIN_AFTER: Duration = Duration::from_secs(2);

/// Pauses the node, and waits until it no longer owns the token. The options of the command limit the wait.
pub(super) fn pause(socket: &Path, options: &PauseOptions, quiet: bool) -> Result<(), Error> {
    let wait = match options.wait {
        None => EXPLAIN_AFTER,
        Some(wait) => wait.unwrap_or(Duration::MAX),
    };
    // A program that holds the lock may request a pause, but must not wait for it, because it would wait for its own
    // end. So if `ringctl` waits, it sends the daemon the fencing token of the caller's lock.
    let waits = options.wait.is_some() && !wait.is_zero();
    let under = waits.then(fence::caller_token).flatten();
    let end = clock::now().monotonic + wait;
    // Both requests below contain the same end, so the second request does not change the pause.
    let until_ms = options
        .lasts
        .map(|lasts| (clock::now().wall / 1_000_000).saturating_add(duration_ms(lasts)));
    let mut daemon = Connection::open(socket)?;
    let mut ask = |until: Instant| {
        let wait = until.since(clock::now().monotonic);
        let request = Request::System(RingRequest::Pause(PauseRequest {
            drain: options.drain,
            persist: options.persist,
            until_ms,
            reason: options.reason.clone(),
            wait_ms: Some(duration_ms(wait)),
            under: under.clone(),
        }));
        let by = client::deadline_after(wait);
        match daemon.ask(&request, Some(by))? {
            Reply::Done {} => Ok(None),
            Reply::Pending(pending) => Ok(Some(pending.text)),
            Reply::Refused(refusal) => Err(Error::Refused(refusal.text)),
            other => Err(Error::from_unexpected_reply(other)),
        }
    };
    let mut pending = ask(end.min(clock::now().monotonic + EXPLAIN_AFTER))?;
    if options.lasts.is_some() || options.reason.is_some() {
        check_terms(socket)?;
    }
    if let Some(why) = &pending
        && end > clock::now().monotonic
    {
        if !quiet {
            // If this cannot be printed, the exit code still shows the outcome.
            let _ = writeln!(io::stderr(), "ringctl: pending: {why}; waiting");
        }
        pending = ask(end)?;
    }
    pending.map_or(Ok(()), |why| Err(Error::Pending(why)))
}

/// Checks that the daemon has applied the end and the reason of the pause. An older daemon does not know them, and
/// ignores them. Then this function fails.
fn check_terms(socket: &Path) -> Result<(), Error> {
    let status = fetch_status(socket)?;
    let is_paused = status.paused || status.pausing.is_some();
    if is_paused && status.pause.is_none() {
        return Err(Error::Refused(format!(
            "this node is paused without an end and a reason: ringd {} is older than ringctl; restart ringd, or end \
             the pause with ringctl resume",
            status.ringd
        )));
    }
    Ok(())
}
