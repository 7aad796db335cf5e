//! Different options, followed tokens, and nodes that are known only from lists.

use super::prelude::*;
use super::segment::Segment;

/// Returns the terms of a node with default options.
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

/// Returns the terms of a leader that other nodes follow.
fn followed_terms() -> Terms {
    Terms {
        is_followed: true,
        ..terms()
    }
}

fn terms_with_lease(lease_us: u32) -> Terms {
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

/// Delivers a token on a new connection, with the giver's terms.
pub(super) fn give(rig: &mut Rig, from: u8, token: i32, list: &[Node], terms: Terms) -> StreamId {
    let stream = rig.accept(from);
    let offer = [encode(&Message::Tp6 { terms }), tp1(token, hash(list))];
    rig.receive(stream, &offer.concat());
    if rig.take_written(stream) == TP2 {
        rig.receive(stream, &tp4(list));
    }
    rig.receive_end(stream, &tp5(token, b"1"));
    stream
}

/// Guards against a bug. Each node used only its own times, and ignored the times of the other nodes. A stalled node
/// with `--tr-interval 2s` led for 10 s, although the other nodes elected a new leader after 0.6 s.
#[test]
fn a_lease_is_the_shortest_of_the_nodes_that_are_known() {
    let mut rig = Rig::waiter(5);
    assert_eq!(rig.machine.lease(), ms(500));
    rig.receive_datagram(2, &tr1_with(-1, 2, terms_with_lease(250_000)));
    assert_eq!(rig.machine.lease(), ms(250));
    let long = terms_with_lease(10_000_000);
    rig.receive_datagram(2, &tr1_with(-1, 2, long));
    assert_eq!(rig.machine.lease(), ms(500), "the node's own lease counts");
    let mut rig = Rig::new(slow());
    rig.receive_datagram(2, &tr1_with(-1, 2, terms()));
    assert_eq!(
        rig.machine.lease(),
        ms(500),
        "the lease of the other node counts"
    );
    rig.receive_datagram(2, &tr1_with(-1, 2, long));
    assert_eq!(rig.machine.lease(), Duration::from_secs(10));
    rig.receive_datagram(3, &tr1(-1, 7003));
    assert_eq!(
        rig.machine.lease(),
        ms(500),
        "a node without terms has the default lease"
    );
}

#[test]
fn a_leader_that_stalls_longer_than_the_shortest_lease_stops_leading() {
    let mut rig = Rig::new(slow());
    rig.receive_datagram(2, &tr2(1));
    rig.receive_datagram(2, &tr1_with(-1, 2, terms()));
    give(&mut rig, 2, 9, &[node(2), node(1)], terms());
    assert_eq!(rig.state(), State::Leader);
    rig.stall(ms(600));
    rig.fire_timeout();
    assert_eq!(rig.state(), State::Orphan);
}

/// Checks that the giver's lease is valid while this node has the token, because this node may not have heard all other
/// nodes.
#[test]
fn a_token_brings_the_lease_of_its_ring() {
    let mut rig = Rig::waiter(5);
    let peer_terms = Terms {
        shortest_us: 100_000,
        is_followed: true,
        ..terms()
    };
    give(&mut rig, 2, 9, &[node(2), node(1)], peer_terms);
    assert_eq!(rig.machine.lease(), ms(100));
    give(&mut rig, 2, 10, &[node(2), node(1)], terms());
    assert_eq!(rig.machine.lease(), ms(500), "the lease never expires");
}

/// Checks a node that starts while the leader of a ring with long leases stalls. The node knows none of these leases.
#[test]
fn a_node_without_a_token_waits_for_the_longest_lease_it_has_received() {
    let mut rig = Rig::orphan();
    let long = Terms {
        longest_us: 3_000_000,
        ..terms()
    };
    rig.receive_datagram(2, &tr2_with(-3, long));
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
    rig.receive_datagram(3, &tr1_with(-1, 3, long));
    rig.clear_output();
    rig.receive_datagram(2, &tr1_with(-7, 2, terms()));
    assert_eq!(rig.take_datagrams(), [SentDatagram::Tr2(host(2), -5)]);
}

#[test]
fn a_differing_node_is_reported_once_until_it_agrees() {
    let mut rig = Rig::waiter(5);
    let long = terms_with_lease(10_000_000);
    let how = Difference::Times {
        lease: Duration::from_secs(10),
        renew_timeout: ms(2000),
        token_pass_timeout: ms(500),
    };
    for _ in 0..3 {
        rig.receive_datagram(2, &tr1_with(-1, 2, long));
    }
    let named = rig.take_events();
    let named = named
        .iter()
        .filter(|it| matches!(it, Event::NodeDiffers { .. }));
    assert_eq!(
        named.collect::<Vec<_>>(),
        [&Event::NodeDiffers { node: host(2), how }]
    );
    assert_eq!(rig.machine.snapshot().differing, [(host(2), how)]);
    rig.receive_datagram(2, &tr1_with(-1, 2, terms()));
    assert_eq!(rig.machine.snapshot().differing, []);
}

/// Checks that a node announces itself if its times differ from the times of the other nodes. Without this
/// announcement, some nodes would never hear of the times of the other nodes.
#[test]
fn all_nodes_of_a_ring_name_the_one_with_other_times() {
    let mut segment = Segment::ring(3);
    segment.restart_with(1, slow());
    segment.run(ms(15_000));
    let named: Vec<_> = (0..3)
        .map(|at| {
            segment.rigs[at]
                .machine
                .differing_nodes()
                .map(|(ip, _)| ip)
                .collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(
        named,
        [vec![host(2)], vec![host(1), host(3)], vec![host(2)]]
    );
    assert!((0..3).all(|at| segment.rigs[at].machine.lease() == ms(500)));
    assert!(segment.is_one_ring(), "the slow node takes part");
}

/// Guards against a bug. An isolated machine created a token with a larger id than the token of its former ring. When
/// the machine returned, the ring's leader lost its token to that machine.
#[test]
fn a_token_without_followers_is_weaker_than_one_with_a_smaller_id() {
    let mut rig = Rig::waiter(5);
    let lone = terms();
    give(&mut rig, 2, 9, &[node(2), node(1)], followed_terms());
    rig.receive_datagram(3, &tr1_with(1000, 3, lone));
    assert_eq!(rig.machine.stronger_leader(), None);
    rig.receive_datagram(4, &tr1_with(1000, 4, followed_terms()));
    assert_eq!(rig.machine.stronger_leader(), Some(node(4)));
    let mut lone_leader = Rig::leader(1000);
    lone_leader.receive_datagram(2, &tr1_with(9, 2, followed_terms()));
    assert_eq!(
        lone_leader.next_candidate().1,
        2,
        "the lone leader gives way"
    );
}

/// Checks that a leader's token counts as followed if members wait for the leader, even if no member took the token.
#[test]
fn a_waiter_that_says_whom_it_follows_keeps_its_leader_followed() {
    let follows = |follows| Terms { follows, ..terms() };
    let mut rig = Rig::leader(5);
    rig.receive_datagram(3, &tr1_with(-4, 3, follows(5)));
    assert!(rig.machine.is_followed());
    rig.run(ms(6000));
    assert!(!rig.machine.is_followed());
    rig.receive_datagram(3, &tr1_with(-4, 3, follows(6)));
    assert!(!rig.machine.is_followed(), "the node follows another token");
}

/// Guards against a bug. An isolated node passed its token to a member of the ring, so the ring had two leaders.
#[test]
fn a_member_absorbs_the_token_of_an_isolated_node() {
    let member = || {
        let mut rig = Rig::waiter(5);
        rig.add_node(3);
        give(&mut rig, 2, 9, &[node(2), node(1)], followed_terms());
        let pass = rig.refuse_until(2);
        rig.acknowledge(pass);
        assert_eq!(rig.state(), State::Waiter);
        rig
    };
    let mut rig = member();
    give(&mut rig, 3, 1000, &[node(3), node(1)], terms());
    assert_eq!(rig.machine.counters().absorbed, 1);
    // If the giver has asked in the meantime and leads now, no leader has denied its restore.
    let mut rig = member();
    rig.run(ms(10));
    rig.receive_datagram(3, &tr1_with(-9, 3, terms()));
    give(&mut rig, 3, 1000, &[node(3), node(1)], terms());
    assert_eq!(rig.state(), State::Leader);
}

#[test]
fn the_ring_keeps_its_leader_when_an_isolated_node_returns() {
    let mut segment = Segment::ring(3);
    segment.part = vec![0, 0, 1];
    segment.run(ms(10_000));
    // The larger id belongs to the isolated node.
    segment.rigs[2].machine.change_token(id(i32::MAX - 1));
    segment.rigs.iter_mut().for_each(Rig::clear_output);
    segment.part = vec![0, 0, 0];
    segment.run(ms(10_000));
    assert!(segment.is_one_ring());
    let gave_way = |at: usize| {
        let events = &segment.rigs[at].events;
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

/// Guards against a bug. Two rings with different policies merged, although their nodes disagreed about the data to
/// keep.
#[test]
fn nodes_with_another_decision_form_another_ring() {
    let mut segment = Segment::new(4, Options::default());
    for (at, options) in [Options::default(), longer()]
        .into_iter()
        .cycle()
        .take(4)
        .enumerate()
    {
        segment.restart_with(at, options);
    }
    segment.run(ms(20_000));
    let lists = (0..4).map(|at| {
        let mut list: Vec<_> = segment.rigs[at]
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
        let differing: Vec<_> = segment.rigs[at].machine.differing_nodes().collect();
        assert_eq!(differing.len(), 2, "{differing:?}");
        assert!(differing.iter().all(|(_, how)| *how == Difference::Policy));
    }
    let uses = |segment: &Segment| {
        (0..4)
            .filter(|at| segment.rigs[*at].machine.may_use_token())
            .count()
    };
    for _ in 0..200 {
        segment.run(ms(7));
        assert!(uses(&segment) <= 1, "the programs of one ring get a token");
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
    assert_eq!(rig.drop_count(Reason::Policy), 1);
    let differing = [(host(2), Difference::Policy)];
    assert_eq!(rig.machine.snapshot().differing, differing);
    // A connection that breaks before the terms arrive does not show the ring of its giver.
    let broken = rig.accept(2);
    rig.receive(broken, &[0x22]);
    assert_eq!(rig.fate(broken), Fate::Reset);
    assert_eq!(rig.machine.snapshot().differing, differing);
}

/// Guards against a bug. A received list contained unknown nodes. The leader connected to all these nodes one by one,
/// and lost half a second with each node.
#[test]
fn a_node_that_only_a_list_names_is_asked_before_it_is_connected_to() {
    let mut rig = Rig::waiter(5);
    let list: Vec<Node> = (1..=60).map(node).collect();
    give(&mut rig, 60, 9, &list, terms());
    rig.clear_output();
    let (stream, number) = rig.next_candidate();
    assert_eq!(number, 60, "the giver is node 60");
    let asked = rig.take_datagrams();
    assert_eq!(asked.len(), 16, "{asked:?}");
    assert!(
        asked
            .iter()
            .all(|it| matches!(it, SentDatagram::Tr1(to, 9) if *to != BROADCAST))
    );
    rig.close_by_kernel(stream, CloseReason::Reset);
    rig.receive_datagram(7, &tr1_with(-1, 7, terms()));
    assert_eq!(
        rig.refuse_until(7),
        rig.candidate().unwrap().0,
        "the node has answered"
    );
}

#[test]
fn a_question_for_a_sign_of_life_is_answered_by_any_node() {
    let asks = Terms {
        asks: true,
        ..terms()
    };
    let mut rig = Rig::waiter(5);
    rig.receive_datagram(2, &tr1_with(9, 2, asks));
    assert_eq!(rig.take_datagrams(), [SentDatagram::Tr1(host(2), -5)]);
    let mut rig = Rig::leader(5);
    rig.receive_datagram(2, &tr1_with(9, 2, asks));
    assert_eq!(rig.take_datagrams(), [SentDatagram::Tr1(host(2), 5)]);
}

/// Checks that dead candidates cost a turn at most the time of one pass. After one lost pass, the leader tries only
/// candidates that answered a datagram.
#[test]
fn candidates_that_died_together_cost_a_turn_the_time_of_one_pass() {
    let mut rig = Rig::leader_of(9);
    rig.run(ms(3000));
    (2..=9).for_each(|it| rig.machine.penalties_mut().note_token(host(it)));
    let first = rig.machine.counters().computes;
    rig.machine.force_leader();
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
fn a_list_adds_at_most_256_unknown_nodes_and_none_off_the_link() {
    let options = Options::default();
    let mut rig = Rig::off(1, options);
    let mut net = network(1);
    net.prefix = 8;
    rig.link(NetworkState::Up(net));
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
        .take_events()
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
    rig.add_node(3);
    let stream = rig.refuse_until(3);
    rig.close_by_kernel(stream, CloseReason::TimedOut);
    rig.receive_token(2, 9, &[2, 3, 4, 1].map(node), b"1");
    for _ in 0..2000 {
        rig.run(ms(100));
        if let Some((stream, _)) = rig.candidate() {
            rig.close_by_kernel(stream, CloseReason::Refused);
        }
    }
    let list: Vec<_> = rig.machine.lists().0.iter().map(|it| it.ip).collect();
    assert!(!list.contains(&host(4)), "{list:?}");
    assert!(list.contains(&host(3)) && list.contains(&host(2)));
    assert!(
        rig.take_events()
            .contains(&Event::NodeForgotten { node: node(4) })
    );
}
