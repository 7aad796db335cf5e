//! Describes each event by a name, a level and a sentence.

use std::net::IpAddr;
use std::time::Duration;

use ring_codec::jitterbug::Node;
use ring_proto::jitterbug::{
    Acceptance, Difference, Event, LEASE_MAX, LEASE_MIN, PassFailure, State,
};
use ring_text::{format_bytes, format_duration};
use tracing::Level;

use crate::system::jitterbug::events;

/// The frequency class of an event. The class determines the receivers of the event, and the rate limit of its log
/// lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum EventRate {
    /// The event happens rarely.
    #[default]
    Rare,
    /// The event happens with each turn of the token.
    Turn,
    /// The event happens with each turn while a node does not take the token.
    Pass,
    /// The event happens with each turn while a command fails.
    Program,
    /// The event happens for each node of a list, so thousands of these events may happen at once.
    Node,
    /// The event happens for each node that is refused.
    Refusal,
    /// The event happens for each node with other options.
    Difference,
    /// The event happens as often as other machines cause it.
    Drop,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Keys {
    pub rate: EventRate,
    pub token_id: Option<u32>,
    pub node: Option<IpAddr>,
}

type Line = ring_host::observe::Line<Keys>;

trait WithKeys {
    fn with_rate(self, rate: EventRate) -> Self;
    fn with_token(self, token_id: u32) -> Self;
    fn with_node(self, node: IpAddr) -> Self;
}

impl WithKeys for Line {
    fn with_rate(mut self, rate: EventRate) -> Self {
        self.keys.rate = rate;
        self
    }

    fn with_token(mut self, token_id: u32) -> Self {
        self.keys.token_id = Some(token_id);
        self
    }

    fn with_node(mut self, node: IpAddr) -> Self {
        self.keys.node = Some(node);
        self
    }
}

/// Describes an event. `before` is the node's state before the event, and shows whether the event is a routine turn of
/// the token.
#[expect(clippy::too_many_lines, reason = "a sentence for each event")]
pub(crate) fn describe(event: &Event, before: State) -> Line {
    match event {
        Event::StateChanged { state, token_id } => describe_state(before, *state, *token_id),
        Event::UseChanged { may_use } => {
            let text = if *may_use {
                "programs of this machine may use the token"
            } else {
                "programs of this machine may no longer use the token"
            };
            Line::new(events::USE_CHANGED, Level::DEBUG, text).with_rate(EventRate::Turn)
        }
        Event::RestoreBegan => Line::new(
            events::RESTORE_BEGAN,
            Level::INFO,
            "asking whether there is a leader",
        ),
        Event::RestoreDenied { by } => describe_denied(*by),
        Event::RestoreWon => Line::new(
            events::RESTORE_WON,
            Level::INFO,
            "no node objects: this node leads, with a new token",
        ),
        Event::RivalHeard { token_id, from } => describe_rival(*token_id, *from),
        Event::Accepted {
            how,
            token_id,
            from,
        } => describe_accepted(*how, *token_id, *from),
        Event::Passed { to } => Line::new(
            events::PASSED,
            Level::DEBUG,
            format!("{} has the token", format_node(to)),
        )
        .with_node(to.ip)
        .with_rate(EventRate::Turn),
        Event::PassFailed { to, why } => describe_pass(
            events::PASS_FAILED,
            Level::WARN,
            to,
            *why,
            "cannot take the token",
        )
        .with_rate(EventRate::Pass),
        Event::PassUnknown { to, why } => describe_pass(
            events::PASS_UNKNOWN,
            Level::WARN,
            to,
            *why,
            "may have the token, so this node looks for a leader",
        ),
        Event::PassAborted { to } => Line::new(
            events::PASS_ABORTED,
            Level::DEBUG,
            format!("no longer handing the token to {}", format_node(to)),
        )
        .with_node(to.ip)
        .with_rate(EventRate::Turn),
        Event::Stalled { after } => describe_stall(*after),
        Event::DataChanged { len } => Line::new(
            events::DATA_CHANGED,
            Level::DEBUG,
            format!("the data now has {}", format_bytes(*len)),
        )
        .with_rate(EventRate::Turn),
        Event::ComputeFailed => describe_compute_failure().with_rate(EventRate::Program),
        Event::DecideFailed => describe_decide_failure().with_rate(EventRate::Program),
        Event::DataDropped => Line::new(
            events::DATA_DROPPED,
            Level::WARN,
            "the data of a token was dropped: too many data wait for --decide",
        )
        .with_rate(EventRate::Program),
        Event::NodeAdded { node } => Line::new(
            events::NODE_ADDED,
            Level::INFO,
            format!("{} was added to the list", format_node(node)),
        )
        .with_node(node.ip)
        .with_rate(EventRate::Node),
        Event::GaveWay { to, token_id } => Line::new(
            events::GAVE_WAY,
            Level::INFO,
            format!("this node hands its token to {to}, which leads with the token {token_id}"),
        )
        .with_token(*token_id)
        .with_node(*to),
        Event::NodeDiffers { node, how } => {
            Line::new(events::NODE_DIFFERS, Level::WARN, describe_difference(*node, *how))
                .with_node(*node)
                .with_rate(EventRate::Difference)
        }
        Event::ListCut { from, left_out } => Line::new(
            events::LIST_CUT,
            Level::WARN,
            format!(
                "left out {left_out} nodes of the list of {from}: this node takes at most 256 unknown nodes from a \
                 list, and only nodes of its own subnet"
            ),
        )
        .with_node(*from)
        .with_rate(EventRate::Refusal),
        Event::NodeForgotten { node } => Line::new(
            events::NODE_FORGOTTEN,
            Level::INFO,
            format!("{} was removed from the list: it never answered", format_node(node)),
        )
        .with_node(node.ip)
        .with_rate(EventRate::Node),
        Event::NodeRefused { node } => Line::new(
            events::NODE_REFUSED,
            Level::WARN,
            format!(
                "cannot add {} to the list: the list is full; give all nodes a larger --max-nodes",
                format_node(node)
            ),
        )
        .with_node(node.ip)
        .with_rate(EventRate::Refusal),
        Event::AddressChanged { address } => describe_address(*address),
        Event::Dropped { from, reason } => Line::new(
            events::DROPPED,
            Level::DEBUG,
            format!("dropped a message of {from}: {}", reason.text()),
        )
        .with_node(*from)
        .with_rate(EventRate::Drop),
        Event::ShutDown => Line::new(events::LEFT, Level::INFO, "left the ring"),
    }
}

