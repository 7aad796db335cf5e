//! Parts of log lines.

use std::fmt;
use std::net::Ipv6Addr;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Kind, MAX_DATA_LEN, Token};
use ring_proto::lab2::{DataLimit, Difference, SilentMembers, Trouble};
use ring_text::{format_bytes, format_duration};

/// `token 17-02:00:00:00:00:01-3`, or that there is none.
pub struct KnownToken(pub Option<Token>);

impl fmt::Display for KnownToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(token) => write!(f, "token {token}"),
            None => f.write_str("no token known"),
        }
    }
}

/// An ip as the protocol carries it, in the way that people write it.
pub struct Ip(pub [u8; 16]);

impl fmt::Display for Ip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Ipv6Addr::from(self.0) {
            Ipv6Addr::UNSPECIFIED => f.write_str("none"),
            ip => ip.to_canonical().fmt(f),
        }
    }
}

/// `4 members`.
pub(super) struct Members(pub usize);

impl fmt::Display for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.0 == 1 { "" } else { "s" };
        write!(f, "{} member{plural}", self.0)
    }
}

/// In what a member differs from this node.
pub struct Differs(pub Difference);

impl fmt::Display for Differs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { theirs, ours } = self.0;
        let expects = |expect: Option<usize>| match expect {
            Some(members) => format!("expects {members} members"),
            None => "expects no number of members".to_owned(),
        };
        let mut parts = Vec::new();
        if theirs.patience != ours.patience {
            let (theirs, ours) = (theirs.patience, ours.patience);
            parts.push(format!(
                "waits {theirs:?} for a silent owner, this node {ours:?}"
            ));
        }
        if theirs.take_timeout != ours.take_timeout {
            let (theirs, ours) = (theirs.take_timeout, ours.take_timeout);
            parts.push(format!(
                "has a take timeout of {theirs:?}, this node {ours:?}"
            ));
        }
        if theirs.expect != ours.expect {
            let (theirs, ours) = (expects(theirs.expect), expects(ours.expect));
            parts.push(format!("{theirs}, this node {ours}"));
        }
        if parts.is_empty() {
            return f.write_str(
                "has a different heartbeat, intervals or number of take attempts than this node",
            );
        }
        f.write_str(&parts.join("; "))
    }
}

/// A long time: `3 h`, `26 days`.
pub(super) struct Long(pub Duration);

impl fmt::Display for Long {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_secs() / 3_600 {
            hours @ 0..48 => write!(f, "{hours} h"),
            hours => write!(f, "{} days", hours / 24),
        }
    }
}

/// That two stations have one address.
struct Shared {
    /// The address.
    mac: MacAddr,
    /// What its stations say that their ips are; `None`: it is this node's own.
    ips: Option<([u8; 16], [u8; 16])>,
}

impl fmt::Display for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mac = self.mac;
        match self.ips {
            Some((one, other)) => write!(
                f,
                "two stations have the MAC {mac}, with the ips {} and {}: each takes the token of \
                 the other; give one of them another MAC",
                Ip(one),
                Ip(other)
            ),
            None => write!(
                f,
                "another station has this node's MAC {mac}, or its frames come back to it: give \
                 one of the two another MAC, or look for a loop"
            ),
        }
    }
}

/// That a frame was not sent.
pub struct TooLong {
    /// Its kind.
    pub kind: Kind,
    /// The longest payload that the interface is said to carry.
    pub mtu: usize,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, mtu } = self;
        write!(
            f,
            "a {kind} was not sent: it is longer than the interface carries (EMSGSIZE); its MTU was {mtu} \
             when last looked at"
        )
    }
}

/// That an interface carries too little.
struct Small {
    mtu: usize,
    needed: usize,
    member: Option<MacAddr>,
    over: bool,
}

impl fmt::Display for Small {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            mtu,
            needed,
            member,
            over,
        } = *self;
        match (member, over) {
            (_, true) => write!(
                f,
                "no interface carries less than {needed} bytes any longer"
            ),
            (Some(member), false) => write!(
                f,
                "{member} has an MTU of {mtu}, and a promise needs {needed}: it confirms nobody's token, nor \
                 is its own confirmed; raise its MTU"
            ),
            (None, false) if mtu < needed => write!(
                f,
                "the interface has an MTU of {mtu}, and a promise needs {needed}: this node confirms nobody's \
                 token, nor is its own confirmed; raise the MTU"
            ),
            (None, false) => write!(
                f,
                "the interface refuses a heartbeat or a PING as too long, though its MTU was {mtu} when last \
                 looked at; a promise needs {needed}: raise the MTU"
            ),
        }
    }
}

