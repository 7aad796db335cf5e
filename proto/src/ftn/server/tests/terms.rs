//! Section 1: options that must be equal on all servers are announced, compared and heeded.

use ring_codec::ftn::{Datagram, Message, Pace, Terms};

use super::rig::*;
use super::world::World;
use crate::ftn::server::{Event, Options, Setting, majority};

const MICROS: i64 = 1_000_000;

/// The announcement of a server with the options of [`options`], and these.
fn terms(client_timeout: i64, quorum: i32) -> Terms {
    Terms {
        client_timeout: client_timeout * MICROS,
        quorum,
        pace: Some(Pace {
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
fn a_server_announces_its_options_to_servers_and_what_concerns_them_to_clients() {
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
fn a_server_with_other_options_is_named_once_and_again_when_they_change() {
    let mut rig = Rig::leader_of(3, 2);
    let heartbeat = |rig: &mut Rig, terms| {
        let message = Message::Heartbeat {
            seq: rig.snapshot().seq,
            sstate: R,
        };
        rig.hear_with(2, message, terms);
        differing(rig)
    };
    assert_eq!(heartbeat(&mut rig, terms(15, 1)), []);
    assert_eq!(
        heartbeat(&mut rig, terms(5, 2)),
        [(2, vec!["--client-timeout", "--quorum"])]
    );
    assert_eq!(heartbeat(&mut rig, terms(5, 2)), []);
    let known = rig.server.differences();
    assert_eq!(known[0].1[0].theirs, Setting::Time(ms(5_000)));
    assert_eq!(heartbeat(&mut rig, terms(15, 1)), [(2, vec![])]);
    assert!(rig.server.differences().is_empty());
}

/// A client whose leader was another server may have a lease by the longer timeout of that one.
#[test]
fn a_session_ends_after_the_longest_client_timeout_of_the_servers_up_to_four_times_ones_own() {
    for (theirs, ends) in [(5, 15), (20, 20), (3_600, 60)] {
        let mut rig = Rig::leader_of(3, 2);
        rig.begin(1);
        let message = Message::Heartbeat {
            seq: rig.snapshot().seq,
            sstate: R,
        };
        rig.hear_with(2, message, terms(theirs, 1));
        rig.pass(ms(1_000) * (ends - 1));
        assert_eq!(rig.snapshot().sessions.len(), 1, "{theirs}");
        rig.pass(ms(2_000));
        assert_eq!(rig.snapshot().sessions.len(), 0, "{theirs}");
    }
}

#[test]
fn a_server_with_a_smaller_quorum_needs_as_many_as_the_others_up_to_a_majority() {
    for (theirs, needs) in [(1, 1), (2, 2), (3, 2)] {
        let mut rig = Rig::leader_of(3, 2);
        assert!(rig.snapshot().authority);
        let message = Message::Heartbeat {
            seq: rig.snapshot().seq,
            sstate: R,
        };
        rig.hear_with(2, message, terms(15, theirs));
        assert_eq!(rig.server.quorum(), needs);
        rig.pass(ST);
        assert_eq!(rig.snapshot().authority, needs == 1, "{theirs}");
    }
}

/// One server of three was started without a majority: alone in a cut it serves nothing, as it has heard of the others.
#[test]
fn one_server_with_a_smaller_quorum_does_not_serve_in_a_cut() {
    for odd in 0..3 {
        let usual = Options {
            quorum: majority(3),
            ..options()
        };
        let mut world = World::new(3, usual);
        world.crash(odd);
        world.odd = Some((odd, options()));
        world.start(odd);
        world.pass_until(ms(60_000), |world| {
            world.snapshots().all(|s| states(s.states) == "RRR")
        });
        world.loses = Box::new(move |from, to| (from == server(odd)) != (to == server(odd)));
        world.pass(3 * ST);
        assert!(!world.server(odd).snapshot(world.now()).authority, "{odd}");
        let others = world.snapshots().filter(|s| s.index != odd && s.authority);
        assert_eq!(others.count(), 2);
    }
}

/// A leader counts on a follower for as long as that waits for it: ¾ of the shorter server timeout.
#[test]
fn a_leader_relies_on_a_follower_with_a_shorter_server_timeout_no_longer_than_that_waits() {
    let quorum = 2;
    let mut rig = Rig::leader_with(
        3,
        Options {
            quorum,
            ..options()
        },
    );
    let hasty = Terms {
        pace: Some(Pace {
            heartbeat: MICROS / 2,
            server_timeout: 2 * MICROS,
            grace: 0,
        }),
        ..terms(15, 2)
    };
    for server in [1, 2] {
        let message = Message::Heartbeat {
            seq: rig.snapshot().seq,
            sstate: B,
        };
        rig.hear_with(server, message, hasty);
    }
    rig.pass(ms(1_000));
    assert!(rig.snapshot().authority);
    rig.pass(ms(1_000));
    assert!(!rig.snapshot().authority);
}
