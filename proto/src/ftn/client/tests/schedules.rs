//! Section 10: the schedules of the counter-examples, as far as a client decides them.

use super::rig::*;

/// Row "clients follow CONFIG messages".
#[test]
fn the_late_config_of_a_servers_death_does_not_send_the_client_to_the_wrong_server() {
    let name = name_of(2, 0);
    let mut rig = Rig::live();
    // Server 2 goes down (10) and comes back (13); the client hears of the return first.
    rig.config_to(1, 0, 13, ALL);
    rig.config_to(1, 0, 10, [Ready, Ready, Down]);
    assert_eq!(rig.dropped(), [Reason::Late]);
    assert_eq!(
        rig.request(&name, Exclusive),
        [format!("REQUEST x {name} #1 > 2")]
    );
}

/// Row "a client answers REVOKE of a token that it does not hold by RETURN".
#[test]
fn a_revoke_that_overtakes_the_grant_does_not_make_two_holders() {
    let name = name_of(0, 0);
    let mut rig = Rig::live();
    rig.request(&name, Exclusive);
    // GRANT is late, another client asks, REVOKE is faster.
    assert!(
        rig.revoke(0, &name).is_empty(),
        "nobody else is granted it now"
    );
    rig.grant(0, 1, &name, "");
    assert!(rig.holds(&name));
    rig.revoke(0, &name);
    let told = rig.told();
    assert!(told.contains(&format!("revoked {name}")));
}

/// Row "messages of DOWN servers are discarded".
#[test]
fn a_grant_of_the_servers_former_life_is_not_taken_after_it_was_told_that_nothing_is_held() {
    let name = name_of(0, 0);
    let mut rig = Rig::live();
    rig.request(&name, Exclusive); // #1: granted, and the GRANT is late
    // Server 0 crashes, restarts, and asks what is held.
    rig.config(0, 10, [Booting, Ready, Ready]);
    // It grants the token to another; then the first GRANT arrives.
    assert!(rig.grant(0, 1, &name, "").is_empty());
    assert!(!rig.holds(&name));
    // The request goes on, under its new number.
    rig.grant(0, 2, &name, "");
    assert!(rig.holds(&name));
}

/// Row "duplicates are harmless": numbers grow, so that a late one can be told.
#[test]
fn every_hold_of_a_token_ends_with_a_larger_number_than_it_began_with() {
    let name = name_of(0, 0);
    let mut rig = Rig::live();
    let mut last = 0;
    for _ in 0..5 {
        for said in [rig.request(&name, Exclusive), {
            rig.grant(0, last + 1, &name, "");
            rig.release(&name)
        }] {
            let number = said[0].split(['#', ' ']).rev().nth(2).unwrap();
            let number: i64 = number.parse().unwrap();
            assert_eq!(number, last + 1);
            last = number;
        }
        rig.confirm(0, last);
        // The GRANT of the hold that has ended is doubled: its token is given back once more.
        let said = rig.grant(0, last - 1, &name, "");
        assert_eq!(said, [format!("RETURN DEASSIGN {name} #{} > 0", last + 1)]);
        last += 1;
        rig.confirm(0, last);
    }
}

/// Row "CATALOG lists holdings": which query it answers, and how they are held.
#[test]
fn a_late_config_of_an_earlier_survey_brings_no_answer_that_could_end_the_new_one() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Exclusive, "d");
    let new = rig.config(0, 13, ALL);
    assert_eq!(new, [format!("CATALOG 13 0/1 #2 x {name}=d > 0")]);
    assert!(rig.config(0, 10, ALL).is_empty());
}

/// Row "a RETURN is reissued until confirmed".
#[test]
fn an_heir_is_told_that_a_return_is_under_way_and_then_gets_it() {
    let name = name_of(2, 0);
    let mut rig = Rig::holding(&name, Exclusive, "old");
    // It is applied, the CONFIRM is lost, the server dies.
    let command = Command::UpdateAndRelease {
        name: name.as_bytes().into(),
        data: b"new"[..].into(),
    };
    rig.command(command); // #2
    rig.config_to(1, 0, 10, [Ready, Ready, Down]);
    rig.confirm(2, 2);
    let late = "the dead server's CONFIRM comes late";
    assert_eq!(rig.dropped(), [Reason::NotResponsible], "{late}");
    let heir = rig.server_of(&name);
    let said = rig.config(heir, 10, [Ready, Ready, Down]);
    let expected = [
        format!("CATALOG 10 0/1 #3 rx {name}=old > {heir}"),
        format!("RETURN BOTH {name}=new #3 > {heir}"),
    ];
    assert_eq!(said, expected);
    rig.confirm(2, 2);
    assert_eq!(rig.dropped(), [Reason::Late], "{late}");
    rig.confirm(heir, 3);
    assert!(rig.told().contains(&format!("returned {name}")));
}

