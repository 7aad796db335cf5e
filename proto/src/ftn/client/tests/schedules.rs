//! The counter-examples of section 10 that a client decides.

use super::rig::*;

/// Row "clients follow CONFIG messages".
#[test]
fn a_late_config_of_a_servers_death_does_not_redirect_the_client() {
    let name = name_of(2, 0);
    let mut rig = Rig::live();
    // Server 2 is DOWN (10) and comes back (13). The client first receives the later configuration.
    rig.config_to(1, 0, 13, ALL);
    rig.config_to(1, 0, 10, [Ready, Ready, Down]);
    assert_eq!(rig.take_drops(), [Reason::Late]);
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
    // GRANT is late, another client requests the token, and REVOKE overtakes GRANT.
    assert!(
        rig.revoke(0, &name).is_empty(),
        "the client does not return it, so no other client is granted it"
    );
    rig.grant(0, 1, &name, "");
    assert!(rig.holds(&name));
    rig.revoke(0, &name);
    let events = rig.take_events();
    assert!(events.contains(&format!("revoked {name}")));
}

/// Row "messages of DOWN servers are discarded".
#[test]
fn a_grant_from_before_a_servers_restart_does_not_count_after_its_survey() {
    let name = name_of(0, 0);
    let mut rig = Rig::live();
    rig.request(&name, Exclusive); // #1 is granted, and the GRANT is late
    // Server 0 crashes, starts again, and asks which tokens are held.
    rig.config(0, 10, [Booting, Ready, Ready]);
    // It grants the token to another client; then the first GRANT arrives.
    assert!(rig.grant(0, 1, &name, "").is_empty());
    assert!(!rig.holds(&name));
    // The request continues under its new number.
    rig.grant(0, 2, &name, "");
    assert!(rig.holds(&name));
}

/// Row "duplicates are harmless": numbers grow, so that a late message can be recognized.
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
        // A duplicate of the GRANT of the ended hold arrives: the client returns the token again.
        let said = rig.grant(0, last - 1, &name, "");
        assert_eq!(said, [format!("RETURN DEASSIGN {name} #{} > 0", last + 1)]);
        last += 1;
        rig.confirm(0, last);
    }
}

/// Row "CATALOG lists holdings".
#[test]
fn a_late_config_of_an_earlier_survey_gets_no_answer() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Exclusive, "d");
    let new = rig.config(0, 13, ALL);
    assert_eq!(new, [format!("CATALOG 13 0/1 #2 x {name}=d > 0")]);
    assert!(rig.config(0, 10, ALL).is_empty());
}

/// Row "a RETURN is reissued until confirmed".
#[test]
fn a_new_responsible_server_learns_of_a_return_and_then_gets_it() {
    let name = name_of(2, 0);
    let mut rig = Rig::holding(&name, Exclusive, "old");
    // The RETURN is applied, its CONFIRM is lost, and the server crashes.
    let command = Command::UpdateAndRelease {
        name: name.as_bytes().into(),
        data: b"new"[..].into(),
    };
    rig.command(command); // #2
    rig.config_to(1, 0, 10, [Ready, Ready, Down]);
    rig.confirm(2, 2);
    let late = "the CONFIRM of the crashed server is late";
    assert_eq!(rig.take_drops(), [Reason::NotResponsible], "{late}");
    let heir = rig.server_of(&name);
    let said = rig.config(heir, 10, [Ready, Ready, Down]);
    let expected = [
        format!("CATALOG 10 0/1 #3 rx {name}=old > {heir}"),
        format!("RETURN BOTH {name}=new #3 > {heir}"),
    ];
    assert_eq!(said, expected);
    rig.confirm(2, 2);
    assert_eq!(rig.take_drops(), [Reason::Late], "{late}");
    rig.confirm(heir, 3);
    assert!(rig.take_events().contains(&format!("returned {name}")));
}

/// Row "ALIVE keeps a session".
#[test]
fn a_client_that_is_cut_off_stops_before_its_token_is_granted_to_another() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Exclusive, "");
    // From now on no message reaches the leader, but the client still hears other servers.
    let end = rig.client.lease().unwrap();
    while rig.now.monotonic + ms(500) < end {
        rig.pass(ms(500));
        rig.config_to(0, 0, C, ALL);
        assert!(rig.holds(&name));
    }
    rig.pass(ms(500));
    assert!(!rig.holds(&name));
    assert!(rig.take_events().contains(&"lost: lease over".into()));
}

/// Row "messages of an ended session are discarded".
#[test]
fn config_to_zero_does_not_end_a_session_but_the_lease_does() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Exclusive, "");
    rig.config_to(1, 0, C, ALL);
    assert!(rig.holds(&name));
    rig.pass(LEASE);
    assert!(!rig.holds(&name));
    assert_eq!(rig.client.standing(), Standing::NoSocket);
}

/// Row "at the start a server simply serves".
#[test]
fn a_restarted_leader_learns_which_tokens_are_held_in_the_same_session() {
    let name = name_of(1, 0);
    let mut rig = Rig::holding(&name, Exclusive, "d");
    let said = rig.config(1, 10, [Down, Booting, Down]);
    assert_eq!(said, [format!("CATALOG 10 0/1 #2 x {name}=d > 1")]);
    assert_eq!(rig.client.standing(), Standing::Live { session: ME });
    assert!(rig.holds(&name));
}

/// Row "the leader assigns the ID".
#[test]
fn a_session_is_not_live_before_a_renewal_is_confirmed() {
    let name = name_of(0, 0);
    let mut rig = Rig::proving();
    rig.take_events();
    rig.request(&name, Exclusive);
    assert_eq!(rig.take_events(), [format!("refused {name}: NotLive")]);
}

/// Row "TRANSFER says who holds".
#[test]
fn after_the_survey_of_a_new_server_the_old_servers_grant_does_not_count() {
    let name = name_of(2, 0);
    let mut rig = Rig::live();
    rig.config_to(1, 0, 10, [Ready, Ready, Down]);
    let old = rig.server_of(&name);
    rig.request(&name, Exclusive); // #1
    // Server 2 comes back and asks; then the GRANT of the other server arrives.
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
fn one_of_two_sharers_that_request_an_upgrade_gives_way() {
    let name = name_of(0, 0);
    let mut first = Rig::holding(&name, Shared, "");
    let mut second = Rig::holding(&name, Shared, "");
    first.request(&name, Exclusive); // #2
    second.request(&name, Exclusive); // #2, queued after the first
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
fn a_request_that_was_given_up_assigns_no_token() {
    let name = name_of(0, 0);
    let mut rig = Rig::live();
    rig.request(&name, Exclusive); // #1
    rig.cancel(&name); // #2
    rig.confirm(0, 2);
    // The GRANT was on its way when RETURN reached the server.
    assert_eq!(
        rig.grant(0, 1, &name, ""),
        [format!("RETURN DEASSIGN {name} #3 > 0")]
    );
    assert!(!rig.holds(&name));
}

/// Row "data updated by sharers is first come, first served".
#[test]
fn a_sharer_that_has_updated_is_listed_as_u_until_its_next_grant() {
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
