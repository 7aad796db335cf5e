//! Options that differ, who follows whom, and nodes that only others know.

use super::prelude::*;
use super::world::World;

/// The terms of a node with default options.
pub(super) fn terms() -> Terms {
    Terms {
        lease_us: 500_000,
        shortest_us: 500_000,
        longest_us: 500_000,
        renew_ms: 2_000,
        pass_ms: 500,
        follows: 0,
        policy: Options::default().policy,
        is_followed: false,
        asks: false,
    }
}

pub(super) fn tr1_with(token_id: i32, from: u8, terms: Terms) -> Vec<u8> {
    encode(&Message::Tr1 {
        token_id: id(token_id),
        node_tcp_port: tcp_port(from),
        terms: Some(terms),
    })
}

/// Those of a node that others follow.
fn followed() -> Terms {
    Terms {
        is_followed: true,
        ..terms()
    }
}

/// Those of a node with this lease.
fn leased(lease_us: u32) -> Terms {
    Terms {
        lease_us,
        ..terms()
    }
}

pub(super) fn tr2_with(token_id: i32, terms: Terms) -> Vec<u8> {
    encode(&Message::Tr2 {
        token_id: id(token_id),
        terms: Some(terms),
    })
}

fn slow() -> Options {
    Options {
        tr_interval: Duration::from_secs(2),
        ..Options::default()
    }
}

/// A token over a new connection, with the giver's terms.
pub(super) fn give(rig: &mut Rig, from: u8, token: i32, list: &[Node], terms: Terms) -> StreamId {
    let stream = rig.accept(from);
    let offer = [encode(&Message::Tp6 { terms }), tp1(token, hash(list))];
    rig.receive(stream, &offer.concat());
    if rig.written(stream) == TP2 {
        rig.receive(stream, &tp4(list));
    }
    rig.receive_end(stream, &tp5(token, b"1"));
    stream
}

/// Each node used its own times: one with `--tr-interval 2s` that stalls led for 10 s, next to the leader that the others
/// had elected after 0.6 s.
#[test]
fn a_lease_is_the_shortest_of_the_nodes_that_are_known() {
    let mut rig = Rig::waiter(5);
    assert_eq!(rig.machine.lease(), ms(500));
    rig.hear(2, &tr1_with(-1, 2, leased(250_000)));
    assert_eq!(rig.machine.lease(), ms(250));
    let long = leased(10_000_000);
    rig.hear(2, &tr1_with(-1, 2, long));
    assert_eq!(rig.machine.lease(), ms(500), "the own one");
    let mut rig = Rig::new(slow());
    rig.hear(2, &tr1_with(-1, 2, terms()));
    assert_eq!(rig.machine.lease(), ms(500), "that of the other");
    rig.hear(2, &tr1_with(-1, 2, long));
    assert_eq!(rig.machine.lease(), Duration::from_secs(10));
    rig.hear(3, &tr1(-1, 7003));
    assert_eq!(rig.machine.lease(), ms(500), "one of before the terms");
}

#[test]
fn a_leader_that_stalls_for_longer_than_the_shortest_lease_leads_no_more() {
    let mut rig = Rig::new(slow());
    rig.hear(2, &tr2(1));
    rig.hear(2, &tr1_with(-1, 2, terms()));
    give(&mut rig, 2, 9, &[node(2), node(1)], terms());
    assert_eq!(rig.state(), State::Leader);
    rig.stop(ms(600));
    rig.time_out();
    assert_eq!(rig.state(), State::Orphan);
}

/// The lease that the giver uses counts as long as the token is here: this node may not have heard all others yet.
#[test]
fn a_token_brings_the_lease_of_its_ring() {
    let mut rig = Rig::waiter(5);
    let told = Terms {
        shortest_us: 100_000,
        is_followed: true,
        ..terms()
    };
    give(&mut rig, 2, 9, &[node(2), node(1)], told);
    assert_eq!(rig.machine.lease(), ms(100));
    give(&mut rig, 2, 10, &[node(2), node(1)], terms());
    assert_eq!(rig.machine.lease(), ms(500), "it is not kept for ever");
}

