//! Pages of a server's tokens (C3, I5).

use super::rig::*;

fn list(rig: &mut Rig, server: usize, after: &str) -> Vec<String> {
    let after = after.as_bytes().into();
    rig.command(Command::List { server, after })
}

#[test]
fn a_request_of_the_empty_name_asks_for_the_page_after_a_name() {
    let mut rig = Rig::live();
    assert_eq!(list(&mut rig, 2, "abc"), ["LIST 'abc' #1 > 2"]);
    let said = rig.times(ms(1_600), "LIST 'abc' #1 > 2");
    assert_eq!(said, [100, 300, 700, 1500]);
    assert!(rig.grant(2, 1, "", "{}").is_empty());
    assert_eq!(rig.take_events(), ["listed 2: {}"]);
    assert!(rig.times(ms(1_000), "LIST").is_empty());
    assert!(!rig.holds(""), "a page assigns no token");
}

#[test]
fn a_page_counts_only_from_the_server_and_for_the_question_that_was_asked() {
    let mut rig = Rig::live();
    list(&mut rig, 2, ""); // #1
    list(&mut rig, 0, ""); // #2
    for (server, number) in [(2, 2), (0, 1), (1, 1), (2, 9)] {
        assert!(rig.grant(server, number, "", "{}").is_empty());
        assert_eq!(
            rig.take_drops(),
            [DropReason::Late],
            "the page is not returned, as a token would be"
        );
    }
    list(&mut rig, 2, "later"); // #3
    rig.grant(2, 1, "", "{}");
    assert_eq!(rig.take_drops(), [DropReason::Late]);
    rig.grant(2, 3, "", "{1}");
    rig.grant(0, 2, "", "{2}");
    assert_eq!(rig.take_events(), ["listed 2: {1}", "listed 0: {2}"]);
}

#[test]
fn a_server_that_is_down_is_not_asked() {
    let mut rig = Rig::live();
    list(&mut rig, 2, "");
    rig.config_to(1, 0, 10, [Ready, Ready, Down]);
    assert_eq!(rig.take_events(), ["adopted 10", "listing failed 2"]);
    assert!(list(&mut rig, 2, "").is_empty());
    assert!(list(&mut rig, 3, "").is_empty());
    assert_eq!(rig.take_events(), ["listing failed 2", "listing failed 3"]);
    assert!(rig.times(ms(1_000), "LIST").is_empty());
}

#[test]
fn the_empty_name_names_no_token() {
    let mut rig = Rig::live();
    assert!(rig.revoke(0, "").is_empty());
    assert_eq!(
        rig.take_drops(),
        [DropReason::Illegal],
        "its RETURN would be a renewal"
    );
    let too_long = "n".repeat(1_025);
    for name in ["", &too_long] {
        assert!(rig.release(name).is_empty());
        assert_eq!(rig.take_events(), [format!("refused {name}: Name")]);
    }
    // The answer to a survey does not list a question for a page, and the question keeps its number.
    list(&mut rig, 0, ""); // #1
    assert_eq!(rig.config(0, C, ALL), ["CATALOG 7 0/1 #2 > 0"]);
    rig.grant(0, 1, "", "{}");
    assert_eq!(rig.take_events(), ["listed 0: {}"]);
    assert!(!rig.holds(&name_of(0, 0)));
}
