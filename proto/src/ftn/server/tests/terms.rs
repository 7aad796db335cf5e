//! Options that must be equal on all servers: announcement, comparison and effect (O9 to O13).

use ring_codec::ftn::{Datagram, ServerTerms, Terms};

use super::network::Network;
use super::rig::*;
use crate::ftn::carrier::{PARTS_MAX, TOTAL_MAX};
use crate::ftn::server::{OptionValue, clients_max};
use crate::ftn::{CLIENT_TIMEOUT_MIN, PART};

const MICROS: i64 = 1_000_000;

/// Returns the announcement of a server with this client timeout, this quorum, and the other values of [`options`].
fn terms(client_timeout: i64, quorum: i32) -> Terms {
    Terms {
        client_timeout: client_timeout * MICROS,
        quorum,
        pace: Some(ServerTerms {
            heartbeat: MICROS,
            server_timeout: 4 * MICROS,
            grace: 0,
        }),
    }
}

fn differing(rig: &mut Rig) -> Vec<(usize, Vec<&'static str>)> {
    let events = std::mem::take(&mut rig.events).into_iter();
    let compared = events.filter_map(|event| match event {
        Event::OptionsCompared {
            server,
            differences,
        } => Some((server, differences.iter().map(|it| it.option).collect())),
        _ => None,
    });
    compared.collect()
}

#[test]
fn a_server_announces_its_options_to_servers_and_some_of_them_to_clients() {
    let mut rig = Rig::leader(3);
    rig.login(1);
    let said = |bytes: &[u8]| Datagram::decode(bytes).unwrap().terms().unwrap();
    let to_client = said(&rig.datagrams[0].1);
    assert_eq!(
        to_client,
        Terms {
            pace: None,
            ..terms(15, 1)
        }
    );
    rig.pass(HB);
    let to_server = said(&rig.datagrams[0].1);
    assert_eq!(to_server, terms(15, 1));
}

#[test]
fn different_options_are_reported_once_and_again_when_they_change() {
    let mut rig = Rig::leader_of(3, 2);
    let heartbeat = |rig: &mut Rig, terms| {
        rig.heartbeat_with(2, R, terms);
        differing(rig)
    };
    assert_eq!(heartbeat(&mut rig, terms(15, 1)), []);
    assert_eq!(
        heartbeat(&mut rig, terms(5, 2)),
        [(2, vec!["--client-timeout", "--quorum"])]
    );
    assert_eq!(heartbeat(&mut rig, terms(5, 2)), []);
    let known = rig.server.differences();
    assert_eq!(known[0].1[0].theirs, OptionValue::Time(ms(5_000)));
    assert_eq!(heartbeat(&mut rig, terms(15, 1)), [(2, vec![])]);
    assert!(rig.server.differences().is_empty());
}

/// Counter-example: server B has a client timeout of 15 s, and server A has a shorter client timeout. A client uses the
/// 15 s of B, because the network lost A's answer to the client's LOGIN. Then B and this client are cut off. A becomes
/// the leader, and ends the session 11 s before the end of the client's lease.
#[test]
fn a_server_announces_the_shortest_known_client_timeout_to_clients() {
    let mut rig = Rig::leader_of(3, 2);
    let announced = |rig: &mut Rig, k: u16| {
        rig.login(k);
        let terms = Datagram::decode(&rig.datagrams[0].1)
            .unwrap()
            .terms()
            .unwrap();
        terms.client_timeout
    };
    let heartbeat = |rig: &mut Rig, from: usize, timeout: i64| {
        let terms = Terms {
            client_timeout: timeout,
            ..terms(15, 1)
        };
        rig.heartbeat_with(from, R, terms);
    };
    heartbeat(&mut rig, 1, MICROS);
    assert_eq!(announced(&mut rig, 1), MICROS);
    heartbeat(&mut rig, 2, 20 * MICROS);
    assert_eq!(announced(&mut rig, 2), MICROS);
    // In messages to servers the server announces the value of its option.
    rig.pass(HB);
    let state = Datagram::decode(&rig.datagrams[0].1).unwrap();
    assert_eq!(state.terms().unwrap().client_timeout, 15 * MICROS);
    // A timeout below the minimum would stop all clients.
    heartbeat(&mut rig, 1, 1_000);
    assert_eq!(announced(&mut rig, 3), 15 * MICROS);
}

