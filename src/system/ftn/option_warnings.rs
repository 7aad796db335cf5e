//! Warnings about options that work but may have unexpected effects.

use ring_control::Finding;
use ring_control::ftn::split_warning;
use ring_proto::ftn::server::Options;
use ring_text::format_duration;

use crate::system::ftn::troubles;

/// Returns warnings about the options of a server, for the log and the status. `servers` is the number of servers.
pub(super) fn option_warnings(options: &Options, servers: usize) -> Vec<Finding> {
    let split = split_warning(options.quorum, servers);
    let split = split.map(|text| Finding::new(&troubles::SPLIT_POSSIBLE, text));
    let mut option_warnings = Vec::from_iter(split);
    if options.grace < options.client_timeout {
        let text = format!(
            "--grace {} is less than --client-timeout {}: after a start of all servers, a server may grant a token \
             that a client of the earlier run still holds",
            format_duration(options.grace),
            format_duration(options.client_timeout)
        );
        option_warnings.push(Finding::new(&troubles::GRACE_SHORT, text));
    }
    let change = options.client_timeout / 5 + options.server_timeout + options.heartbeat * 4;
    if change > options.client_timeout * 3 / 4 {
        let text = format!(
            "--client-timeout {} is too short compared with --server-timeout {}: if the leader is lost, clients lose \
             their tokens",
            format_duration(options.client_timeout),
            format_duration(options.server_timeout)
        );
        option_warnings.push(Finding::new(&troubles::CLIENT_TIMEOUT_SHORT, text));
    }
    option_warnings
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ring_proto::ftn::server::Options;

    use super::option_warnings;

    #[test]
    fn times_that_cost_clients_their_tokens_are_warned_of() {
        let options = Options {
            client_timeout: Duration::from_secs(8),
            grace: Duration::from_secs(1),
            ..Options::default()
        };
        let option_warnings = option_warnings(&options, 1);
        assert!(
            option_warnings
                .iter()
                .any(|it| it.text.starts_with("--grace 1 s")),
            "{option_warnings:?}"
        );
        assert!(
            option_warnings
                .iter()
                .any(|it| it.text.starts_with("--client-timeout 8 s")),
            "{option_warnings:?}"
        );
    }
}