/// How many bytes of data a token may carry, and why no more.
pub struct Limit(pub DataLimit);

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DataLimit { len, mtu, member } = self.0;
        if len == MAX_DATA_LEN {
            return f.write_str("a token carries at most 1,024 bytes of data");
        }
        write!(f, "a token carries at most {len} bytes of data: ")?;
        match member {
            Some(member) => write!(f, "{member} has an MTU of {mtu}"),
            None => write!(f, "the interface has an MTU of {mtu}"),
        }
    }
}

/// Whose frames are the shortest of the ring.
struct Carrier(DataLimit);

impl fmt::Display for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DataLimit { mtu, member, .. } = self.0;
        match member {
            Some(member) => write!(f, "member {member}, MTU {mtu}"),
            None => write!(f, "the interface, MTU {mtu}"),
        }
    }
}

/// Writes something for each silent member that is to be named.
fn each(
    f: &mut fmt::Formatter<'_>,
    silent: SilentMembers,
    before: &str,
    between: &str,
) -> fmt::Result {
    for (at, mac) in silent.named().enumerate() {
        let between = if at == 0 { "" } else { between };
        write!(f, "{between}{before}{mac}")?;
    }
    Ok(())
}

/// The silent members of a ring that has no quorum, and what to do about them.
pub struct Absent {
    /// How many members the ring has.
    pub ring: usize,
    /// How many are expected.
    pub expected: usize,
    /// Who is silent.
    pub silent: SilentMembers,
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            ring,
            expected,
            silent,
        } = *self;
        if silent.count() > 0 {
            f.write_str("; silent: ")?;
            each(f, silent, "", ", ")?;
            Others(silent.others()).fmt(f)?;
            if ring > expected {
                f.write_str("; start ringd there, or, if they are gone for good, run ")?;
                return each(f, silent, "ringctl forget ", "; ");
            }
        }
        write!(
            f,
            "; start the missing ones of the {expected} that --expect says"
        )
    }
}

/// An assumption that does not hold, and what to do; or that it holds again.
pub struct Wrong {
    /// What.
    pub trouble: Trouble,
    /// Whether it is over.
    pub over: bool,
}

