//! What an event is called, how much it matters, and the sentence for it.

use std::net::IpAddr;
use std::time::Duration;

use ring_codec::jitterbug::Node;
use ring_proto::jitterbug::{
    Acceptance, Difference, Event, Failure, LEAST_LEASE, MOST_LEASE, State,
};
use ring_text::{format_bytes, format_duration};
use tracing::Level;

/// How often an event happens: that limits its lines, and says who gets it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Rate {
    /// Rarely.
    #[default]
    Rare,
    /// With each turn of the token.
    Turn,
    /// With each turn while a node does not take the token.
    Pass,
    /// With each turn while a command fails.
    Program,
    /// For each node of a list; nodes may come by the thousand.
    Node,
    /// For each node that is refused.
    Refusal,
    /// For each node that differs.
    Difference,
    /// As often as strangers please.
    Drop,
}

/// What an event is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Keys {
    /// How often it happens.
    pub rate: Rate,
    /// The absolute `token_id`.
    pub token_id: Option<u32>,
    /// The node.
    pub node: Option<IpAddr>,
}

type Line = ring_host::observe::Line<Keys>;

/// Says what a line is about.
trait About {
    fn at(self, rate: Rate) -> Self;
    fn of_token(self, token_id: u32) -> Self;
    fn of_node(self, node: IpAddr) -> Self;
}

impl About for Line {
    fn at(mut self, rate: Rate) -> Self {
        self.keys.rate = rate;
        self
    }

    fn of_token(mut self, token_id: u32) -> Self {
        self.keys.token_id = Some(token_id);
        self
    }

    fn of_node(mut self, node: IpAddr) -> Self {
        self.keys.node = Some(node);
        self
    }
}

/// Describes an event. The state `before` it tells a turn of the token from news.
#[expect(clippy::too_many_lines, reason = "a sentence for each event")]
pub(crate) fn describe(event: &Event, before: State) -> Line {
    match event {
        Event::StateChanged { state, token_id } => state_changed(before, *state, *token_id),
        Event::UseChanged { may_use } => {
            let text = if *may_use {
                "programs of this machine may use the token"
            } else {
                "programs of this machine may no longer use the token"
            };
            Line::new("use_changed", Level::DEBUG, text).at(Rate::Turn)
        }
        Event::RestoreBegan => Line::new(
            "restore_began",
            Level::INFO,
            "asking whether there is a leader",
        ),
        Event::RestoreDenied { by } => denied(*by),
        Event::RestoreWon => Line::new(
            "restore_won",
            Level::INFO,
            "nobody objects: this node leads, with a new token",
        ),
        Event::RivalHeard { token_id, from } => rival(*token_id, *from),
        Event::Accepted {
            how,
            token_id,
            from,
        } => accepted(*how, *token_id, *from),
        Event::Passed { to } => Line::new(
            "passed",
            Level::DEBUG,
            format!("{} has the token", shown(to)),
        )
        .of_node(to.ip)
        .at(Rate::Turn),
        Event::PassFailed { to, why } => pass(
            "pass_failed",
            Level::WARN,
            to,
            *why,
            "cannot take the token",
        ).at(Rate::Pass),
        Event::PassUnknown { to, why } => pass(
            "pass_unknown",
            Level::WARN,
            to,
            *why,
            "may have the token or not, so this node asks who leads",
        ),
        Event::PassAborted { to } => Line::new(
            "pass_aborted",
            Level::DEBUG,
            format!("no longer handing the token to {}", shown(to)),
        )
        .of_node(to.ip)
        .at(Rate::Turn),
        Event::Stalled { after } => stalled(*after),
        Event::DataChanged { len } => Line::new(
            "data_changed",
            Level::DEBUG,
            format!("the data has {} now", format_bytes(*len)),
        )
        .at(Rate::Turn),
        Event::ComputeFailed => compute_failed().at(Rate::Program),
        Event::DecideFailed => decide_failed().at(Rate::Program),
        Event::DataDropped => Line::new(
            "data_dropped",
            Level::WARN,
            "the data of a token counts for nothing: too many wait for --decide",
        )
        .at(Rate::Program),
        Event::NodeAdded { node } => Line::new(
            "node_added",
            Level::INFO,
            format!("{} is in the list now", shown(node)),
        )
        .of_node(node.ip)
        .at(Rate::Node),
        Event::GaveWay { to, token_id } => Line::new(
            "gave_way",
            Level::INFO,
            format!("this node gives its token to {to}, which leads with the token {token_id}"),
        )
        .of_token(*token_id)
        .of_node(*to),
        Event::NodeDiffers { node, how } => {
            Line::new("node_differs", Level::WARN, difference(*node, *how)).of_node(*node).at(Rate::Difference)
        }
        Event::ListCut { from, left_out } => Line::new(
            "list_cut",
            Level::WARN,
            format!(
                "left out {left_out} nodes of the list of {from}: a list brings at most 256 nodes that this node does not know, \
                 and none outside the subnet"
            ),
        )
        .of_node(*from)
        .at(Rate::Refusal),
        Event::NodeForgotten { node } => Line::new(
            "node_forgotten",
            Level::INFO,
            format!("{} never answered, and is in the list no more", shown(node)),
        )
        .of_node(node.ip)
        .at(Rate::Node),
        Event::NodeRefused { node } => Line::new(
            "node_refused",
            Level::WARN,
            format!(
                "no room in the list for {}: give all nodes a larger --max-nodes",
                shown(node)
            ),
        )
        .of_node(node.ip)
        .at(Rate::Refusal),
        Event::AddressChanged { address } => address_changed(*address),
        Event::Dropped { from, reason } => Line::new(
            "dropped",
            Level::DEBUG,
            format!("dropped what {from} sent: {}", reason.text()),
        )
        .of_node(*from)
        .at(Rate::Drop),
        Event::ShutDown => Line::new("left", Level::INFO, "left the ring"),
    }
}

