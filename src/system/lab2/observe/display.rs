//! Formats parts of log lines.

use std::fmt;
use std::net::Ipv6Addr;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{DATA_LEN_MAX, Token};
use ring_control::escape_control_characters;
use ring_proto::lab2::{DataLimit, Difference, SilentMembers};
use ring_text::format_duration;

use super::describe::PauseNews;

/// Shows a token: `token 17-02:00:00:00:00:01-3`, or `no token known`.
pub(crate) struct KnownToken(pub Option<Token>);

impl fmt::Display for KnownToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(token) => write!(f, "token {token}"),
            None => f.write_str("no token known"),
        }
    }
}

/// Shows the owner, or `unknown`.
pub(super) struct KnownOwner(pub Option<MacAddr>);

impl fmt::Display for KnownOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(owner) => owner.fmt(f),
            None => f.write_str("unknown"),
        }
    }
}

/// Shows an IP address of the protocol in the usual notation.
pub(crate) struct Ip(pub [u8; 16]);

impl fmt::Display for Ip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Ipv6Addr::from(self.0) {
            Ipv6Addr::UNSPECIFIED => f.write_str("none"),
            ip => ip.to_canonical().fmt(f),
        }
    }
}

/// Shows a number of members: `4 members`.
pub(super) struct Members(pub usize);

impl fmt::Display for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.0 == 1 { "" } else { "s" };
        write!(f, "{} member{plural}", self.0)
    }
}

/// Shows the differences between the options of a member and of this node.
pub(crate) struct DifferenceText(pub Difference);

impl fmt::Display for DifferenceText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { theirs, ours } = self.0;
        let expects = |expect: Option<usize>| match expect {
            Some(members) => format!("expects {members} members"),
            None => "expects no number of members".to_owned(),
        };
        let mut parts = Vec::new();
        if theirs.waiter_timeout != ours.waiter_timeout {
            let (theirs, ours) = (theirs.waiter_timeout, ours.waiter_timeout);
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
                "has a different heartbeat, different intervals or a different number of take attempts than this node",
            );
        }
        f.write_str(&parts.join("; "))
    }
}

/// Shows a long time: `3 h`, `26 days`.
pub(super) struct RoundedSpan(pub Duration);

impl fmt::Display for RoundedSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_secs() / 3_600 {
            hours @ 0..48 => write!(f, "{hours} h"),
            hours => write!(f, "{} days", hours / 24),
        }
    }
}

/// Shows the maximum number of bytes of data in a token, with the reason.
pub(crate) struct Limit(pub DataLimit);

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DataLimit { len, mtu, member } = self.0;
        if len == DATA_LEN_MAX {
            return f.write_str("a token carries at most 1,024 bytes of data");
        }
        write!(f, "a token carries at most {len} bytes of data: ")?;
        match member {
            Some(member) => write!(f, "{member} has an MTU of {mtu}"),
            None => write!(f, "the interface has an MTU of {mtu}"),
        }
    }
}

/// Returns the silent members that are known by name, with the text `before` before each member.
pub(super) fn join_names(silent: SilentMembers, before: &str, between: &str) -> String {
    let named = silent.addresses().map(|mac| format!("{before}{mac}"));
    named.collect::<Vec<_>>().join(between)
}

/// Shows the silent members of a ring without a quorum, and a remedy.
pub(crate) struct QuorumHint {
    /// The number of members of the ring.
    pub ring: usize,
    /// The number of expected members.
    pub expected: usize,
    /// The silent members.
    pub silent: SilentMembers,
}

impl fmt::Display for QuorumHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            ring,
            expected,
            silent,
        } = *self;
        if silent.count() > 0 {
            let others = OtherCount(silent.others());
            write!(f, "; silent: {}{others}", join_names(silent, "", ", "))?;
            if ring > expected {
                let forget = join_names(silent, "ringctl forget ", "; ");
                return write!(
                    f,
                    "; start ringd there, or, if they are gone for good, run {forget}"
                );
            }
        }
        write!(f, "; start the missing members: --ring-size is {expected}")
    }
}

/// Shows the end and the reason of a pause: `for 2h, or until ringctl resume; reason: new disk`.
pub(crate) struct PauseText(pub PauseNews);

impl fmt::Display for PauseText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(left) = self.0.left {
            write!(f, "for {}, or ", format_duration(left))?;
        }
        f.write_str("until ringctl resume")?;
        self.0.reason_text().map_or(Ok(()), |reason| {
            write!(f, "; reason: {}", escape_control_characters(&reason))
        })
    }
}

/// Shows `, and 7 others`, or an empty text if the number is 0.
pub(super) struct OtherCount(pub usize);

impl fmt::Display for OtherCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            1 => f.write_str(", and 1 other"),
            others => write!(f, ", and {others} others"),
        }
    }
}
