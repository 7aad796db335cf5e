//! Section 6: REQUEST, GRANT and giving up.

use super::rig::*;

#[test]
fn a_request_goes_to_the_responsible_server_and_its_grant_is_taken() {
    let name = name_of(2, 0);
    let mut rig = Rig::live();
    assert_eq!(
        rig.request(&name, Shared),
        [format!("REQUEST s {name} #1 > 2")]
    );
    assert!(!rig.holds(&name));
    assert!(rig.grant(2, 1, &name, "d").is_empty());
    assert!(rig.holds(&name));
    assert_eq!(rig.told(), [format!("granted {name}=d")]);
}

#[test]
fn with_fence_the_grants_data_begin_with_the_fencing_number() {
    let name = name_of(0, 0);
    let mut rig = Rig::live();
    let request = Command::Request {
        name: name.as_bytes().into(),
        access: Exclusive,
        fence: true,
    };
    assert_eq!(
        rig.command(request),
        [format!("REQUEST xfence {name} #1 > 0")]
    );
    for wrong in ["", "d", "d 7", "-1 d", " d"] {
        assert!(rig.grant(0, 1, &name, wrong).is_empty());
        assert_eq!(rig.dropped(), [Reason::Illegal]);
    }
    rig.grant(0, 1, &name, "15032385543 a b");
    assert_eq!(
        rig.told(),
        [format!("granted {name}=a b fence 15032385543")]
    );
    let holding = rig.client.holding(name.as_bytes()).unwrap();
    assert_eq!(
        (holding.fence, holding.data),
        (Some(15_032_385_543), &b"a b"[..])
    );
    // Catalogs and updates speak of the data alone.
    let said = rig.config(0, 7, ALL);
    assert_eq!(said, [format!("CATALOG 7 0/1 #2 x {name}=a b > 0")]);
}

#[test]
fn without_fence_data_are_data_whatever_they_look_like() {
    let mut rig = Rig::holding(&name_of(0, 0), Exclusive, "12 d");
    let name = name_of(0, 0);
    assert_eq!(rig.data(&name), "12 d");
    assert!(rig.told().is_empty());
}

#[test]
fn a_grant_is_taken_from_the_responsible_server_of_its_configuration_only() {
    let name = name_of(2, 0);
    let mut rig = Rig::live();
    rig.request(&name, Exclusive);
    assert!(rig.grant(0, 1, &name, "").is_empty());
    assert_eq!(rig.dropped(), [Reason::NotResponsible]);
    rig.config_to(1, 0, 10, [Ready, Ready, Down]);
    assert!(rig.grant(2, 1, &name, "").is_empty());
    assert_eq!(rig.dropped(), [Reason::NotResponsible]);
    let heir = rig.server_of(&name);
    rig.grant(heir, 1, &name, "");
    assert!(rig.holds(&name));
}

#[test]
fn a_grant_with_another_number_than_its_outstanding_request_is_dropped_while_it_waits() {
    let name = name_of(0, 0);
    let mut rig = Rig::live();
    rig.request(&name, Exclusive);
    for number in [0, 2, -5] {
        assert!(rig.grant(0, number, &name, "").is_empty());
        assert_eq!(rig.dropped(), [Reason::Late]);
        assert!(!rig.holds(&name));
    }
}

#[test]
fn a_grant_of_what_it_holds_or_is_returning_is_dropped() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Exclusive, "d");
    assert!(rig.grant(0, 1, &name, "other").is_empty());
    assert_eq!(rig.dropped(), [Reason::Late]);
    assert_eq!(rig.data(&name), "d");
    rig.release(&name);
    assert!(rig.grant(0, 1, &name, "other").is_empty());
    assert_eq!(rig.dropped(), [Reason::Outstanding]);
    assert!(!rig.holds(&name));
}

#[test]
fn any_other_grant_is_answered_with_return_deassign_under_a_new_number() {
    let name = name_of(0, 0);
    let mut rig = Rig::live();
    assert_eq!(
        rig.grant(0, -3, &name, "d"),
        [format!("RETURN DEASSIGN {name} #1 > 0")]
    );
    assert_eq!(rig.told(), [format!("declined {name}")]);
    assert!(!rig.holds(&name));
    // It is a RETURN like any other: repeated, and no request goes before it is confirmed.
    assert_eq!(rig.times(ms(350), "RETURN"), [100, 300]);
    assert!(rig.request(&name, Exclusive).is_empty());
    assert_eq!(rig.confirm(0, 1), [format!("REQUEST x {name} #2 > 0")]);
    assert!(rig.told().is_empty());
}

#[test]
fn a_grant_that_comes_before_the_session_is_live_is_returned() {
    let name = name_of(0, 0);
    let mut rig = Rig::proving();
    assert_eq!(
        rig.grant(0, -3, &name, ""),
        [format!("RETURN DEASSIGN {name} #1 > 0")]
    );
    rig.confirm(1, 0);
    assert!(!rig.holds(&name));
}

