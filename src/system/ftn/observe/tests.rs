use std::net::SocketAddr;
use std::time::Duration;

use ring_codec::ftn::ServerState::{Booting, Down, Ready};
use ring_host::observe::Line;
use ring_proto::ftn::server::{
    DropReason, Event, OptionDifference, OptionValue, RoleKind, TokenHold,
};
use ring_proto::time::Instant;
use tracing::Level;

use super::{Describer, Keys, Log, Names};

fn describer() -> Describer {
    let names: [Box<str>; 3] = ["a:1".into(), "b:2".into(), "c:3".into()];
    Describer::new(Names::new(names, 1))
}

fn client() -> SocketAddr {
    ([192, 0, 2, 9], 4000).into()
}

fn describe(event: &Event) -> Line<Keys> {
    describer().describe(event, None)
}

#[test]
fn a_configuration_names_changed_servers_and_warns_of_those_that_are_down() {
    let mut describer = describer();
    let mut change = |configuration, states: [_; 3]| {
        let states = Box::new(states);
        let changed = Event::ConfigurationChanged {
            configuration,
            states,
        };
        describer.describe(&changed, None)
    };
    let first = change(4, [Down, Booting, Ready]);
    let text = "configuration 4: this server is BOOTING, server 2 (c:3) is READY";
    assert_eq!((&*first.text, first.level), (text, Level::INFO));
    assert_eq!(first.keys.configuration, Some(4));
    let second = change(7, [Down, Ready, Down]);
    let text = "configuration 7: this server is READY, server 2 (c:3) is DOWN";
    assert_eq!((&*second.text, second.level), (text, Level::WARN));
    assert!(change(10, [Down, Ready, Down]).text.ends_with("as before"));
}

#[test]
fn the_leader_is_named() {
    let role = |role, leader| describe(&Event::RoleChanged { role, leader });
    let follows = role(RoleKind::Follower, Some(2));
    assert_eq!(follows.text, "server 2 (c:3) leads");
    assert_eq!(follows.keys.server, Some(2));
    assert_eq!(role(RoleKind::Leader, Some(1)).text, "this server leads");
    assert!(
        role(RoleKind::Electing, None)
            .text
            .ends_with("looks for one")
    );
}

#[test]
fn a_server_with_other_options_is_named_with_them() {
    let differences = Box::new([OptionDifference {
        option: "--client-timeout",
        own: OptionValue::Time(Duration::from_secs(15)),
        theirs: OptionValue::Time(Duration::from_secs(5)),
    }]);
    let line = describe(&Event::OptionsCompared {
        server: 2,
        differences,
    });
    assert_eq!((line.event, line.level), ("options_differ", Level::WARN));
    let text = "server 2 (c:3) has different options: --client-timeout 5 s there, 15 s here";
    assert!(line.text.starts_with(text), "{}", line.text);
    let none = Event::OptionsCompared {
        server: 2,
        differences: Box::new([]),
    };
    assert_eq!(describe(&none).level, Level::INFO);
}

#[test]
fn a_leaving_server_counts_lost_data() {
    let left = |left_behind| describe(&Event::ShutDown { left_behind });
    assert_eq!(left(0).level, Level::INFO);
    let lost = left(3);
    assert_eq!(lost.level, Level::WARN);
    assert!(lost.text.contains("the data of 3 tokens"), "{}", lost.text);
}

#[test]
fn a_survey_is_info_only_if_it_asks_clients() {
    let mut describer = describer();
    for (sessions, level) in [(0, Level::DEBUG), (3, Level::INFO)] {
        let begun = Event::SurveyBegun {
            configuration: 4,
            sessions,
        };
        assert_eq!(describer.describe(&begun, None).level, level);
        let ended = describer.describe(&Event::SurveyEnded { configuration: 4 }, None);
        assert_eq!((ended.level, ended.keys.configuration), (level, Some(4)));
    }
}

