//! RING_BASED: the ids of all nodes are collected on the way round.

use ring_codec::U32;
use ring_codec::andrews::Method;

use super::handler::{Handler, Step, Turn};
use crate::andrews::Reason;
use crate::andrews::message::Ballot;
use crate::time::Instant;

#[derive(Debug, Default)]
pub(super) struct RingBased {
    /// Until when a result is waited for.
    until: Option<Instant>,
}

impl Handler for RingBased {
    fn method(&self) -> Method {
        Method::RingBased
    }

    fn start(&mut self, turn: &mut Turn<'_>) {
        self.until = Some(turn.result_due());
        let ids = vec![U32::new(turn.scene.own)];
        turn.want(Step::Ring(Ballot::RingBased(ids)));
    }

    fn handle(&mut self, _: u32, ballot: Ballot, turn: &mut Turn<'_>) {
        match ballot {
            Ballot::RingBased(ids) => self.on_election(ids, turn),
            Ballot::Coordinator(method, id) => {
                turn.send_result(method, id);
                self.until = None;
                turn.want(Step::Result(id));
            }
            _ => {}
        }
    }

    fn time_out(&mut self, _: &mut Turn<'_>) {
        self.until = None;
    }

    fn due(&self) -> Option<Instant> {
        self.until
    }
}

impl RingBased {
    fn on_election(&mut self, mut ids: Vec<U32>, turn: &mut Turn<'_>) {
        let scene = turn.scene;
        let most = scene.list.len();
        if ids.is_empty() || ids.len() > most {
            return turn.drop(Reason::Candidates);
        }
        let own = ids.iter().position(|id| id.get() == scene.own);
        let Some(own) = own else {
            // Then some are in it that are not in the list.
            if ids.len() == most {
                return turn.drop(Reason::Candidates);
            }
            ids.push(U32::new(scene.own));
            self.until.get_or_insert(turn.result_due());
            return turn.want(Step::Ring(Ballot::RingBased(ids)));
        };
        // It has come round: if not to the node that has started it, then that one is gone, and those before this node are.
        let round = ids.iter().skip(own).map(|id| id.get());
        if let Some(largest) = round.filter(|&id| scene.lists(id)).max() {
            turn.send_result(Method::RingBased, largest);
        }
    }
}
