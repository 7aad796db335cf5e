//! A server that leaves hands its tokens over first (G1 to G10).

use super::network::Network;
use super::rig::*;
use crate::ftn::Configuration;
use crate::ftn::server::LEAVING_MAX;

/// Returns leader 0 of three READY servers, and the name of a free token with data.
fn with_free_data() -> (Rig, String) {
    let mut rig = Rig::leader_of(3, 2);
    rig.begin(1);
    let name = name_of(0, &[R; 3], 0);
    rig.request(1, 1, &name, X);
    rig.update_and_deassign(1, 2, &name, "v");
    (rig, name)
}

/// Returns the server that is responsible for a token if server 0 is DOWN.
fn next_server(name: &str) -> usize {
    let without = Configuration::new(1, vec![D, R, R]);
    servers(3).responsible(name.as_bytes(), &without).unwrap()
}

fn left_behind(rig: &Rig) -> Option<usize> {
    rig.events.iter().find_map(|event| match event {
        Event::ShutDown { left_behind } => Some(*left_behind),
        _ => None,
    })
}

#[test]
fn data_that_no_client_holds_go_to_the_next_server_before_a_server_leaves() {
    let (mut rig, name) = with_free_data();
    let said = only(&rig.command(Command::ShutDown), "TRANSFER");
    let c = rig.snapshot().configuration.cast_signed();
    assert_eq!(said.len(), 1);
    assert!(
        said[0].starts_with(&format!("TRANSFER {} 0/1 [{name}=v free]", -c)),
        "{said:?}"
    );
    assert!(!rig.server.has_left());
    assert_eq!(
        rig.request(1, 3, &name, X),
        NONE,
        "a leaving server serves nothing"
    );
    // The part is repeated until it is acknowledged.
    assert_eq!(only(&rig.pass(RETRY), "TRANSFER").len(), 1);
    let next = if said[0].ends_with("s1") { 1 } else { 2 };
    rig.receive_transferred(next, -c, 0);
    assert!(rig.server.has_left());
    assert_eq!(left_behind(&rig), Some(0));
}

#[test]
fn a_server_leaves_after_5_s_and_reports_tokens_that_no_server_has_taken() {
    let (mut rig, _) = with_free_data();
    rig.command(Command::ShutDown);
    for _ in 0..4 {
        rig.pass(HB);
        let seq = rig.snapshot().seq;
        rig.heartbeat(1, seq, R);
        rig.heartbeat(2, seq, R);
    }
    assert!(!rig.server.has_left());
    rig.pass(LEAVING_MAX - 4 * HB);
    assert!(rig.server.has_left());
    assert_eq!(left_behind(&rig), Some(1));
}

#[test]
fn the_last_server_leaves_at_once_and_reports_lost_tokens() {
    let (mut rig, _) = with_free_data();
    rig.pass(ST);
    assert_eq!(states(rig.snapshot().states), "RDD");
    rig.command(Command::ShutDown);
    assert!(rig.server.has_left());
    assert_eq!(left_behind(&rig), Some(1));
}

#[test]
fn a_second_command_makes_a_server_leave_at_once() {
    let (mut rig, _) = with_free_data();
    rig.command(Command::ShutDown);
    rig.command(Command::ShutDown);
    assert!(rig.server.has_left());
}

/// A server uses the tokens from a leaving server only in a configuration in which the leaving server is DOWN.
#[test]
fn tokens_of_a_leaving_server_are_kept_until_a_configuration_assigns_them() {
    let name = inherited_name(0);
    for (states, kept) in [([R, R, D], true), ([R, R, R], false)] {
        let mut rig = Rig::follower(1);
        let mut leave = |from, c: i64| {
            let said = rig.transfer(from, -c, (0, 1), &[(&name, "v")]);
            (said, rig.snapshot().tokens)
        };
        assert_eq!(leave(2, 6), (vec![], 0), "of an earlier configuration");
        let taken = |from| vec![format!("TRANSFERRED -9 0 to s{from}")];
        assert_eq!(leave(0, 9), (taken(0), 0), "the token is not server 0's");
        assert_eq!(leave(2, 9), (taken(2), 1));
        rig.state(12, 1, &states, 1);
        rig.catalog(1, 12, (0, 1), 10, &[]);
        assert_eq!(rig.snapshot().tokens, usize::from(kept));
        if kept {
            let said = rig.request(1, 11, &name, X);
            assert_eq!(said, [format!("GRANT 11 {name}=v to k1")]);
        }
    }
}

#[test]
fn a_server_without_memory_acknowledges_no_tokens_and_keeps_its_own_data() {
    let max_memory = 64 << 10;
    let mut rig = Rig::follower_with(
        1,
        Options {
            max_memory,
            ..options()
        },
    );
    let own = name_of(1, &[R; 3], 0);
    let data = "d".repeat(20_000);
    rig.request(1, 1, &own, X);
    rig.update_and_deassign(1, 2, &own, &data);
    let mut acknowledged = 0;
    for nth in 0..12 {
        let name = inherited_name(nth);
        let part = (i32::try_from(nth).unwrap(), 12);
        let said = rig.transfer(2, -9, part, &[(&name, &data)]);
        // A server acknowledges again a part that it has already accepted.
        assert_eq!(rig.transfer(2, -9, part, &[(&name, &data)]), said);
        acknowledged += said.len();
        assert_eq!(rig.snapshot().tokens, 1 + acknowledged);
    }
    assert!((2..12).contains(&acknowledged), "{acknowledged}");
    assert!(rig.drop_count(DropReason::Memory) > 0);
    let granted = rig.request(1, 3, &own, X);
    assert_eq!(granted, [format!("GRANT 3 {own}={data} to k1")]);
}

