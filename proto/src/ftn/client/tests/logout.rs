//! LOGOUT (S32).

use super::rig::*;

#[test]
fn logout_goes_to_the_leader_and_its_config_to_zero_confirms_it() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Exclusive, "");
    assert_eq!(rig.command(Command::Logout), ["LOGOUT > 1"]);
    assert!(!rig.holds(&name), "the client no longer holds the token");
    assert_eq!(rig.client.lease(), None);
    assert_eq!(rig.client.state(), ClientState::LoggingOut);
    rig.config_to(1, 0, C, ALL);
    assert_eq!(rig.take_events(), ["logged out: true"]);
    assert_eq!(rig.client.state(), ClientState::Ended);
    assert!(rig.pass(ms(60_000)).is_empty());
    assert!(rig.up(4001).is_empty());
}

#[test]
fn logout_is_sent_at_most_three_times() {
    let mut rig = Rig::live();
    rig.command(Command::Logout);
    assert_eq!(rig.times(ms(60_000), "LOGOUT > 1"), [100, 300]);
    assert_eq!(rig.take_events(), ["logged out: false"]);
    assert_eq!(rig.client.state(), ClientState::Ended);
}

#[test]
fn other_messages_do_not_confirm_a_logout() {
    let mut rig = Rig::live();
    rig.command(Command::Logout);
    rig.config_to(1, 0, C - 3, ALL);
    rig.config_to(1, ME, C, ALL);
    rig.deliver(1, ME, Message::Revoke { name: b"t" });
    assert_eq!(
        rig.take_drops(),
        [
            DropReason::Late,
            DropReason::NoSession,
            DropReason::NoSession
        ]
    );
    rig.config_to(0, 0, C, ALL);
    assert_eq!(rig.client.state(), ClientState::LoggingOut);
}

#[test]
fn logout_goes_to_a_new_leader_that_the_old_one_names() {
    let mut rig = Rig::live();
    rig.command(Command::Logout);
    assert_eq!(rig.config_to(1, 0, 8, ALL), ["LOGOUT > 2"]);
    assert_eq!(rig.times(ms(10_000), "LOGOUT > 2"), [100]);
}

#[test]
fn a_logout_without_a_session_is_confirmed_at_once() {
    let mut rig = Rig::proving();
    assert_eq!(rig.command(Command::Logout), ["LOGOUT > 1"]);
    for mut rig in [Rig::new(), Rig::login()] {
        assert!(rig.command(Command::Logout).is_empty());
        assert_eq!(rig.take_events(), ["logged out: true"]);
        assert!(rig.pass(ms(10_000)).is_empty());
    }
}
