//! Section 6: RETURN and CONFIRM.

use super::rig::*;

fn set(rig: &mut Rig, name: &str, data: &str) -> Vec<String> {
    let (name, data) = (name.as_bytes().into(), data.as_bytes().into());
    rig.command(Command::UpdateAndRelease { name, data })
}

#[test]
fn update_keeps_the_token_and_counts_when_confirmed() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Exclusive, "old");
    assert_eq!(
        rig.update(&name, "new"),
        [format!("RETURN UPDATE {name}=new #2 > 0")]
    );
    assert_eq!(rig.data(&name), "old");
    rig.confirm(0, 2);
    assert_eq!(rig.told(), [format!("updated {name}")]);
    assert_eq!(rig.data(&name), "new");
    assert!(rig.holds(&name));
}

#[test]
fn update_and_deassign_are_one_message() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Exclusive, "old");
    assert_eq!(
        set(&mut rig, &name, "new"),
        [format!("RETURN BOTH {name}=new #2 > 0")]
    );
    assert!(
        !rig.holds(&name),
        "it may be another's as soon as that is sent"
    );
    rig.confirm(0, 2);
    assert_eq!(
        rig.told(),
        [format!("updated {name}"), format!("returned {name}")]
    );
}

#[test]
fn a_confirmation_counts_from_the_responsible_server_only_and_once() {
    let name = name_of(2, 0);
    let mut rig = Rig::holding(&name, Exclusive, "");
    rig.release(&name); // #2
    for server in [0, 1] {
        rig.confirm(server, 2);
        assert_eq!(rig.dropped(), [Reason::NotResponsible]);
    }
    rig.confirm(2, 1);
    assert_eq!(rig.dropped(), [Reason::Late]);
    assert!(rig.told().is_empty());
    rig.confirm(2, 2);
    assert_eq!(rig.told(), [format!("returned {name}")]);
    rig.confirm(2, 2);
    assert_eq!(rig.dropped(), [Reason::Late]);
}

#[test]
fn what_is_not_held_is_not_returned() {
    let name = name_of(0, 0);
    let mut rig = Rig::live();
    assert!(rig.release(&name).is_empty());
    assert!(rig.update(&name, "").is_empty());
    rig.request(&name, Exclusive);
    assert!(set(&mut rig, &name, "").is_empty());
    rig.grant(0, 1, &name, "");
    rig.release(&name);
    assert!(rig.release(&name).is_empty());
    let refused = rig.told().into_iter();
    let refused = refused.filter(|told| told.ends_with("NotHeld"));
    assert_eq!(refused.count(), 4);
}

#[test]
fn data_above_32_kib_are_refused() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Exclusive, "");
    assert!(rig.update(&name, &"d".repeat(32 * 1_024 + 1)).is_empty());
    assert_eq!(rig.told(), [format!("refused {name}: Data")]);
    assert_eq!(rig.update(&name, &"d".repeat(32 * 1_024)).len(), 1);
}

#[test]
fn at_most_one_return_is_outstanding_and_what_comes_meanwhile_waits() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Exclusive, "");
    rig.update(&name, "a"); // #2
    assert!(rig.update(&name, "b").is_empty());
    assert!(rig.update(&name, "c").is_empty());
    assert_eq!(
        rig.confirm(0, 2),
        [format!("RETURN UPDATE {name}=c #3 > 0")]
    );
    assert!(rig.release(&name).is_empty());
    assert_eq!(
        rig.confirm(0, 3),
        [format!("RETURN DEASSIGN {name} #4 > 0")]
    );
    rig.confirm(0, 4);
    let (updated, returned) = (format!("updated {name}"), format!("returned {name}"));
    assert_eq!(rig.told(), [&*updated, &*updated, &*returned]);

    let mut rig = Rig::holding(&name, Exclusive, "");
    rig.update(&name, "a"); // #2
    assert!(set(&mut rig, &name, "b").is_empty());
    assert!(rig.update(&name, "c").is_empty());
    assert!(rig.request(&name, Shared).is_empty());
    assert_eq!(rig.confirm(0, 2), [format!("RETURN BOTH {name}=b #3 > 0")]);
    assert_eq!(rig.confirm(0, 3), [format!("REQUEST s {name} #4 > 0")]);
}

#[test]
fn a_request_waits_until_an_update_is_confirmed() {
    // Sent before, the update would have the lower number; granted first, it would be confirmed undone.
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Shared, "");
    rig.update(&name, "a"); // #2
    assert!(rig.request(&name, Exclusive).is_empty());
    assert!(rig.update(&name, "b").is_empty());
    assert_eq!(
        rig.confirm(0, 2),
        [format!("RETURN UPDATE {name}=b #3 > 0")]
    );
    assert_eq!(rig.confirm(0, 3), [format!("REQUEST x {name} #4 > 0")]);
}

#[test]
fn a_holder_that_waits_for_an_upgrade_can_update() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Shared, "old");
    rig.request(&name, Exclusive); // #2
    assert_eq!(
        rig.update(&name, "mine"),
        [format!("RETURN UPDATE {name}=mine #3 > 0")]
    );
    // Granted before the confirmation: the update is still under way.
    assert!(rig.grant(0, 2, &name, "old").is_empty());
    assert_eq!(rig.times(ms(100), "RETURN UPDATE"), [100]);
    rig.confirm(0, 3);
    assert_eq!(rig.data(&name), "mine");
}

#[test]
fn a_return_gives_up_an_upgrade_as_well() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Shared, "");
    rig.request(&name, Exclusive); // #2
    assert_eq!(
        rig.release(&name),
        [format!("RETURN DEASSIGN {name} #3 > 0")]
    );
    assert!(rig.times(ms(500), "REQUEST").is_empty());
    rig.grant(0, 2, &name, "");
    assert_eq!(rig.dropped(), [Reason::Outstanding]);
    rig.confirm(0, 3);
    assert!(!rig.holds(&name));
    assert_eq!(rig.told(), [format!("returned {name}")]);
}

#[test]
fn beside_a_request_that_is_no_upgrade_an_update_waits() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Exclusive, "");
    rig.request(&name, Shared); // #2
    assert!(rig.update(&name, "a").is_empty());
    assert!(rig.update(&name, "b").is_empty());
    assert!(rig.times(ms(1_000), "RETURN").is_empty());
    let said = rig.grant(0, 2, &name, "");
    assert_eq!(said, [format!("RETURN UPDATE {name}=b #3 > 0")]);
    // Given back before that, it takes its update along.
    let mut rig = Rig::holding(&name, Exclusive, "");
    rig.request(&name, Shared); // #2
    rig.update(&name, "a");
    assert_eq!(rig.release(&name), [format!("RETURN BOTH {name}=a #3 > 0")]);
}

#[test]
fn what_is_to_be_given_back_is_held_no_longer_for_the_program() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Shared, "");
    rig.request(&name, Exclusive); // #2
    rig.update(&name, "a"); // #3
    rig.release(&name);
    assert!(!rig.holds(&name));
    rig.grant(0, 2, &name, "");
    assert!(!rig.holds(&name));
    assert!(rig.told().is_empty());
    assert_eq!(
        rig.confirm(0, 3),
        [format!("RETURN DEASSIGN {name} #4 > 0")]
    );
}