/// Row "ALIVE keeps a session".
#[test]
fn who_is_cut_off_knows_it_before_another_can_be_granted_what_it_held() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Exclusive, "");
    // From now on nothing arrives at the leader, but other servers are heard.
    let end = rig.client.lease().unwrap();
    while rig.now.monotonic + ms(500) < end {
        rig.pass(ms(500));
        rig.config_to(0, 0, C, ALL);
        assert!(rig.holds(&name));
    }
    rig.pass(ms(500));
    assert!(!rig.holds(&name));
    assert!(rig.told().contains(&"lost: lease over".into()));
}

/// Row "messages of an ended session are discarded".
#[test]
fn the_answer_to_messages_of_an_ended_session_does_not_end_it_but_the_lease_does() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Exclusive, "");
    rig.config_to(1, 0, C, ALL);
    assert!(rig.holds(&name));
    rig.pass(LEASE);
    assert!(!rig.holds(&name));
    assert_eq!(rig.client.standing(), Standing::NoSocket);
}

/// Row "at the start a server simply serves": the tokens survive a restart of the only server's session list.
#[test]
fn a_restarted_leader_is_told_what_is_held_without_a_new_session() {
    let name = name_of(1, 0);
    let mut rig = Rig::holding(&name, Exclusive, "d");
    let said = rig.config(1, 10, [Down, Booting, Down]);
    assert_eq!(said, [format!("CATALOG 10 0/1 #2 x {name}=d > 1")]);
    assert_eq!(rig.client.standing(), Standing::Live { session: ME });
    assert!(rig.holds(&name));
}

/// Row "the leader assigns the ID".
#[test]
fn a_session_is_not_live_before_a_renewal_was_confirmed() {
    let name = name_of(0, 0);
    let mut rig = Rig::proving();
    rig.told();
    rig.request(&name, Exclusive);
    assert_eq!(rig.told(), [format!("refused {name}: NotLive")]);
}

/// Row "TRANSFER says who holds".
#[test]
fn who_has_answered_the_heirs_survey_refuses_the_old_servers_grant() {
    let name = name_of(2, 0);
    let mut rig = Rig::live();
    rig.config_to(1, 0, 10, [Ready, Ready, Down]);
    let old = rig.server_of(&name);
    rig.request(&name, Exclusive); // #1
    // Server 2 comes back and asks; then the old server's GRANT comes.
    rig.config(2, 13, [Ready, Ready, Booting]);
    rig.grant(old, 1, &name, "");
    assert!(!rig.holds(&name));
    rig.grant(2, 1, &name, "");
    assert!(!rig.holds(&name));
    rig.grant(2, 2, &name, "");
    assert!(rig.holds(&name));
}

/// Row "an upgrade waits its turn".
#[test]
fn of_two_sharers_that_both_ask_for_an_upgrade_one_makes_way() {
    let name = name_of(0, 0);
    let mut first = Rig::holding(&name, Shared, "");
    let mut second = Rig::holding(&name, Shared, "");
    first.request(&name, Exclusive); // #2
    second.request(&name, Exclusive); // #2, behind the first
    assert_eq!(
        second.revoke(0, &name),
        [format!("RETURN DEASSIGN {name} #3 > 0")]
    );
    first.grant(0, 2, &name, "");
    assert!(first.holds(&name) && !second.holds(&name));
    assert_eq!(second.confirm(0, 3), [format!("REQUEST x {name} #4 > 0")]);
}

/// Row "no way to give up a REQUEST".
#[test]
fn a_request_that_is_given_up_is_granted_to_nobody() {
    let name = name_of(0, 0);
    let mut rig = Rig::live();
    rig.request(&name, Exclusive); // #1
    rig.cancel(&name); // #2
    rig.confirm(0, 2);
    // The GRANT was under way when RETURN came to the server; or the server is confused.
    assert_eq!(
        rig.grant(0, 1, &name, ""),
        [format!("RETURN DEASSIGN {name} #3 > 0")]
    );
    assert!(!rig.holds(&name));
}

/// Row "data updated by sharers is first come, first served": whoever has updated says so.
#[test]
fn a_sharer_that_has_updated_says_u_until_its_next_grant() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Shared, "");
    rig.update(&name, "mine"); // #2
    rig.confirm(0, 2);
    assert!(rig.config(0, C, ALL)[0].contains(&format!("u {name}=mine")));
    rig.release(&name); // #3
    rig.confirm(0, 3);
    rig.request(&name, Shared); // #4
    rig.grant(0, 4, &name, "mine");
    assert!(rig.config(0, 10, ALL)[0].contains(&format!("s {name}=mine")));
}
