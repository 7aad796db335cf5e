//! What can be wrong with options that work.

use ring_control::ftn::cut_doubt;
use ring_proto::ftn::server::Options;
use ring_text::format_duration;

/// What an operator is to be told of a server's options, as one of so many `servers`: at the start, and for as
/// long as it runs.
pub(super) fn doubts(options: &Options, servers: usize) -> Vec<String> {
    let mut doubts = Vec::from_iter(cut_doubt(options.quorum, servers));
    if options.grace < options.client_timeout {
        doubts.push(format!(
            "--grace {} is less than --client-timeout {}: after a start of all servers a token may be granted that \
             a client of the earlier run still holds",
            format_duration(options.grace),
            format_duration(options.client_timeout)
        ));
    }
    let change = options.client_timeout / 5 + options.server_timeout + options.heartbeat * 4;
    if change > options.client_timeout * 3 / 4 {
        doubts.push(format!(
            "--client-timeout {} is short beside --server-timeout {}: clients lose their tokens whenever the leader \
             is lost",
            format_duration(options.client_timeout),
            format_duration(options.server_timeout)
        ));
    }
    doubts
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ring_proto::ftn::server::Options;

    use super::doubts;

    #[test]
    fn times_that_cost_clients_their_tokens_are_told_of() {
        let options = Options {
            client_timeout: Duration::from_secs(8),
            grace: Duration::from_secs(1),
            ..Options::default()
        };
        let doubts = doubts(&options, 1);
        assert!(
            doubts.iter().any(|it| it.starts_with("--grace 1 s")),
            "{doubts:?}"
        );
        assert!(
            doubts
                .iter()
                .any(|it| it.starts_with("--client-timeout 8 s")),
            "{doubts:?}"
        );
    }
}
