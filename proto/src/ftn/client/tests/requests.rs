//! REQUEST, GRANT and giving up (T9 to T12, T15 to T17).

use super::rig::*;

#[test]
fn a_request_goes_to_the_responsible_server_and_its_grant_counts() {
    let name = name_of(2, 0);
    let mut rig = Rig::live();
    let said = rig.request(&name, Shared);
    assert_eq!(said, [format!("REQUEST s {name} #1 > 2")]);
    assert!(!rig.holds(&name));
    assert!(rig.grant(2, 1, &name, "d").is_empty());
    assert!(rig.holds(&name));
    assert_eq!(rig.take_events(), [format!("granted {name}=d")]);
}

#[test]
fn a_grant_with_a_fencing_number_is_split_into_number_and_data() {
    let name = name_of(0, 0);
    let mut rig = Rig::live();
    let request = Command::Request {
        name: name.as_bytes().into(),
        access: Exclusive,
        fence: true,
    };
    let said = rig.command(request);
    assert_eq!(said, [format!("REQUEST xfence {name} #1 > 0")]);
    for wrong in ["", "d", "d 7", "-1 d", " d"] {
        assert!(rig.grant(0, 1, &name, wrong).is_empty());
        assert_eq!(rig.take_drops(), [DropReason::Illegal]);
    }
    rig.grant(0, 1, &name, "15032385543 a b");
    assert_eq!(
        rig.take_events(),
        [format!("granted {name}=a b fence 15032385543")]
    );
    let holding = rig.client.held_token(name.as_bytes()).unwrap();
    assert_eq!(
        (holding.fence, holding.data),
        (Some(15_032_385_543), &b"a b"[..])
    );
    // CATALOG has only the data.
    let said = rig.config(0, 7, ALL);
    assert_eq!(said, [format!("CATALOG 7 0/1 #2 x {name}=a b > 0")]);
}

#[test]
fn a_grant_without_a_fencing_number_is_not_split() {
    let mut rig = Rig::holding(&name_of(0, 0), Exclusive, "12 d");
    let name = name_of(0, 0);
    assert_eq!(rig.data(&name), "12 d");
    assert!(rig.take_events().is_empty());
}

#[test]
fn a_grant_counts_only_from_the_responsible_server() {
    let name = name_of(2, 0);
    let mut rig = Rig::live();
    rig.request(&name, Exclusive);
    assert!(rig.grant(0, 1, &name, "").is_empty());
    assert_eq!(rig.take_drops(), [DropReason::NotResponsible]);
    rig.config_to(1, 0, 10, [Ready, Ready, Down]);
    assert!(rig.grant(2, 1, &name, "").is_empty());
    assert_eq!(rig.take_drops(), [DropReason::NotResponsible]);
    let heir = rig.server_of(&name);
    rig.grant(heir, 1, &name, "");
    assert!(rig.holds(&name));
}

#[test]
fn a_grant_with_another_number_than_the_outstanding_request_is_dropped() {
    let name = name_of(0, 0);
    let mut rig = Rig::live();
    rig.request(&name, Exclusive);
    for number in [0, 2, -5] {
        assert!(rig.grant(0, number, &name, "").is_empty());
        assert_eq!(rig.take_drops(), [DropReason::Late]);
        assert!(!rig.holds(&name));
    }
}

#[test]
fn a_grant_of_a_token_that_is_held_or_being_returned_is_dropped() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Exclusive, "d");
    assert!(rig.grant(0, 1, &name, "other").is_empty());
    assert_eq!(rig.take_drops(), [DropReason::Late]);
    assert_eq!(rig.data(&name), "d");
    rig.release(&name);
    assert!(rig.grant(0, 1, &name, "other").is_empty());
    assert_eq!(rig.take_drops(), [DropReason::Outstanding]);
    assert!(!rig.holds(&name));
}

#[test]
fn any_other_grant_is_answered_with_return_deassign_under_a_new_number() {
    let name = name_of(0, 0);
    let mut rig = Rig::live();
    let said = rig.grant(0, -3, &name, "d");
    assert_eq!(said, [format!("RETURN DEASSIGN {name} #1 > 0")]);
    assert_eq!(rig.take_events(), [format!("declined {name}")]);
    assert!(!rig.holds(&name));
    // This RETURN is repeated, and the next REQUEST waits for its confirmation.
    assert_eq!(rig.times(ms(350), "RETURN"), [100, 300]);
    assert!(rig.request(&name, Exclusive).is_empty());
    assert_eq!(rig.confirm(0, 1), [format!("REQUEST x {name} #2 > 0")]);
    assert!(rig.take_events().is_empty());
}

#[test]
fn a_grant_before_the_session_is_live_is_returned() {
    let name = name_of(0, 0);
    let mut rig = Rig::proving();
    let said = rig.grant(0, -3, &name, "");
    assert_eq!(said, [format!("RETURN DEASSIGN {name} #1 > 0")]);
    rig.confirm(1, 0);
    assert!(!rig.holds(&name));
}

#[test]
fn giving_up_a_request_is_return_deassign_until_its_confirmation() {
    let name = name_of(0, 0);
    let mut rig = Rig::live();
    rig.request(&name, Exclusive);
    let said = rig.cancel(&name);
    assert_eq!(said, [format!("RETURN DEASSIGN {name} #2 > 0")]);
    assert!(rig.times(ms(400), "REQUEST").is_empty());
    assert!(
        rig.grant(0, 1, &name, "").is_empty(),
        "the grant is too late"
    );
    assert!(!rig.holds(&name));
    rig.take_events();
    rig.confirm(0, 2);
    assert_eq!(rig.take_events(), [format!("cancelled {name}")]);
    assert!(rig.cancel(&name).is_empty());
    assert_eq!(rig.take_events(), [format!("refused {name}: NotHeld")]);
}

