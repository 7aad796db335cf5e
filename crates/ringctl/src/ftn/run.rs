//! `ringctl token run`: runs a command while holding a token.

use std::time::Duration;

use ring_client::token::check_name;
use ring_control::RawJson;

use super::super::keeper::{Assignment, Binding, Granter, NotAcquired};
use super::super::values::duration_ms;
use super::super::{Error, fence, run};
use super::client::{ServiceClient, session_error};
use super::granter::{self, BUSY, TokenRequest};
use super::nested;
use super::options::{AcquireOptions, TokenRunOptions, access};
use ring_client::lease::{Margin, Margins};

/// Maximum time between SIGTERM and the end of the lease.
const WARNING_MAX: Duration = Duration::from_secs(2);
/// Maximum time that the kernel needs for a SIGKILL.
const KILL_MAX: Duration = Duration::from_millis(500);

pub(super) fn run(client: &ServiceClient, options: &TokenRunOptions) -> Result<u8, Error> {
    let (servers, name) = (&client.servers.resolved, &options.name);
    let access = access(options.shared);
    nested::refuse_nested(servers, name, access)?;
    if let Some(file) = &client.keys {
        check_name(file.keys(), name.bytes()).map_err(session_error)?;
    }
    let request = TokenRequest::new(client, options);
    let assignment = Assignment {
        granter: Granter::Process {
            name: granter::NAME.to_string_lossy().into_owned(),
            arguments: vec!["grant-token".to_owned()],
        },
        request: RawJson::encode(&request),
        wait_ms: options.acquire.wait_limits().total_max().map(duration_ms),
        reports: None,
        margins: MARGINS,
        grace_ms: duration_ms(warning_time(client.timeout)),
        binding: Binding::Command,
    };
    let tokens = nested::with_token(servers, name, access);
    let environment = |grant: &ring_control::Grant| {
        vec![
            (fence::TOKEN_VARIABLE, grant.fencing.clone()),
            ("RINGD_DATA", grant.data.clone()),
            (nested::TOKENS_VARIABLE, tokens),
        ]
    };
    let to_error = |why| not_acquired(why, &options.acquire);
    run::run(assignment, None, &options.command, environment, to_error)
}

/// Returns the margins of a lease. T is the client timeout. A lease lasts three quarters of T, and is renewed after
/// each fifth of T. The servers may have a shorter timeout than the client, so each margin is a fraction of the lease.
/// The margin for the warning is an eighth of T, and the margin for the kill is a thirty-second of T. If a renewal is
/// lost, the client repeats it within an eighth of T. So the work is warned only if the servers are silent for more
/// than a third of T. The servers free the token a quarter of T after the end of the lease. At that time, even the last
/// killed processes have ended.
const MARGINS: Margins = Margins {
    warning: Margin::share(6, WARNING_MAX),
    kill: Margin::share(24, KILL_MAX),
};

fn warning_time(client_timeout: Duration) -> Duration {
    WARNING_MAX.min(client_timeout / 8)
}

fn not_acquired(why: NotAcquired, acquire: &AcquireOptions) -> Error {
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

    use super::{MARGINS, warning_time};
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
            let killed = until.since(lease.kill_at(lease.warn_at(), warning_time(timeout)));
            assert_eq!(killed.as_millis(), killed_ms);
        }
    }
}
