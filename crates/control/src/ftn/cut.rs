//! What a quorum of fewer than a majority means, said in the same words by servers and by their clients.

use ring_proto::ftn::server::majority;

/// That both sides of a cut may grant the same token, and what prevents it; `None`: with such a quorum of so many
/// servers they do not.
pub fn cut_doubt(quorum: usize, servers: usize) -> Option<String> {
    (quorum < majority(servers)).then(|| {
        format!(
            "with --quorum {quorum} of {servers} servers both sides of a cut may grant the same token: --quorum \
             majority, on all servers, prevents that"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::cut_doubt;

    #[test]
    fn less_than_a_majority_of_several_servers_is_told_of_with_what_prevents_it() {
        for (quorum, servers, is_doubtful) in
            [(1, 1, false), (1, 2, true), (2, 3, false), (2, 4, true)]
        {
            let doubt = cut_doubt(quorum, servers);
            assert_eq!(doubt.is_some(), is_doubtful, "{doubt:?}");
            let says = |it: &str| it.contains("same token") && it.contains("--quorum majority");
            assert!(doubt.is_none_or(|it| says(&it)));
        }
    }
}
