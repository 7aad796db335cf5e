//! Whole lives of a client among servers that say anything at any time: what must hold always.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::rig::*;
use crate::Machine as _;
use crate::ftn::Configuration;
use crate::ftn::client::holding::Token as HeldOrAwaited;

/// What happens to the client next.
#[derive(Debug, Clone)]
enum Step {
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

fn step() -> impl Strategy<Value = Step> {
    let server = 0..3_usize;
    let name = 0..4_u8;
    // A message of the last few.
    let number = -6..3_i64;
    prop_oneof![
        (1..2_000_u64).prop_map(Step::Pass),
        (1..13_000_u64).prop_map(Step::Sleep),
        (0..7_u8, name.clone()).prop_map(|(kind, name)| Step::Command(kind, name)),
        (server.clone(), 0..3_u8, -3..4_i64, [0..3_u8, 0..3, 0..3])
            .prop_map(|(server, to, c, states)| Step::Config(server, to, c, states)),
        (server.clone(), name.clone(), number.clone())
            .prop_map(|(server, name, number)| Step::Grant(server, name, number)),
        (server.clone(), name).prop_map(|(server, name)| Step::Revoke(server, name)),
        (server, number).prop_map(|(server, number)| Step::Confirm(server, number)),
        Just(Step::ConfirmRenewal),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(Step::Bytes),
        (4_000..4_003_u16).prop_map(Step::Up),
    ]
}

fn state(value: u8) -> ServerState {
    [Down, Booting, Ready][usize::from(value)]
}

/// What a test remembers of what was said.
#[derive(Default)]
struct Heard {
    /// The last number.
    last: i64,
    /// The last renewal, and to whom it went.
    renewal: Option<(usize, i64)>,
}

fn carry_out(rig: &mut Rig, heard: &Heard, step: Step) -> Vec<String> {
    let name = |name: u8| name_of(usize::from(name) % 3, usize::from(name) / 3);
    let id = match rig.client.standing() {
        Standing::Proving { session } | Standing::Live { session } => session,
        _ => ME + i32::try_from(heard.last % 1_000).unwrap(),
    };
    match step {
        Step::Pass(time) => rig.pass(ms(time)),
        Step::Sleep(time) => {
            rig.sleep(ms(time));
            Vec::new()
        }
        Step::Command(kind, which) => {
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
        Step::Config(server, to, c, states) => {
            let own = rig.client.configuration().map_or(7, Configuration::number);
            let c = i64::try_from(own).unwrap() + c;
            let to = [0, id, id + 1][usize::from(to)];
            rig.config_to(server, to, c, states.map(state))
        }
        Step::Grant(server, which, number) => {
            let name = name(which);
            let token = Token {
                name: name.as_bytes(),
                data: b"5 d",
            };
            let msgnum = base() + heard.last + number;
            rig.hear(server, id, Message::Grant { msgnum, token })
        }
        Step::Revoke(server, which) => {
            let name = name(which);
            let name = name.as_bytes();
            rig.hear(server, id, Message::Revoke { name })
        }
        Step::Confirm(server, number) => {
            let msgnum = base() + heard.last + number;
            rig.hear(server, id, Message::Confirm { msgnum })
        }
        Step::ConfirmRenewal => match heard.renewal {
            None => Vec::new(),
            Some((server, number)) => {
                let msgnum = base() + number;
                rig.hear(server, id, Message::Confirm { msgnum })
            }
        },
        Step::Bytes(bytes) => rig.hear_bytes(address(0), &bytes),
        Step::Up(port) => rig.up(port),
    }
}

fn number_of(line: &str) -> Option<i64> {
    let is_numbered = ["REQUEST", "RETURN", "RENEWAL", "LIST"]
        .iter()
        .any(|kind| line.starts_with(kind));
    let number = line.rsplit('#').next().filter(|_| is_numbered)?;
    number.split(' ').next()?.parse().ok()
}

fn look(rig: &Rig, heard: &mut Heard, said: &[String], meaning: &mut BTreeMap<i64, String>) {
    for line in said {
        let Some(number) = number_of(line) else {
            continue;
        };
        // A number means one message for good.
        let (what, to) = line.rsplit_once(" > ").unwrap();
        let what = match line.strip_prefix("RENEWAL") {
            Some(_) => "RENEWAL".into(),
            None => what.to_owned(),
        };
        let known = meaning.entry(number).or_insert_with(|| what.clone());
        assert_eq!(*known, what);
        heard.last = heard.last.max(number);
        if renewal(line).is_some() {
            heard.renewal = Some((to.parse().unwrap(), number));
        }
    }
    // Nothing is held outside a live session.
    let is_live = matches!(rig.client.standing(), Standing::Live { .. });
    assert_eq!(is_live, rig.client.lease().is_some());
    for name in (0..4).map(|name| name_of(name % 3, name / 3)) {
        assert!(is_live || rig.client.holding(name.as_bytes()).is_none());
    }
    // What is outstanding is what the tokens await, and nothing else.
    if let Some(session) = rig.client.phase.session() {
        let tokens = &session.tokens;
        let awaited = tokens.known.values().flat_map(HeldOrAwaited::numbers);
        let awaited = awaited.flatten().chain(tokens.listings.values().copied());
        let outstanding = tokens.outstanding.iter().map(|(number, _)| number);
        let awaited: BTreeSet<i64> = awaited.collect();
        assert_eq!(awaited, outstanding.collect::<BTreeSet<i64>>());
    }
    // The lease is never longer than its length from now.
    let longest = rig.now.monotonic + LEASE;
    assert!(rig.client.lease().is_none_or(|lease| lease <= longest));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_comes_numbers_mean_one_message_and_nothing_is_held_without_a_lease(
        steps in prop::collection::vec(step(), 0..120),
    ) {
        let mut rig = Rig::live();
        let mut heard = Heard::default();
        let mut meaning = BTreeMap::new();
        for step in steps {
            let said = carry_out(&mut rig, &heard, step);
            prop_assert!(said.len() < 2_000);
            look(&rig, &mut heard, &said, &mut meaning);
            let told: Vec<_> = rig.events.drain(..).collect();
            prop_assert!(told.len() < 2_000);
        }
        // It never sleeps for good with something to do.
        let is_idle = matches!(rig.client.standing(), Standing::NoSocket | Standing::Ended);
        prop_assert_eq!(rig.client.poll_timeout().is_none(), is_idle);
    }
}
