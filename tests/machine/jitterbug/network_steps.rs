//! The steps of a script that come from the network.

use std::net::SocketAddr;
use std::time::Duration;

use ring_codec::jitterbug::{Node, node_list_hash};
use ring_proto::jitterbug::{Event, State};
use ring_proto::{CloseReason, Machine, StreamEvent, StreamId};

use super::connections::ConnectionState;
use super::event_counts::{Outputs, received_datagrams};
use super::harness::Harness;
use super::oracle::OFFER_LEN;
use super::steps::{CandidateAct, IdChoice, ListChoice, Piece, ScriptedDatagram, Step};
use super::wire::{self, TP2, TP3};

/// The maximum number of nodes that a leader asks for a TR1 in one loop iteration.
const QUESTIONS_MAX: usize = 16;

/// A token that a giver passes.
struct PassedToken {
    id: i32,
    nodes: Vec<Node>,
    data: Vec<u8>,
    /// The length, in bytes, of the pieces in which the token is sent.
    cut: u8,
    flaw: Option<PassError>,
}

/// An error of a passed token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PassError {
    OtherId,
    OtherList,
    NoEnd,
    Reset,
}

impl PassError {
    /// Selects an error by its number. Most numbers select no error.
    fn of(number: u8) -> Option<Self> {
        let all = [Self::OtherId, Self::OtherList, Self::NoEnd, Self::Reset];
        all.get(usize::from(number % 16)).copied()
    }
}

impl Harness {
    pub(super) fn network_step(&mut self, step: Step) {
        match step {
            Step::Hear(from, ScriptedDatagram::Tr1(id, port)) => {
                let bytes = wire::tr1(self.id(id), u16::from(port) * 100);
                self.receive(from, &[bytes, trailer(from)].concat());
            }
            Step::Hear(from, ScriptedDatagram::Tr2(id)) => {
                let bytes = wire::tr2(self.id(id));
                self.receive(from, &[bytes, trailer(from)].concat());
            }
            Step::Garbage(from, bytes) => self.receive(from, &bytes),
            Step::Accept(from) => {
                self.accept(from);
            }
            Step::Bring {
                stream,
                piece,
                cut,
                end,
            } => {
                let bytes = self.piece(piece);
                if let Some(id) = self.connections.pick(stream) {
                    self.deliver(id, &bytes, cut, end);
                }
            }
            Step::Crowd(count) => {
                for from in 0..count % 32 {
                    self.accept(from);
                }
            }
            Step::Give {
                from,
                id,
                list,
                data,
                cut,
                flaw,
            } => {
                let token = PassedToken {
                    id: self.id(id),
                    nodes: self.nodes(&list),
                    data,
                    cut,
                    flaw: PassError::of(flaw),
                };
                self.give(from, &token);
            }
            Step::Gone(stream, why) => {
                if let Some(id) = self.connections.pick(stream) {
                    self.close(id, why);
                }
            }
            Step::Candidate(what) => {
                if let Some(id) = self.connections.candidate() {
                    self.candidate(id, &what);
                }
            }
            // The harness handles the other steps, which do not come from the network.
            _ => {}
        }
    }

    /// Receives a datagram. The event loop was not late.
    fn receive(&mut self, from: u8, bytes: &[u8]) {
        self.input(|this, now| this.node.handle_lateness(now));
        let terms = wire::terms(from);
        let from = SocketAddr::new(wire::host(self.is_ipv6, from), 40_000);
        let before = received_datagrams(self.node.counters());
        let tr1_before = self.node.counters().tr1_received;
        let leads = self.node.summary().state == State::Leader;
        let is_heard =
            !self.node.is_finished() && self.node.address().is_some_and(|own| own != from.ip());
        let done = self.input(|this, now| {
            this.node.handle_message(now, from, bytes, Duration::ZERO);
        });
        let is_apart = terms.is_some_and(|terms| wire::is_apart(&terms));
        if received_datagrams(self.node.counters()) > before && !is_apart {
            self.on_datagram(from.ip());
        }
        let answers = done.sent.iter().filter(|to| **to == from.ip()).count();
        assert!(
            answers <= 1,
            "the node sends {answers} answers to one datagram"
        );
        // A leader that hears another leader may continue its loop iteration. The leader may then announce itself, or
        // ask some nodes for a TR1.
        assert!(
            done.sent.len() <= 2 + QUESTIONS_MAX,
            "the node sends {:?} for one datagram",
            done.sent
        );
        let is_asked = self.node.counters().tr1_received > tr1_before;
        assert!(answers == 1 || !(is_asked && leads), "no answer");
        let dropped = done.events.iter();
        let dropped = dropped.filter(|event| matches!(event, Event::Dropped { .. }));
        let dropped = u64::try_from(dropped.count()).expect("the count is small");
        let counted = received_datagrams(self.node.counters()) - before + dropped - done.reset;
        assert_eq!(
            counted,
            u64::from(is_heard),
            "the node does not count the datagram exactly once"
        );
    }

