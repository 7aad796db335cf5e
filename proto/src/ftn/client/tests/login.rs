//! Login, and the answer that a client selects (S1 to S6).

use super::rig::*;

const TO_ALL: [&str; 3] = ["LOGIN :4000 > 0", "LOGIN :4000 > 1", "LOGIN :4000 > 2"];
const FIRST: [&str; 2] = ["ALIVE > 1", "RENEWAL 7 #0 > 1"];

#[test]
fn login_goes_to_every_server_and_carries_the_port() {
    let mut rig = Rig::new();
    assert_eq!(rig.client.state(), ClientState::NoSocket);
    assert_eq!(rig.up(4000), TO_ALL);
}

#[test]
fn login_is_repeated_with_back_off() {
    let mut rig = Rig::login();
    // After two seconds the answers are dropped, and LOGIN is sent again.
    let times = rig.times(ms(5_000), "LOGIN :4000 > 1");
    assert_eq!(times, [100, 300, 700, 1500, 2000, 3000, 4000, 5000]);
}

#[test]
fn the_client_uses_the_leaders_id_once_all_servers_have_answered() {
    let mut rig = Rig::login();
    assert!(rig.config_to(1, ME, C, ALL).is_empty());
    assert!(rig.config_to(0, 0, C, ALL).is_empty());
    assert_eq!(rig.config_to(2, 0, C, ALL), FIRST);
    assert_eq!(rig.take_events(), ["proving at 1"]);
    assert_eq!(rig.client.state(), ClientState::Proving { session: ME });
}

#[test]
fn the_client_waits_fifty_milliseconds_for_all_answers() {
    let mut rig = Rig::login();
    rig.config_to(1, ME, C, ALL);
    assert!(rig.pass(ms(49)).is_empty());
    assert_eq!(rig.pass(ms(1)), FIRST);

    let mut rig = Rig::login();
    rig.pass(ms(60));
    assert_eq!(
        rig.config_to(1, ME, C, ALL),
        FIRST,
        "after that it does not wait"
    );
}

#[test]
fn the_leader_with_the_largest_configuration_is_used() {
    let mut rig = Rig::login();
    rig.config_to(1, ME, C, ALL);
    rig.config_to(2, ME + 1, 8, ALL);
    let said = rig.pass(ms(50));
    assert_eq!(said, ["ALIVE > 2", "RENEWAL 8 #0 > 2"]);
}

#[test]
fn a_leader_is_not_used_if_a_larger_configuration_is_known() {
    // Server 0 follows server 2. Server 2 leads with the configuration 8, and has not answered. Server 1 still believes
    // that it leads.
    let mut rig = Rig::login();
    rig.config_to(1, ME, C, ALL);
    rig.config_to(0, 0, 8, ALL);
    let said = rig.pass(ms(1_900));
    assert!(said.iter().all(|line| line.starts_with("LOGIN")));
    let said = rig.config_to(2, ME + 1, 8, ALL);
    assert_eq!(said, ["ALIVE > 2", "RENEWAL 8 #0 > 2"]);
}

#[test]
fn answers_without_a_leader_are_dropped_after_two_seconds() {
    // The leader of the configuration 8 is DOWN. Server 1 leads with 7, because it reaches no server that knows of 8.
    let mut rig = Rig::login();
    rig.config_to(0, 0, 8, ALL);
    rig.config_to(1, ME, C, ALL);
    rig.pass(ms(1_999));
    assert!(rig.take_events().is_empty());
    rig.pass(ms(1));
    assert_eq!(rig.take_events(), ["login failed: NoLeader"]);
    rig.config_to(1, ME, C, ALL);
    assert_eq!(rig.pass(ms(50)), FIRST);
}

#[test]
fn an_id_from_a_follower_does_not_count() {
    let mut rig = Rig::login();
    rig.config_to(0, ME, C, ALL);
    rig.config_to(2, ME, C, ALL);
    assert!(
        rig.config_to(1, 0, C, ALL).is_empty(),
        "the leader's answer without an id does not count either"
    );
    assert_eq!(rig.config_to(1, ME, C, ALL), FIRST);
}

