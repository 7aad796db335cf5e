//! `ringctl pause` and `resume`: maintenance.

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

/// The time before the user is told what a pause waits for: a holder has a second to end.
const USUAL: Duration = Duration::from_secs(2);

/// Pauses the node and waits until it owns nothing, for the time of the options or the default.
///
/// # Errors
/// It still owns the token, or an [`Error`] of asking.
pub(super) fn pause(socket: &Path, options: &PauseOptions, quiet: bool) -> Result<(), Error> {
    let wait = match options.wait {
        None => USUAL,
        Some(wait) => wait.unwrap_or(Duration::MAX),
    };
    // Who only asks for a pause, from under the lock that is to end first, may.
    let is_to_wait = options.wait.is_some() && !wait.is_zero();
    let under = is_to_wait.then(fence::token_of_caller).flatten();
    let end = clock::now().monotonic + wait;
    let mut daemon = Connection::open(socket)?;
    let mut ask = |until: Instant| {
        let wait = until.since(clock::now().monotonic);
        let request = Request::Own(RingRequest::Pause(PauseRequest {
            drain: options.drain,
            persist: options.persist,
            wait_ms: Some(duration_ms(wait)),
            under: under.clone(),
        }));
        let by = client::answers_after(wait);
        match daemon.ask(&request, Some(by))? {
            Reply::Done {} => Ok(None),
            Reply::Pending(pending) => Ok(Some(pending.text)),
            Reply::Refused(refusal) => Err(Error::Refused(refusal.text)),
            other => Err(Error::unexpected(other)),
        }
    };
    let mut pending = ask(end.min(clock::now().monotonic + USUAL))?;
    if let Some(why) = &pending
        && end > clock::now().monotonic
    {
        if !quiet {
            // If standard error is closed, the exit code still tells the outcome.
            let _ = writeln!(io::stderr(), "ringctl: pending: {why}; waiting");
        }
        pending = ask(end)?;
    }
    pending.map_or(Ok(()), |why| Err(Error::Pending(why)))
}