/// A node that starts while the leader of a ring with long leases stalls knows none of them.
#[test]
fn a_node_that_had_no_token_waits_for_the_longest_lease_that_it_has_heard_of() {
    let mut rig = Rig::orphan();
    let long = Terms {
        longest_us: 3_000_000,
        ..terms()
    };
    rig.hear(2, &tr2_with(-3, long));
    rig.run(ms(3000));
    assert_eq!(rig.state(), State::Orphan);
    rig.run(ms(200));
    assert_eq!(rig.state(), State::Leader);
}

#[test]
fn a_waiter_tells_a_node_that_starts_of_the_longest_lease() {
    let mut rig = Rig::waiter(5);
    let long = Terms {
        lease_us: 3_000_000,
        longest_us: 3_000_000,
        ..terms()
    };
    rig.hear(3, &tr1_with(-1, 3, long));
    rig.forget();
    rig.hear(2, &tr1_with(-7, 2, terms()));
    assert_eq!(rig.said(), [Said::Tr2(host(2), -5)]);
}

#[test]
fn a_node_that_differs_is_named_once_and_until_it_no_longer_does() {
    let mut rig = Rig::waiter(5);
    let long = leased(10_000_000);
    let how = Difference::Times {
        lease: Duration::from_secs(10),
        renew_timeout: ms(2000),
        token_pass_timeout: ms(500),
    };
    for _ in 0..3 {
        rig.hear(2, &tr1_with(-1, 2, long));
    }
    let named = rig.events();
    let named = named
        .iter()
        .filter(|it| matches!(it, Event::NodeDiffers { .. }));
    assert_eq!(
        named.collect::<Vec<_>>(),
        [&Event::NodeDiffers { node: host(2), how }]
    );
    assert_eq!(rig.machine.snapshot().differing, [(host(2), how)]);
    rig.hear(2, &tr1_with(-1, 2, terms()));
    assert_eq!(rig.machine.snapshot().differing, []);
}