#[test]
fn a_late_answer_does_not_replace_one_with_a_larger_configuration() {
    let mut rig = Rig::login();
    rig.config_to(0, 0, 8, ALL);
    rig.config_to(0, 0, C, ALL);
    assert_eq!(rig.take_drops(), [DropReason::Late]);
    rig.config_to(1, ME, C, ALL);
    assert!(rig.config_to(2, 0, C, ALL).is_empty());
}

#[test]
fn a_failed_login_is_reported_every_two_seconds() {
    let mut rig = Rig::login();
    rig.pass(ms(4_000));
    assert_eq!(
        rig.take_events(),
        ["login failed: NoAnswer", "login failed: NoAnswer"]
    );
    assert_eq!(
        rig.client.state(),
        ClientState::Login {
            answered: 0,
            other_list: false
        }
    );
}

#[test]
fn a_proving_client_gives_up_after_ct_and_takes_another_socket() {
    let mut rig = Rig::proving();
    rig.take_events();
    rig.pass(CT - ms(1));
    assert!(rig.take_events().is_empty());
    rig.pass(ms(1));
    assert_eq!(rig.take_events(), ["lost: not proven", "new socket"]);
    assert!(rig.pass(CT).is_empty(), "the old socket sends nothing");
    assert!(rig.up(4000).is_empty(), "the old port is not used again");
    assert_eq!(rig.take_events(), ["new socket"]);
    assert_eq!(rig.up(4001).len(), 3);
}

#[test]
fn the_id_of_a_former_session_is_never_used_again() {
    let mut rig = Rig::proving();
    rig.pass(CT);
    rig.up(4001);
    rig.take_drops();
    rig.config_to(0, 0, C, ALL);
    rig.config_to(2, 0, C, ALL);
    assert!(rig.config_to(1, ME, C, ALL).is_empty());
    assert_eq!(rig.take_drops(), [DropReason::FormerSession]);
    assert!(!rig.config_to(1, ME + 1, C, ALL).is_empty());
}

#[test]
fn a_leader_that_is_booting_or_down_can_give_a_session() {
    for states in [[Down, Booting, Down], [Ready, Down, Ready]] {
        let mut rig = Rig::login();
        rig.config_to(1, ME, C, states);
        assert_eq!(rig.pass(ms(50)), FIRST);
    }
}

#[test]
fn requests_are_refused_before_the_session_is_live() {
    for mut rig in [Rig::new(), Rig::login(), Rig::proving()] {
        rig.take_events();
        let name: Box<[u8]> = (*b"t").into();
        assert!(rig.command(Command::Cancel { name }).is_empty());
        assert_eq!(rig.take_events(), ["refused t: NotLive"]);
        let after = Box::default();
        assert!(rig.command(Command::List { server: 0, after }).is_empty());
        assert_eq!(rig.take_events(), ["listing failed 0"]);
    }
}

#[test]
fn without_a_socket_the_client_sends_nothing_and_continues_with_the_next_one() {
    let mut rig = Rig::login();
    assert!(rig.link(SocketState::Down).is_empty());
    assert!(rig.pass(ms(400)).is_empty());
    rig.up(4000);
    assert!(rig.times(ms(400), "LOGIN :4000 > 0").contains(&300));
    rig.config_to(1, ME, C, ALL);
    assert_eq!(rig.client.state(), ClientState::Proving { session: ME });
    // Another socket ends the session, because servers see another client at its port.
    rig.take_events();
    assert_eq!(rig.up(4002).len(), 3);
    assert_eq!(rig.take_events(), ["lost: socket changed"]);
    assert_eq!(rig.up(4003)[0], "LOGIN :4003 > 0");
}

#[test]
fn a_datagram_that_the_socket_refuses_is_repeated_like_a_lost_one() {
    let mut rig = Rig::new();
    rig.refuse = true;
    rig.up(4000);
    assert_eq!(rig.events, [const { Event::SendFailed }; 3]);
    rig.refuse = false;
    assert_eq!(rig.pass(ms(100)), TO_ALL);
}
