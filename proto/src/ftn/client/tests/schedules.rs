//! The counter-examples of `docs/appendix/decisions/token-service/` whose outcome depends on a client.

use super::rig::*;

/// Decision 1: clients follow CONFIG messages.
#[test]
fn a_late_config_of_a_servers_death_does_not_redirect_the_client() {
    let name = name_of(2, 0);
    let mut rig = Rig::live();
    // Server 2 is DOWN in the configuration 10, and comes back in the configuration 13. The client first receives the
    // later configuration.
    rig.config_to(1, 0, 13, ALL);
    rig.config_to(1, 0, 10, [Ready, Ready, Down]);
    assert_eq!(rig.take_drops(), [DropReason::Late]);
    let said = rig.request(&name, Exclusive);
    assert_eq!(said, [format!("REQUEST x {name} #1 > 2")]);
}

/// Decision 4: duplicates are harmless. Numbers grow, so that a late message can be recognized.
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
        // A duplicate of the ended hold's GRANT arrives, so the client returns the token again.
        let said = rig.grant(0, last - 1, &name, "");
        assert_eq!(said, [format!("RETURN DEASSIGN {name} #{} > 0", last + 1)]);
        last += 1;
        rig.confirm(0, last);
    }
}

/// Decision 6: a RETURN is repeated until it is confirmed.
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
    assert_eq!(rig.take_drops(), [DropReason::NotResponsible], "{late}");
    let heir = rig.server_of(&name);
    let said = rig.config(heir, 10, [Ready, Ready, Down]);
    let expected = [
        format!("CATALOG 10 0/1 #3 rx {name}=old > {heir}"),
        format!("RETURN BOTH {name}=new #3 > {heir}"),
    ];
    assert_eq!(said, expected);
    rig.confirm(2, 2);
    assert_eq!(rig.take_drops(), [DropReason::Late], "{late}");
    rig.confirm(heir, 3);
    assert!(rig.take_events().contains(&format!("returned {name}")));
}

/// Decision 7: ALIVE keeps a session.
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

/// Decision 19: a TRANSFER names the holders of each token.
#[test]
fn after_the_survey_of_a_new_server_the_old_servers_grant_does_not_count() {
    let name = name_of(2, 0);
    let mut rig = Rig::live();
    rig.config_to(1, 0, 10, [Ready, Ready, Down]);
    let old = rig.server_of(&name);
    rig.request(&name, Exclusive); // #1
    // Server 2 comes back and starts a survey. Then the GRANT of the other server arrives.
    rig.config(2, 13, [Ready, Ready, Booting]);
    rig.grant(old, 1, &name, "");
    assert!(!rig.holds(&name));
    rig.grant(2, 1, &name, "");
    assert!(!rig.holds(&name));
    rig.grant(2, 2, &name, "");
    assert!(rig.holds(&name));
}

/// Decision 22: "Data updated by sharers are first come, first served".
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
