//! REVOKE (T13).

use super::rig::*;

#[test]
fn revoke_is_reported_once_per_grant_and_the_holder_decides_when_to_return() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Exclusive, "");
    assert!(rig.revoke(0, &name).is_empty());
    assert!(rig.revoke(0, &name).is_empty());
    assert_eq!(rig.take_events(), [format!("revoked {name}")]);
    assert!(rig.holds(&name));
    rig.release(&name); // #2
    rig.confirm(0, 2);
    rig.request(&name, Exclusive); // #3
    rig.grant(0, 3, &name, "");
    rig.take_events();
    rig.revoke(0, &name);
    assert_eq!(rig.take_events(), [format!("revoked {name}")]);
}

#[test]
fn revoke_counts_only_from_the_responsible_server() {
    let (name, free) = (name_of(0, 0), name_of(0, 1));
    let mut rig = Rig::holding(&name, Exclusive, "");
    for name in [name, free] {
        assert!(rig.revoke(1, &name).is_empty());
        assert_eq!(rig.take_drops(), [DropReason::NotResponsible]);
    }
}

#[test]
fn revoke_is_dropped_while_a_request_or_a_return_is_outstanding() {
    let name = name_of(0, 0);
    let states: [fn(&str) -> Rig; 5] = [
        |name| {
            let mut rig = Rig::live();
            rig.request(name, Exclusive);
            rig
        },
        |name| {
            let mut rig = Rig::holding(name, Exclusive, "");
            rig.release(name);
            rig
        },
        |name| {
            let mut rig = Rig::holding(name, Shared, "");
            rig.update(name, "d");
            rig
        },
        |name| {
            let mut rig = Rig::holding(name, Exclusive, "");
            rig.request(name, Shared);
            rig
        },
        |name| {
            let mut rig = Rig::live();
            rig.request(name, Shared);
            rig.cancel(name);
            rig
        },
    ];
    for (at, state) in states.into_iter().enumerate() {
        let mut rig = state(&name);
        assert!(rig.revoke(0, &name).is_empty(), "state {at}");
        assert_eq!(rig.take_drops(), [DropReason::Outstanding], "state {at}");
        assert!(rig.take_events().is_empty(), "state {at}");
    }
}

#[test]
fn revoke_of_a_token_that_is_not_held_is_answered_with_return_deassign() {
    let name = name_of(0, 0);
    let mut rig = Rig::live();
    let said = rig.revoke(0, &name);
    assert_eq!(said, [format!("RETURN DEASSIGN {name} #1 > 0")]);
    assert_eq!(rig.take_events(), [format!("declined {name}")]);
    rig.confirm(0, 1);
    assert!(rig.take_events().is_empty());
    assert!(rig.stay_live(ms(5_000)).is_empty());
}

#[test]
fn a_sharer_that_waits_for_an_upgrade_returns_the_token_and_requests_it_again() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Shared, "");
    rig.request(&name, Exclusive); // #2
    let said = rig.revoke(0, &name);
    assert_eq!(said, [format!("RETURN DEASSIGN {name} #3 > 0")]);
    assert!(!rig.holds(&name));
    assert_eq!(rig.take_events(), [format!("upgrade revoked {name}")]);
    assert!(
        rig.times(ms(400), "REQUEST").is_empty(),
        "the request waits for the confirmation"
    );
    rig.grant(0, 2, &name, "");
    assert!(!rig.holds(&name));
    rig.take_drops();
    assert_eq!(rig.confirm(0, 3), [format!("REQUEST x {name} #4 > 0")]);
    assert_eq!(rig.take_events(), [format!("returned {name}")]);
    rig.grant(0, 4, &name, "");
    assert!(rig.holds(&name));
}

#[test]
fn its_return_includes_an_unconfirmed_update() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Shared, "");
    rig.request(&name, Exclusive); // #2
    rig.update(&name, "a"); // #3
    let said = rig.revoke(0, &name);
    assert_eq!(said, [format!("RETURN BOTH {name}=a #4 > 0")]);
    rig.confirm(0, 3);
    assert_eq!(
        rig.take_drops(),
        [DropReason::Late],
        "the earlier RETURN no longer counts"
    );
    assert_eq!(rig.confirm(0, 4), [format!("REQUEST x {name} #5 > 0")]);
    let expected = [
        format!("upgrade revoked {name}"),
        format!("updated {name}"),
        format!("returned {name}"),
    ];
    assert_eq!(rig.take_events(), expected);

    // If a token must be returned after an update, the client does not request it again.
    let mut rig = Rig::holding(&name, Shared, "");
    rig.request(&name, Exclusive); // #2
    rig.update(&name, "a"); // #3
    rig.release(&name);
    let said = rig.revoke(0, &name);
    assert_eq!(said, [format!("RETURN BOTH {name}=a #4 > 0")]);
    assert!(rig.confirm(0, 4).is_empty());
    assert_eq!(
        rig.take_events(),
        [format!("updated {name}"), format!("returned {name}")]
    );
}
