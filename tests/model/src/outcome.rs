//! What follows when a node is told something.

use std::sync::Arc;

use ring_codec::MacAddr;
use ring_codec::lab2::{Frame, Token};
use ring_proto::time::Instant;

use crate::breach::Breach;
use crate::judge::Step;
use crate::node::{Input, Node, Turn};
use crate::scenario::Scenario;

/// What follows when a node is told something, whatever the rest of the ring is like.
pub struct Outcome {
    /// The node.
    pub node: Arc<Node>,
    /// The frames that have left, in order, each with whom it is for.
    pub said: Vec<(MacAddr, Arc<[u8]>)>,
    /// The tenure that the node has begun.
    pub begun: Option<Token>,
    /// The rule that the node has broken by itself.
    pub breach: Option<Breach>,
}

impl Outcome {
    /// Runs the machine and judges what it does.
    pub fn of(
        scenario: &Scenario,
        at: usize,
        before: &Node,
        input: &Input,
        (time, refused): (Instant, bool),
    ) -> Self {
        let turn = before.turn(scenario, at, input, time, refused);
        let step = Step {
            at,
            before,
            input,
            refused,
            turn: &turn,
        };
        let (begun, breach) = (step.begun(), step.breach(scenario));
        let Turn { node, said } = turn;
        let said = said.into_iter().filter_map(|(bytes, _)| {
            let destination = Frame::decode(&bytes).ok()?.destination;
            Some((destination, bytes.into()))
        });
        Self {
            said: said.collect(),
            node: Arc::new(node),
            begun,
            breach,
        }
    }
}
