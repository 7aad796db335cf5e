//! The CATALOG that answers a CONFIG to the session (C5 to C7, S27 to S31).

use super::rig::*;
use crate::ftn::{PART, WINDOW};

fn grant_next(rig: &mut Rig, server: usize, name: &str, access: Access, data: &str) {
    let said = rig.request(name, access);
    let number = said[0].split('#').nth(1).unwrap();
    let number: i64 = number.split(' ').next().unwrap().parse().unwrap();
    rig.grant(server, number, name, data);
    assert!(rig.holds(name));
}

#[test]
fn an_answer_has_configuration_part_floor_and_the_kind_of_each_hold() {
    let name = |nth| name_of(0, nth);
    let mut rig = Rig::live();
    for (nth, access) in [Exclusive, Shared, Shared, Exclusive, Shared]
        .into_iter()
        .enumerate()
    {
        grant_next(&mut rig, 0, &name(nth), access, "d"); // #1 to #5
    }
    rig.update(&name(2), "new"); // #6
    rig.confirm(0, 6);
    rig.release(&name(3)); // #7
    rig.release(&name(4)); // #8
    rig.request(&name(5), Exclusive); // #9: not held
    let elsewhere = name_of(1, 0);
    grant_next(&mut rig, 1, &elsewhere, Exclusive, "e"); // #10
    let said = rig.config(0, C, ALL);
    let [x, s, u, rx, rs] = [0, 1, 2, 3, 4].map(name);
    let catalog = format!("CATALOG 7 0/1 #11 x {x}=d u {u}=new s {s}=d rx {rx}=d rs {rs}=d > 0");
    assert_eq!(said[0], catalog);
}

#[test]
fn a_catalog_has_data_as_granted_or_last_confirmed() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Exclusive, "granted");
    rig.update(&name, "unconfirmed"); // #2
    let said = rig.config(0, C, ALL);
    assert!(said[0].contains(&format!("x {name}=granted")), "{said:?}");
    // The update is sent again under a number above the FLOOR.
    assert_eq!(said[1], format!("RETURN UPDATE {name}=unconfirmed #3 > 0"));
    rig.confirm(0, 3);
    let said = rig.config(0, 10, ALL);
    assert!(
        said[0].contains(&format!("x {name}=unconfirmed")),
        "{said:?}"
    );
}

#[test]
fn a_client_that_holds_nothing_of_the_sender_answers_with_one_empty_part() {
    let mut rig = Rig::holding(&name_of(1, 0), Exclusive, "");
    assert_eq!(rig.config(0, C, ALL), ["CATALOG 7 0/1 #2 > 0"]);
    let mut rig = Rig::proving();
    assert_eq!(
        rig.config(2, C, ALL),
        ["CATALOG 7 0/1 #1 > 2"],
        "a proving client holds nothing either"
    );
}

#[test]
fn a_config_to_the_session_is_answered_only_under_its_present_configuration() {
    let mut rig = Rig::live();
    assert!(rig.config_to(0, 0, C, ALL).is_empty());
    assert!(rig.config_to(0, ME + 1, C, ALL).is_empty());
    assert!(rig.config(0, C - 1, ALL).is_empty());
    assert_eq!(
        rig.config(0, 10, ALL),
        ["CATALOG 10 0/1 #1 > 0"],
        "the client adopts the configuration, then answers"
    );
}

#[test]
fn a_server_that_is_down_in_the_configuration_gets_no_answer() {
    let mut rig = Rig::live();
    assert!(rig.config(0, 10, [Down, Ready, Ready]).is_empty());
    assert_eq!(rig.config(0, 13, [Booting, Ready, Ready]).len(), 1);
}

#[test]
fn the_answer_to_one_server_is_made_once_per_configuration() {
    let (name, later) = (name_of(0, 0), name_of(0, 1));
    let mut rig = Rig::holding(&name, Exclusive, "d");
    let first = rig.config(0, C, ALL);
    rig.update(&name, "new"); // #2
    rig.confirm(0, 2);
    grant_next(&mut rig, 0, &later, Shared, "");
    assert_eq!(rig.config(0, C, ALL), first);
    // A newer configuration needs a new answer.
    let second = rig.config(0, 10, ALL);
    assert_eq!(
        second,
        [format!("CATALOG 10 0/1 #4 x {name}=new s {later}= > 0")]
    );
    // Each server gets its own answer.
    assert_eq!(rig.config(2, 10, ALL), ["CATALOG 10 0/1 #4 > 2"]);
}

