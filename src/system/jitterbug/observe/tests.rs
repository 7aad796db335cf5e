use std::net::{IpAddr, Ipv4Addr};

use ring_codec::jitterbug::Node;
use ring_proto::jitterbug::{Acceptance, Event, PassFailure, Reason, State};
use ring_proto::time::Instant;
use tracing::Level;

use super::{Log, describe};

const NODE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));

fn node() -> Node {
    Node {
        ip: NODE,
        port: 4711,
    }
}

#[test]
fn only_a_routine_turn_of_the_token_is_debug() {
    let changed = |before, state| {
        let event = Event::StateChanged { state, token_id: 7 };
        describe(&event, before).level
    };
    assert_eq!(changed(State::Waiter, State::Leader), Level::DEBUG);
    assert_eq!(changed(State::Leader, State::Waiter), Level::DEBUG);
    for (before, state) in [
        (State::Orphan, State::Leader),
        (State::Orphan, State::Waiter),
        (State::Leader, State::Orphan),
        (State::Leader, State::Leader),
    ] {
        assert_eq!(changed(before, state), Level::INFO, "{before:?} {state:?}");
    }
}

#[test]
fn a_sentence_names_the_node_and_the_token() {
    let line = describe(
        &Event::PassUnknown {
            to: node(),
            why: PassFailure::TimedOut,
        },
        State::Leader,
    );
    assert_eq!(
        (line.event, line.level, line.keys.node),
        ("pass_unknown", Level::WARN, Some(NODE))
    );
    assert!(
        line.text.starts_with("10.0.0.2:4711 may have the token"),
        "{}",
        line.text
    );
    let merged = Event::Accepted {
        how: Acceptance::Merged,
        token_id: 9,
        from: NODE,
    };
    let line = describe(&merged, State::Leader);
    assert_eq!((line.event, line.keys.token_id), ("merged", Some(9)));
}

#[test]
fn turns_and_drops_are_logged_only_if_verbose() {
    let rate = |event: &Event| describe(event, State::Leader).keys.rate;
    let events = [
        Event::Passed { to: node() },
        Event::Dropped {
            from: NODE,
            reason: Reason::Hash,
        },
        Event::UseChanged { may_use: true },
    ];
    for event in &events {
        let admitted = |verbose| Log::new(verbose).admit(Instant::default(), rate(event));
        assert_eq!(
            (admitted(false), admitted(true)),
            (None, Some(0)),
            "{event:?}"
        );
    }
    let mut log = Log::new(false);
    let failed = Event::PassFailed {
        to: node(),
        why: PassFailure::Refused,
    };
    let admitted = (0..7).filter_map(|_| log.admit(Instant::default(), rate(&failed)));
    assert_eq!(admitted.count(), 5, "a dead node is tried repeatedly");
}
