//! The rules that hold in every step and in every state.

use std::sync::Arc;

use ring_codec::MacAddr;
use ring_codec::lab2::{Backing, Frame, Kind, Message, PROGRESS_MAX, Token};
use ring_proto::lab2::{Command, State, StoredState};

use crate::breach::Breach;
use crate::named_locks;
use crate::node::{Input, Node, Turn};
use crate::scenario::{Scenario, Timing};
use crate::state::Ring;

/// The maximum number of frames with which a node may answer one frame.
const REPLIES_MAX: usize = 2;

pub(crate) struct JudgedStep<'a> {
    pub at: usize,
    /// The node before the input.
    pub before: &'a Node,
    pub input: &'a Input,
    /// Whether the link of the node refused all frames.
    pub refused: bool,
    pub turn: &'a Turn,
}

impl JudgedStep<'_> {
    /// Returns the first rule that the step breaks.
    pub(crate) fn find_breach(&self, scenario: &Scenario) -> Option<Breach> {
        let heard = match self.input {
            Input::Frame(bytes, _) => Frame::decode(bytes).ok(),
            _ => None,
        };
        self.check_growth()
            .or_else(|| self.check_replies())
            .or_else(|| self.check_stored())
            .or_else(|| self.check_held_stored())
            .or_else(|| self.check_created_token(scenario))
            .or_else(|| self.check_announced(heard.as_ref()))
            .or_else(|| self.check_quorum_kept(scenario))
            .or_else(|| self.check_lease(scenario))
            .or_else(|| self.check_locks_kept(scenario))
            .or_else(|| heard.and_then(|frame| self.check_frame_effect(scenario, &frame)))
    }

    fn token_before(&self) -> Option<Token> {
        self.before.machine.held()
    }

    fn held(&self) -> Option<Token> {
        self.turn.node.machine.held()
    }

    /// Returns the tenure that begins in this step.
    pub(crate) fn new_tenure(&self) -> Option<Token> {
        self.held().filter(|_| self.held() != self.token_before())
    }

    fn check_growth(&self) -> Option<Breach> {
        let (before, after) = (self.before.last_tenure?, self.new_tenure()?);
        let node = self.at;
        (!after.is_stronger_than(&before)).then_some(Breach::TenureWentBack {
            node,
            before,
            after,
        })
    }

    fn check_replies(&self) -> Option<Breach> {
        let (node, frames) = (self.at, self.turn.sent.len());
        let asked = matches!(self.input, Input::Frame(..));
        (asked && frames > REPLIES_MAX).then_some(Breach::TooManyReplies { node, frames })
    }

    /// Checks that the node has stored the number of its chain and every token that it sends in a frame.
    fn check_stored(&self) -> Option<Breach> {
        let node = self.at;
        self.turn.sent.iter().find_map(|(bytes, stored)| {
            let frame = Frame::decode(bytes).ok()?;
            match frame.message {
                Message::GeneratingToken { token } if !is_candidate(token, &frame, stored) => {
                    Some(Breach::WrongCandidate {
                        node,
                        candidate: token,
                    })
                }
                Message::TakeToken { token, .. }
                | Message::TokenIsHere { token, .. }
                | Message::TokenWasHereRecently { token, .. }
                    if !is_stored(token, &frame, stored) =>
                {
                    Some(Breach::NotStored { node, token })
                }
                _ => None,
            }
        })
    }

    /// Checks that the held token survives a restart.
    fn check_held_stored(&self) -> Option<Breach> {
        let token = self.new_tenure()?;
        let node = self.at;
        let StoredState {
            known,
            my_token_number,
            ..
        } = self.turn.node.durable;
        let known = known.is_some_and(|known| !token.is_stronger_than(&known));
        let own = token.author != crate::notation::mac(node) || token.number <= my_token_number;
        (!known || !own).then_some(Breach::HeldUnstored { node, token })
    }

    /// Checks that the token of an election is not below the clock.
    fn check_created_token(&self, scenario: &Scenario) -> Option<Breach> {
        let was_candidate = self.before.machine.state() == State::Generating;
        let by_itself = matches!(self.input, Input::TimeOut);
        let token = self.new_tenure().filter(|_| was_candidate && by_itself)?;
        let node = self.at;
        (token.progress < scenario.wall).then_some(Breach::BelowClock { node, token })
    }

    /// Checks a node whose link refuses frames: it must not stand for election, win an election, or offer its token.
    fn check_announced(&self, heard: Option<&Frame<'_>>) -> Option<Breach> {
        if !self.refused {
            return None;
        }
        let (before, after) = (&self.before.machine, &self.turn.node.machine);
        let taken = heard.is_some_and(|frame| frame.message.kind() == Kind::TakeToken);
        let stands = before.state() != State::Generating && after.state() == State::Generating;
        let elected = !taken && before.held().is_none() && after.held().is_some();
        let gives = before.may_use()
            && after.held() == before.held()
            && after.held().is_some()
            && !after.may_use();
        let node = self.at;
        (stands || elected || gives).then_some(Breach::Unannounced { node })
    }

    /// Checks that a node with a quorum does not lose its tenure to another token. If clocks run at any speed, quorums
    /// give no guarantee.
    fn check_quorum_kept(&self, scenario: &Scenario) -> Option<Breach> {
        let (before, after) = (&self.before.machine, &self.turn.node.machine);
        let heard = matches!(self.input, Input::Frame(..));
        let until = before
            .quorum_until()
            .filter(|_| before.may_use() && heard)?;
        let clock = self.turn.node.clock;
        let has_quorum = after.quorum_until().is_some_and(|until| until > clock);
        let lost = self
            .token_before()
            .filter(|&held| !after.carries(held) || !has_quorum)?;
        let for_another = after.state() == State::Waiter || self.new_tenure().is_some();
        let counts = scenario.timing != Timing::Free && until > clock;
        let node = self.at;
        (counts && for_another).then_some(Breach::QuorumLost { node, token: lost })
    }

    fn check_lease(&self, scenario: &Scenario) -> Option<Breach> {
        let held = self.token_before()?;
        let silent = self.turn.node.clock.since(self.before.last_heartbeat);
        let node = self.at;
        let kept = self.held() == Some(held)
            || self
                .turn
                .sent
                .iter()
                .any(|(bytes, _)| is(Kind::TakeToken, bytes));
        (silent > scenario.constants_of(node).waiter_timeout() && kept)
            .then_some(Breach::WithoutLease { node })
    }

    fn check_locks_kept(&self, scenario: &Scenario) -> Option<Breach> {
        let releases = matches!(self.input, Input::Command(Command::ReleaseLock(_)));
        let kept = || named_locks::check_kept(scenario, self.at, self.before, &self.turn.node);
        (!releases).then(kept).flatten()
    }

    fn check_frame_effect(&self, scenario: &Scenario, frame: &Frame<'_>) -> Option<Breach> {
        let node = self.at;
        let is_deaf = frame.profile.is_some_and(|sent| sent.is_deaf());
        let backing = frame.profile.and_then(|sent| sent.backing());
        let is_backed = backing >= Some(Backing::Confirmed);
        match frame.message {
            Message::TakeToken { token, .. } => {
                let Input::Frame(_, age) = self.input else {
                    return None;
                };
                let no_good = frame.destination == MacAddr::BROADCAST
                    || *age > scenario.constants.take_timeout;
                (no_good && self.new_tenure() == Some(token)).then_some(Breach::NotDropped { node })
            }
            Message::TokenIsHere { token, .. } => {
                let mine = self.token_before()?;
                let kept = self.held() == Some(mine);
                // If the owner's deadline has passed, the owner may have lost its token before it read the frame.
                let due = self.before.deadline();
                let in_time = due.is_none_or(|due| self.turn.node.clock < due);
                let waits = self.turn.node.machine.state() == State::Waiter;
                if is_deaf {
                    (waits && in_time).then_some(Breach::NotDropped { node })
                } else if token.is_stronger_than(&mine) {
                    // A node that may use its token waits for a broadcast of the stronger token, because members may
                    // still confirm its tenure.
                    let waits = self.before.machine.may_use()
                        && frame.destination != MacAddr::BROADCAST
                        && !token.same_chain(&mine);
                    (kept && !waits).then_some(Breach::Stayed {
                        node,
                        against: token,
                    })
                } else {
                    (token != mine && waits && in_time && !is_backed)
                        .then_some(Breach::Yielded { node, to: token })
                }
            }
            Message::GeneratingToken { token } => {
                // A candidate's token is the token that the node would announce. Its progress is the stored progress
                // plus 1.
                let stands = |node: &Node| node.machine.state() == State::Generating;
                let mine = candidate(&self.before.durable, crate::notation::mac(node));
                let counts = !is_deaf && token.is_stronger_than(&mine);
                (stands(self.before) && stands(&self.turn.node) && counts).then_some(
                    Breach::StoodAgainst {
                        node,
                        candidate: token,
                    },
                )
            }
            _ => None,
        }
    }
}