#[test]
fn outstanding_messages_for_the_senders_tokens_get_new_numbers_from_the_floor_on() {
    let (asked, given, other) = (name_of(0, 0), name_of(0, 1), name_of(1, 0));
    let mut rig = Rig::holding(&given, Exclusive, "");
    rig.request(&asked, Exclusive); // #2
    rig.request(&other, Exclusive); // #3
    rig.release(&given); // #4
    rig.pass(ms(310));
    let said = rig.config(0, C, ALL);
    let expected = [
        format!("CATALOG 7 0/1 #5 rx {given}= > 0"),
        format!("REQUEST x {asked} #5 > 0"),
        format!("RETURN DEASSIGN {given} #6 > 0"),
    ];
    assert_eq!(said, expected);
    // The repetition begins again with RETRY.
    let said = rig.times(ms(300), &format!("REQUEST x {asked} #5"));
    assert_eq!(said, [100, 300]);
    // Answers to the old numbers no longer count.
    rig.grant(0, 2, &asked, "");
    rig.confirm(0, 4);
    assert!(!rig.holds(&asked));
    // When the server asks again for lost parts, no number changes.
    assert_eq!(rig.config(0, C, ALL).len(), 1);
    rig.grant(0, 5, &asked, "");
    assert!(rig.holds(&asked));
}

#[test]
fn a_large_answer_goes_in_parts_of_at_most_part_bytes_or_one_token() {
    let mut rig = Rig::live();
    let large = "d".repeat(2_000);
    for nth in 0..60 {
        let data = if nth == 30 { &*large } else { "0123456789" };
        let access = if nth % 2 == 0 { Exclusive } else { Shared };
        grant_next(
            &mut rig,
            0,
            &format!("{}{}", name_of(0, nth), ""),
            access,
            data,
        );
    }
    let said = rig.config(0, C, ALL);
    let parts = said.len();
    assert!((2..=WINDOW).contains(&parts), "{parts}");
    let mut names = Vec::new();
    for (part, (line, bytes)) in said.iter().zip(&rig.datagrams).enumerate() {
        assert!(
            line.starts_with(&format!("CATALOG 7 {part}/{parts} #61 ")),
            "{line}"
        );
        let Message::Catalog { holdings } = Datagram::decode(bytes).unwrap().message() else {
            panic!("{line}");
        };
        let its: Vec<_> = holdings
            .iter()
            .filter(|token| !token.name.is_empty())
            .collect();
        assert!(bytes.len() <= PART || its.len() == 1, "{}", bytes.len());
        names.extend(its.iter().map(|token| token.name.to_vec()));
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 60);
}

#[test]
fn each_config_brings_the_next_window_of_parts_in_turn() {
    let mut rig = Rig::live();
    let data = "d".repeat(700);
    for nth in 0..20 {
        grant_next(&mut rig, 0, &name_of(0, nth), Exclusive, &data);
    }
    let parts = |said: Vec<String>| -> Vec<usize> {
        let part = |line: &String| line.split([' ', '/']).nth(2).unwrap().parse().unwrap();
        said.iter().map(part).collect()
    };
    let first = parts(rig.config(0, C, ALL));
    assert_eq!(first, (0..16).collect::<Vec<_>>());
    let second = parts(rig.config(0, C, ALL));
    assert_eq!(second, (16..20).chain(0..12).collect::<Vec<_>>());
    let third = parts(rig.config(0, C, ALL));
    assert_eq!(third, (12..20).chain(0..8).collect::<Vec<_>>());
}

#[test]
fn after_a_survey_no_message_about_tokens_has_a_number_below_the_floor() {
    let name = name_of(0, 0);
    let mut rig = Rig::holding(&name, Shared, "");
    rig.request(&name, Exclusive); // #2
    rig.update(&name, "u"); // #3
    let said = rig.config(0, C, ALL);
    // The update's number stays above the request's number. At or below the grant's number the server would confirm the
    // update without effect.
    let expected = [
        format!("CATALOG 7 0/1 #4 s {name}= > 0"),
        format!("REQUEST x {name} #4 > 0"),
        format!("RETURN UPDATE {name}=u #5 > 0"),
    ];
    assert_eq!(said, expected);
}
