use std::net::SocketAddr;
use std::time::Duration;

use ring_codec::ftn::ServerState::{Booting, Down, Ready};
use ring_proto::ftn::server::{Difference, Event, Reason, RoleKind, Setting};
use ring_proto::time::Instant;
use tracing::Level;

use super::{Keys, Log, Names, News};
use crate::observe::Line;

fn news() -> News {
    let names: [Box<str>; 3] = ["a:1".into(), "b:2".into(), "c:3".into()];
    News::new(Names::new(names, 1))
}

fn client() -> SocketAddr {
    ([192, 0, 2, 9], 4000).into()
}

fn describe(event: &Event) -> Line<Keys> {
    news().describe(event)
}

#[test]
fn a_configuration_names_the_servers_that_have_changed_and_warns_of_those_that_are_down() {
    let mut news = news();
    let mut change = |configuration, states: [_; 3]| {
        let states = Box::new(states);
        news.describe(&Event::ConfigurationChanged {
            configuration,
            states,
        })
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
fn who_leads_is_named() {
    let role = |role, leader| describe(&Event::RoleChanged { role, leader });
    let follows = role(RoleKind::Follower, Some(2));
    assert_eq!(follows.text, "server 2 (c:3) leads");
    assert_eq!(follows.keys.server, Some(2));
    assert_eq!(role(RoleKind::Leader, Some(1)).text, "this server leads");
    assert!(role(RoleKind::Electing, None).text.contains("looking"));
}

#[test]
fn a_server_with_other_options_is_named_with_them() {
    let differences = Box::new([Difference {
        option: "--client-timeout",
        own: Setting::Time(Duration::from_secs(15)),
        theirs: Setting::Time(Duration::from_secs(5)),
    }]);
    let line = describe(&Event::OptionsCompared {
        server: 2,
        differences,
    });
    assert_eq!((line.event, line.level), ("options_differ", Level::WARN));
    let text = "server 2 (c:3) has other options: --client-timeout 5 s there, 15 s here";
    assert!(line.text.starts_with(text), "{}", line.text);
    let none = Event::OptionsCompared {
        server: 2,
        differences: Box::new([]),
    };
    assert_eq!(describe(&none).level, Level::INFO);
}

#[test]
fn a_server_that_leaves_says_how_many_data_are_lost() {
    let left = |left_behind| describe(&Event::ShutDown { left_behind });
    assert_eq!(left(0).level, Level::INFO);
    let lost = left(3);
    assert_eq!(lost.level, Level::WARN);
    assert!(lost.text.contains("the data of 3 tokens"), "{}", lost.text);
}

#[test]
fn a_survey_is_news_if_it_asks_anybody() {
    let mut news = news();
    for (sessions, level) in [(0, Level::DEBUG), (3, Level::INFO)] {
        let begun = Event::SurveyBegun {
            configuration: 4,
            sessions,
        };
        assert_eq!(news.describe(&begun).level, level);
        let ended = news.describe(&Event::SurveyEnded { configuration: 4 });
        assert_eq!((ended.level, ended.keys.configuration), (level, Some(4)));
    }
}

#[test]
fn what_loses_something_is_a_warning_and_what_a_client_has_named_does_nothing_to_a_terminal() {
    let heir = describe(&Event::TookOverTokens {
        server: Some(0),
        held: 1,
    });
    assert_eq!(heir.level, Level::WARN);
    assert!(
        heir.text.contains("server 0 (a:1)") && heir.text.contains("hold 1 token of it"),
        "{heir:?}"
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
fn what_happens_with_every_datagram_or_client_is_limited_or_for_the_verbose() {
    let dropped = Event::Dropped {
        from: client(),
        kind: None,
        reason: Reason::Malformed,
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
    let mut log = Log::new(false);
    assert_eq!(log.admit(at, &dropped), None);
    assert_eq!(log.admit(at, &begun), None);
    let shown = (0..1000)
        .filter(|_| log.admit(at, &expired).is_some())
        .count();
    assert_eq!(shown, 10);
    let later = log.admit(at + Duration::from_secs(3), &expired);
    assert_eq!(later, Some(990), "those that were not shown are counted");
    let mut log = Log::new(true);
    assert_eq!(log.admit(at, &begun), Some(0));
    assert_eq!(log.admit(at, &dropped), Some(0));
    assert_eq!(log.admit(at, &dropped), None);
    let text = describe(&dropped).text;
    assert_eq!(
        text,
        "dropped a datagram of 192.0.2.9:4000: it is no message of the protocol"
    );
}