impl fmt::Display for Wrong {
    #[expect(clippy::too_many_lines, reason = "a sentence for each trouble")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.trouble, self.over) {
            (Trouble::MemberDeaf { mac }, false) => write!(
                f,
                "member {mac} says that it hears nobody: look at its interface, its firewall and \
                 its cable, or, if others hear this node no better, at what this node sends"
            ),
            (Trouble::MemberDeaf { mac }, true) => {
                write!(f, "member {mac} hears others again, or is gone, or this node has no link")
            }
            (Trouble::AnswerLate { mac, after }, _) => write!(
                f,
                "{mac} accepted the token after {}, when the offer had expired. If this recurs, raise \
                 --take-timeout on all members: two tokens can exist until then",
                format_duration(after)
            ),
            (Trouble::TakenLate { late, offered_to }, _) => {
                match late {
                    Some(late) => write!(f, "this node took the token {} too late", format_duration(late))?,
                    None => f.write_str("this node took the token and could not say so")?,
                }
                f.write_str(", and another may hold it: ")?;
                match offered_to {
                    None => f.write_str("no lock is granted until that one has had time to object")?,
                    Some(to) => write!(f, "it went on to {to}, which does not know")?,
                }
                f.write_str(". If this recurs, this machine is overloaded: raise --take-timeout on all members")
            }
            (Trouble::OwnerUnheard { owner }, false) => write!(
                f,
                "others say that {owner} holds the token, and this node does not hear it: look at \
                 what is between the two"
            ),
            (Trouble::OwnerUnheard { owner }, true) => {
                write!(
                    f,
                    "this node hears {owner} again, or that one is gone, or this node has no link"
                )
            }
            (Trouble::TablesDiffer { owner }, false) => write!(
                f,
                "the member tables of this node and the owner {owner} have differed for long. Causes: \
                 more members than --max-members, lost (long) frames, or a member that only some hear"
            ),
            (Trouble::TablesDiffer { .. }, true) => {
                f.write_str(
                "this node and the owner know the same members again, or this node has no link",
            )
            }
            (Trouble::CannotSend, false) => f.write_str(
                "this node can send nothing: its interface is up and refuses every frame; look for a \
                 filter (`tc`, `nft`) or a queue that is stuck",
            ),
            (Trouble::CannotSend, true) => {
                f.write_str("this node can send again, or has no link")
            }
            (Trouble::BroadcastsUnheard, false) => f.write_str(
                "only frames to this node alone reach it, and none that goes to all: look for what filters \
                 broadcasts between it and the others (a switch's storm control, `nft`, `tc`)",
            ),
            (Trouble::BroadcastsUnheard, true) => {
                f.write_str("what goes to all reaches this node again, or it has no link")
            }
            (Trouble::MemberUnreached { mac }, false) => write!(
                f,
                "member {mac} says that only frames to it alone reach it, and none that goes to all: look for \
                 what filters broadcasts between it and the others"
            ),
            (Trouble::MemberUnreached { mac }, true) => write!(
                f,
                "what goes to all reaches member {mac} again, or it is gone, or this node has no link"
            ),
            (Trouble::MtuTooSmall { mtu, needed, member }, over) => {
                Small { mtu, needed, member, over }.fmt(f)
            }
            (Trouble::AddressShared { mac, ips }, _) => Shared { mac, ips }.fmt(f),
            (Trouble::Apart { mac: None }, false) => f.write_str(
                "the times of this node differ from the ring's by a factor of more than 10: it takes part, but neither \
                 elects nor owns; start it with the options of the other members",
            ),
            (Trouble::Apart { mac: None }, true) => {
                f.write_str("the times of this node are near the ring's: it may own again")
            }
            (Trouble::Apart { mac: Some(mac) }, false) => write!(
                f,
                "the times of member {mac} differ from the ring's by a factor of more than 10: it takes part, but neither \
                 elects nor owns; start it with the options of the other members"
            ),
            (Trouble::Apart { mac: Some(mac) }, true) => {
                write!(f, "the times of member {mac} are near the ring's again, or it is gone")
            }
            (Trouble::NoQuorum { present, ring, expected, silent }, false) => {
                let needed = ring / 2 + 1;
                write!(f, "no quorum is possible: {present} of {ring} members are there, {needed} are needed")?;
                Absent { ring, expected, silent }.fmt(f)
            }
            (Trouble::NoQuorum { .. }, true) => {
                f.write_str("a quorum is possible again, or this node has no link")
            }
            (Trouble::Unheard { by }, false) => {
                f.write_str("this node is not heard by ")?;
                each(f, by, "", ", ")?;
                Others(by.others()).fmt(f)?;
                f.write_str(
                    ", though it hears them: its frames are lost on their way out; look at this machine's cable, switch port and \
                     firewall (`nft`, `tc`)",
                )
            }
            (Trouble::Unheard { .. }, true) => {
                f.write_str("the other members hear this node again, or it has no link")
            }
            (Trouble::TokenAhead { token, by }, false) => write!(
                f,
                "the token is {} ahead of this machine's clock: that is wrong, or another \
                 member's was; token {token}",
                Long(by)
            ),
            (Trouble::TokenAhead { token, .. }, true) => write!(
                f,
                "the token is no longer ahead of this machine's clock; token {token}"
            ),
            (Trouble::ClockAhead { by }, _) => write!(
                f,
                "this machine's clock is {} ahead of the ring's tokens: is it right? The new token \
                 does not follow it all the way",
                Long(by)
            ),
            (Trouble::DataDropped { len, limit }, _) => write!(
                f,
                "dropped the token's data ({}): too long for {}",
                format_bytes(len),
                Carrier(limit)
            ),
        }
    }
}

