//! Random inputs to a client, and the conditions that always hold.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::rig::*;
use crate::Machine as _;
use crate::ftn::Configuration;
use crate::ftn::client::holding::TokenState;

/// Next input of the client.
#[derive(Debug, Clone)]
enum Input {
    Pass(u64),
    Sleep(u64),
    Command(u8, u8),
    Config(usize, u8, i64, [u8; 3]),
    Grant(usize, u8, i64),
    Revoke(usize, u8),
    Confirm(usize, i64),
    ConfirmRenewal,
    Bytes(Vec<u8>),
    Up(u16),
}

fn input() -> impl Strategy<Value = Input> {
    let server = 0..3_usize;
    let name = 0..4_u8;
    // One of the last few messages.
    let number = -6..3_i64;
    prop_oneof![
        (1..2_000_u64).prop_map(Input::Pass),
        (1..13_000_u64).prop_map(Input::Sleep),
        (0..7_u8, name.clone()).prop_map(|(kind, name)| Input::Command(kind, name)),
        (server.clone(), 0..3_u8, -3..4_i64, [0..3_u8, 0..3, 0..3])
            .prop_map(|(server, to, c, states)| Input::Config(server, to, c, states)),
        (server.clone(), name.clone(), number.clone())
            .prop_map(|(server, name, number)| Input::Grant(server, name, number)),
        (server.clone(), name).prop_map(|(server, name)| Input::Revoke(server, name)),
        (server, number).prop_map(|(server, number)| Input::Confirm(server, number)),
        Just(Input::ConfirmRenewal),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(Input::Bytes),
        (4_000..4_003_u16).prop_map(Input::Up),
    ]
}

fn state(value: u8) -> ServerState {
    [Down, Booting, Ready][usize::from(value)]
}

/// Numbers that the test reads from the client's output.
#[derive(Default)]
struct SentNumbers {
    /// Last number of a message.
    last: i64,
    /// Server and number of the last renewal.
    renewal: Option<(usize, i64)>,
}

fn apply(rig: &mut Rig, sent: &SentNumbers, input: Input) -> Vec<String> {
    let name = |name: u8| name_of(usize::from(name) % 3, usize::from(name) / 3);
    let id = match rig.client.state() {
        ClientState::Proving { session } | ClientState::Live { session } => session,
        _ => ME + i32::try_from(sent.last % 1_000).unwrap(),
    };
    match input {
        Input::Pass(time) => rig.pass(ms(time)),
        Input::Sleep(time) => {
            rig.sleep(ms(time));
            Vec::new()
        }
        Input::Command(kind, which) => {
            let name: Box<[u8]> = name(which).as_bytes().into();
            let data = vec![b'd'; usize::from(which)].into();
            let request = |access, fence| Command::Request {
                name: name.clone(),
                access,
                fence,
            };
            rig.command(match kind {
                0 => request(Exclusive, false),
                1 => request(Shared, true),
                2 => Command::Update { name, data },
                3 => Command::Release { name },
                4 => Command::UpdateAndRelease { name, data },
                5 => Command::Cancel { name },
                _ => Command::List {
                    server: usize::from(which),
                    after: name,
                },
            })
        }
        Input::Config(server, to, c, states) => {
            let own = rig.client.configuration().map_or(7, Configuration::number);
            let c = i64::try_from(own).unwrap() + c;
            let to = [0, id, id + 1][usize::from(to)];
            rig.config_to(server, to, c, states.map(state))
        }
        Input::Grant(server, which, number) => {
            let name = name(which);
            let token = Token {
                name: name.as_bytes(),
                data: b"5 d",
            };
            let msgnum = base() + sent.last + number;
            rig.deliver(server, id, Message::Grant { msgnum, token })
        }
        Input::Revoke(server, which) => {
            let name = name(which);
            let name = name.as_bytes();
            rig.deliver(server, id, Message::Revoke { name })
        }
        Input::Confirm(server, number) => {
            let msgnum = base() + sent.last + number;
            rig.deliver(server, id, Message::Confirm { msgnum })
        }
        Input::ConfirmRenewal => match sent.renewal {
            None => Vec::new(),
            Some((server, number)) => {
                let msgnum = base() + number;
                rig.deliver(server, id, Message::Confirm { msgnum })
            }
        },
        Input::Bytes(bytes) => rig.deliver_bytes(address(0), &bytes),
        Input::Up(port) => rig.up(port),
    }
}

fn number_of(line: &str) -> Option<i64> {
    let is_numbered = ["REQUEST", "RETURN", "RENEWAL", "LIST"]
        .iter()
        .any(|kind| line.starts_with(kind));
    let number = line.rsplit('#').next().filter(|_| is_numbered)?;
    number.split(' ').next()?.parse().ok()
}

fn check(rig: &Rig, sent: &mut SentNumbers, said: &[String], meaning: &mut BTreeMap<i64, String>) {
    for line in said {
        let Some(number) = number_of(line) else {
            continue;
        };
        // A number always means the same message.
        let (what, to) = line.rsplit_once(" > ").unwrap();
        let what = match line.strip_prefix("RENEWAL") {
            Some(_) => "RENEWAL".into(),
            None => what.to_owned(),
        };
        let known = meaning.entry(number).or_insert_with(|| what.clone());
        assert_eq!(*known, what);
        sent.last = sent.last.max(number);
        if renewal(line).is_some() {
            sent.renewal = Some((to.parse().unwrap(), number));
        }
    }
    // The client holds nothing outside a live session.
    let is_live = matches!(rig.client.state(), ClientState::Live { .. });
    assert_eq!(is_live, rig.client.lease().is_some());
    for name in (0..4).map(|name| name_of(name % 3, name / 3)) {
        assert!(is_live || rig.client.held_token(name.as_bytes()).is_none());
    }
    // A message is outstanding exactly if a token awaits its answer.
    if let Some(session) = rig.client.phase.session() {
        let tokens = &session.tokens;
        let awaited = tokens.by_name.values().flat_map(TokenState::numbers);
        let awaited = awaited.flatten().chain(tokens.listings.values().copied());
        let outstanding = tokens.outstanding.iter().map(|(number, _)| number);
        let awaited: BTreeSet<i64> = awaited.collect();
        assert_eq!(awaited, outstanding.collect::<BTreeSet<i64>>());
    }
    // The remaining time of the lease is never longer than a whole lease.
    let longest = rig.now.monotonic + LEASE;
    assert!(rig.client.lease().is_none_or(|lease| lease <= longest));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_inputs_break_no_condition(
        inputs in prop::collection::vec(input(), 0..120),
    ) {
        let mut rig = Rig::live();
        let mut sent = SentNumbers::default();
        let mut meaning = BTreeMap::new();
        for input in inputs {
            let said = apply(&mut rig, &sent, input);
            prop_assert!(said.len() < 2_000);
            check(&rig, &mut sent, &said, &mut meaning);
            let events: Vec<_> = rig.events.drain(..).collect();
            prop_assert!(events.len() < 2_000);
        }
        // A client with something to do always has a timeout.
        let is_idle = matches!(rig.client.state(), ClientState::NoSocket | ClientState::Ended);
        prop_assert_eq!(rig.client.poll_timeout().is_none(), is_idle);
    }
}
