//! Describes violated assumptions.

use ring_codec::MacAddr;
use ring_control::Trouble;
use ring_proto::lab2::{DataLimit, Diagnostic};
use ring_text::{format_bytes, format_duration};

use super::display::{Ip, OtherCount, QuorumHint, RoundedSpan, join_names};
use crate::system::lab2::{events, troubles};

pub(crate) struct TroubleDescription {
    pub event: &'static str,
    /// The kind of trouble; `None` at the end of a trouble.
    pub trouble: Option<&'static Trouble>,
    pub member: Option<MacAddr>,
    /// The problem and a remedy, or the end of the problem.
    pub text: String,
}

macro_rules! trouble {
    (-) => {
        None
    };
    ($name:ident) => {
        Some(&troubles::$name)
    };
}

macro_rules! descriptions {
    ($(
        $pattern:pat $(if $guard:expr)? => $event:ident, $trouble:tt, $member:expr, $text:literal
            $(, $argument:expr)*;
    )*) => {
        /// Describes a trouble, or the end of the trouble if it is `over`.
        pub(crate) fn describe(trouble: Diagnostic, over: bool) -> TroubleDescription {
            match (trouble, over) {
                $($pattern $(if $guard)? => TroubleDescription {
                    event: events::$event,
                    trouble: trouble!($trouble),
                    member: $member,
                    text: format!($text $(, $argument)*),
                },)*
            }
        }
    };
}