/// A leader whose client timeout is below the minimum would end live sessions.
#[test]
fn a_server_with_a_client_timeout_below_the_minimum_counts_as_down() {
    let floor = i64::try_from(CLIENT_TIMEOUT_MIN.as_micros()).unwrap();
    for (timeout, counts) in [(floor, true), (floor - 1, false), (0, false), (-1, false)] {
        let mut rig = Rig::leader_of(3, 2);
        let terms = Terms {
            client_timeout: timeout,
            ..terms(15, 1)
        };
        rig.pass(ST - HB);
        let seq = rig.snapshot().seq;
        rig.heartbeat_with(1, R, terms);
        rig.heartbeat(2, seq, R);
        rig.pass(HB);
        let states = if counts { "RRR" } else { "RDR" };
        assert_eq!(rig.states(), states, "{timeout}");
        assert_eq!(
            rig.drop_count(DropReason::ShortTimeout) == 0,
            counts,
            "{timeout}"
        );
    }
}

#[test]
fn a_client_timeout_below_the_minimum_is_refused_and_the_error_names_the_minimum() {
    let with = |client_timeout| Options {
        client_timeout,
        ..options()
    };
    assert_eq!(with(CLIENT_TIMEOUT_MIN).check(1), Ok(()));
    for timeout in [CLIENT_TIMEOUT_MIN - MS, MS, ms(0)] {
        let error = with(timeout).check(1).unwrap_err().to_string();
        assert!(error.contains("give at least 200ms"), "{error}");
    }
}

#[test]
fn max_clients_is_limited_by_the_memory_for_lists_of_sessions() {
    for servers in 1..=32 {
        let most = clients_max(servers);
        let with = |max_clients| Options {
            max_clients,
            ..options()
        };
        assert_eq!(with(most).check(servers), Ok(()));
        let error = with(most + 1).check(servers).unwrap_err().to_string();
        assert!(error.contains(&format!("give at most {most}")), "{error}");
        // The carrier has room for two lists with IPv6 addresses to each other server.
        let list = most * 53 + 512;
        assert!(list <= PARTS_MAX * PART);
        let weight = list + list.div_ceil(PART) + 256;
        assert!(2 * (servers - 1) * weight <= TOTAL_MAX, "{servers}");
    }
}

/// A client's lease may still depend on the longer timeout of its former leader.
#[test]
fn a_session_ends_after_the_longest_client_timeout_of_all_servers_within_limits() {
    for (theirs, ends) in [(5, 15), (20, 20), (3_600, 60)] {
        let mut rig = Rig::leader_of(3, 2);
        rig.begin(1);
        rig.heartbeat_with(2, R, terms(theirs, 1));
        rig.pass(ms(1_000) * (ends - 1));
        assert_eq!(rig.snapshot().sessions.len(), 1, "{theirs}");
        rig.pass(ms(2_000));
        assert_eq!(rig.snapshot().sessions.len(), 0, "{theirs}");
    }
}

#[test]
fn a_server_uses_the_largest_quorum_of_all_servers_up_to_a_majority() {
    for (theirs, needs) in [(1, 1), (2, 2), (3, 2)] {
        let mut rig = Rig::leader_of(3, 2);
        assert!(rig.snapshot().authority);
        rig.heartbeat_with(2, R, terms(15, theirs));
        assert_eq!(rig.server.quorum(), needs);
        rig.pass(ST);
        assert_eq!(rig.snapshot().authority, needs == 1, "{theirs}");
    }
}

#[test]
fn a_server_with_a_smaller_quorum_does_not_serve_in_a_split() {
    for index in 0..3 {
        let usual = quorum(majority(3));
        let mut network = Network::new(3, usual);
        network.crash(index);
        network.other_options = Some((index, options()));
        network.start(index);
        network.pass_until_ready(ms(60_000));
        network.loses = Box::new(move |from, to| (from == server(index)) != (to == server(index)));
        network.pass(3 * ST);
        assert!(
            !network.server(index).snapshot(network.now()).authority,
            "{index}"
        );
        let others = network
            .snapshots()
            .filter(|s| s.index != index && s.authority);
        assert_eq!(others.count(), 2);
    }
}

/// The leader relies on the follower for ¾ of the shorter server timeout of these two servers.
#[test]
fn a_leader_relies_on_a_follower_only_as_long_as_that_waits_for_it() {
    let quorum = 2;
    let mut rig = Rig::leader_with(
        3,
        Options {
            quorum,
            ..options()
        },
    );
    let hasty = Terms {
        pace: Some(ServerTerms {
            heartbeat: MICROS / 2,
            server_timeout: 2 * MICROS,
            grace: 0,
        }),
        ..terms(15, 2)
    };
    for server in [1, 2] {
        rig.heartbeat_with(server, B, hasty);
    }
    rig.pass(ms(1_000));
    assert!(rig.snapshot().authority);
    rig.pass(ms(1_000));
    assert!(!rig.snapshot().authority);
}