#[test]
fn giving_up_a_request_is_return_deassign_and_done_when_confirmed() {
    let name = name_of(0, 0);
    let mut rig = Rig::live();
    rig.request(&name, Exclusive);
    assert_eq!(
        rig.cancel(&name),
        [format!("RETURN DEASSIGN {name} #2 > 0")]
    );
    assert!(rig.times(ms(400), "REQUEST").is_empty());
    assert!(rig.grant(0, 1, &name, "").is_empty(), "it is too late");
    assert!(!rig.holds(&name));
    rig.told();
    rig.confirm(0, 2);
    assert_eq!(rig.told(), [format!("cancelled {name}")]);
    assert!(rig.cancel(&name).is_empty());
    assert_eq!(rig.told(), [format!("refused {name}: NotHeld")]);
}

#[test]
fn giving_up_what_was_granted_meanwhile_returns_it() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Exclusive, "");
    rig.update(&name, "never confirmed: no memory"); // #2
    assert_eq!(
        rig.cancel(&name),
        [format!("RETURN DEASSIGN {name} #3 > 0")]
    );
    rig.confirm(0, 2);
    assert_eq!(rig.dropped(), [Reason::Late]);
    rig.confirm(0, 3);
    assert_eq!(rig.told(), [format!("returned {name}")]);
}

#[test]
fn a_token_is_not_requested_again_before_its_deassign_is_confirmed() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Exclusive, "");
    rig.release(&name); // #2
    assert!(rig.request(&name, Shared).is_empty());
    assert!(rig.times(ms(1_000), "REQUEST").is_empty());
    assert_eq!(rig.confirm(0, 2), [format!("REQUEST s {name} #3 > 0")]);
    assert_eq!(rig.told(), [format!("returned {name}")]);
    // Giving up that request needs another RETURN only if it was sent.
    let mut rig = Rig::holding(&name, Exclusive, "");
    rig.release(&name); // #2
    rig.request(&name, Shared);
    assert!(rig.cancel(&name).is_empty());
    assert!(rig.confirm(0, 2).is_empty());
}

#[test]
fn at_most_one_request_is_outstanding_and_another_access_replaces_it() {
    let name = name_of(0, 0);
    let mut rig = Rig::live();
    rig.request(&name, Exclusive);
    assert!(rig.request(&name, Exclusive).is_empty());
    assert_eq!(rig.told(), [format!("refused {name}: AlreadyDone")]);
    assert_eq!(
        rig.request(&name, Shared),
        [format!("REQUEST s {name} #2 > 0")]
    );
    assert!(rig.times(ms(1_000), "REQUEST x").is_empty());
    rig.grant(0, 1, &name, "");
    assert_eq!(rig.dropped(), [Reason::Late]);
    rig.grant(0, 2, &name, "");
    assert!(rig.holds(&name));
    assert!(rig.request(&name, Shared).is_empty());
    rig.told();
}

#[test]
fn a_holder_can_ask_for_the_other_access_and_goes_on_holding() {
    for (first, second, letter) in [(Shared, Exclusive, 'x'), (Exclusive, Shared, 's')] {
        let name = name_of(0, 0);
        let mut rig = Rig::holding(&name, first, "old");
        let said = rig.request(&name, second);
        assert_eq!(said, [format!("REQUEST {letter} {name} #2 > 0")]);
        assert!(rig.holds(&name));
        rig.grant(0, 1, &name, "old");
        assert_eq!(rig.dropped(), [Reason::Late], "the earlier grant once more");
        rig.grant(0, 2, &name, "new");
        let holding = rig.client.holding(name.as_bytes()).unwrap();
        assert_eq!((holding.access, holding.data), (second, &b"new"[..]));
    }
}

#[test]
fn many_tokens_are_held_and_awaited_at_once() {
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
fn who_asks_for_a_downgrade_shares_from_the_sending_of_the_request_on() {
    // The server lets another in at once, and dies; its GRANT is lost. An heir that heard `x` from the one and `s` from
    // the other would let the first go on alone.
    let name = name_of(2, 0);
    let mut rig = Rig::holding(&name, Exclusive, "");
    rig.update(&name, "d"); // #2
    rig.confirm(2, 2);
    rig.request(&name, Shared); // #3
    let access = |rig: &Rig| rig.client.holding(name.as_bytes()).unwrap().access;
    assert_eq!(access(&rig), Shared);
    let states = [Ready, Ready, Down];
    rig.config_to(1, 0, 10, states);
    let heir = rig.server_of(&name);
    let said = rig.config(heir, 10, states);
    assert_eq!(said[0], format!("CATALOG 10 0/1 #4 s {name}=d > {heir}"));
    // It can change its mind: the later request counts.
    let said = rig.request(&name, Exclusive);
    assert_eq!(said, [format!("REQUEST x {name} #5 > {heir}")]);
    rig.grant(heir, 4, &name, "");
    assert_eq!(access(&rig), Shared);
    rig.grant(heir, 5, &name, "");
    assert_eq!(access(&rig), Exclusive);
}

/// The server that grants a token is told, and so is one that takes tokens over.
#[test]
fn a_session_that_says_what_it_is_says_so_to_who_serves_its_tokens() {
    let name = name_of(2, 0);
    let mut rig = Rig::holding(&name, Exclusive, "");
    assert!(
        rig.pass(ms(1_000))
            .iter()
            .all(|said| !said.starts_with("INTRODUCTION")),
        "it has nothing to say"
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