descriptions! {
    (Diagnostic::MemberDeaf { mac }, false) => MEMBER_DEAF, MEMBER_DEAF, Some(mac),
        "member {mac} reports that it hears no member; check its interface, its firewall and its cable; if other \
         members do not hear this node either, check this node's link";
    (Diagnostic::MemberDeaf { mac }, true) => MEMBER_HEARS, -, Some(mac),
        "the trouble with member {mac} is over: it hears others again, it has left, or this node has no link";
    (Diagnostic::AnswerLate { mac, after }, _) => ANSWER_LATE, ANSWER_LATE, Some(mac),
        "{mac} accepted the token after {}, when the offer had expired: two tokens may exist; if this recurs, raise \
         --take-timeout on all members",
        format_duration(after);
    (Diagnostic::TakenLate { late, offered_to }, _) => TAKEN_LATE, TAKEN_LATE, None,
        "this node took the token {}, and another member may hold it: {}; if this recurs, this machine is \
         overloaded; raise --take-timeout on all members",
        late.map_or_else(
            || "but could not acknowledge it".to_owned(),
            |late| format!("{} too late", format_duration(late)),
        ),
        offered_to.map_or_else(
            || "no lock is granted until that member has had time to object".to_owned(),
            |to| format!("this node then offered the token to {to}, which does not know of the delay"),
        );
    (Diagnostic::OwnerUnheard { owner }, false) => OWNER_UNHEARD, OWNER_UNHEARD, Some(owner),
        "other members report that {owner} holds the token, but this node does not hear {owner}; check the network \
         between the two";
    (Diagnostic::OwnerUnheard { owner }, true) => OWNER_HEARD, -, Some(owner),
        "the trouble with {owner} is over: this node hears it again, it has left, or this node has no link";
    (Diagnostic::TablesDiffer { owner }, false) => TABLES_DIFFER, TABLES_DIFFER, Some(owner),
        "the member tables of this node and the owner {owner} have differed for a long time; check --max-members, \
         lost long frames, and members that only some others hear";
    (Diagnostic::TablesDiffer { owner }, true) => TABLES_AGREE, -, Some(owner),
        "the member tables are equal again, or this node has no link";
    (Diagnostic::CannotSend, false) => CANNOT_SEND, CANNOT_SEND, None,
        "this node can send nothing: its interface is up but refuses every frame; check for a filter (`tc`, `nft`) \
         or a queue that is stuck";
    (Diagnostic::CannotSend, true) => CAN_SEND, -, None,
        "the trouble is over: this node can send again, or it has no link";
    (Diagnostic::BroadcastsUnheard, false) => BROADCASTS_UNHEARD, BROADCASTS_UNHEARD, None,
        "this node receives frames that are addressed to it, but no broadcasts: find the filter of broadcasts between \
         it and the others (a switch's storm control, `nft`, `tc`)";
    (Diagnostic::BroadcastsUnheard, true) => BROADCASTS_HEARD, -, None,
        "the trouble is over: broadcasts reach this node again, or it has no link";
    (Diagnostic::MemberUnreached { mac }, false) => MEMBER_UNREACHED, MEMBER_UNREACHED, Some(mac),
        "member {mac} reports that it receives frames that are addressed to it, but no broadcasts: find the filter of \
         broadcasts between it and the others";
    (Diagnostic::MemberUnreached { mac }, true) => MEMBER_REACHED, -, Some(mac),
        "the trouble with member {mac} is over: broadcasts reach it again, it has left, or this node has no link";
    (Diagnostic::MtuTooSmall { mtu, needed, member: Some(member) }, false) => MTU_TOO_SMALL, MTU_TOO_SMALL,
        Some(member),
        "{member} has an MTU of {mtu}, but a confirmation needs {needed}: it cannot confirm tokens, and its own token \
         is not confirmed; raise its MTU";
    (Diagnostic::MtuTooSmall { mtu, needed, member: None }, false) if mtu < needed => MTU_TOO_SMALL,
        MTU_TOO_SMALL, None,
        "the interface has an MTU of {mtu}, but a confirmation needs {needed}: this node cannot confirm tokens, and \
         its token is not confirmed; raise the MTU";
    (Diagnostic::MtuTooSmall { mtu, needed, member: None }, false) => MTU_TOO_SMALL, MTU_TOO_SMALL, None,
        "the interface refuses a heartbeat or a PING as too long, although its MTU was {mtu} at the last look-up; a \
         confirmation needs {needed}; raise the MTU";
    (Diagnostic::MtuTooSmall { needed, member, .. }, true) => MTU_LARGE_ENOUGH, -, member,
        "all interfaces carry {needed} bytes or more again";
    (Diagnostic::AddressShared { mac, ips: Some((one, other)) }, _) => ADDRESS_SHARED, ADDRESS_SHARED, Some(mac),
        "two stations have the MAC {mac}, with the IPs {} and {}: each takes the token of the other; give one of \
         them another MAC",
        Ip(one), Ip(other);
    (Diagnostic::AddressShared { mac, ips: None }, _) => ADDRESS_SHARED, ADDRESS_SHARED, Some(mac),
        "another machine has this node's MAC {mac}, or frames of this node come back; give one of the two machines \
         another MAC, or check for a loop";
    (Diagnostic::Apart { mac: None }, false) => CONSTANTS_APART, CONSTANTS_APART, None,
        "the times of this node differ from the ring's by a factor of more than 10: it joins no election and owns \
         no token; start it with the ring's options";
    (Diagnostic::Apart { mac: Some(mac) }, false) => CONSTANTS_APART, MEMBER_APART, Some(mac),
        "the times of member {mac} differ from the ring's by a factor of more than 10: it joins no election and owns \
         no token; start it with the ring's options";
    (Diagnostic::Apart { mac: None }, true) => CONSTANTS_NEAR, -, None,
        "the times of this node are near the ring's again: it may own the token";
    (Diagnostic::Apart { mac: Some(mac) }, true) => CONSTANTS_NEAR, -, Some(mac),
        "the trouble with member {mac} is over: its times are near the ring's again, or it has left";
    (Diagnostic::NoQuorum { present, ring, expected, silent }, false) => NO_QUORUM, NO_QUORUM,
        silent.addresses().next(),
        "no quorum is possible: {present} of {ring} members are present, {} are needed{}",
        ring / 2 + 1,
        QuorumHint { ring, expected, silent };
    (Diagnostic::NoQuorum { silent, .. }, true) => QUORUM_POSSIBLE, -, silent.addresses().next(),
        "the trouble is over: a quorum is possible again, or this node has no link";
    (Diagnostic::NotHeardBy { by }, false) => UNHEARD, UNHEARD, by.addresses().next(),
        "this node is not heard by {}{}, although this node hears them: frames of this node are lost; check this \
         machine's cable, switch port and firewall (`nft`, `tc`)",
        join_names(by, "", ", "),
        OtherCount(by.others());
    (Diagnostic::NotHeardBy { by }, true) => HEARD, -, by.addresses().next(),
        "the trouble is over: the other members hear this node again, or it has no link";
    (Diagnostic::PreferredRefuses { mac, in_a_row }, false) => PREFERRED_REFUSES, PREFERRED_REFUSES, Some(mac),
        "member {mac} is preferred, but does not take the token: {in_a_row} handovers to it failed in a row; check \
         whether its machine is overloaded, and whether frames that are addressed to it are lost";
    (Diagnostic::PreferredRefuses { mac, .. }, true) => PREFERRED_TAKES, -, Some(mac),
        "the trouble with member {mac} is over: it has the token again, or this node no longer tries to \
         hand the token over to it";
    (Diagnostic::TokenAhead { token, by }, false) => TOKEN_AHEAD, TOKEN_AHEAD, None,
        "the token is {} ahead of this machine's clock: this clock is wrong, or the clock of another member was \
         wrong; token {token}",
        RoundedSpan(by);
    (Diagnostic::TokenAhead { token, .. }, true) => TOKEN_NOT_AHEAD, -, None,
        "the token is no longer ahead of this machine's clock; token {token}";
    (Diagnostic::ClockAhead { by }, _) => CLOCK_AHEAD, CLOCK_AHEAD, None,
        "this machine's clock is {} ahead of the ring's tokens: a token that this node creates stays behind the \
         clock; check the clock",
        RoundedSpan(by);
    (Diagnostic::DataDropped { len, limit: DataLimit { mtu, member, .. } }, _) => DATA_DROPPED, DATA_DROPPED, member,
        "dropped the token's data ({}): too long for {}, MTU {mtu}",
        format_bytes(len),
        member.map_or_else(|| "the interface".to_owned(), |member| format!("member {member}"));
}
