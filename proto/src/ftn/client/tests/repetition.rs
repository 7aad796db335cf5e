//! RETRY (O1, O2) and msgnums (C10).

use super::rig::*;
use crate::Machine as _;

#[test]
fn request_and_return_are_repeated_at_doubling_intervals_of_at_most_a_second() {
    let (asked, given) = (name_of(0, 0), name_of(2, 0));
    let mut rig = Rig::holding(&given, Exclusive, "");
    rig.request(&asked, Exclusive);
    rig.release(&given);
    let said = rig.timeline(ms(2_900));
    let times = |prefix: &str| -> Vec<u128> {
        let such = said.iter().filter(|(_, line)| line.starts_with(prefix));
        such.map(|(at, _)| *at).collect()
    };
    let doubling = [100, 300, 700, 1500, 2500];
    assert_eq!(times(&format!("REQUEST x {asked} #2 > 0")), doubling);
    assert_eq!(times(&format!("RETURN DEASSIGN {given} #3 > 2")), doubling);
}

#[test]
fn an_answered_message_is_not_repeated() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Exclusive, "");
    assert!(rig.stay_live(ms(30_000)).is_empty());
    rig.release(&name);
    let number = rig.stay_live(ms(150)).first().unwrap().clone();
    let number = number.split(['#', ' ']).nth(4).unwrap().parse().unwrap();
    rig.confirm(0, number);
    assert!(rig.stay_live(ms(30_000)).is_empty());
}

#[test]
fn one_counter_numbers_all_messages_of_a_process() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Shared, ""); // renewal #0, request #1
    let said = rig.update(&name, "a");
    assert_eq!(said, [format!("RETURN UPDATE {name}=a #2 > 0")]);
    let said = rig.pass(ms(3_000));
    assert!(said.contains(&"RENEWAL 7 #3 > 1".to_owned()), "{said:?}");
}

#[test]
fn one_call_sends_at_most_64_messages_and_the_next_call_continues() {
    let mut rig = Rig::live();
    for nth in 0..300 {
        rig.request(&format!("n{nth}"), Exclusive);
    }
    rig.sleep(ms(1_000));
    let mut turns = 0;
    let mut said = 0;
    while rig
        .client
        .poll_timeout()
        .is_some_and(|due| due <= rig.now.monotonic)
    {
        let lines = rig.fire_timeout().len();
        assert!(lines <= 64, "{lines}");
        said += lines;
        turns += 1;
    }
    assert_eq!((turns, said), (5, 300));
}
