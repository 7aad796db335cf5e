//! What can be wrong with options that work.

use ring_proto::ftn::server::{Options, majority};

use crate::host::spoken;

/// What an operator is to be told of a server's options, as one of so many `servers`: at the start, and for as
/// long as it runs.
pub fn doubts(options: &Options, servers: usize) -> Vec<String> {
    let mut doubts = Vec::new();
    let quorum = options.quorum;
    if quorum < majority(servers) {
        doubts.push(format!(
            "with --quorum {quorum} of {servers} servers both sides of a cut may grant the same token: --quorum \
             majority, on all servers, prevents that"
        ));
    }
    if options.grace < options.client_timeout {
        doubts.push(format!(
            "--grace {} is less than --client-timeout {}: after a start of all servers a token may be granted that \
             a client of the earlier run still holds",
            spoken(options.grace),
            spoken(options.client_timeout)
        ));
    }
    let change = options.client_timeout / 5 + options.server_timeout + options.heartbeat * 4;
    if change > options.client_timeout * 3 / 4 {
        doubts.push(format!(
            "--client-timeout {} is short beside --server-timeout {}: clients lose their tokens whenever the leader \
             is lost",
            spoken(options.client_timeout),
            spoken(options.server_timeout)
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
    fn less_than_a_majority_of_several_servers_is_told_of_with_what_prevents_it() {
        for (quorum, servers, is_doubtful) in
            [(1, 1, false), (1, 2, true), (2, 3, false), (2, 4, true)]
        {
            let options = Options {
                quorum,
                ..Options::default()
            };
            let doubts = doubts(&options, servers);
            assert_eq!(doubts.len(), usize::from(is_doubtful), "{doubts:?}");
            assert!(
                doubts
                    .iter()
                    .all(|it| it.contains("same token") && it.contains("--quorum majority"))
            );
        }
    }

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
