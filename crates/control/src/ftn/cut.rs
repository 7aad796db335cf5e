//! The warning about a quorum below a majority. Servers and clients use the same warning.

use ring_proto::ftn::server::majority;

/// Returns a warning if `quorum` is not a majority of `servers`. With such a quorum, both sides of a split network can
/// grant the same token.
pub fn split_warning(quorum: usize, servers: usize) -> Option<String> {
    (quorum < majority(servers)).then(|| {
        format!(
            "with --quorum {quorum} of {servers} servers, both sides of a split network may grant the same token; \
             prevent that with --quorum majority on all servers"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::split_warning;

    #[test]
    fn a_quorum_without_a_majority_causes_a_warning() {
        for (quorum, servers, is_doubtful) in
            [(1, 1, false), (1, 2, true), (2, 3, false), (2, 4, true)]
        {
            let doubt = split_warning(quorum, servers);
            assert_eq!(doubt.is_some(), is_doubtful, "{doubt:?}");
            let says = |it: &str| it.contains("same token") && it.contains("--quorum majority");
            assert!(doubt.is_none_or(|it| says(&it)));
        }
    }
}