    fn accept(&mut self, from: u8) -> StreamId {
        let from = SocketAddr::new(wire::host(self.is_ipv6, from), 40_000);
        let id = self.connections.add(from, true, self.now());
        self.input(|this, now| {
            this.node
                .handle_stream(now, id, StreamEvent::Accepted(from));
            if this.node.is_finished() {
                // The node had ended before it learned of the connection. The connection ends with the process.
                this.mark_gone(id);
            }
        });
        id
    }

    fn give(&mut self, from: u8, token: &PassedToken) {
        let PassedToken {
            id,
            nodes,
            data,
            cut,
            flaw,
        } = token;
        let stream = self.accept(from);
        if let Some(terms) = wire::terms(from) {
            self.deliver(stream, &wire::tp6(terms), *cut, false);
        }
        let hash = node_list_hash(&nodes[..].into());
        self.deliver(stream, &wire::tp1(*id, hash), *cut, false);
        if self.last_written(stream) == Some(TP2) {
            let other = self.nodes(&ListChoice::Many(3));
            let is_other = *flaw == Some(PassError::OtherList);
            let nodes = if is_other { &other } else { nodes };
            self.deliver(stream, &wire::tp4(nodes), *cut, false);
        }
        let id = id.saturating_add(i32::from(*flaw == Some(PassError::OtherId)));
        let has_end = !matches!(flaw, Some(PassError::NoEnd | PassError::Reset));
        self.deliver(stream, &wire::tp5(id, data), *cut, has_end);
        if *flaw == Some(PassError::Reset) {
            self.close(stream, 1);
        }
    }

    fn give_event(&mut self, id: StreamId, event: StreamEvent<'_, SocketAddr>) {
        self.input(|this, now| {
            this.node.handle_stream(now, id, event);
        });
    }

    fn deliver(&mut self, id: StreamId, bytes: &[u8], cut: u8, end: bool) {
        let cut = if cut == 0 { bytes.len() } else { cut.into() };
        let pieces: Vec<&[u8]> = bytes.chunks(cut.max(1)).collect();
        let count = pieces.len().max(1);
        for at in 0..count {
            let is_last = at + 1 == count;
            let Some(connection) = self.connections.get_mut(id) else {
                return;
            };
            if !connection.is_connected || connection.has_ended {
                return;
            }
            connection
                .brought
                .extend_from_slice(pieces.get(at).copied().unwrap_or_default());
            connection.has_ended = is_last && end;
            let done = self.input(|this, _| this.report_bytes(id));
            self.check_giving_way(id, &done);
        }
    }

    /// Checks that exactly one of two leaders gives way if they offer their tokens to each other
    /// (`docs/jitterbug/protocol/passing.md` C4).
    fn check_giving_way(&mut self, id: StreamId, done: &Outputs) {
        let standing = self.node.summary();
        let own = (standing.token_id, self.node.address());
        if standing.state != State::Leader || self.node.is_finished() {
            return;
        }
        let candidate = self.connections.candidate();
        let pass = candidate.and_then(|id| self.connections.get_mut(id));
        // The node has sent no byte of TP5 or TP4.
        let may_give_way =
            pass.is_some_and(|it| wire::without_terms(&it.written).len() <= OFFER_LEN);
        let Some(giver) = self.connections.get_mut(id).filter(|it| it.is_inbound) else {
            return;
        };
        let Some(offered) = wire::offer(&giver.brought) else {
            return;
        };
        let is_stronger = (offered, Some(giver.peer.ip())) > own;
        let gave_way = done.has(|event| matches!(event, Event::PassAborted { .. }));
        assert!(
            !gave_way || is_stronger,
            "the node gives way to a weaker token"
        );
        assert!(
            !may_give_way || !giver.is_open() || !is_stronger,
            "the node does not give way to a stronger token"
        );
    }

