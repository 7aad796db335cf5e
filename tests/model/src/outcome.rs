//! The outcome of an input.

use std::sync::Arc;

use ring_codec::MacAddr;
use ring_codec::lab2::{Frame, Token};
use ring_proto::time::Instant;

use crate::breach::Breach;
use crate::judge::JudgedStep;
use crate::node::{Input, Node, Turn};
use crate::scenario::Scenario;

/// The outcome of one input of a node. The other nodes have no influence on this outcome.
pub struct Outcome {
    pub node: Arc<Node>,
    /// The sent frames in order, with their destinations.
    pub sent: Vec<(MacAddr, Arc<[u8]>)>,
    /// The tenure that began because of the input; `None` if no tenure began.
    pub begun: Option<Token>,
    /// The rule that the node broke; `None` if the node broke no rule.
    pub breach: Option<Breach>,
}

impl Outcome {
    /// Runs the state machine and checks its outputs.
    pub fn of(
        scenario: &Scenario,
        at: usize,
        before: &Node,
        input: &Input,
        (time, refused): (Instant, bool),
    ) -> Self {
        let turn = before.turn(scenario, at, input, time, refused);
        let step = JudgedStep {
            at,
            before,
            input,
            refused,
            turn: &turn,
        };
        let (begun, breach) = (step.new_tenure(), step.find_breach(scenario));
        let Turn { node, sent } = turn;
        let sent = sent.into_iter().filter_map(|(bytes, _)| {
            let destination = Frame::decode(&bytes).ok()?.destination;
            Some((destination, bytes.into()))
        });
        Self {
            sent: sent.collect(),
            node: Arc::new(node),
            begun,
            breach,
        }
    }
}
