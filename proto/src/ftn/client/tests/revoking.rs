//! Section 6: REVOKE.

use super::rig::*;

#[test]
fn a_holder_is_told_once_a_grant_and_returns_when_it_likes() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Exclusive, "");
    assert!(rig.revoke(0, &name).is_empty());
    assert!(rig.revoke(0, &name).is_empty());
    assert_eq!(rig.told(), [format!("revoked {name}")]);
    assert!(rig.holds(&name));
    rig.release(&name); // #2
    rig.confirm(0, 2);
    rig.request(&name, Exclusive); // #3
    rig.grant(0, 3, &name, "");
    rig.told();
    rig.revoke(0, &name);
    assert_eq!(rig.told(), [format!("revoked {name}")]);
}

#[test]
fn revoke_counts_from_the_responsible_server_only() {
    let (name, free) = (name_of(0, 0), name_of(0, 1));
    let mut rig = Rig::holding(&name, Exclusive, "");
    for name in [name, free] {
        assert!(rig.revoke(1, &name).is_empty());
        assert_eq!(rig.dropped(), [Reason::NotResponsible]);
    }
}

#[test]
fn while_a_request_or_a_return_is_outstanding_revoke_is_dropped() {
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
        assert_eq!(rig.dropped(), [Reason::Outstanding], "state {at}");
        assert!(rig.told().is_empty(), "state {at}");
    }
}

#[test]
fn revoke_of_what_it_does_not_hold_is_answered_with_return_deassign() {
    let name = name_of(0, 0);
    let mut rig = Rig::live();
    assert_eq!(
        rig.revoke(0, &name),
        [format!("RETURN DEASSIGN {name} #1 > 0")]
    );
    assert_eq!(rig.told(), [format!("declined {name}")]);
    rig.confirm(0, 1);
    assert!(rig.told().is_empty());
    assert!(rig.live_on(ms(5_000)).is_empty());
}

#[test]
fn a_sharer_that_waits_for_an_upgrade_returns_at_once_and_asks_anew() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Shared, "");
    rig.request(&name, Exclusive); // #2
    assert_eq!(
        rig.revoke(0, &name),
        [format!("RETURN DEASSIGN {name} #3 > 0")]
    );
    assert!(!rig.holds(&name));
    assert_eq!(rig.told(), [format!("upgrade revoked {name}")]);
    assert!(
        rig.times(ms(400), "REQUEST").is_empty(),
        "not before that is confirmed"
    );
    rig.grant(0, 2, &name, "");
    assert!(!rig.holds(&name));
    rig.dropped();
    assert_eq!(rig.confirm(0, 3), [format!("REQUEST x {name} #4 > 0")]);
    assert_eq!(rig.told(), [format!("returned {name}")]);
    rig.grant(0, 4, &name, "");
    assert!(rig.holds(&name));
}

#[test]
fn its_update_goes_with_it() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Shared, "");
    rig.request(&name, Exclusive); // #2
    rig.update(&name, "a"); // #3
    assert_eq!(
        rig.revoke(0, &name),
        [format!("RETURN BOTH {name}=a #4 > 0")]
    );
    rig.confirm(0, 3);
    assert_eq!(
        rig.dropped(),
        [Reason::Late],
        "the earlier RETURN is answered no longer"
    );
    assert_eq!(rig.confirm(0, 4), [format!("REQUEST x {name} #5 > 0")]);
    let expected = [
        format!("upgrade revoked {name}"),
        format!("updated {name}"),
        format!("returned {name}"),
    ];
    assert_eq!(rig.told(), expected);

    // One that is to be returned anyway is not asked for again.
    let mut rig = Rig::holding(&name, Shared, "");
    rig.request(&name, Exclusive); // #2
    rig.update(&name, "a"); // #3
    rig.release(&name);
    assert_eq!(
        rig.revoke(0, &name),
        [format!("RETURN BOTH {name}=a #4 > 0")]
    );
    assert!(rig.confirm(0, 4).is_empty());
    assert_eq!(
        rig.told(),
        [format!("updated {name}"), format!("returned {name}")]
    );
}
