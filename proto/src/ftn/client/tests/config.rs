//! CONFIG in a session (S24 to S31).

use super::rig::*;

#[test]
fn a_lower_configuration_is_late_and_dropped() {
    let mut rig = Rig::live();
    assert!(rig.config(0, C - 1, [Ready, Down, Ready]).is_empty());
    assert_eq!(rig.take_drops(), [DropReason::Late]);
    assert_eq!(rig.client.configuration().unwrap().number(), 7);
    assert_eq!(rig.client.configuration().unwrap().states(), ALL);
}

#[test]
fn a_larger_configuration_is_adopted_from_any_server_and_to_any_session() {
    for (from, to) in [(0, 0), (1, ME), (2, ME + 1)] {
        let mut rig = Rig::live();
        rig.config_to(from, to, 10, [Ready, Ready, Down]);
        assert_eq!(rig.take_events(), ["adopted 10"]);
        let configuration = rig.client.configuration().unwrap();
        assert_eq!(configuration.states(), [Ready, Ready, Down]);
        assert_eq!(configuration.leader(), 1);
    }
}

#[test]
fn an_equal_configuration_changes_nothing() {
    let mut rig = Rig::live();
    assert!(rig.config_to(0, 0, C, [Down; 3]).is_empty());
    assert!(rig.take_events().is_empty());
    assert_eq!(rig.client.configuration().unwrap().states(), ALL);
}

#[test]
fn outstanding_messages_go_to_their_new_servers_at_once() {
    let (asked, given) = (name_of(2, 0), name_of(2, 1));
    let stays = name_of(0, 0);
    let mut rig = Rig::holding(&given, Exclusive, "");
    rig.request(&asked, Exclusive);
    rig.request(&stays, Shared);
    rig.release(&given);
    rig.pass(ms(350));
    // Server 2 is DOWN, so other servers are responsible for its tokens.
    let said = rig.config_to(1, 0, 10, [Ready, Ready, Down]);
    let (a, g) = (rig.server_of(&asked), rig.server_of(&given));
    let expected = [
        format!("REQUEST x {asked} #2 > {a}"),
        format!("RETURN DEASSIGN {given} #4 > {g}"),
    ];
    assert_eq!(
        said, expected,
        "the two go under the same numbers; the third stays at its server"
    );
    // The repetition to a new server begins with RETRY.
    let times = rig.times(ms(300), &format!("REQUEST x {asked}"));
    assert_eq!(times, [100, 300]);
}

#[test]
fn while_all_servers_are_down_requests_wait() {
    let name = name_of(2, 0);
    let mut rig = Rig::live();
    rig.request(&name, Exclusive);
    rig.config_to(1, 0, 10, [Down; 3]);
    let said = rig.pass(ms(1_000));
    assert!(said.is_empty(), "{said:?}");
    let said = rig.config_to(1, 0, 13, [Down, Booting, Down]);
    assert_eq!(said, [format!("REQUEST x {name} #1 > 1")]);
}

#[test]
fn config_to_zero_does_not_end_a_session() {
    let held = name_of(0, 0);
    let mut rig = Rig::holding(&held, Exclusive, "");
    for from in 0..3 {
        assert!(rig.config_to(from, 0, C, ALL).is_empty());
        assert!(rig.config_to(from, 0, 3, [Down; 3]).is_empty());
    }
    assert!(rig.holds(&held));
    assert_eq!(rig.client.state(), ClientState::Live { session: ME });
    rig.stay_live(LEASE * 2);
    assert!(rig.holds(&held));
}