/// Describes how the options of a node differ from this node's, and the effect.
pub(crate) fn describe_difference(node: IpAddr, how: Difference) -> String {
    match how {
        Difference::Times {
            lease,
            renew_timeout,
            token_pass_timeout,
        } => format!(
            "{node} has different times: a lease of {}, --renew-timeout {} and --token-pass-timeout {}; the shortest \
             lease counts; give all nodes equal --tr-interval, --tr-count, --renew-timeout and --token-pass-timeout",
            format_duration(lease),
            format_duration(renew_timeout),
            format_duration(token_pass_timeout)
        ),
        Difference::Lease => format!(
            "{node} announces a lease shorter than {} or longer than {}: it forms no ring with this node; give all \
             nodes equal --tr-interval and --tr-count",
            format_duration(LEASE_MIN),
            format_duration(LEASE_MAX)
        ),
        Difference::Policy => format!(
            "{node} has a different --compute or --decide: it forms no ring with this node; give all nodes equal \
             commands"
        ),
    }
}

/// Whether a change of state is a routine turn of the token.
const fn is_turn(before: State, state: State) -> bool {
    matches!(
        (before, state),
        (State::Waiter, State::Leader) | (State::Leader, State::Waiter)
    )
}

fn describe_state(before: State, state: State, token_id: u32) -> Line {
    let (level, rate) = if is_turn(before, state) {
        (Level::DEBUG, EventRate::Turn)
    } else {
        (Level::INFO, EventRate::Rare)
    };
    let text = match state {
        State::Orphan => "orphan: this node has no ring".to_owned(),
        State::Waiter => "waiter: the token is elsewhere".to_owned(),
        State::Leader => format!("leader: this node has the token {token_id}"),
    };
    Line::new(events::STATE_CHANGED, level, text)
        .with_token(token_id)
        .with_rate(rate)
}

fn describe_accepted(how: Acceptance, token_id: u32, from: IpAddr) -> Line {
    let (event, level, rate, text) = match how {
        Acceptance::Taken => (
            events::TAKEN,
            Level::DEBUG,
            EventRate::Turn,
            format!("took the token {token_id} from {from}"),
        ),
        Acceptance::Merged => (
            events::MERGED,
            Level::INFO,
            EventRate::Rare,
            format!("the token {token_id} of {from} was merged with this node's token"),
        ),
        Acceptance::Absorbed => (
            events::ABSORBED,
            Level::INFO,
            EventRate::Rare,
            format!("the token {token_id} of {from} was discarded: this node had a stronger token"),
        ),
    };
    Line::new(event, level, text)
        .with_token(token_id)
        .with_node(from)
        .with_rate(rate)
}

fn describe_pass(
    event: &'static str,
    level: Level,
    to: &Node,
    why: PassFailure,
    what: &str,
) -> Line {
    let text = format!("{} {what}: {}", format_node(to), why.text());
    Line::new(event, level, text).with_node(to.ip)
}

fn describe_address(address: Option<IpAddr>) -> Line {
    match address {
        Some(address) => Line::new(
            events::ADDRESS_CHANGED,
            Level::INFO,
            format!("this node is {address}"),
        )
        .with_node(address),
        None => Line::new(
            events::ADDRESS_CHANGED,
            Level::WARN,
            "this node has no address: it sends nothing until it has an address",
        ),
    }
}

fn describe_denied(by: IpAddr) -> Line {
    Line::new(
        events::RESTORE_DENIED,
        Level::INFO,
        format!("{by} leads or has a better claim: this node waits for the token"),
    )
    .with_node(by)
}

fn describe_rival(token_id: u32, from: IpAddr) -> Line {
    Line::new(
        events::RIVAL_HEARD,
        Level::INFO,
        format!("{from} leads with the token {token_id}, which is stronger"),
    )
    .with_token(token_id)
    .with_node(from)
}

fn describe_stall(after: Duration) -> Line {
    Line::new(
        events::STALLED,
        Level::WARN,
        format!(
            "this process was stalled for {}: another node may lead now, so this node looks for a leader",
            format_duration(after)
        ),
    )
}

fn describe_compute_failure() -> Line {
    Line::new(
        events::COMPUTE_FAILED,
        Level::WARN,
        "cannot compute the next data, so the data stays unchanged: --compute did not exit with 0 in time, or \
         printed more than --max-data bytes; the built-in counter needs a number",
    )
}

fn describe_decide_failure() -> Line {
    Line::new(
        events::DECIDE_FAILED,
        Level::WARN,
        "cannot decide which data continues: --decide did not exit with 0 or 1 within --compute-timeout; the node \
         keeps the received data",
    )
}

/// Returns `10.0.0.1:4711` or `[fe80::1]:4711`.
fn format_node(node: &Node) -> String {
    std::net::SocketAddr::new(node.ip, node.port).to_string()
}
