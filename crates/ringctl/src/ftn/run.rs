//! `ringctl token run`: a command that runs while a token is held.

use std::time::Duration;

use ring_control::OwnJson;

use super::super::keeper::{Assignment, Binding, Granter, NotAcquired};
use super::super::values::duration_ms;
use super::super::{Error, fence, run};
use super::client::Client;
use super::granter::{self, BUSY, Wanted};
use super::nested;
use super::options::{Acquire, RunOptions, access};
use ring_client::lease::{Margin, Margins};

/// The longest time between SIGTERM and the end of the lease.
const WARNING: Duration = Duration::from_secs(2);
/// The longest time that the kernel may need to carry out a SIGKILL.
const KILL: Duration = Duration::from_millis(500);

/// Runs the command while the token is held, and returns its exit code.
///
/// # Errors
/// The token is not granted, or it is lost.
pub(super) fn run(client: &Client, options: &RunOptions) -> Result<u8, Error> {
    let (servers, name) = (&client.servers.resolved, &options.name);
    let access = access(options.shared);
    nested::check(servers, name, access)?;
    let wanted = Wanted::new(client, options);
    let assignment = Assignment {
        granter: Granter::Process {
            name: granter::NAME.to_string_lossy().into_owned(),
            arguments: vec!["grant-token".to_owned()],
        },
        request: OwnJson::of(&wanted),
        wait_ms: options.acquire.wait_limits().longest().map(duration_ms),
        reports: None,
        margins: MARGINS,
        grace_ms: duration_ms(warning(client.timeout)),
        binding: Binding::Command,
    };
    let tokens = nested::with(servers, name, access);
    let environment = |grant: &ring_control::Grant| {
        vec![
            (fence::TOKEN, grant.fencing.clone()),
            ("RINGD_DATA", grant.data.clone()),
            (nested::TOKENS, tokens),
        ]
    };
    let denied = |why| not_acquired(why, &options.acquire);
    run::run(assignment, None, &options.command, environment, denied)
}

/// A lease of three quarters of the client timeout is renewed each fifth of it. The timeout is that of the servers, if that is
/// shorter than this client's, so margins are shares of the lease: an eighth of the timeout, and a thirty-second. And a renewal that is lost is repeated
/// within an eighth: that the warning comes takes silence of more than a third of the client timeout. The servers free the
/// token a quarter after the lease's end; what is killed an instant before has ended by then.
const MARGINS: Margins = Margins {
    warning: Margin::share(6, WARNING),
    kill: Margin::share(24, KILL),
};

fn warning(client_timeout: Duration) -> Duration {
    WARNING.min(client_timeout / 8)
}

/// Returns the error for a token that is not granted.
fn not_acquired(why: NotAcquired, acquire: &Acquire) -> Error {
    match why {
        NotAcquired::Refused(refusal) if refusal.why == BUSY => Error::NotAcquired {
            text: refusal.text,
            code: acquire.conflict_exit_code,
        },
        NotAcquired::Refused(refusal) => Error::Gone(refusal.text),
        NotAcquired::NoDaemon(text) | NotAcquired::Unbound(text) | NotAcquired::Error(text) => {
            Error::NotAcquired { text, code: 1 }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ring_proto::time::Instant;

    use super::{MARGINS, warning};
    use ring_client::lease::Lease;

    #[test]
    fn a_command_is_warned_an_eighth_before_the_end_and_killed_just_before_it() {
        for (timeout, warned_ms, killed_ms) in
            [(15_000, 1_875, 468), (60_000, 2_000, 500), (800, 100, 25)]
        {
            let timeout = Duration::from_millis(timeout);
            let (now, until) = (
                Instant::from_nanos(0),
                Instant::from_nanos(0) + timeout * 3 / 4,
            );
            let lease = Lease::new(until, now, MARGINS);
            let warned = until.since(lease.warn_at());
            assert_eq!(warned.as_millis(), warned_ms);
            let killed = until.since(lease.kill_at(lease.warn_at(), warning(timeout)));
            assert_eq!(killed.as_millis(), killed_ms);
        }
    }
}
