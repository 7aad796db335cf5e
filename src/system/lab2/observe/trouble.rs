//! Describes violated assumptions.

use ring_codec::MacAddr;
use ring_control::Health;
use ring_proto::lab2::{DataLimit, Diagnostic};
use ring_text::{format_bytes, format_duration};

use super::display::{Ip, OtherCount, QuorumHint, RoundedSpan, join_names};

pub(crate) struct TroubleDescription {
    pub event: &'static str,
    /// The health of a node that has this trouble.
    pub health: Health,
    pub member: Option<MacAddr>,
    /// The problem and a remedy, or the end of the problem.
    pub text: String,
}

macro_rules! descriptions {
    ($(
        $pattern:pat $(if $guard:expr)? => $event:literal, $health:ident, $member:expr, $text:literal
            $(, $argument:expr)*;
    )*) => {
        /// Describes a trouble, or the end of the trouble if it is `over`.
        pub(crate) fn describe(trouble: Diagnostic, over: bool) -> TroubleDescription {
            match (trouble, over) {
                $($pattern $(if $guard)? => TroubleDescription {
                    event: $event,
                    health: Health::$health,
                    member: $member,
                    text: format!($text $(, $argument)*),
                },)*
            }
        }
    };
}

descriptions! {
    (Diagnostic::MemberDeaf { mac }, false) => "member_deaf", Degraded, Some(mac),
        "member {mac} reports that it hears no member; check its interface, its firewall and its cable; if other \
         members do not hear this node either, check this node's link";
    (Diagnostic::MemberDeaf { mac }, true) => "member_hears", Healthy, Some(mac),
        "member {mac} hears others again, or has left, or this node has no link";
    (Diagnostic::AnswerLate { mac, after }, _) => "answer_late", Degraded, Some(mac),
        "{mac} accepted the token after {}, when the offer had expired: two tokens may exist; if this recurs, raise \
         --take-timeout on all members",
        format_duration(after);
    (Diagnostic::TakenLate { late, offered_to }, _) => "taken_late", Degraded, None,
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
    (Diagnostic::OwnerUnheard { owner }, false) => "owner_unheard", Critical, Some(owner),
        "other members report that {owner} holds the token, but this node does not hear {owner}; check the network \
         between the two";
    (Diagnostic::OwnerUnheard { owner }, true) => "owner_heard", Healthy, Some(owner),
        "this node hears {owner} again, or that member has left, or this node has no link";
    (Diagnostic::TablesDiffer { owner }, false) => "tables_differ", Degraded, Some(owner),
        "the member tables of this node and the owner {owner} have differed for a long time; check --max-members, \
         lost long frames, and members that only some others hear";
    (Diagnostic::TablesDiffer { owner }, true) => "tables_agree", Healthy, Some(owner),
        "this node and the owner know the same members again, or this node has no link";
    (Diagnostic::CannotSend, false) => "cannot_send", Critical, None,
        "this node can send nothing: its interface is up but refuses every frame; check for a filter (`tc`, `nft`) \
         or a queue that is stuck";
    (Diagnostic::CannotSend, true) => "can_send", Healthy, None, "this node can send again, or has no link";
    (Diagnostic::BroadcastsUnheard, false) => "broadcasts_unheard", Critical, None,
        "this node receives frames that are addressed to it, but no broadcasts: find the filter of broadcasts between \
         it and the others (a switch's storm control, `nft`, `tc`)";
    (Diagnostic::BroadcastsUnheard, true) => "broadcasts_heard", Healthy, None,
        "broadcasts reach this node again, or it has no link";
    (Diagnostic::MemberUnreached { mac }, false) => "member_unreached", Degraded, Some(mac),
        "member {mac} reports that it receives frames that are addressed to it, but no broadcasts: find the filter of \
         broadcasts between it and the others";
    (Diagnostic::MemberUnreached { mac }, true) => "member_reached", Healthy, Some(mac),
        "broadcasts reach member {mac} again, or it has left, or this node has no link";
    (Diagnostic::MtuTooSmall { mtu, needed, member: Some(member) }, false) => "mtu_too_small", Degraded, Some(member),
        "{member} has an MTU of {mtu}, but a confirmation needs {needed}: it cannot confirm tokens, and its own token \
         is not confirmed; raise its MTU";
    (Diagnostic::MtuTooSmall { mtu, needed, member: None }, false) if mtu < needed => "mtu_too_small", Degraded, None,
        "the interface has an MTU of {mtu}, but a confirmation needs {needed}: this node cannot confirm tokens, and \
         its token is not confirmed; raise the MTU";
    (Diagnostic::MtuTooSmall { mtu, needed, member: None }, false) => "mtu_too_small", Degraded, None,
        "the interface refuses a heartbeat or a PING as too long, although its MTU was {mtu} at the last look-up; a \
         confirmation needs {needed}; raise the MTU";
    (Diagnostic::MtuTooSmall { needed, member, .. }, true) => "mtu_large_enough", Healthy, member,
        "all interfaces carry {needed} bytes or more again";
    (Diagnostic::AddressShared { mac, ips: Some((one, other)) }, _) => "address_shared", Critical, Some(mac),
        "two stations have the MAC {mac}, with the IPs {} and {}: each takes the token of the other; give one of \
         them another MAC",
        Ip(one), Ip(other);
    (Diagnostic::AddressShared { mac, ips: None }, _) => "address_shared", Critical, Some(mac),
        "another machine has this node's MAC {mac}, or frames of this node come back; give one of the two machines \
         another MAC, or check for a loop";
    (Diagnostic::Apart { mac: None }, false) => "constants_apart", Critical, None,
        "the times of this node differ from the ring's by a factor of more than 10: it joins no election and owns \
         no token; start it with the ring's options";
    (Diagnostic::Apart { mac: Some(mac) }, false) => "constants_apart", Degraded, Some(mac),
        "the times of member {mac} differ from the ring's by a factor of more than 10: it joins no election and owns \
         no token; start it with the ring's options";
    (Diagnostic::Apart { mac: None }, true) => "constants_near", Healthy, None,
        "the times of this node are near the ring's again: it may own the token";
    (Diagnostic::Apart { mac: Some(mac) }, true) => "constants_near", Healthy, Some(mac),
        "the times of member {mac} are near the ring's again, or it has left";
    (Diagnostic::NoQuorum { present, ring, expected, silent }, false) => "no_quorum", Critical,
        silent.addresses().next(),
        "no quorum is possible: {present} of {ring} members are present, {} are needed{}",
        ring / 2 + 1,
        QuorumHint { ring, expected, silent };
    (Diagnostic::NoQuorum { silent, .. }, true) => "quorum_possible", Healthy, silent.addresses().next(),
        "a quorum is possible again, or this node has no link";
    (Diagnostic::NotHeardBy { by }, false) => "unheard", Critical, by.addresses().next(),
        "this node is not heard by {}{}, although this node hears them: frames of this node are lost; check this \
         machine's cable, switch port and firewall (`nft`, `tc`)",
        join_names(by, "", ", "),
        OtherCount(by.others());
    (Diagnostic::NotHeardBy { by }, true) => "heard", Healthy, by.addresses().next(),
        "the other members hear this node again, or it has no link";
    (Diagnostic::TokenAhead { token, by }, false) => "token_ahead", Degraded, None,
        "the token is {} ahead of this machine's clock: this clock is wrong, or the clock of another member was \
         wrong; token {token}",
        RoundedSpan(by);
    (Diagnostic::TokenAhead { token, .. }, true) => "token_not_ahead", Healthy, None,
        "the token is no longer ahead of this machine's clock; token {token}";
    (Diagnostic::ClockAhead { by }, _) => "clock_ahead", Degraded, None,
        "this machine's clock is {} ahead of the ring's tokens: a token that this node creates stays behind the \
         clock; check the clock",
        RoundedSpan(by);
    (Diagnostic::DataDropped { len, limit: DataLimit { mtu, member, .. } }, _) => "data_dropped", Degraded, member,
        "dropped the token's data ({}): too long for {}, MTU {mtu}",
        format_bytes(len),
        member.map_or_else(|| "the interface".to_owned(), |member| format!("member {member}"));
}
