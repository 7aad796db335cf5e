//! RETURN and CONFIRM (T14, T16).

use super::rig::*;

fn set(rig: &mut Rig, name: &str, data: &str) -> Vec<String> {
    let (name, data) = (name.as_bytes().into(), data.as_bytes().into());
    rig.command(Command::UpdateAndRelease { name, data })
}

#[test]
fn an_update_keeps_the_token_and_counts_when_it_is_confirmed() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Exclusive, "old");
    let said = rig.update(&name, "new");
    assert_eq!(said, [format!("RETURN UPDATE {name}=new #2 > 0")]);
    assert_eq!(rig.data(&name), "old");
    rig.confirm(0, 2);
    assert_eq!(rig.take_events(), [format!("updated {name}")]);
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
        "another client may hold it as soon as the RETURN is sent"
    );
    rig.confirm(0, 2);
    assert_eq!(
        rig.take_events(),
        [format!("updated {name}"), format!("returned {name}")]
    );
}

#[test]
fn a_confirmation_counts_once_and_only_from_the_responsible_server() {
    let name = name_of(2, 0);
    let mut rig = Rig::holding(&name, Exclusive, "");
    rig.release(&name); // #2
    for server in [0, 1] {
        rig.confirm(server, 2);
        assert_eq!(rig.take_drops(), [DropReason::NotResponsible]);
    }
    rig.confirm(2, 1);
    assert_eq!(rig.take_drops(), [DropReason::Late]);
    assert!(rig.take_events().is_empty());
    rig.confirm(2, 2);
    assert_eq!(rig.take_events(), [format!("returned {name}")]);
    rig.confirm(2, 2);
    assert_eq!(rig.take_drops(), [DropReason::Late]);
}

#[test]
fn a_token_that_is_not_held_cannot_be_returned() {
    let name = name_of(0, 0);
    let mut rig = Rig::live();
    assert!(rig.release(&name).is_empty());
    assert!(rig.update(&name, "").is_empty());
    rig.request(&name, Exclusive);
    assert!(set(&mut rig, &name, "").is_empty());
    rig.grant(0, 1, &name, "");
    rig.release(&name);
    assert!(rig.release(&name).is_empty());
    let refused = rig.take_events().into_iter();
    let refused = refused.filter(|event| event.ends_with("NotHeld"));
    assert_eq!(refused.count(), 4);
}

#[test]
fn data_above_32_kib_are_refused() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Exclusive, "");
    assert!(rig.update(&name, &"d".repeat(32 * 1_024 + 1)).is_empty());
    assert_eq!(rig.take_events(), [format!("refused {name}: Data")]);
    assert_eq!(rig.update(&name, &"d".repeat(32 * 1_024)).len(), 1);
}

#[test]
fn at_most_one_return_is_outstanding_and_later_commands_wait() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Exclusive, "");
    rig.update(&name, "a"); // #2
    assert!(rig.update(&name, "b").is_empty());
    assert!(rig.update(&name, "c").is_empty());
    let said = rig.confirm(0, 2);
    assert_eq!(said, [format!("RETURN UPDATE {name}=c #3 > 0")]);
    assert!(rig.release(&name).is_empty());
    let said = rig.confirm(0, 3);
    assert_eq!(said, [format!("RETURN DEASSIGN {name} #4 > 0")]);
    rig.confirm(0, 4);
    let (updated, returned) = (format!("updated {name}"), format!("returned {name}"));
    assert_eq!(rig.take_events(), [&*updated, &*updated, &*returned]);

    let mut rig = Rig::holding(&name, Exclusive, "");
    rig.update(&name, "a"); // #2
    assert!(set(&mut rig, &name, "b").is_empty());
    assert!(rig.update(&name, "c").is_empty());
    assert!(rig.request(&name, Shared).is_empty());
    assert_eq!(rig.confirm(0, 2), [format!("RETURN BOTH {name}=b #3 > 0")]);
    assert_eq!(rig.confirm(0, 3), [format!("REQUEST s {name} #4 > 0")]);
}

#[test]
fn a_request_waits_for_the_confirmation_of_an_update() {
    // If the update had a lower number than the request, and the request were granted first, the update would be
    // confirmed without effect.
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Shared, "");
    rig.update(&name, "a"); // #2
    assert!(rig.request(&name, Exclusive).is_empty());
    assert!(rig.update(&name, "b").is_empty());
    let said = rig.confirm(0, 2);
    assert_eq!(said, [format!("RETURN UPDATE {name}=b #3 > 0")]);
    assert_eq!(rig.confirm(0, 3), [format!("REQUEST x {name} #4 > 0")]);
}

#[test]
fn a_holder_that_waits_for_an_upgrade_can_update() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Shared, "old");
    rig.request(&name, Exclusive); // #2
    let said = rig.update(&name, "mine");
    assert_eq!(said, [format!("RETURN UPDATE {name}=mine #3 > 0")]);
    // The grant comes before the confirmation, and the update is still outstanding.
    assert!(rig.grant(0, 2, &name, "old").is_empty());
    assert_eq!(rig.times(ms(100), "RETURN UPDATE"), [100]);
    rig.confirm(0, 3);
    assert_eq!(rig.data(&name), "mine");
}

#[test]
fn a_return_also_gives_up_an_upgrade() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Shared, "");
    rig.request(&name, Exclusive); // #2
    let said = rig.release(&name);
    assert_eq!(said, [format!("RETURN DEASSIGN {name} #3 > 0")]);
    assert!(rig.times(ms(500), "REQUEST").is_empty());
    rig.grant(0, 2, &name, "");
    assert_eq!(rig.take_drops(), [DropReason::Outstanding]);
    rig.confirm(0, 3);
    assert!(!rig.holds(&name));
    assert_eq!(rig.take_events(), [format!("returned {name}")]);
}

#[test]
fn an_update_waits_for_a_request_that_is_no_upgrade() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Exclusive, "");
    rig.request(&name, Shared); // #2
    assert!(rig.update(&name, "a").is_empty());
    assert!(rig.update(&name, "b").is_empty());
    assert!(rig.times(ms(1_000), "RETURN").is_empty());
    let said = rig.grant(0, 2, &name, "");
    assert_eq!(said, [format!("RETURN UPDATE {name}=b #3 > 0")]);
    // If a token is given back before the GRANT, the RETURN carries the update.
    let mut rig = Rig::holding(&name, Exclusive, "");
    rig.request(&name, Shared); // #2
    rig.update(&name, "a");
    assert_eq!(rig.release(&name), [format!("RETURN BOTH {name}=a #3 > 0")]);
}

#[test]
fn a_token_that_waits_for_its_return_is_not_held_for_the_program() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Shared, "");
    rig.request(&name, Exclusive); // #2
    rig.update(&name, "a"); // #3
    rig.release(&name);
    assert!(!rig.holds(&name));
    rig.grant(0, 2, &name, "");
    assert!(!rig.holds(&name));
    assert!(rig.take_events().is_empty());
    let said = rig.confirm(0, 3);
    assert_eq!(said, [format!("RETURN DEASSIGN {name} #4 > 0")]);
}