#[test]
fn losses_are_warnings_and_names_of_clients_are_escaped() {
    let takeover = describe(&Event::TookOverTokens {
        server: Some(0),
        held: 1,
    });
    assert_eq!(takeover.level, Level::WARN);
    assert!(
        takeover.text.contains("server 0 (a:1)") && takeover.text.contains("hold 1 token;"),
        "{takeover:?}"
    );
    let name = [b"\x1b[2J'".to_vec(), vec![b'x'; 100]].concat();
    let conflict = describe(&Event::Conflict { name: name.into() });
    assert_eq!(conflict.level, Level::ERROR);
    assert!(
        !conflict.text.contains('\x1b') && conflict.text.contains("(105 bytes)"),
        "{conflict:?}"
    );
    assert!(conflict.text.contains("--quorum majority"), "{conflict:?}");
}

#[test]
fn frequent_events_are_limited_or_verbose_only() {
    let dropped = Event::Dropped {
        from: client(),
        kind: None,
        reason: DropReason::Malformed,
    };
    let begun = Event::SessionBegun {
        id: 7,
        address: client(),
    };
    let expired = Event::SessionExpired {
        id: 7,
        address: client(),
    };
    let at = Instant::default() + Duration::from_secs(100);
    let rate = |event| describe(event).keys.rate;
    let mut log = Log::new(false);
    assert_eq!(log.admit(at, rate(&dropped)), None);
    assert_eq!(log.admit(at, rate(&begun)), None);
    let shown = (0..1000).filter_map(|_| log.admit(at, rate(&expired)));
    assert_eq!(shown.count(), 10);
    let hidden = log.admit(at + Duration::from_secs(3), rate(&expired));
    assert_eq!(hidden, Some(990), "those that were not shown are counted");
    let mut log = Log::new(true);
    assert!(log.admit(at, rate(&begun)).is_some());
    assert!(log.admit(at, rate(&dropped)).is_some());
    assert_eq!(log.admit(at, rate(&dropped)), None);
    let text = describe(&dropped).text;
    assert_eq!(
        text,
        "dropped a datagram of 192.0.2.9:4000: it is no message of the protocol"
    );
}

#[test]
fn a_grant_and_its_end_name_program_number_and_duration() {
    let holding = |number: u128| {
        let name = match number {
            41 => "press".to_owned(),
            other => format!("token {other}"),
        };
        Box::new(TokenHold {
            name: name.into_bytes().into(),
            session: 7,
            address: client(),
            program: Some("backup (process 12 of root on north)".into()),
            number,
        })
    };
    let at = Instant::default() + Duration::from_secs(100);
    let later = at + Duration::from_secs(63);
    let mut log = Log::new(false);
    let granted = Event::TokenGranted(holding(41));
    let mut admit = |at, event: &Event| log.admit_token(at, event).expect("it is about a token");
    let admitted = admit(at, &granted).expect("it is the first");
    let line = describer().describe(&granted, admitted.held);
    let who = "session 7 of 192.0.2.9:4000 (backup (process 12 of root on north))";
    let which = "the token 'press' with number 41";
    assert_eq!(line.text, format!("{who} holds {which}"));
    assert_eq!(line.level, Level::INFO);
    let returned = Event::TokenReturned(holding(41));
    let admitted = admit(later, &returned).expect("its grant was shown");
    let line = describer().describe(&returned, admitted.held);
    assert_eq!(line.text, format!("{who} has returned {which} after 1m 3s"));
    assert_eq!(line.keys.held_ns, Some(63_000_000_000));
    // If there are very many grants, only some of them are logged, each with its end.
    let flood: Vec<u128> = (0..1_000).collect();
    let shown = flood.iter().filter(|&&number| {
        let granted = Event::TokenGranted(holding(number));
        admit(at, &granted).is_some()
    });
    let shown = shown.count();
    assert!((90..=100).contains(&shown), "{shown}");
    let ended = flood.iter().filter(|&&number| {
        let lost = Event::TokenLost(holding(number));
        admit(at, &lost).is_some()
    });
    assert_eq!(ended.count(), shown);
}
