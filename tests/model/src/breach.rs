//! What must never happen, as `docs/protocol.md` has it.

use std::fmt;
use std::time::Duration;

use ring_codec::lab2::Token;

use crate::notation;

/// A rule that was broken. Nodes are told by their places, from 0.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Breach {
    /// Section 5, 1: two nodes hold equal tokens.
    EqualTokens {
        /// The nodes.
        nodes: [usize; 2],
        /// What they hold.
        token: Token,
    },
    /// Section 2: a chain is offered to one successor only, and its giver uses it no more.
    SharedChain {
        /// The nodes that may both use it.
        nodes: [usize; 2],
        /// One of its tokens.
        token: Token,
    },
    /// Section 5, 6: a fencing token names one tenure.
    SecondTenure {
        /// Who began it.
        node: usize,
        /// The fencing token that was used before.
        token: Token,
    },
    /// Section 5, 6: a node's tenures only grow.
    TenureWentBack {
        /// Whose.
        node: usize,
        /// The tenure before.
        before: Token,
        /// The one that was begun after it.
        after: Token,
    },
    /// Section 2: what a frame depends on is stored before it leaves.
    NotStored {
        /// Who sent it.
        node: usize,
        /// The token that it tells of.
        token: Token,
    },
    /// Section 2: what could not be stored has not happened.
    HeldUnstored {
        /// Who holds it.
        node: usize,
        /// What.
        token: Token,
    },
    /// Section 4: a candidate is `known.progress` + 1, and no more.
    WrongCandidate {
        /// Who stands.
        node: usize,
        /// With what.
        candidate: Token,
    },
    /// Section 2: a generated token's progress is not below the clock.
    BelowClock {
        /// Who made it.
        node: usize,
        /// What.
        token: Token,
    },
    /// Section 5, 7: a frame is answered with two frames at the most.
    TooManyReplies {
        /// Who answered.
        node: usize,
        /// With how many frames.
        frames: usize,
    },
    /// Section 4: an OWNER keeps its token against a weaker one.
    Yielded {
        /// Who did not.
        node: usize,
        /// The token heard of.
        to: Token,
    },
    /// Section 4: an OWNER gives up its token for a stronger one.
    Stayed {
        /// Who did not.
        node: usize,
        /// The token heard of.
        against: Token,
    },
    /// Section 4: a candidate gives way to a stronger one.
    StoodAgainst {
        /// Who did not.
        node: usize,
        /// The stronger candidate.
        candidate: Token,
    },
    /// Section 4: what a frame announces is true once that frame has left, not before.
    Unannounced {
        /// Whose link took nothing.
        node: usize,
    },
    /// Section 4: an OWNER that could send no heartbeat for WAITER_TIMEOUT has no token.
    WithoutLease {
        /// Who went on.
        node: usize,
    },
    /// Section 1: a frame that is to be dropped changes nothing and is not answered.
    NotDropped {
        /// Who took it.
        node: usize,
    },
    /// Nothing went wrong, and still two nodes may use a token.
    TwoOwners {
        /// Which.
        nodes: [usize; 2],
    },
    /// "Grades": two nodes have a quorum at one time.
    TwoQuorums {
        /// Which.
        nodes: [usize; 2],
    },
    /// "Backing": a node that has a quorum loses its token to another.
    QuorumLost {
        /// Who.
        node: usize,
        /// What it held.
        token: Token,
    },
    /// Section 5, 2: there is no single owner this long after the faults have ended.
    NotRecovered {
        /// How long after.
        after: Duration,
    },
    /// Section 5, 3: this node has wanted the token and not got it.
    NotServed {
        /// Who.
        node: usize,
    },
    /// Section 5, 5: tables differ.
    TablesDiffer {
        /// Whose.
        nodes: [usize; 2],
    },
    /// Section 5, 2: there is an owner, but it only passes the token on and nobody can use it.
    OutOfUse,
    /// An idle ring has no end of things to do at one and the same time.
    Busy,
}

impl fmt::Display for Breach {
    #[expect(clippy::too_many_lines, reason = "a sentence for each breach")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = |at: &usize| notation::name(notation::mac(*at));
        let show = |token: &Token| notation::token(*token);
        let both = |[a, b]: &[usize; 2]| format!("{} and {}", n(a), n(b));
        match self {
            Self::EqualTokens { nodes, token } => {
                write!(f, "{} both hold {}", both(nodes), show(token))
            }
            Self::SharedChain { nodes, token } => {
                write!(
                    f,
                    "{} may both use the chain of {}",
                    both(nodes),
                    show(token)
                )
            }
            Self::SecondTenure { node, token } => {
                write!(f, "{} begins a second tenure {}", n(node), show(token))
            }
            Self::TenureWentBack {
                node,
                before,
                after,
            } => write!(
                f,
                "the tenures of {} go back from {} to {}",
                n(node),
                show(before),
                show(after)
            ),
            Self::NotStored { node, token } => {
                write!(
                    f,
                    "{} tells of {} before it is stored",
                    n(node),
                    show(token)
                )
            }
            Self::HeldUnstored { node, token } => {
                write!(f, "{} holds {}, which is not stored", n(node), show(token))
            }
            Self::WrongCandidate { node, candidate } => {
                write!(f, "{} stands with {}", n(node), show(candidate))
            }
            Self::BelowClock { node, token } => {
                write!(f, "{} generates {} below the clock", n(node), show(token))
            }
            Self::TooManyReplies { node, frames } => {
                write!(f, "{} answers one frame with {frames}", n(node))
            }
            Self::Yielded { node, to } => {
                write!(
                    f,
                    "{} gives its token up for the weaker {}",
                    n(node),
                    show(to)
                )
            }
            Self::Stayed { node, against } => {
                let against = show(against);
                write!(
                    f,
                    "{} keeps its token against the stronger {against}",
                    n(node)
                )
            }
            Self::StoodAgainst { node, candidate } => {
                let candidate = show(candidate);
                write!(
                    f,
                    "{} still stands against the stronger {candidate}",
                    n(node)
                )
            }
            Self::Unannounced { node } => {
                write!(f, "{} enters a state that no frame has announced", n(node))
            }
            Self::WithoutLease { node } => {
                write!(
                    f,
                    "{} holds a token that its lease has run out for",
                    n(node)
                )
            }
            Self::NotDropped { node } => write!(f, "{} heeds a frame that is no good", n(node)),
            Self::QuorumLost { node, token } => {
                write!(
                    f,
                    "{} loses {}, for which it has a quorum",
                    n(node),
                    show(token)
                )
            }
            Self::TwoQuorums { nodes } => write!(f, "{} have a quorum", both(nodes)),
            Self::TwoOwners { nodes } => write!(f, "{} may both use a token", both(nodes)),
            Self::NotRecovered { after } => {
                write!(f, "{after:?} after the faults there is no single owner")
            }
            Self::NotServed { node } => write!(f, "{} wants the token and starves", n(node)),
            Self::TablesDiffer { nodes } => write!(f, "the tables of {} differ", both(nodes)),
            Self::OutOfUse => write!(f, "nobody can use the token"),
            Self::Busy => write!(f, "there is no end of frames and time-outs at one time"),
        }
    }
}
