//! Tests how evenly the specified order of servers distributes tokens, and which tokens move when a server fails.
//!
//! The order depends only on the name and on the number of servers. So the tests can use more than the 32 servers that
//! a list may have.

use ring_codec::ftn::{hash, server_sequence};

/// The largest number of servers in the tests.
const SERVERS: usize = 50;
/// The number of names for which the tests compute the first server. For each number of servers, the tests count the
/// names for which each server is the first server.
const NAMES: u32 = 1_000_000;
/// The number of names for which the tests compute the whole order of servers.
const SAMPLE: usize = 20_000;

/// Makes typical names of three kinds: numbered names, paths with two numbers, and digests.
fn names(count: u32) -> impl Iterator<Item = String> {
    (0..count).map(|number| match number % 3 {
        0 => format!("token-{number}"),
        1 => format!("/srv/build/{}/{}.lock", number % 300, number / 300),
        _ => digest(number),
    })
}

/// Makes 16 hexadecimal digits that look random.
fn digest(number: u32) -> String {
    let mut x = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    format!("{:016x}", x ^ x >> 31)
}

/// Returns a measure of the difference between the counts and an even distribution. For random names this measure is
/// close to the number of counts.
fn chi_square(counts: &[u32]) -> f64 {
    let total: f64 = counts.iter().copied().map(f64::from).sum();
    let cells: f64 = counts.iter().map(|_| 1.0).sum();
    let even = total / cells;
    let distance = counts
        .iter()
        .map(|&count| (f64::from(count) - even).powi(2));
    distance.sum::<f64>() / even
}

fn first_counts(hashes: &[u32], servers: usize) -> Vec<u32> {
    let mut counts = vec![0; servers];
    for hash in hashes {
        counts[*hash as usize % servers] += 1;
    }
    counts
}

fn orders(names: &[String], servers: usize) -> impl Iterator<Item = Vec<usize>> {
    names.iter().map(move |name| {
        let mut order = vec![0; servers];
        server_sequence(name.as_bytes(), &mut order);
        let order = order
            .into_iter()
            .map(|server| usize::try_from(server).unwrap());
        order.collect()
    })
}

/// Returns the share of the server that most names choose first. The unit is an even share, so 1 means an even
/// distribution.
fn largest_share(hashes: &[u32], servers: usize) -> f64 {
    let most = first_counts(hashes, servers).into_iter().max().unwrap_or(0);
    f64::from(most) * f64::from(u32::try_from(servers).unwrap()) / f64::from(NAMES)
}

fn hashes(name: fn(u32) -> String) -> Vec<u32> {
    let names = (0..NAMES).map(name);
    names.map(|name| hash(name.as_bytes())).collect()
}

/// Tells whether the distribution is even. A random distribution exceeds this limit less than once in 10,000 times.
fn is_even(hashes: &[u32], servers: usize) -> bool {
    let cells = u32::try_from(servers).unwrap();
    chi_square(&first_counts(hashes, servers)) < 2.0 * f64::from(cells) + 30.0
}

#[test]
fn a_million_names_are_evenly_distributed() {
    let digests = hashes(digest);
    for servers in 2..=SERVERS {
        assert!(is_even(&digests, servers), "digests, {servers} servers");
        assert!(largest_share(&digests, servers) < 1.02, "{servers} servers");
    }
}

/// 37, the base of the hash, is 1 modulo 18 and 36, and -1 modulo 19 and 38. With these numbers of servers, the hash is
/// a sum of the name's bytes, with alternating signs modulo 19 and 38. The digits of numbered names vary little, so
/// these sums vary little too. Modulo 37, the last byte decides almost everything. A list has at most 32 servers. With
/// such a list, no server has a share that is more than 9 % larger than an even share.
#[test]
fn numbered_names_are_evenly_distributed_except_for_18_19_36_37_and_38_servers() {
    let numbered = hashes(|number| format!("token-{number}"));
    let uneven: Vec<usize> = (2..=SERVERS)
        .filter(|&servers| !is_even(&numbered, servers))
        .collect();
    assert_eq!(uneven, [18, 19, 36, 37, 38]);
    for servers in 2..=32 {
        let share = largest_share(&numbered, servers);
        assert!(share < 1.10, "{servers} servers: share {share}");
    }
}

#[test]
fn only_the_tokens_of_a_failed_server_move() {
    let names: Vec<String> = names(u32::try_from(SAMPLE).unwrap()).collect();
    for servers in (2..=32).chain([40, SERVERS]) {
        let failed = servers / 2;
        let mut moved = 0;
        let mut inherited = vec![0_u32; servers];
        for order in orders(&names, servers) {
            let before = order[0];
            let after = *order.iter().find(|&&server| server != failed).unwrap();
            assert_eq!(before == failed, before != after, "{servers} servers");
            if before != after {
                moved += 1;
                inherited[after] += 1;
            }
        }
        let share = f64::from(moved) * f64::from(u32::try_from(servers).unwrap())
            / f64::from(u32::try_from(SAMPLE).unwrap());
        assert!(
            (0.8..1.25).contains(&share),
            "{servers} servers: {share} of a server's share"
        );
        let idle = (0..servers)
            .filter(|&server| server != failed && inherited[server] == 0)
            .count();
        assert!(
            10 * idle <= servers,
            "{servers} servers: {idle} servers inherited no tokens"
        );
        let most = f64::from(*inherited.iter().max().unwrap())
            * f64::from(u32::try_from(servers - 1).unwrap());
        let most = most / f64::from(moved);
        assert!(
            most < 3.0,
            "{servers} servers: a server inherited {most} times its share"
        );
    }
}

/// The expected orders come from an independent program in a different language. Its numbers do not wrap.
#[test]
fn orders_match_the_formulas_of_the_page() {
    let expected_orders = [
        ("", 0, [0, 2, 1], [0, 2, 6, 1, 4, 7, 3, 5]),
        ("abc", 136_518, [0, 2, 1], [6, 7, 0, 3, 2, 4, 5, 1]),
        ("swarm", 221_693_342, [2, 0, 1], [6, 7, 2, 5, 0, 1, 4, 3]),
        (
            "build cache",
            2_039_809_612,
            [1, 2, 0],
            [4, 3, 2, 1, 0, 6, 5, 7],
        ),
    ];
    for (name, hashed, three, eight) in expected_orders {
        let name = name.as_bytes();
        assert_eq!(hash(name), hashed);
        let (mut of_three, mut of_eight) = ([0; 3], [0; 8]);
        server_sequence(name, &mut of_three);
        server_sequence(name, &mut of_eight);
        assert_eq!((of_three, of_eight), (three, eight));
    }
}