    fn close(&mut self, id: StreamId, why: u8) {
        let whys = [
            CloseReason::Refused,
            CloseReason::Reset,
            CloseReason::TimedOut,
            CloseReason::Failed,
        ];
        self.mark_gone(id);
        self.give_event(id, StreamEvent::Closed(whys[usize::from(why) % 4]));
    }

    fn mark_gone(&mut self, id: StreamId) {
        if let Some(connection) = self.connections.get_mut(id) {
            connection.state = ConnectionState::Gone;
        }
    }

    fn candidate(&mut self, id: StreamId, what: &CandidateAct) {
        match what {
            CandidateAct::Connected => self.connect(id),
            CandidateAct::Answers(has_list) => self.deliver(id, &[answer(*has_list)], 0, false),
            CandidateAct::Says(bytes) => self.deliver(id, bytes, 0, false),
            CandidateAct::Dies => self.deliver(id, &[TP3], 0, true),
            CandidateAct::Ends => self.deliver(id, &[], 0, true),
            CandidateAct::Gone(why) => self.close(id, *why),
            CandidateAct::Takes(has_list) => {
                self.connect(id);
                self.deliver(id, &[answer(*has_list)], 0, false);
                self.deliver(id, &[], 0, true);
            }
        }
    }

    fn connect(&mut self, id: StreamId) {
        let connection = self.connections.get_mut(id);
        if let Some(connection) = connection.filter(|it| !it.is_connected) {
            connection.is_connected = true;
            self.give_event(id, StreamEvent::Connected);
        }
    }

    /// Returns the last byte that the node has written.
    fn last_written(&mut self, id: StreamId) -> Option<u8> {
        self.connections.get_mut(id)?.written.last().copied()
    }

    /// Returns a token id in its form on the wire.
    fn id(&self, id: IdChoice) -> i32 {
        let own = self.own_id().to_wire();
        match id {
            IdChoice::Near(more) => own.saturating_add(more.into()),
            IdChoice::Asked(more) => -own.saturating_add(more.into()),
            IdChoice::Any(id) => id,
        }
    }

    fn nodes(&self, hosts: &ListChoice) -> Vec<Node> {
        let node = |number| wire::node(self.is_ipv6, number);
        match hosts {
            ListChoice::Own => {
                let nodes = self.node.snapshot().nodes;
                nodes.into_iter().map(|it| it.node).collect()
            }
            ListChoice::These(numbers) => numbers.iter().copied().map(node).collect(),
            ListChoice::Many(count) => (20..20 + *count % 64).map(node).collect(),
        }
    }

    fn piece(&self, piece: Piece) -> Vec<u8> {
        match piece {
            Piece::Tp1(id, hosts) => {
                let hash = node_list_hash(&self.nodes(&hosts)[..].into());
                wire::tp1(self.id(id), hash)
            }
            Piece::Offer(id, hash) => wire::tp1(self.id(id), hash),
            Piece::Tp2 => vec![TP2],
            Piece::Tp3 => vec![TP3],
            Piece::Tp4(hosts) => wire::tp4(&self.nodes(&hosts)),
            Piece::Count(count) => wire::count(count),
            Piece::Tp5(id, data) => wire::tp5(self.id(id), &data),
            Piece::Raw(bytes) => bytes,
            Piece::Nothing => Vec::new(),
        }
    }
}

/// Returns the terms at the end of a datagram.
fn trailer(from: u8) -> Vec<u8> {
    wire::terms(from).map_or_else(Vec::new, |terms| wire::tp6(terms).split_off(1))
}

fn answer(has_list: bool) -> u8 {
    if has_list { TP3 } else { TP2 }
}