#[test]
fn tokens_that_another_server_has_taken_do_not_count_as_left_behind() {
    let (mut rig, first) = with_free_data();
    let second = (1..100)
        .map(|nth| name_of(0, &[R; 3], nth))
        .find(|name| next_server(name) != next_server(&first))
        .unwrap();
    rig.request(1, 3, &second, X);
    rig.update_and_deassign(1, 4, &second, "w");
    rig.command(Command::ShutDown);
    let c = rig.snapshot().configuration.cast_signed();
    rig.receive_transferred(next_server(&first), -c, 0);
    rig.command(Command::ShutDown);
    assert_eq!(left_behind(&rig), Some(1));
}

/// S2 is BOOTING and leaves. S1 hands t over to S2, S2 hands t back, and then S2's acknowledgement of the first
/// handover arrives.
#[test]
fn a_token_that_was_handed_back_is_not_deleted_when_it_is_acknowledged() {
    let mut rig = Rig::follower_with(1, options());
    rig.state(12, 1, &[R, R, D], 1);
    rig.catalog(1, 12, (0, 1), 10, &[]);
    let name = inherited_name(0);
    rig.request(1, 11, &name, X);
    rig.update_and_deassign(1, 12, &name, "v");
    let said = only(&rig.state(15, 1, &[R, R, B], 1), "TRANSFER");
    assert_eq!(said, [format!("TRANSFER 15 0/1 [{name}=v free] to s2")]);
    let said = rig.transfer(2, -15, (0, 1), &[(&name, "v")]);
    assert_eq!(said, ["TRANSFERRED -15 0 to s2"]);
    rig.receive_transferred(2, 15, 0);
    rig.state(18, 1, &[R, R, D], 1);
    rig.catalog(1, 18, (0, 1), 20, &[]);
    let said = rig.request(1, 21, &name, X);
    assert_eq!(said, [format!("GRANT 21 {name}=v to k1")]);
}

#[test]
fn a_server_that_leaves_takes_no_tokens() {
    let mut rig = Rig::start(3, 1, options(), Durable::default());
    rig.state(3, 1, &[R, D, R], 0);
    rig.state(6, 1, &[R, B, R], 0);
    let name = name_of(1, &[R; 3], 0);
    rig.transfer(0, 6, (0, 2), &[(&name, "v")]);
    rig.command(Command::ShutDown);
    assert_eq!(only(&rig.transfer(0, 6, (1, 2), &[]), "TRANSFERRED"), NONE);
    assert_eq!(only(&rig.transfer(2, 6, (0, 1), &[]), "TRANSFERRED"), NONE);
    // A leaving server does not accept tokens of another leaving server either.
    assert_eq!(only(&rig.transfer(2, -6, (0, 1), &[]), "TRANSFERRED"), NONE);
}

#[test]
fn down_counts_only_under_the_present_configuration() {
    let mut rig = Rig::leader_of(3, 2);
    let earlier = rig.snapshot().seq;
    rig.heartbeat(2, earlier, D);
    assert_eq!(states(rig.snapshot().states), "RRD");
    rig.heartbeat(1, earlier, D);
    assert_eq!(states(rig.snapshot().states), "RRD");
    let seq = rig.snapshot().seq;
    rig.heartbeat(1, seq, D);
    assert_eq!(states(rig.snapshot().states), "RDD");
}

/// The servers stop one by one, as for an upgrade. Each server has tokens with data that no client holds.
#[test]
fn confirmed_data_survive_the_planned_stop_of_each_server_in_turn() {
    for needed in [1, majority(3)] {
        let mut network = Network::ready(3, quorum(needed));
        network.add(1);
        let names: Vec<String> = (0..3)
            .flat_map(|server| (0..3).map(move |nth| name_of(server, &[R; 3], nth)))
            .collect();
        network.pass_until(2 * HB, |network| network.clients[&1].confirmed.is_some());
        for name in &names {
            network.want(1, name, X);
            network.pass_until(HB, |network| network.holds(1, name));
            network.give_back(1, name, Some(name));
            network.pass_until(HB, |network| network.clients[&1].returns.is_empty());
        }
        for stopped in [2, 0, 1] {
            network.stop(stopped);
            network.pass_until(LEAVING_MAX, |network| network.has_left(stopped));
            network.crash(stopped);
            network.pass(3 * ST);
            for name in &names {
                network.want(1, name, X);
                network.pass_until(ST, |network| network.holds(1, name));
                assert_eq!(network.clients[&1].held[name].1, *name, "without {stopped}");
                network.give_back(1, name, None);
                network.pass_until(HB, |network| network.clients[&1].returns.is_empty());
            }
            network.start(stopped);
            network.pass_until_ready(4 * ST);
        }
    }
}