fn candidate(stored: &StoredState, author: MacAddr) -> Token {
    let progress = stored
        .known
        .map_or(1, |known| (known.progress + 1).min(PROGRESS_MAX));
    Token {
        progress,
        author,
        number: stored.my_token_number.wrapping_add(1),
    }
}

/// Whether the announced token is this node's candidate. If an elected node could not announce its token, the node
/// later announces the same token.
fn is_candidate(token: Token, frame: &Frame<'_>, stored: &StoredState) -> bool {
    let most = candidate(stored, frame.author);
    token.author == most.author && token.progress <= most.progress && token.number <= most.number
}

fn is_stored(token: Token, frame: &Frame<'_>, stored: &StoredState) -> bool {
    let known = stored
        .known
        .is_some_and(|known| !token.is_stronger_than(&known));
    known && (token.author != frame.author || token.number <= stored.my_token_number)
}

fn is(kind: Kind, bytes: &[u8]) -> bool {
    Frame::decode(bytes).is_ok_and(|frame| frame.message.kind() == kind)
}

/// Checks that two nodes do not rely on a quorum at the same time. Each node reads its own clock. If clocks run at any
/// speed, quorums give no guarantee.
pub(crate) fn find_two_quorums(ring: &Ring) -> Option<Breach> {
    if ring.timing == Timing::Free {
        return None;
    }
    let relies = |&at: &usize| {
        let quorum = ring.nodes[at].quorum;
        quorum.is_some_and(|(_, until)| until > ring.present(at))
    };
    let mut relying = (0..ring.nodes.len()).filter(relies);
    let nodes = [relying.next()?, relying.next()?];
    Some(Breach::TwoQuorums { nodes })
}

/// Returns the first rule that the node at `at` breaks together with a second node.
pub(crate) fn compare_nodes(scenario: &Scenario, nodes: &[Arc<Node>], at: usize) -> Option<Breach> {
    let mine = &nodes[at].machine;
    let token = mine.held()?;
    nodes.iter().enumerate().find_map(|(other, node)| {
        let theirs = node.machine.held().filter(|_| other != at)?;
        let nodes = [at.min(other), at.max(other)];
        let both_use = mine.may_use() && node.machine.may_use();
        if theirs == token {
            Some(Breach::EqualTokens { nodes, token })
        } else if both_use && theirs.same_chain(&token) {
            Some(Breach::SharedChain { nodes, token })
        } else if both_use && scenario.calm {
            Some(Breach::TwoOwners { nodes })
        } else {
            None
        }
    })
}
