//! The name, the level and the sentence of each event.

use ring_codec::andrews::Method;
use ring_proto::andrews::{DatabaseState, Event, State};
use serde::Serialize;
use tracing::Level;

use crate::events;

/// The keys that occur only in events of this system.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Keys {
    /// The node that the event is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// The token's sequence as a decimal string, because double-precision numbers cannot represent all sequences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<String>,
}

type Line = ring_host::observe::Line<Keys>;

/// Whether an event is routine. Each hop of the token causes such an event, and so does each frame from a stranger.
pub(crate) const fn is_routine(event: &Event) -> bool {
    matches!(
        event,
        Event::TokenHeld { .. } | Event::TokenPassed { .. } | Event::Dropped { .. }
    )
}

fn node_line(event: &'static str, level: Level, id: u32, text: String) -> Line {
    let mut line = Line::new(event, level, text);
    line.keys.node = Some(id);
    line
}

fn token_line(event: &'static str, level: Level, sequence: u64, text: &str) -> Line {
    let mut line = Line::new(event, level, format!("{text} (sequence {sequence})"));
    line.keys.sequence = Some(sequence.to_string());
    line
}

/// Describes an event. Returns `None` if the event concerns a single client.
pub(crate) fn describe(event: &Event) -> Option<Line> {
    use Level as L;
    Some(match *event {
        Event::StateChanged { state } => state_line(state),
        Event::CoordinatorChanged { id, term, acting } => coordinator_line(id, term, acting),
        Event::MembersChanged { members } => Line::new(
            events::MEMBERS_CHANGED,
            L::INFO,
            if members == 1 {
                "the ring has 1 member".to_owned()
            } else {
                format!("the ring has {members} members")
            },
        ),
        Event::SuccessorUp { id } => node_line(
            events::SUCCESSOR_UP,
            L::INFO,
            id,
            format!("connected to node {id}, the successor"),
        ),
        Event::SuccessorLost { id, why } => node_line(
            events::SUCCESSOR_LOST,
            L::WARN,
            id,
            format!("the successor, node {id}, is lost: {}", why.text()),
        ),
        Event::SuccessorFailed { id } => node_line(
            events::SUCCESSOR_FAILED,
            L::WARN,
            id,
            format!("the successor, node {id}, has failed and is to be removed"),
        ),
        Event::PredecessorUp { id } => node_line(
            events::PREDECESSOR_UP,
            L::INFO,
            id,
            format!("node {id} is the predecessor"),
        ),
        Event::PredecessorLost { id } => node_line(
            events::PREDECESSOR_LOST,
            L::INFO,
            id,
            format!("the connection of node {id}, the predecessor, is closed"),
        ),
        Event::NodeJoined { id } => node_line(
            events::NODE_JOINED,
            L::INFO,
            id,
            format!("put node {id} into the ring"),
        ),
        Event::NodeRemoved { id } => node_line(
            events::NODE_REMOVED,
            L::WARN,
            id,
            format!("removed node {id} from the ring"),
        ),
        Event::Removed => Line::new(
            events::REMOVED,
            L::WARN,
            "another node has removed this node from the ring",
        ),
        Event::Claimed => Line::new(
            events::CLAIMED,
            L::WARN,
            "acting as coordinator until a coordinator is elected",
        ),
        Event::TokenHeld { .. }
        | Event::TokenPassed { .. }
        | Event::TokenReturned { .. }
        | Event::TokenLost { .. }
        | Event::TokenMade { .. } => return describe_token(event),
        Event::ElectionStarted { method } => Line::new(
            events::ELECTION_STARTED,
            L::INFO,
            format!("started an election ({})", method_name(method)),
        ),
        Event::ElectionWon { method } => Line::new(
            events::ELECTION_WON,
            L::INFO,
            format!("won an election ({})", method_name(method)),
        ),
        Event::ElectionResult { id } => node_line(
            events::ELECTION_RESULT,
            L::INFO,
            id,
            format!("node {id} has been elected"),
        ),
        Event::UnknownRow { .. } | Event::UnknownSender { .. } | Event::Unanswered { .. } => {
            return describe_unlisted(event);
        }
        Event::DatabaseChanged { state } => database_line(state),
        Event::Dropped { from, reason } => Line::new(
            events::DROPPED,
            L::DEBUG,
            format!("dropped a frame from {from}: {}", reason.text()),
        ),
        Event::ShutDown => Line::new(events::SHUT_DOWN, L::INFO, "left the ring"),
        Event::Answered { .. } | Event::PostsRead => return None,
    })
}

