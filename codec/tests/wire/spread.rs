//! How the document's order of servers spreads tokens, and what moves when a server goes or comes.
//!
//! The order depends on the name and on the number of servers alone, so it is tried with more servers than the 32
//! that a list may have.

use ring_codec::ftn::{hash, server_sequence};

/// The most servers that are tried.
const SERVERS: usize = 50;
/// Names whose first server is counted, for each number of servers.
const NAMES: u32 = 1_000_000;
/// Of these the whole order is made.
const SAMPLE: usize = 20_000;

/// Names of three kinds, as people give them: numbered, paths with two numbers, and digests.
fn names(count: u32) -> impl Iterator<Item = String> {
    (0..count).map(|number| match number % 3 {
        0 => format!("token-{number}"),
        1 => format!("/srv/build/{}/{}.lock", number % 300, number / 300),
        _ => digest(number),
    })
}

/// 16 hexadecimal digits that nobody can tell from random ones.
fn digest(number: u32) -> String {
    let mut x = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    format!("{:016x}", x ^ x >> 31)
}

/// The distance of counts from an even spread: about the number of cells for names by chance.
fn chi_square(counts: &[u32]) -> f64 {
    let total: f64 = counts.iter().copied().map(f64::from).sum();
    let cells: f64 = counts.iter().map(|_| 1.0).sum();
    let even = total / cells;
    let distance = counts
        .iter()
        .map(|&count| (f64::from(count) - even).powi(2));
    distance.sum::<f64>() / even
}

/// How many hashes each of so many servers is the first for.
fn firsts(hashes: &[u32], servers: usize) -> Vec<u32> {
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

/// The most that a server is the first for, in parts of an even share.
fn worst(hashes: &[u32], servers: usize) -> f64 {
    let most = firsts(hashes, servers).into_iter().max().unwrap_or(0);
    f64::from(most) * f64::from(u32::try_from(servers).unwrap()) / f64::from(NAMES)
}

fn hashes(name: fn(u32) -> String) -> Vec<u32> {
    let names = (0..NAMES).map(name);
    names.map(|name| hash(name.as_bytes())).collect()
}

/// Twice the number of servers and 30 comes by chance less than once in 10,000 times.
fn is_even(hashes: &[u32], servers: usize) -> bool {
    let cells = u32::try_from(servers).unwrap();
    chi_square(&firsts(hashes, servers)) < 2.0 * f64::from(cells) + 30.0
}

#[test]
fn a_million_names_spread_evenly_over_all_servers() {
    let digests = hashes(digest);
    for servers in 2..=SERVERS {
        assert!(is_even(&digests, servers), "digests, {servers} servers");
        assert!(worst(&digests, servers) < 1.02, "{servers} servers");
    }
}

/// 37, the base of the hash, is 1 modulo 18 and 36, and -1 modulo 19 and 38: there the sum of a name's bytes decides, with
/// alternating signs or not, which of numbered names is one of digits. Modulo 37 the last byte decides, but for what the
/// mask takes away. No list has more than 32 servers, so 9 % is the most that such names cost.
#[test]
fn numbered_names_spread_evenly_but_over_18_19_36_37_or_38_servers() {
    let numbered = hashes(|number| format!("token-{number}"));
    let uneven: Vec<usize> = (2..=SERVERS)
        .filter(|&servers| !is_even(&numbered, servers))
        .collect();
    assert_eq!(uneven, [18, 19, 36, 37, 38]);
    for servers in 2..=32 {
        let worst = worst(&numbered, servers);
        assert!(worst < 1.10, "{servers} servers: {worst}");
    }
}

/// What a server that goes was responsible for moves, and nothing else; when it comes back the same comes back.
#[test]
fn as_much_moves_as_one_server_had() {
    let names: Vec<String> = names(u32::try_from(SAMPLE).unwrap()).collect();
    for servers in (2..=32).chain([40, SERVERS]) {
        let gone = servers / 2;
        let mut moved = 0;
        let mut heirs = vec![0_u32; servers];
        for order in orders(&names, servers) {
            let before = order[0];
            let after = *order.iter().find(|&&server| server != gone).unwrap();
            assert_eq!(before == gone, before != after, "{servers} servers");
            if before != after {
                moved += 1;
                heirs[after] += 1;
            }
        }
        let share = f64::from(moved) * f64::from(u32::try_from(servers).unwrap())
            / f64::from(u32::try_from(SAMPLE).unwrap());
        assert!(
            (0.8..1.25).contains(&share),
            "{servers} servers: {share} of a server's share"
        );
        let idle = (0..servers)
            .filter(|&server| server != gone && heirs[server] == 0)
            .count();
        assert!(
            10 * idle <= servers,
            "{servers} servers: {idle} inherit nothing"
        );
        let most = f64::from(*heirs.iter().max().unwrap())
            * f64::from(u32::try_from(servers - 1).unwrap());
        let most = most / f64::from(moved);
        assert!(
            most < 3.0,
            "{servers} servers: one inherits {most} times its share"
        );
    }
}

/// Made by the formulas of `docs/wire-formats.md` in another language, with numbers that do not wrap.
#[test]
fn orders_of_some_names_are_these() {
    let golden = [
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
    for (name, hashed, three, eight) in golden {
        let name = name.as_bytes();
        assert_eq!(hash(name), hashed);
        let (mut of_three, mut of_eight) = ([0; 3], [0; 8]);
        server_sequence(name, &mut of_three);
        server_sequence(name, &mut of_eight);
        assert_eq!((of_three, of_eight), (three, eight));
    }
}
