//! What the other nodes do: steps that come from the network.

use std::net::SocketAddr;
use std::time::Duration;

use ring_codec::jitterbug::{Node, node_list_hash};
use ring_proto::jitterbug::{Event, State};
use ring_proto::{Closed, Machine, StreamEvent, StreamId};

use super::connections::Fate;
use super::oracle::OFFER;
use super::station::Station;
use super::steps::{Candidate, Hosts, Id, Piece, Said, Step};
use super::tally::{Done, heard};
use super::wire::{self, TP2, TP3};

/// The most nodes that a leader asks for a TR1 in one turn.
const ASKS: usize = 16;

/// A token that is given.
struct Gift {
    id: i32,
    nodes: Vec<Node>,
    data: Vec<u8>,
    /// It comes in pieces of so many bytes.
    cut: u8,
    flaw: Option<Flaw>,
}

/// What is wrong with a token that is given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    OtherId,
    OtherList,
    NoEnd,
    Reset,
}

impl Flaw {
    /// Most have none.
    fn of(number: u8) -> Option<Self> {
        let all = [Self::OtherId, Self::OtherList, Self::NoEnd, Self::Reset];
        all.get(usize::from(number % 16)).copied()
    }
}

impl Station {
    pub(super) fn network_step(&mut self, step: Step) {
        match step {
            Step::Hear(from, Said::Tr1(id, port)) => {
                let bytes = wire::tr1(self.id(id), u16::from(port) * 100);
                self.hear(from, &[bytes, trailer(from)].concat());
            }
            Step::Hear(from, Said::Tr2(id)) => {
                let bytes = wire::tr2(self.id(id));
                self.hear(from, &[bytes, trailer(from)].concat());
            }
            Step::Garbage(from, bytes) => self.hear(from, &bytes),
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
                    self.bring(id, &bytes, cut, end);
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
                let gift = Gift {
                    id: self.id(id),
                    nodes: self.nodes(&list),
                    data,
                    cut,
                    flaw: Flaw::of(flaw),
                };
                self.give(from, &gift);
            }
            Step::Gone(stream, why) => {
                if let Some(id) = self.connections.pick(stream) {
                    self.gone(id, why);
                }
            }
            Step::Candidate(what) => {
                if let Some(id) = self.connections.candidate() {
                    self.candidate(id, &what);
                }
            }
            // The others are the node's own.
            _ => {}
        }
    }

    /// A datagram, of which the driver tells in time.
    fn hear(&mut self, from: u8, bytes: &[u8]) {
        self.input(|this, now| this.node.handle_lateness(now));
        let terms = wire::terms(from);
        let from = SocketAddr::new(wire::host(self.is_ipv6, from), 40_000);
        let before = heard(self.node.counters());
        let asked = self.node.counters().tr1_received;
        let leads = self.node.standing().state == State::Leader;
        let is_heard =
            !self.node.is_finished() && self.node.address().is_some_and(|own| own != from.ip());
        let done = self.input(|this, now| {
            this.node.handle_message(now, from, bytes, Duration::ZERO);
        });
        let is_apart = terms.is_some_and(|terms| wire::is_apart(&terms));
        if heard(self.node.counters()) > before && !is_apart {
            self.heard(from.ip());
        }
        let answers = done.sent.iter().filter(|to| **to == from.ip()).count();
        assert!(answers <= 1, "{answers} answers");
        // A leader that hears of another one may go on with its turn, and announce itself or ask some nodes for a TR1.
        assert!(done.sent.len() <= 2 + ASKS, "{:?} for one", done.sent);
        let is_asked = self.node.counters().tr1_received > asked;
        assert!(answers == 1 || !(is_asked && leads), "no answer");
        let dropped = done.events.iter();
        let dropped = dropped.filter(|event| matches!(event, Event::Dropped { .. }));
        let dropped = u64::try_from(dropped.count()).expect("it is small");
        let counted = heard(self.node.counters()) - before + dropped - done.reset;
        assert_eq!(counted, u64::from(is_heard), "how often it is counted");
    }

    fn accept(&mut self, from: u8) -> StreamId {
        let from = SocketAddr::new(wire::host(self.is_ipv6, from), 40_000);
        let id = self.connections.add(from, true, self.now());
        self.input(|this, now| {
            this.node
                .handle_stream(now, id, StreamEvent::Accepted(from));
            if this.node.is_finished() {
                // It had ended before it was told of the connection, which ends with the process.
                this.end(id);
            }
        });
        id
    }

    fn give(&mut self, from: u8, gift: &Gift) {
        let Gift {
            id,
            nodes,
            data,
            cut,
            flaw,
        } = gift;
        let stream = self.accept(from);
        if let Some(terms) = wire::terms(from) {
            self.bring(stream, &wire::tp6(terms), *cut, false);
        }
        let hash = node_list_hash(&nodes[..].into());
        self.bring(stream, &wire::tp1(*id, hash), *cut, false);
        if self.written(stream) == Some(TP2) {
            let other = self.nodes(&Hosts::Many(3));
            let is_other = *flaw == Some(Flaw::OtherList);
            let nodes = if is_other { &other } else { nodes };
            self.bring(stream, &wire::tp4(nodes), *cut, false);
        }
        let id = id.saturating_add(i32::from(*flaw == Some(Flaw::OtherId)));
        let has_end = !matches!(flaw, Some(Flaw::NoEnd | Flaw::Reset));
        self.bring(stream, &wire::tp5(id, data), *cut, has_end);
        if *flaw == Some(Flaw::Reset) {
            self.gone(stream, 1);
        }
    }

    fn happens(&mut self, id: StreamId, event: StreamEvent<'_, SocketAddr>) {
        self.input(|this, now| {
            this.node.handle_stream(now, id, event);
        });
    }

    fn bring(&mut self, id: StreamId, bytes: &[u8], cut: u8, end: bool) {
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
            let done = self.input(|this, _| this.tell(id));
            self.look_at_order(id, &done);
        }
    }

    /// Of two leaders that offer each other their tokens exactly one gives way (section 7).
    fn look_at_order(&mut self, id: StreamId, done: &Done) {
        let standing = self.node.standing();
        let own = (standing.token_id, self.node.address());
        if standing.state != State::Leader || self.node.is_finished() {
            return;
        }
        let candidate = self.connections.candidate();
        let pass = candidate.and_then(|id| self.connections.get_mut(id));
        // No byte of TP5 has left, nor of TP4.
        let may_give_way = pass.is_some_and(|it| wire::without_terms(&it.written).len() <= OFFER);
        let Some(giver) = self.connections.get_mut(id).filter(|it| it.is_inbound) else {
            return;
        };
        let Some(offered) = wire::offer(&giver.brought) else {
            return;
        };
        let is_stronger = (offered, Some(giver.peer.ip())) > own;
        let gave_way = done.has(|event| matches!(event, Event::PassAborted { .. }));
        assert!(!gave_way || is_stronger, "it gives way to a weaker token");
        assert!(
            !may_give_way || !giver.is_open() || !is_stronger,
            "it does not give way to a stronger token"
        );
    }

    fn gone(&mut self, id: StreamId, why: u8) {
        let whys = [
            Closed::Refused,
            Closed::Reset,
            Closed::TimedOut,
            Closed::Failed,
        ];
        self.end(id);
        self.happens(id, StreamEvent::Closed(whys[usize::from(why) % 4]));
    }

    fn end(&mut self, id: StreamId) {
        if let Some(connection) = self.connections.get_mut(id) {
            connection.fate = Fate::Gone;
        }
    }

    fn candidate(&mut self, id: StreamId, what: &Candidate) {
        match what {
            Candidate::Connected => self.connected(id),
            Candidate::Answers(has_list) => self.bring(id, &[answer(*has_list)], 0, false),
            Candidate::Says(bytes) => self.bring(id, bytes, 0, false),
            Candidate::Dies => self.bring(id, &[TP3], 0, true),
            Candidate::Ends => self.bring(id, &[], 0, true),
            Candidate::Gone(why) => self.gone(id, *why),
            Candidate::Takes(has_list) => {
                self.connected(id);
                self.bring(id, &[answer(*has_list)], 0, false);
                self.bring(id, &[], 0, true);
            }
        }
    }

    fn connected(&mut self, id: StreamId) {
        let connection = self.connections.get_mut(id);
        if let Some(connection) = connection.filter(|it| !it.is_connected) {
            connection.is_connected = true;
            self.happens(id, StreamEvent::Connected);
        }
    }

    /// The last byte that the node has written.
    fn written(&mut self, id: StreamId) -> Option<u8> {
        self.connections.get_mut(id)?.written.last().copied()
    }

    /// A token id as it lies on the wire.
    fn id(&self, id: Id) -> i32 {
        let own = self.own_id().to_wire();
        match id {
            Id::Near(more) => own.saturating_add(more.into()),
            Id::Asked(more) => -own.saturating_add(more.into()),
            Id::Any(id) => id,
        }
    }

    fn nodes(&self, hosts: &Hosts) -> Vec<Node> {
        let node = |number| wire::node(self.is_ipv6, number);
        match hosts {
            Hosts::Own => {
                let nodes = self.node.snapshot().nodes;
                nodes.into_iter().map(|it| it.node).collect()
            }
            Hosts::These(numbers) => numbers.iter().copied().map(node).collect(),
            Hosts::Many(count) => (20..20 + *count % 64).map(node).collect(),
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

/// The terms at the end of a datagram.
fn trailer(from: u8) -> Vec<u8> {
    wire::terms(from).map_or_else(Vec::new, |terms| wire::tp6(terms).split_off(1))
}

fn answer(has_list: bool) -> u8 {
    if has_list { TP3 } else { TP2 }
}
