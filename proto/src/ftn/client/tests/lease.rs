//! Renewal and lease (S14 to S23).

use super::rig::*;
use crate::Machine as _;

#[test]
fn the_first_confirmed_renewal_makes_the_session_live_for_three_quarters_of_ct_after_its_sending() {
    let mut rig = Rig::proving();
    let sent = rig.now.monotonic;
    assert_eq!(rig.client.lease(), None);
    rig.sleep(ms(80));
    rig.confirm(1, 0);
    assert_eq!(rig.client.state(), ClientState::Live { session: ME });
    assert_eq!(rig.client.lease(), Some(sent + LEASE));
    assert_eq!(rig.client.live_since(), Some(sent + ms(80)));
    assert_eq!(LEASE, CT * 3 / 4);
}

#[test]
fn alive_and_a_renewal_follow_ct_fifths_after_the_sending_of_the_last_confirmed_one() {
    let mut rig = Rig::live();
    assert!(rig.pass(ms(2_999)).is_empty());
    assert_eq!(rig.pass(ms(1)), ["ALIVE > 1", "RENEWAL 7 #1 > 1"]);
    rig.sleep(ms(50));
    rig.confirm(1, 1);
    assert!(rig.pass(ms(2_949)).is_empty());
    assert_eq!(rig.pass(ms(1)), ["ALIVE > 1", "RENEWAL 7 #2 > 1"]);
}

#[test]
fn an_unconfirmed_renewal_is_repeated_with_back_off_under_a_new_number_each() {
    let mut rig = Rig::proving();
    let said = rig.timeline(ms(3_500));
    let renewals = [
        (100, "RENEWAL 7 #1 > 1"),
        (300, "RENEWAL 7 #2 > 1"),
        (700, "RENEWAL 7 #3 > 1"),
        (1500, "RENEWAL 7 #4 > 1"),
        (2500, "RENEWAL 7 #5 > 1"),
        (3500, "RENEWAL 7 #6 > 1"),
    ];
    assert_eq!(said, renewals.map(|(at, line)| (at, line.to_owned())));
}

#[test]
fn repeated_renewals_are_at_most_ct_eighths_apart() {
    let mut rig = Rig::new();
    rig.client = {
        let mut options = rig.client.options().clone();
        options.client_timeout = ms(2_000);
        Client::new(options)
    };
    rig.up(4000);
    rig.config_to(1, ME, C, ALL);
    rig.pass(ms(50));
    let times = rig.times(ms(1_000), "RENEWAL");
    assert_eq!(times, [100, 300, 550, 800]);
}

#[test]
fn a_lease_counts_from_the_sending_of_the_renewal_that_confirm_names() {
    let mut rig = Rig::live();
    let start = rig.now.monotonic;
    // The client sends #1 at 3.0 s, #2 at 3.1 s and #3 at 3.3 s.
    rig.pass(ms(3_350));
    rig.confirm(1, 2);
    assert_eq!(rig.client.lease(), Some(start + ms(3_100) + LEASE));
    rig.confirm(1, 1);
    assert_eq!(
        rig.take_drops(),
        [DropReason::Late],
        "an earlier renewal is late"
    );
    rig.confirm(1, 3);
    assert_eq!(rig.client.lease(), Some(start + ms(3_300) + LEASE));
    rig.confirm(1, 3);
    rig.confirm(1, 77);
    assert_eq!(rig.take_drops(), [DropReason::Late; 2]);
    assert_eq!(rig.client.lease(), Some(start + ms(3_300) + LEASE));
}

#[test]
fn only_the_leader_of_the_configuration_confirms_renewals() {
    let mut rig = Rig::proving();
    rig.confirm(0, 0);
    assert_eq!(rig.client.lease(), None);
    // Server 2 leads now. A confirmation that server 1 has sent without authority is late.
    rig.config_to(2, 0, 8, ALL);
    rig.confirm(1, 0);
    rig.confirm(2, 0);
    assert_eq!(rig.client.lease(), None, "2 was never sent #0");
    rig.confirm(2, 1);
    assert!(rig.client.lease().is_some());
}

#[test]
fn a_new_leader_gets_a_renewal_with_the_new_configuration_at_once() {
    let mut rig = Rig::live();
    rig.pass(ms(1_000));
    let said = rig.config_to(2, 0, 8, ALL);
    assert_eq!(said, ["ALIVE > 2", "RENEWAL 8 #1 > 2"]);
    // The back-off begins again.
    assert_eq!(rig.times(ms(300), "RENEWAL"), [100, 300]);
    // With the same leader the schedule does not change.
    rig.confirm(2, 3);
    assert!(rig.config_to(2, 0, 11, ALL).is_empty());
    assert_eq!(rig.times(ms(3_000), "RENEWAL 11"), [3000]);
}

#[test]
fn the_end_of_a_lease_ends_the_session_with_all_tokens_and_requests() {
    let held = name_of(0, 0);
    let mut rig = Rig::holding(&held, Exclusive, "d");
    rig.request("other", Exclusive);
    let end = rig.client.lease().unwrap();
    rig.pass(end.since(rig.now.monotonic) - ms(1));
    assert!(rig.holds(&held));
    rig.take_events();
    rig.pass(ms(1));
    assert_eq!(rig.take_events(), ["lost: lease over", "new socket"]);
    assert!(!rig.holds(&held));
    assert_eq!(rig.client.lease(), None);
    assert_eq!(rig.client.poll_timeout(), None);
    // The client takes another socket and another session, in which it holds nothing.
    assert_eq!(rig.up(4001)[0], "LOGIN :4001 > 0");
    rig.config_to(1, ME + 1, C, ALL);
    let said = rig.pass(ms(50));
    let number = said.iter().find_map(|line| renewal(line)).unwrap();
    assert!(number > 2, "the numbers continue");
    assert!(!rig.holds(&held));
    assert!(
        !rig.pass(ms(1_000))
            .iter()
            .any(|line| line.contains("REQUEST"))
    );
}