#[test]
fn giving_up_a_granted_token_returns_it() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Exclusive, "");
    rig.update(&name, "never confirmed: no memory"); // #2
    let said = rig.cancel(&name);
    assert_eq!(said, [format!("RETURN DEASSIGN {name} #3 > 0")]);
    rig.confirm(0, 2);
    assert_eq!(rig.take_drops(), [DropReason::Late]);
    rig.confirm(0, 3);
    assert_eq!(rig.take_events(), [format!("returned {name}")]);
}

#[test]
fn a_token_is_not_requested_again_before_its_deassign_is_confirmed() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Exclusive, "");
    rig.release(&name); // #2
    assert!(rig.request(&name, Shared).is_empty());
    assert!(rig.times(ms(1_000), "REQUEST").is_empty());
    assert_eq!(rig.confirm(0, 2), [format!("REQUEST s {name} #3 > 0")]);
    assert_eq!(rig.take_events(), [format!("returned {name}")]);
    // The queued request was not sent, so giving it up needs no other RETURN.
    let mut rig = Rig::holding(&name, Exclusive, "");
    rig.release(&name); // #2
    rig.request(&name, Shared);
    assert!(rig.cancel(&name).is_empty());
    assert!(rig.confirm(0, 2).is_empty());
}

#[test]
fn a_request_with_another_access_replaces_the_outstanding_one() {
    let name = name_of(0, 0);
    let mut rig = Rig::live();
    rig.request(&name, Exclusive);
    assert!(rig.request(&name, Exclusive).is_empty());
    assert_eq!(rig.take_events(), [format!("refused {name}: AlreadyDone")]);
    let said = rig.request(&name, Shared);
    assert_eq!(said, [format!("REQUEST s {name} #2 > 0")]);
    assert!(rig.times(ms(1_000), "REQUEST x").is_empty());
    rig.grant(0, 1, &name, "");
    assert_eq!(rig.take_drops(), [DropReason::Late]);
    rig.grant(0, 2, &name, "");
    assert!(rig.holds(&name));
    assert!(rig.request(&name, Shared).is_empty());
    rig.take_events();
}

#[test]
fn a_holder_can_request_the_other_access_and_keeps_the_token() {
    for (first, second, letter) in [(Shared, Exclusive, 'x'), (Exclusive, Shared, 's')] {
        let name = name_of(0, 0);
        let mut rig = Rig::holding(&name, first, "old");
        let said = rig.request(&name, second);
        assert_eq!(said, [format!("REQUEST {letter} {name} #2 > 0")]);
        assert!(rig.holds(&name));
        rig.grant(0, 1, &name, "old");
        assert_eq!(
            rig.take_drops(),
            [DropReason::Late],
            "the earlier grant is a duplicate"
        );
        rig.grant(0, 2, &name, "new");
        let holding = rig.client.held_token(name.as_bytes()).unwrap();
        assert_eq!((holding.access, holding.data), (second, &b"new"[..]));
    }
}

#[test]
fn a_session_holds_and_awaits_many_tokens() {
    let mut rig = Rig::live();
    for nth in 0..1_000 {
        let name = format!("many{nth}");
        rig.request(&name, Exclusive);
        let server = rig.server_of(&name);
        if nth % 2 == 0 {
            rig.grant(server, i64::from(nth) + 1, &name, "");
        }
    }
    let held = (0..1_000).filter(|nth| rig.holds(&format!("many{nth}")));
    assert_eq!(held.count(), 500);
}

#[test]
fn a_downgrade_makes_the_token_shared_when_its_request_is_sent() {
    // The server lets another client share the token at once, and crashes. Its GRANT is lost. If the next server
    // received `x` from one client and `s` from another client, only the first client would keep the token.
    let name = name_of(2, 0);
    let mut rig = Rig::holding(&name, Exclusive, "");
    rig.update(&name, "d"); // #2
    rig.confirm(2, 2);
    rig.request(&name, Shared); // #3
    let access = |rig: &Rig| rig.client.held_token(name.as_bytes()).unwrap().access;
    assert_eq!(access(&rig), Shared);
    let states = [Ready, Ready, Down];
    rig.config_to(1, 0, 10, states);
    let heir = rig.server_of(&name);
    let said = rig.config(heir, 10, states);
    assert_eq!(said[0], format!("CATALOG 10 0/1 #4 s {name}=d > {heir}"));
    // The client can request exclusive access again, and the later request counts.
    let said = rig.request(&name, Exclusive);
    assert_eq!(said, [format!("REQUEST x {name} #5 > {heir}")]);
    rig.grant(heir, 4, &name, "");
    assert_eq!(access(&rig), Shared);
    rig.grant(heir, 5, &name, "");
    assert_eq!(access(&rig), Exclusive);
}

#[test]
fn an_introduction_goes_to_each_server_that_serves_a_token_of_the_session() {
    let name = name_of(2, 0);
    let mut rig = Rig::holding(&name, Exclusive, "");
    assert!(
        rig.pass(ms(1_000))
            .iter()
            .all(|said| !said.starts_with("INTRODUCTION")),
        "the session has no introduction"
    );
    let mut rig = Rig::live();
    rig.client.options.introduction = "backup".to_owned();
    rig.request(&name, Exclusive);
    assert_eq!(rig.grant(2, 1, &name, ""), ["INTRODUCTION 'backup' > 2"]);
    rig.config_to(1, 0, 10, [Ready, Ready, Down]);
    let heir = rig.server_of(&name);
    let said = rig.config(heir, 10, [Ready, Ready, Down]);
    assert!(
        said.contains(&format!("INTRODUCTION 'backup' > {heir}")),
        "{said:?}"
    );
}