fn describe_token(event: &Event) -> Option<Line> {
    use Level as L;
    Some(match *event {
        Event::TokenHeld { sequence } => {
            token_line(events::TOKEN_HELD, L::DEBUG, sequence, "the token is here")
        }
        Event::TokenPassed { sequence } => token_line(
            events::TOKEN_PASSED,
            L::DEBUG,
            sequence,
            "the successor has the token",
        ),
        Event::TokenReturned { sequence } => token_line(
            events::TOKEN_RETURNED,
            L::WARN,
            sequence,
            "the token was not acknowledged: took the token back",
        ),
        Event::TokenLost { sequence } => token_line(
            events::TOKEN_LOST,
            L::WARN,
            sequence,
            "discarded the token: the ring has or makes another token",
        ),
        Event::TokenMade {
            sequence,
            is_first: true,
        } => token_line(
            events::TOKEN_MADE,
            L::INFO,
            sequence,
            "made the token of a new ring",
        ),
        Event::TokenMade { sequence, .. } => token_line(
            events::TOKEN_MADE,
            L::WARN,
            sequence,
            "made a token, because the last token was lost",
        ),
        _ => return None,
    })
}

/// Describes two kinds of events: a node is missing from this node's list, or this node may be missing from the
/// coordinator's list.
fn describe_unlisted(event: &Event) -> Option<Line> {
    Some(match *event {
        Event::UnknownRow { id } => node_line(
            events::UNKNOWN_ROW,
            Level::WARN,
            id,
            format!(
                "the database has node {id}, and the list does not have it: use the same list on all nodes. If \
                 node {id} was removed for good, stop all nodes and start one node with --drop"
            ),
        ),
        Event::UnknownSender { id, from } => node_line(
            events::UNKNOWN_SENDER,
            Level::WARN,
            id,
            format!(
                "dropping messages of node {id} from {from}: the list has no node {id} at this address; use the \
                 same list on all nodes"
            ),
        ),
        Event::Unanswered { id } => node_line(
            events::UNANSWERED,
            Level::WARN,
            id,
            format!(
                "the coordinator, node {id}, writes to the database but answers no request: its list may lack \
                 this node, or the network loses messages; trying again"
            ),
        ),
        _ => return None,
    })
}

/// Returns a method's name, in the spelling of `--election`.
pub(crate) const fn method_name(method: Method) -> &'static str {
    match method {
        Method::RingBased => "ring",
        Method::ChangRoberts => "chang-roberts",
        Method::Bully => "bully",
    }
}

fn state_line(state: State) -> Line {
    let text = match state {
        State::Starting => "starting",
        State::Joining => "asking for a place in the ring",
        State::Member => "in the ring",
        State::Recovering => "in the ring, without a successor",
    };
    let name = state.name();
    Line::new(
        events::STATE_CHANGED,
        Level::INFO,
        format!("{name}: {text}"),
    )
}

fn coordinator_line(id: Option<u32>, term: u64, acting: bool) -> Line {
    let Some(id) = id else {
        let text = format!("there is no coordinator (term {term})");
        return Line::new(events::COORDINATOR_CHANGED, Level::INFO, text);
    };
    let acting = if acting { "acting " } else { "" };
    let text = format!("node {id} is {acting}coordinator (term {term})");
    node_line(events::COORDINATOR_CHANGED, Level::INFO, id, text)
}

fn database_line(state: DatabaseState) -> Line {
    let (level, text) = match state {
        DatabaseState::Up => (Level::INFO, "the database answers"),
        DatabaseState::Slow => (
            Level::WARN,
            "the database does not answer in time: the token moves on, but the node writes no posts",
        ),
        DatabaseState::Gone => (
            Level::WARN,
            "the database cannot be used: the token moves on, but the node writes no posts",
        ),
    };
    Line::new(events::DATABASE_CHANGED, level, text)
}

#[cfg(test)]
mod tests {
    use ring_proto::andrews::{Event, SuccessorLoss};

    use super::describe;

    #[test]
    fn an_event_has_its_sentence_and_keys() {
        let lost = Event::SuccessorLost {
            id: 4,
            why: SuccessorLoss::Ended,
        };
        let line = describe(&lost).unwrap();
        assert_eq!(
            line.text,
            "the successor, node 4, is lost: its connection has ended"
        );
        assert_eq!(line.keys.node, Some(4));
        let held = Event::TokenHeld { sequence: 1 << 60 };
        let keys = serde_json::to_string(&describe(&held).unwrap().keys).unwrap();
        assert_eq!(keys, r#"{"sequence":"1152921504606846976"}"#);
        assert!(describe(&Event::PostsRead).is_none());
    }
}