#[test]
fn a_client_checks_its_lease_before_it_handles_an_input() {
    // The client was stalled for longer than its lease, and GRANT and CONFIRM wait in the socket.
    let name = name_of(0, 0);
    let inputs: [fn(&mut Rig, &str) -> Vec<String>; 7] = [
        |rig, name| rig.grant(0, 1, name, "d"),
        |rig, _| rig.confirm(1, 2),
        |rig, name| rig.revoke(0, name),
        |rig, _| rig.config(0, 8, ALL),
        |rig, name| rig.request(name, Exclusive),
        |rig, _| rig.up(4000),
        |rig, _| rig.fire_timeout(),
    ];
    for (at, input) in inputs.into_iter().enumerate() {
        let mut rig = Rig::live();
        rig.request(&name, Exclusive);
        let said = rig.pass(ms(3_000));
        assert!(said.contains(&"RENEWAL 7 #2 > 1".into()));
        rig.sleep(LEASE - ms(3_000));
        let said = input(&mut rig, &name);
        assert!(said.is_empty(), "input {at}: {said:?}");
        assert!(rig.take_events().contains(&"lost: lease over".into()));
        assert!(!rig.holds(&name));
    }
}

#[test]
fn a_confirmation_after_the_end_of_its_lease_makes_no_session_live() {
    let mut rig = Rig::proving();
    rig.sleep(LEASE);
    rig.confirm(1, 0);
    assert_eq!(rig.client.state(), ClientState::Proving { session: ME });
    assert_eq!(rig.take_drops(), [DropReason::Late]);
}

#[test]
fn after_a_stall_the_socket_is_read_before_a_message_is_repeated() {
    let name = name_of(0, 0);
    let mut rig = Rig::live();
    rig.request(&name, Exclusive);
    rig.sleep(ms(5_000));
    assert!(rig.revoke(2, "x").is_empty(), "the answer may come next");
    assert!(rig.grant(0, 1, &name, "").is_empty());
    assert_eq!(rig.fire_timeout(), ["ALIVE > 1", "RENEWAL 7 #2 > 1"]);
}

#[test]
fn the_clock_does_not_go_back() {
    let mut rig = Rig::live();
    let before = rig.now;
    rig.sleep(LEASE);
    rig.fire_timeout();
    rig.now = before;
    rig.confirm(1, 0);
    assert_eq!(rig.client.lease(), None);
}

/// If a server ended a session before the client's lease ends, the server would grant the client's tokens to other
/// clients too early.
#[test]
fn an_announced_timeout_counts_only_if_it_is_shorter() {
    for (announced, counts) in [(5_000, 5_000), (60_000, 15_000)] {
        let mut rig = Rig::new();
        rig.up(4000);
        rig.config_with(1, ME, C, ALL, announced);
        rig.pass(ms(50));
        let sent = rig.now.monotonic;
        rig.confirm(1, 0);
        assert_eq!(rig.client.lease(), Some(sent + ms(counts) * 3 / 4));
        assert_eq!(rig.client.options().client_timeout, ms(counts));
    }
}

#[test]
fn a_shorter_timeout_shortens_the_present_lease_and_renews_it_at_once() {
    let mut rig = Rig::live();
    let until = rig.client.lease().unwrap();
    rig.sleep(ms(1_000));
    let said = rig.config_with(0, 0, C, ALL, 5_000);
    assert_eq!(rig.client.lease(), Some(until.before(ms(10_000) * 3 / 4)));
    assert!(
        said.iter().any(|line| line.starts_with("RENEWAL")),
        "{said:?}"
    );
}

#[test]
fn a_server_whose_name_gets_another_address_is_used_there() {
    let mut rig = Rig::live();
    let there = ([198, 51, 100, 9], 7301).into();
    let addresses = [None, Some(there), None];
    rig.command(Command::Addresses(addresses.into()));
    assert_eq!(rig.client.options().servers.address(0), Some(address(0)));
    assert_eq!(rig.client.options().servers.address(1), Some(there));
}

#[test]
fn a_server_with_a_timeout_below_the_minimum_is_reported_and_not_used() {
    let mut rig = Rig::live();
    let before = rig.client.options().client_timeout;
    for timeout in [1, 0, -1, 199] {
        assert!(rig.config_with(2, 0, C + 3, ALL, timeout).is_empty());
    }
    assert_eq!(rig.take_drops(), [DropReason::ShortTimeout; 4]);
    assert_eq!(rig.take_events(), ["server 2 ends sessions after 1ms"]);
    assert_eq!(rig.client.options().client_timeout, before);
    assert_eq!(rig.client.configuration().unwrap().number(), 7);
    rig.sleep(ms(1_000));
    // The client does not use the server as the leader either, because that server ends sessions too early.
    assert!(
        !rig.config_with(0, 0, 8, ALL, 15_000).is_empty(),
        "the new leader gets ALIVE and a renewal"
    );
    let lease = rig.client.lease();
    rig.pass(ms(50));
    rig.confirm(2, 1);
    assert_eq!(rig.client.lease(), lease);
    // The client uses the server again after the server announces a longer timeout.
    rig.config_with(2, 0, 8, ALL, 15_000);
    rig.confirm(2, 1);
    assert!(rig.client.lease() > lease);
}