/// Nodes with other times announce themselves, or some never hear of it.
#[test]
fn all_nodes_of_a_ring_name_the_one_with_other_times() {
    let mut world = World::ring(3);
    world.restart_with(1, slow());
    world.run(ms(15_000));
    let named: Vec<_> = (0..3)
        .map(|at| {
            world.rigs[at]
                .machine
                .differing()
                .map(|(ip, _)| ip)
                .collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(
        named,
        [vec![host(2)], vec![host(1), host(3)], vec![host(2)]]
    );
    assert!((0..3).all(|at| world.rigs[at].machine.lease() == ms(500)));
    assert!(world.is_one_ring(), "the slow one takes part");
}

/// Alone, a machine made a token with a larger id than that of the ring that it had left: when it was back, the ring's
/// leader lost its token to it.
#[test]
fn a_token_that_nobody_follows_is_weaker_than_one_with_a_smaller_id() {
    let mut rig = Rig::waiter(5);
    let lone = terms();
    give(&mut rig, 2, 9, &[node(2), node(1)], followed());
    rig.hear(3, &tr1_with(1000, 3, lone));
    assert_eq!(rig.machine.stronger_leader(), None);
    rig.hear(4, &tr1_with(1000, 4, followed()));
    assert_eq!(rig.machine.stronger_leader(), Some(node(4)));
    let mut lone_leader = Rig::leader(1000);
    lone_leader.hear(2, &tr1_with(9, 2, followed()));
    assert_eq!(lone_leader.next_candidate().1, 2, "it gives way");
}

/// A leader that its members wait for is followed, though nobody has taken its token since.
#[test]
fn a_waiter_that_says_whom_it_follows_keeps_its_leader_followed() {
    let follows = |follows| Terms { follows, ..terms() };
    let mut rig = Rig::leader(5);
    rig.hear(3, &tr1_with(-4, 3, follows(5)));
    assert!(rig.machine.is_followed());
    rig.run(ms(6000));
    assert!(!rig.machine.is_followed());
    rig.hear(3, &tr1_with(-4, 3, follows(6)));
    assert!(!rig.machine.is_followed(), "another token");
}

/// The lone one's token went to a member of the ring, which led with it beside the ring's leader.
#[test]
fn a_member_absorbs_the_token_of_a_node_that_was_alone() {
    let member = || {
        let mut rig = Rig::waiter(5);
        rig.know(3);
        give(&mut rig, 2, 9, &[node(2), node(1)], followed());
        let pass = rig.refuse_until(2);
        rig.takes(pass);
        assert_eq!(rig.state(), State::Waiter);
        rig
    };
    let mut rig = member();
    give(&mut rig, 3, 1000, &[node(3), node(1)], terms());
    assert_eq!(rig.machine.counters().absorbed, 1);
    // One that has asked meanwhile, and leads, was denied by nobody.
    let mut rig = member();
    rig.run(ms(10));
    rig.hear(3, &tr1_with(-9, 3, terms()));
    give(&mut rig, 3, 1000, &[node(3), node(1)], terms());
    assert_eq!(rig.state(), State::Leader);
}

#[test]
fn the_ring_keeps_its_leader_when_a_node_that_was_alone_is_back() {
    let mut world = World::ring(3);
    world.part = vec![0, 0, 1];
    world.run(ms(10_000));
    // The larger id is that of the one that was alone.
    world.rigs[2].machine.change_token(id(i32::MAX - 1));
    world.rigs.iter_mut().for_each(Rig::forget);
    world.part = vec![0, 0, 0];
    world.run(ms(10_000));
    assert!(world.is_one_ring());
    let gave_way = |at: usize| {
        let events = &world.rigs[at].events;
        events.iter().any(|it| matches!(it, Event::GaveWay { .. }))
    };
    assert_eq!([0, 1].map(gave_way), [false, false]);
}

fn longer() -> Options {
    Options {
        policy: policy::digest("counter", "longer"),
        ..Options::default()
    }
}

/// Two rings with other functions became one: its data did not go on in any order.
#[test]
fn nodes_that_decide_in_another_way_form_a_ring_of_their_own() {
    let mut world = World::new(4, Options::default());
    for (at, options) in [Options::default(), longer()]
        .into_iter()
        .cycle()
        .take(4)
        .enumerate()
    {
        world.restart_with(at, options);
    }
    world.run(ms(20_000));
    let lists = (0..4).map(|at| {
        let mut list: Vec<_> = world.rigs[at]
            .machine
            .lists()
            .0
            .iter()
            .map(|it| it.ip)
            .collect();
        list.sort();
        list
    });
    let [one, other] = [[1, 3], [2, 4]].map(|ring| ring.map(host).to_vec());
    let expected = [one.clone(), other.clone(), one, other];
    assert_eq!(lists.collect::<Vec<_>>(), expected);
    for at in 0..4 {
        let differing: Vec<_> = world.rigs[at].machine.differing().collect();
        assert_eq!(differing.len(), 2, "{differing:?}");
        assert!(differing.iter().all(|(_, how)| *how == Difference::Policy));
    }
    let uses = |world: &World| {
        (0..4)
            .filter(|at| world.rigs[*at].machine.may_use_token())
            .count()
    };
    for _ in 0..200 {
        world.run(ms(7));
        assert!(uses(&world) <= 1, "the programs of one ring get a token");
    }
}

#[test]
fn a_token_of_another_ring_is_refused_and_its_giver_named() {
    let mut rig = Rig::waiter(5);
    let other = Terms {
        policy: 7,
        ..terms()
    };
    let stream = give(&mut rig, 2, 9, &[node(2)], other);
    assert_eq!(rig.fate(stream), Fate::Reset);
    assert_eq!(rig.dropped(Reason::Policy), 1);
    let differing = [(host(2), Difference::Policy)];
    assert_eq!(rig.machine.snapshot().differing, differing);
    // One that breaks before its terms says nothing of its ring.
    let broken = rig.accept(2);
    rig.receive(broken, &[0x22]);
    assert_eq!(rig.fate(broken), Fate::Reset);
    assert_eq!(rig.machine.snapshot().differing, differing);
}

/// So many nodes that nobody has heard were connected to one after the other, half a second each.
#[test]
fn a_node_that_only_a_list_names_is_asked_before_it_is_connected_to() {
    let mut rig = Rig::waiter(5);
    let list: Vec<Node> = (1..=60).map(node).collect();
    give(&mut rig, 60, 9, &list, terms());
    rig.forget();
    let (stream, number) = rig.next_candidate();
    assert_eq!(number, 60, "its giver");
    let asked = rig.said();
    assert_eq!(asked.len(), 16, "{asked:?}");
    assert!(
        asked
            .iter()
            .all(|it| matches!(it, Said::Tr1(to, 9) if *to != EVERYBODY))
    );
    rig.gone(stream, Closed::Reset);
    rig.hear(7, &tr1_with(-1, 7, terms()));
    assert_eq!(
        rig.refuse_until(7),
        rig.candidate().unwrap().0,
        "it has answered"
    );
}

#[test]
fn a_question_for_a_sign_of_life_is_answered_by_any_node() {
    let asks = Terms {
        asks: true,
        ..terms()
    };
    let mut rig = Rig::waiter(5);
    rig.hear(2, &tr1_with(9, 2, asks));
    assert_eq!(rig.said(), [Said::Tr1(host(2), -5)]);
    let mut rig = Rig::leader(5);
    rig.hear(2, &tr1_with(9, 2, asks));
    assert_eq!(rig.said(), [Said::Tr1(host(2), 5)]);
}

/// After the first that cost the time of a pass the others have to answer first: a turn costs one.
#[test]
fn candidates_that_died_together_cost_a_turn_the_time_of_one_pass() {
    let mut rig = Rig::leader_of(9);
    rig.run(ms(3000));
    (2..=9).for_each(|it| rig.machine.penalties_mut().gave(host(it)));
    let first = rig.machine.counters().computes;
    rig.machine.be_leader();
    while rig.machine.counters().computes == first {
        let due = rig.due().expect("a leader has time-outs");
        rig.run(due);
    }
    let begun = rig.now;
    while rig.machine.counters().computes < first + 10 {
        let due = rig.due().expect("a leader has time-outs");
        rig.run(due);
    }
    let took = rig.now.saturating_sub(begun);
    assert!(took < ms(10 * 600), "{took:?}");
    assert!(rig.machine.counters().passes_failed < 10);
}

#[test]
fn of_a_list_no_more_than_256_unknown_nodes_are_taken_and_none_off_the_link() {
    let options = Options::default();
    let mut rig = Rig::off(1, options);
    let mut net = network(1);
    net.prefix = 8;
    rig.link(Net::Up(net));
    let addresses = (0..5_000_u32).map(|at| Ipv4Addr::from_bits(0x0a01_0000 + at));
    let mut list = vec![
        node(2),
        Node {
            ip: [192, 0, 2, 1].into(),
            port: 9,
        },
    ];
    list.extend(addresses.map(|ip| Node {
        ip: ip.into(),
        port: 9,
    }));
    give(&mut rig, 2, 9, &list, terms());
    assert_eq!(rig.machine.lists().0.len(), 2 + 256);
    let cut = rig
        .events()
        .into_iter()
        .find(|it| matches!(it, Event::ListCut { .. }));
    assert_eq!(
        cut,
        Some(Event::ListCut {
            from: host(2),
            left_out: 5_001 - 256
        })
    );
}

#[test]
fn a_node_that_never_answers_is_forgotten_and_one_that_did_is_not() {
    let mut rig = Rig::leader(5);
    rig.know(3);
    let stream = rig.refuse_until(3);
    rig.gone(stream, Closed::TimedOut);
    rig.given(2, 9, &[2, 3, 4, 1].map(node), b"1");
    for _ in 0..2000 {
        rig.run(ms(100));
        if let Some((stream, _)) = rig.candidate() {
            rig.gone(stream, Closed::Refused);
        }
    }
    let list: Vec<_> = rig.machine.lists().0.iter().map(|it| it.ip).collect();
    assert!(!list.contains(&host(4)), "{list:?}");
    assert!(list.contains(&host(3)) && list.contains(&host(2)));
    assert!(
        rig.events()
            .contains(&Event::NodeForgotten { node: node(4) })
    );
}