impl Wrong {
    /// The name of the event that tells of it.
    #[must_use]
    pub const fn event(&self) -> &'static str {
        match (self.trouble, self.over) {
            (Trouble::MemberDeaf { .. }, false) => "member_deaf",
            (Trouble::MemberDeaf { .. }, true) => "member_hears",
            (Trouble::AnswerLate { .. }, _) => "answer_late",
            (Trouble::TakenLate { .. }, _) => "taken_late",
            (Trouble::OwnerUnheard { .. }, false) => "owner_unheard",
            (Trouble::OwnerUnheard { .. }, true) => "owner_heard",
            (Trouble::TablesDiffer { .. }, false) => "tables_differ",
            (Trouble::TablesDiffer { .. }, true) => "tables_agree",
            (Trouble::CannotSend, false) => "cannot_send",
            (Trouble::CannotSend, true) => "can_send",
            (Trouble::BroadcastsUnheard, false) => "broadcasts_unheard",
            (Trouble::BroadcastsUnheard, true) => "broadcasts_heard",
            (Trouble::MemberUnreached { .. }, false) => "member_unreached",
            (Trouble::MemberUnreached { .. }, true) => "member_reached",
            (Trouble::MtuTooSmall { .. }, false) => "mtu_too_small",
            (Trouble::MtuTooSmall { .. }, true) => "mtu_large_enough",
            (Trouble::AddressShared { .. }, _) => "address_shared",
            (Trouble::Apart { .. }, false) => "constants_apart",
            (Trouble::Apart { .. }, true) => "constants_near",
            (Trouble::NoQuorum { .. }, false) => "no_quorum",
            (Trouble::NoQuorum { .. }, true) => "quorum_possible",
            (Trouble::Unheard { .. }, false) => "unheard",
            (Trouble::Unheard { .. }, true) => "heard",
            (Trouble::TokenAhead { .. }, false) => "token_ahead",
            (Trouble::TokenAhead { .. }, true) => "token_not_ahead",
            (Trouble::ClockAhead { .. }, _) => "clock_ahead",
            (Trouble::DataDropped { .. }, _) => "data_dropped",
        }
    }

    /// The member that it is about, if it is about one.
    #[must_use]
    pub fn member(&self) -> Option<MacAddr> {
        match self.trouble {
            Trouble::MemberDeaf { mac }
            | Trouble::MemberUnreached { mac }
            | Trouble::AnswerLate { mac, .. }
            | Trouble::AddressShared { mac, .. } => Some(mac),
            Trouble::OwnerUnheard { owner } | Trouble::TablesDiffer { owner } => Some(owner),
            Trouble::DataDropped { limit, .. } => limit.member,
            Trouble::MtuTooSmall { member, .. } => member,
            Trouble::Apart { mac } => mac,
            Trouble::NoQuorum {
                silent: several, ..
            }
            | Trouble::Unheard { by: several } => several.named().next(),
            Trouble::TokenAhead { .. }
            | Trouble::ClockAhead { .. }
            | Trouble::TakenLate { .. }
            | Trouble::CannotSend
            | Trouble::BroadcastsUnheard => None,
        }
    }
}

/// `, and 7 others`; nothing if there are none.
pub(super) struct Others(pub usize);

impl fmt::Display for Others {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            1 => f.write_str(", and 1 other"),
            others => write!(f, ", and {others} others"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ring_codec::MacAddr;
    use ring_proto::lab2::{DataLimit, Trouble};

    use super::Wrong;

    #[test]
    fn what_is_wrong_is_said_with_its_numbers_and_what_to_do() {
        let mac = MacAddr([2, 0, 0, 0, 0, 3]);
        let limit = |member| DataLimit {
            len: 487,
            mtu: 576,
            member,
        };
        let after = Duration::from_millis(9);
        let len = 1_000;
        for (trouble, expected) in [
            (
                Trouble::AnswerLate { mac, after },
                "02:00:00:00:00:03 accepted the token after 9 ms, when the offer had expired. If this \
                 recurs, raise --take-timeout on all members: two tokens can exist until then",
            ),
            (
                Trouble::TakenLate {
                    late: Some(after),
                    offered_to: None,
                },
                "this node took the token 9 ms too late, and another may hold it: no lock is granted until \
                 that one has had time to object. If this recurs, this machine is overloaded: raise \
                 --take-timeout on all members",
            ),
            (
                Trouble::TakenLate {
                    late: None,
                    offered_to: Some(mac),
                },
                "this node took the token and could not say so, and another may hold it: it went on to \
                 02:00:00:00:00:03, which does not know. If this recurs, this machine is overloaded: raise \
                 --take-timeout on all members",
            ),
            (
                Trouble::TablesDiffer { owner: mac },
                "the member tables of this node and the owner 02:00:00:00:00:03 have differed for long. \
                 Causes: more members than --max-members, lost (long) frames, or a member that only some \
                 hear",
            ),
            (
                Trouble::DataDropped {
                    len,
                    limit: limit(Some(mac)),
                },
                "dropped the token's data (1,000 bytes): too long for member 02:00:00:00:00:03, MTU 576",
            ),
            (
                Trouble::DataDropped {
                    len,
                    limit: limit(None),
                },
                "dropped the token's data (1,000 bytes): too long for the interface, MTU 576",
            ),
        ] {
            let over = false;
            assert_eq!(Wrong { trouble, over }.to_string(), expected);
        }
    }
}
