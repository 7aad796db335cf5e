//! Shutdown (F12), options and the list.

use super::prelude::*;

#[test]
fn it_passes_a_token_and_waits_for_its_acknowledgement() {
    let mut rig = Rig::node_2();
    rig.give_token(seq(4, 9));
    rig.command(Command::ShutDown);
    assert_eq!(
        rig.take_successor_frames(),
        [OwnedMessage::Token(seq(4, 10))]
    );
    rig.give_token(seq(4, 30));
    assert_eq!(
        rig.take_successor_frames(),
        [OwnedMessage::Token(seq(4, 31))],
        "the node also passes on a token that comes meanwhile"
    );
    rig.acknowledge(seq(4, 31));
    assert!(rig.machine.is_finished());
    let mut rig = Rig::node_2();
    rig.give_token(seq(4, 9));
    rig.command(Command::ShutDown);
    rig.acknowledge(seq(4, 10));
    assert!(rig.machine.is_finished());
    assert!(rig.take_event(&Event::ShutDown));
    assert!(rig.streams.values().all(|it| it.fate == Fate::Closed));
    assert_eq!(rig.due_at(), None);
}

#[test]
fn it_waits_for_ack_timeout_at_most_and_without_a_token_not_at_all() {
    let mut rig = Rig::node_2();
    rig.give_token(seq(4, 9));
    rig.command(Command::ShutDown);
    rig.run(ms(499));
    assert!(!rig.machine.is_finished());
    rig.run(ms(1));
    assert!(rig.machine.is_finished());
    let mut rig = Rig::node_2();
    rig.request(1, true);
    rig.command(Command::ShutDown);
    assert!(rig.machine.is_finished());
    let answer = RequestAnswer::Token;
    assert!(rig.take_event(&Event::Answered { request: 1, answer }));
}

#[test]
fn work_in_hand_is_ended_first() {
    let mut rig = Rig::node_2_after(100);
    rig.answers = false;
    rig.request(1, true);
    rig.give_token(seq(4, 9));
    let job = rig.next_job();
    rig.command(Command::ShutDown);
    assert_eq!(rig.take_successor_frames(), []);
    rig.answer_job(job.id, Outcome::Done);
    assert_eq!(
        rig.take_successor_frames(),
        [OwnedMessage::Token(seq(4, 10))]
    );
    rig.acknowledge(seq(4, 10));
    assert!(rig.machine.is_finished());
}

#[test]
fn its_predecessor_has_it_removed() {
    let mut network = Network::with_ring(4);
    network.rig(2).command(Command::ShutDown);
    network.run(ms(600));
    assert!(network.rig(2).machine.is_finished());
    network.crash(2);
    network.expect(ms(5000), Network::is_ring);
    assert_eq!(network.token_count(), 1);
}

#[test]
fn defaults_are_those_of_the_page_and_no_period_is_zero() {
    let list = list(9);
    let options = Options::new(2);
    assert_eq!(options.check(&list), Ok(()));
    assert_eq!(options.hold, ms(50));
    assert_eq!(options.request_timeout, ms(10_000));
    let zero = Options {
        poll: Duration::ZERO,
        ..options
    };
    assert_eq!(zero.check(&list), Err(OptionsError::Zero("--poll")));
    let hold = Options {
        hold: Duration::ZERO,
        ..options
    };
    assert_eq!(hold.check(&list), Ok(()));
    assert_eq!(
        Options::new(77).check(&list),
        Err(OptionsError::NotInList(77))
    );
}

#[test]
fn ids_and_addresses_of_the_list_are_unique() {
    let list = |nodes: &[(u32, &str)]| {
        let nodes = nodes
            .iter()
            .map(|&(id, at)| (id, at.parse().expect("an address")));
        NodeList::new(nodes)
    };
    let same = "10.0.0.1:7000".parse().expect("an address");
    assert_eq!(list(&[(0, "10.0.0.1:7000")]), Err(ListError::Id));
    assert_eq!(list(&[(1, "10.0.0.1:0")]), Err(ListError::Port(1)));
    assert_eq!(
        list(&[(1, "10.0.0.1:1"), (1, "10.0.0.2:1")]),
        Err(ListError::SameId(1))
    );
    let mapped = [(1, "10.0.0.1:7000"), (2, "[::ffff:10.0.0.1]:7000")];
    assert_eq!(list(&mapped), Err(ListError::SameAddress(same)));
    let one_host = list(&[(1, "10.0.0.1:7000"), (2, "10.0.0.1:7001")]);
    assert_eq!(one_host.map(|list| list.len()), Ok(2));
    let many = (1..=16_383).map(|id| (id, address(id)));
    assert_eq!(NodeList::new(many), Err(ListError::TooMany));
    drop(ring_of_four());
}
