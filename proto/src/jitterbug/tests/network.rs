//! Addresses (`docs/jitterbug/protocol/addresses.md` A1 to A11).

use super::prelude::*;

fn v4(address: [u8; 4], prefix: u8) -> Network {
    Network {
        address: address.into(),
        prefix,
        ..network(1)
    }
}

#[test]
fn tr1_is_sent_to_the_subnets_broadcast_address() {
    for (prefix, expected) in [
        (8, [10, 255, 255, 255]),
        (24, [10, 1, 2, 255]),
        (30, [10, 1, 2, 7]),
        (31, [255; 4]),
        (32, [255; 4]),
        (0, [255; 4]),
    ] {
        assert_eq!(
            v4([10, 1, 2, 5], prefix).everybody(),
            IpAddr::from(expected)
        );
    }
    let six = network_v6();
    assert_eq!(six.everybody(), "ff02::1".parse::<IpAddr>().unwrap());
    assert_eq!(
        six.reach(six.everybody(), 7),
        "[ff02::1%3]:7".parse().unwrap()
    );
}

#[test]
fn hosts_of_a_subnet_of_two_are_on_the_link() {
    let net = v4([10, 1, 2, 4], 31);
    assert!(net.is_on_link([10, 1, 2, 5].into()));
    assert!(!net.is_on_link([10, 1, 2, 6].into()));
    assert!(!v4([10, 1, 2, 4], 32).is_on_link([10, 1, 2, 5].into()));
}

#[test]
fn nodes_of_two_families_are_two_rings() {
    let six = NetworkState::Up(network_v6());
    let (v4, v6): (SocketAddr, SocketAddr) = (
        ([10, 0, 0, 2], 57_700).into(),
        "[fe80::2]:57700".parse().unwrap(),
    );
    for (net, same, other) in [(NetworkState::Up(network(1)), v4, v6), (six, v6, v4)] {
        let mut rig = Rig::off(1, Options::default());
        rig.link(net);
        rig.clear_output();
        rig.receive_datagram_from(other, &tr1(-1, 7002));
        let inbound = rig.accept_from(other);
        assert_eq!(
            (rig.take_datagrams(), rig.fate(inbound)),
            (vec![], Fate::Reset)
        );
        assert_eq!(rig.machine.snapshot().to_add, []);
        rig.receive_datagram_from(same, &tr1(-1, 7002));
        assert_eq!(rig.machine.snapshot().to_add.len(), 1);
    }
}

#[test]
fn without_an_address_a_node_waits_silently_as_an_orphan() {
    let mut rig = Rig::off(1, Options::default());
    rig.run(ms(10_000));
    assert_eq!((rig.state(), rig.take_datagrams()), (State::Orphan, vec![]));
    rig.link(NetworkState::Up(network(1)));
    assert_eq!(rig.take_datagrams().len(), 1);
}

#[test]
fn a_node_that_loses_its_address_is_a_silent_orphan() {
    for mut rig in [Rig::orphan(), Rig::waiter(5), Rig::leader(5)] {
        rig.clear_output();
        rig.link(NetworkState::Down);
        rig.run(ms(10_000));
        assert_eq!((rig.state(), rig.take_datagrams()), (State::Orphan, vec![]));
        rig.link(NetworkState::Up(network(1)));
        rig.run(ms(600));
        assert_eq!(rig.state(), State::Leader);
    }
}

#[test]
fn a_changed_address_is_the_nodes_own_and_the_old_entry_stays() {
    let mut rig = Rig::leader(5);
    rig.link(NetworkState::Up(network(7)));
    assert_eq!(rig.state(), State::Leader);
    rig.add_node(2);
    let (_, number) = rig.next_candidate();
    let snapshot = rig.machine.snapshot();
    let nodes: Vec<_> = snapshot.nodes.iter().map(|it| it.node).collect();
    assert_eq!((nodes, number), ([1, 7, 2].map(node).to_vec(), 2));
    rig.clear_output();
    rig.receive_datagram(7, &tr1(-1, 7007));
    assert_eq!(rig.take_datagrams(), []);
    rig.receive_datagram(1, &tr1(-1, 7001));
    assert_eq!(rig.take_datagrams(), [SentDatagram::Tr2(host(1), 5)]);
}

#[test]
fn a_changed_address_ends_the_exchanges_of_the_old_one() {
    let other = NetworkState::Up(network(7));
    let (mut rig, stream) = Rig::giver();
    rig.open_by_kernel(stream);
    let inbound = rig.offer(3, 4, 7);
    rig.link(other);
    assert_eq!(
        (rig.fate(stream), rig.fate(inbound)),
        (Fate::Reset, Fate::Reset)
    );
    assert_eq!(
        (rig.state(), rig.machine.counters().passes_aborted),
        (State::Leader, 1)
    );

    let (mut rig, stream) = Rig::giver();
    rig.accept_pass(stream);
    rig.link(other);
    assert_eq!(
        (rig.state(), rig.fate(stream)),
        (State::Orphan, Fate::Reset)
    );
    assert_eq!(rig.machine.counters().passes_unknown, 1);
}

#[test]
fn a_new_address_restarts_a_restore() {
    let mut rig = Rig::orphan();
    rig.run(ms(590));
    rig.link(NetworkState::Up(network(7)));
    rig.run(ms(599));
    assert_eq!(rig.state(), State::Orphan);
    rig.run(ms(1));
    assert_eq!(rig.state(), State::Leader);
}

#[test]
fn the_same_address_again_changes_nothing() {
    let (mut rig, stream) = Rig::giver();
    rig.link(NetworkState::Up(network(1)));
    assert_eq!(rig.fate(stream), Fate::Open);
}

#[test]
fn unsent_datagrams_are_not_counted() {
    let mut rig = Rig::leader(5);
    let before = rig.machine.counters().tr1_sent;
    // The restore after the stall begins with the old address.
    rig.stall(ms(600));
    rig.link(NetworkState::Up(network(7)));
    let sent = u64::try_from(rig.take_datagrams().len()).unwrap();
    assert_eq!(rig.machine.counters().tr1_sent - before, sent);
}
