//! Tests of every state with every message: the next state, the held or known token, and the answers.
//!
//! The expected table is `transitions.txt`. After a change of the rules, `RINGD_BLESS=1 cargo test` writes this file
//! again. Compare each changed line with `docs/reference/lab2/states.md`.

use std::fmt::Write as _;

use ring_codec::lab2::{Message, NO_IP};

use super::rig::{
    OTHER, Rig, SAME, generating, here, member, ping, ping_of, take, token, token_of, was_here,
};
use crate::lab2::Command;

type Start = (&'static str, fn() -> Rig);
type Heard = (&'static str, fn(&mut Rig) -> Vec<String>);

const STATES: [Start; 8] = [
    ("OWNER of 11-n3-1", Rig::owner),
    ("OWNER of 11-n3-1, has offered 12-n3-1 to n7", Rig::giver),
    ("the same, shutting down", || {
        let mut rig = Rig::giver();
        rig.command(Command::ShutDown);
        rig
    }),
    ("OWNER of 11-n3-1, has work for it", || {
        let mut rig = Rig::owner();
        rig.command(Command::WantToken);
        rig
    }),
    ("WAITER, knows 10-n3-1 at n3", Rig::waiter),
    ("LOOSER, knows 10-n3-1, has just asked", Rig::asking),
    ("LOOSER, knows 10-n3-1, asleep", || {
        let mut rig = Rig::asking();
        rig.hear(3, was_here(token(10), 3));
        rig
    }),
    ("GENERATING with 11-n5-1, knows 10-n3-1", Rig::candidate),
];

/// The messages. The author of each message is n3, which the node knows in every tested state.
const MESSAGES: [Heard; 21] = [
    ("TAKE_TOKEN 9-n3-1", |rig| rig.hear(3, take(token(9)))),
    ("TAKE_TOKEN 11-n3-1", |rig| rig.hear(3, take(token(11)))),
    ("TAKE_TOKEN 12-n3-1", |rig| rig.hear(3, take(token(12)))),
    ("TAKE_TOKEN 12-n9-1", |rig| {
        rig.hear(3, take(token_of(12, 9, 1)))
    }),
    ("TAKE_TOKEN 20-n3-1", |rig| rig.hear(3, take(token(20)))),
    ("TOKEN_IS_HERE 9-n3-1", |rig| {
        rig.hear_all(3, here(token(9)))
    }),
    ("TOKEN_IS_HERE 11-n3-1", |rig| {
        rig.hear_all(3, here(token(11)))
    }),
    ("TOKEN_IS_HERE 11-n9-1", |rig| {
        rig.hear_all(3, here(token_of(11, 9, 1)))
    }),
    ("TOKEN_IS_HERE 12-n3-1", |rig| {
        rig.hear_all(3, here(token(12)))
    }),
    ("TOKEN_IS_HERE 20-n9-1", |rig| {
        rig.hear_all(3, here(token_of(20, 9, 1)))
    }),
    ("TOKEN_WAS_HERE 9-n3-1", |rig| {
        rig.hear(3, was_here(token(9), 9))
    }),
    ("TOKEN_WAS_HERE 12-n3-1", |rig| {
        rig.hear(3, was_here(token(12), 9))
    }),
    ("PING, equal tables", |rig| rig.hear(3, ping(NO_IP))),
    ("PING, other tables", |rig| {
        let (digest, ip) = (OTHER, NO_IP);
        rig.hear(3, ping_of(digest, ip))
    }),
    ("WHERE_IS_TOKEN", |rig| {
        rig.hear_all(3, Message::WhereIsToken)
    }),
    ("GENERATING 9-n3-1", |rig| {
        rig.hear_all(3, generating(token(9)))
    }),
    ("GENERATING 12-n3-1", |rig| {
        rig.hear_all(3, generating(token(12)))
    }),
    ("RING_MEMBERS, equal", |rig| members(rig, SAME)),
    ("RING_MEMBERS, other", |rig| members(rig, OTHER)),
    ("WANT_TOKEN", |rig| rig.hear_all(3, Message::WantToken)),
    ("LEAVING", |rig| rig.hear_all(3, Message::Leaving)),
];

fn members(rig: &mut Rig, digest: ring_codec::lab2::Digest) -> Vec<String> {
    let members = [member(3, NO_IP)];
    let members = members.as_slice();
    rig.hear(3, Message::RingMembers { digest, members })
}

fn table() -> String {
    let mut table = String::new();
    for (state, start) in STATES {
        writeln!(table, "{state}").expect("a string takes all");
        for (heard, hear) in MESSAGES {
            let mut rig = start();
            let sent = hear(&mut rig).join("; ");
            let (state, token) = (rig.state().name(), rig.token());
            let row = format!("    {heard:<24}{state:<12}{token:<10}{sent}");
            writeln!(table, "{}", row.trim_end()).expect("a string takes all");
        }
        table.push('\n');
    }
    table
}

#[test]
fn every_state_and_every_message() {
    let table = table();
    if std::env::var_os("RINGD_BLESS").is_some() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/proto/src/lab2/tests/transitions.txt"
        );
        std::fs::write(path, &table).expect("the source tree can be written");
    }
    let expected = include_str!("transitions.txt");
    for (found, expected) in table.lines().zip(expected.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(table.lines().count(), expected.lines().count());
}
