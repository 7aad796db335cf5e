//! Announcements and merging rings (`docs/jitterbug/protocol/announcements.md`).

use super::prelude::*;

fn announced(rig: &mut Rig) -> usize {
    let sent = rig.take_datagrams();
    sent.iter()
        .filter(|it| matches!(it, SentDatagram::Tr1(BROADCAST, id) if *id > 0))
        .count()
}

#[test]
fn a_leader_announces_once_per_half_renew_timeout() {
    let mut rig = Rig::leader(5);
    rig.run(ms(999));
    assert_eq!(announced(&mut rig), 0);
    rig.run(ms(1));
    assert_eq!(rig.take_datagrams(), [SentDatagram::Tr1(BROADCAST, 5)]);
    rig.run(ms(10_000));
    assert_eq!(announced(&mut rig), 10);
}

#[test]
fn a_leader_ignores_announcements_of_its_own_token() {
    let mut rig = Rig::leader(5);
    rig.command(Command::Work(true));
    rig.run(ms(600));
    rig.receive_tr1(2, 5);
    rig.clear_output();
    rig.run(ms(999));
    assert_eq!(announced(&mut rig), 0);
    rig.run(ms(1));
    assert_eq!(announced(&mut rig), 1);
}

#[test]
fn another_token_or_a_node_that_does_not_lead_does_not_count() {
    for heard in [4, -5] {
        let mut rig = Rig::leader(5);
        rig.command(Command::Work(true));
        rig.run(ms(600));
        rig.receive_tr1(2, heard);
        rig.clear_output();
        rig.run(ms(400));
        assert!(
            rig.sent.iter().any(|(to, _)| to.ip() == BROADCAST),
            "{heard}"
        );
    }
}

#[test]
fn earlier_announcements_of_the_token_count_when_a_waiter_takes_it() {
    let mut rig = Rig::waiter(5);
    rig.receive_tr1(2, 9);
    rig.run(ms(500));
    rig.clear_output();
    rig.receive_token(2, 9, &[node(2)], b"1");
    rig.run(ms(99));
    assert_eq!(announced(&mut rig), 0);
    let mut rig = Rig::waiter(5);
    rig.receive_tr1(2, 8);
    rig.clear_output();
    rig.receive_token(2, 9, &[node(2)], b"1");
    assert_eq!(announced(&mut rig), 1, "no node has announced token 9");
}

#[test]
fn a_leader_that_passes_at_once_also_announces() {
    let mut rig = Rig::waiter_with(holding(ms(0)));
    rig.receive_token(2, 9, &[1, 2].map(node), b"1");
    assert_eq!(announced(&mut rig), 1);
    assert!(rig.candidate().is_some());
}

#[test]
fn a_passing_leader_announces_after_the_pass() {
    let mut rig = Rig::leader_of(2);
    rig.command(Command::Work(true));
    rig.run(ms(900));
    rig.command(Command::Work(false));
    let (stream, _) = rig.candidate().expect("it passes");
    rig.run(ms(300));
    assert_eq!(announced(&mut rig), 0);
    rig.close_by_kernel(stream, CloseReason::Refused);
    assert_eq!(announced(&mut rig), 1);
}

#[test]
fn the_strongest_announcement_of_late_is_the_rival() {
    let mut rig = Rig::waiter(5);
    rig.receive_tr1(2, 9);
    rig.receive_tr1(3, 8);
    assert_eq!(rig.machine.stronger_leader(), Some(node(2)));
    rig.receive_tr1(4, 9);
    assert_eq!(rig.machine.stronger_leader(), Some(node(4)));
    rig.run(ms(1999));
    assert_eq!(rig.machine.stronger_leader(), Some(node(4)));
    rig.run(ms(1));
    assert_eq!(rig.machine.stronger_leader(), None);
    rig.receive_tr1(3, 8);
    assert_eq!(rig.machine.stronger_leader(), Some(node(3)));
}

#[test]
fn a_rival_counts_only_with_a_larger_id() {
    let mut rig = Rig::waiter(5);
    rig.receive_tr1(2, 5);
    assert_eq!(rig.machine.stronger_leader(), None);
    rig.receive_tr1(2, 4);
    assert_eq!(rig.machine.stronger_leader(), None);
}

#[test]
fn the_leader_passes_to_the_announced_port_of_a_rival() {
    let mut rig = Rig::leader(5);
    rig.receive_datagram(2, &tr1(6, 9999));
    let (_, peer) = rig.candidate().expect("it passes");
    assert_eq!(peer.port(), 9999);
}