/// Names what differs between the options of a node and the own ones, and what follows.
pub(crate) fn difference(node: IpAddr, how: Difference) -> String {
    match how {
        Difference::Times {
            lease,
            renew_timeout,
            token_pass_timeout,
        } => format!(
            "{node} has other times: a lease of {}, --renew-timeout {} and --token-pass-timeout {}; the shortest lease counts; give \
             all nodes equal --tr-interval, --tr-count, --renew-timeout and --token-pass-timeout",
            format_duration(lease),
            format_duration(renew_timeout),
            format_duration(token_pass_timeout)
        ),
        Difference::Lease => format!(
            "{node} announces a lease shorter than {} or longer than {}: the two nodes form no ring together; give all nodes equal \
             --tr-interval and --tr-count",
            format_duration(LEAST_LEASE),
            format_duration(MOST_LEASE)
        ),
        Difference::Policy => format!(
            "{node} has another --compute or --decide: the two nodes form no ring together; give all nodes equal ones"
        ),
    }
}

/// Whether a change of state is a turn of the token and no news.
const fn is_turn(before: State, state: State) -> bool {
    matches!(
        (before, state),
        (State::Waiter, State::Leader) | (State::Leader, State::Waiter)
    )
}

fn state_changed(before: State, state: State, token_id: u32) -> Line {
    let (level, rate) = if is_turn(before, state) {
        (Level::DEBUG, Rate::Turn)
    } else {
        (Level::INFO, Rate::Rare)
    };
    let text = match state {
        State::Orphan => "orphan: this node has no ring".to_owned(),
        State::Waiter => "waiter: the token is elsewhere".to_owned(),
        State::Leader => format!("leader: this node has the token {token_id}"),
    };
    Line::new("state_changed", level, text)
        .of_token(token_id)
        .at(rate)
}

fn accepted(how: Acceptance, token_id: u32, from: IpAddr) -> Line {
    let (event, level, rate, text) = match how {
        Acceptance::Taken => (
            "taken",
            Level::DEBUG,
            Rate::Turn,
            format!("took the token {token_id} from {from}"),
        ),
        Acceptance::Merged => (
            "merged",
            Level::INFO,
            Rate::Rare,
            format!("the token {token_id} of {from} has become one with the one here"),
        ),
        Acceptance::Absorbed => (
            "absorbed",
            Level::INFO,
            Rate::Rare,
            format!("the token {token_id} of {from} is no more: a stronger one was here"),
        ),
    };
    Line::new(event, level, text)
        .of_token(token_id)
        .of_node(from)
        .at(rate)
}

fn pass(event: &'static str, level: Level, to: &Node, why: Failure, what: &str) -> Line {
    let text = format!("{} {what}: {}", shown(to), why.text());
    Line::new(event, level, text).of_node(to.ip)
}

fn address_changed(address: Option<IpAddr>) -> Line {
    match address {
        Some(address) => Line::new(
            "address_changed",
            Level::INFO,
            format!("this node is {address}"),
        )
        .of_node(address),
        None => Line::new(
            "address_changed",
            Level::WARN,
            "this node has no address: it waits for one, and says nothing",
        ),
    }
}

fn denied(by: IpAddr) -> Line {
    Line::new(
        "restore_denied",
        Level::INFO,
        format!("{by} leads, or has a better claim: waiting for the token"),
    )
    .of_node(by)
}

fn rival(token_id: u32, from: IpAddr) -> Line {
    Line::new(
        "rival_heard",
        Level::INFO,
        format!("{from} leads with the token {token_id}, which is stronger"),
    )
    .of_token(token_id)
    .of_node(from)
}

fn stalled(after: Duration) -> Line {
    Line::new(
        "stalled",
        Level::WARN,
        format!(
            "this process stood still for {}: another node may lead by now, so this one asks",
            format_duration(after)
        ),
    )
}

fn compute_failed() -> Line {
    Line::new(
        "compute_failed",
        Level::WARN,
        "the next data was not computed: the data is passed on as it is (--compute must exit with 0, in \
         --compute-timeout, with at most --max-data bytes; without it the data must be a number)",
    )
}

fn decide_failed() -> Line {
    Line::new(
        "decide_failed",
        Level::WARN,
        "which data continues was not decided: that which came does (--decide must exit with 0 or 1, in \
         --compute-timeout)",
    )
}

/// `10.0.0.1:4711`, or `[fe80::1]:4711`.
fn shown(node: &Node) -> String {
    std::net::SocketAddr::new(node.ip, node.port).to_string()
}
