//! Findings about the filters of `tc` at the interface.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::finding::Finding;
use super::super::kinds::{TC_DROPS, TC_MAY_DROP, TC_UNREAD};
use super::program::RunError;
use super::{RingFrames, program};

/// Checks the filters of both directions. Returns no findings if the machine has no `tc`.
pub(super) fn check(frames: RingFrames<'_>) -> Vec<Finding> {
    let interface = frames.interface;
    let found = ["ingress", "egress"].into_iter().flat_map(|direction| {
        let arguments = ["-s", "-j", "filter", "show", "dev", interface, direction];
        match program::run("tc", &arguments) {
            Some(Ok(filters)) => findings(&filters, frames, direction),
            Some(Err(error @ (RunError::TimedOut | RunError::TooLong))) => vec![
                Finding::new(&TC_UNREAD, "the filters of tc were not checked")
                    .with_evidence(format!("tc {}: {error}", arguments.join(" "))),
            ],
            // If there are no filters, some versions of `tc` report an error.
            None | Some(Err(RunError::Failed(_))) => Vec::new(),
        }
    });
    found.collect()
}

/// Returns the filters that drop frames. Evaluates the filters in the order of the kernel, until a filter decides about
/// all frames. Evaluates only chain 0, because other chains process only frames that a filter sends to them.
fn findings(filters: &Value, frames: RingFrames<'_>, direction: &str) -> Vec<Finding> {
    let all = filters.as_array().map_or(&[][..], Vec::as_slice);
    let is_first_chain = |filter: &&Value| filter["chain"].as_u64().unwrap_or(0) == 0;
    let mut ordered: Vec<&Value> = all.iter().filter(is_first_chain).collect();
    ordered.sort_by_key(|filter| filter["pref"].as_u64());
    let used: BTreeSet<u64> = ordered
        .iter()
        .filter_map(|it| it["pref"].as_u64())
        .collect();
    let mut findings = Vec::new();
    let mut are_all_left = true;
    for filter in ordered {
        let Some(decision) = Decision::of(filter, frames.ethertype) else {
            continue;
        };
        let decides_all = are_all_left && decision.matches_all;
        if decision.verdict != Verdict::Pass {
            let drops_all = decides_all && decision.verdict == Verdict::Drop;
            let remedy = remedy(filter, &used, frames, direction);
            let found = finding(filter, drops_all, frames.interface, direction);
            findings.push(found.with_remedy(remedy));
        }
        if decision.matches_all && decision.verdict != Verdict::Unknown {
            break;
        }
        are_all_left = false;
    }
    findings
}

/// The decision of a filter about frames of the ring.
struct Decision {
    verdict: Verdict,
    /// Whether the filter matches all frames of the ring.
    matches_all: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Pass,
    Drop,
    /// The filter may drop the frames, or a part of them.
    Unknown,
}

impl Decision {
    /// Returns `None` if the filter decides about no frame, so that all frames reach the next filter.
    fn of(filter: &Value, ethertype: u16) -> Option<Self> {
        let options = filter.get("options")?;
        let kind = filter["kind"].as_str()?;
        let protocol = filter["protocol"].as_str()?;
        if protocol != "all" && protocol != format!("[{ethertype}]") {
            return None;
        }
        let verdict = if options["direct-action"] == true {
            Verdict::Unknown
        } else {
            verdict(options)?
        };
        // `matchall`, and a filter without keys, match all frames of the protocol.
        let keys = options["keys"].as_object();
        let has_keys = keys.is_some_and(|keys| !keys.is_empty());
        let matches_all = matches!(kind, "matchall" | "flower") && !has_keys;
        Some(Self {
            verdict,
            matches_all,
        })
    }
}

/// Returns the verdict of the first action that ends the evaluation of a filter. Returns `None` if no action ends it.
fn verdict(options: &Value) -> Option<Verdict> {
    let actions = options["actions"].as_array()?;
    let is_sure = |action: &Value| {
        let chance = &action["prob"]["random_type"];
        action["kind"] == "gact" && (chance.is_null() || chance == "none")
    };
    let found = actions.iter().find_map(|action| {
        match action["control_action"]["type"].as_str()? {
            "pipe" => None,
            "continue" => Some(None),
            _ if is_drop(action) && is_sure(action) => Some(Some(Verdict::Drop)),
            _ if is_drop(action) => Some(Some(Verdict::Unknown)),
            // With such an action, the frames leave this evaluation, for example for another interface or another
            // chain.
            _ => Some(Some(Verdict::Pass)),
        }
    });
    found.flatten()
}

fn is_drop(action: &Value) -> bool {
    let control = &action["control_action"]["type"];
    control == "drop" || control == "shot"
}

fn finding(filter: &Value, drops_all: bool, interface: &str, direction: &str) -> Finding {
    let (found, quantity) = if drops_all {
        (&TC_DROPS, "drops the frames of the ring")
    } else {
        (&TC_MAY_DROP, "may drop frames of the ring")
    };
    let actions = filter["options"]["actions"].as_array();
    let mut dropping = actions.into_iter().flatten().filter(|it| is_drop(it));
    let count = dropping.find_map(|action| action["stats"]["drops"].as_u64());
    let count = count.map(|count| format!(" that has dropped {count} frames"));
    let (preference, kind) = (&filter["pref"], filter["kind"].as_str());
    Finding::new(found, format!("a tc filter at {interface} {quantity}")).with_evidence(format!(
        "{direction}, preference {preference}: a filter of the kind {}{}",
        kind.unwrap_or_default(),
        count.unwrap_or_default()
    ))
}

/// Returns the remedy. The remedy does not remove the filter, because the filter may belong to another program.
fn remedy(filter: &Value, used: &BTreeSet<u64>, frames: RingFrames<'_>, direction: &str) -> String {
    let RingFrames {
        interface,
        ethertype,
    } = frames;
    let preference = filter["pref"].as_u64().unwrap_or_default();
    // The kernel refuses filters of two protocols with the same preference.
    match (1..preference).find(|it| !used.contains(it)) {
        Some(free) => format!(
            "let frames of the ring pass before: sudo tc filter add dev {interface} {direction} pref {free} protocol \
             {ethertype:#06x} matchall action pass"
        ),
        None => format!(
            "configure the program that added this filter: frames of EtherType {ethertype:#06x} must pass"
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::super::finding::Kind;
    use super::super::super::kinds::{TC_DROPS, TC_MAY_DROP};
    use super::{Finding, RingFrames, findings};

    const FRAMES: RingFrames<'static> = RingFrames {
        interface: "eth0",
        ethertype: 0x88b5,
    };

    /// Returns a filter for all frames of a protocol.
    fn filter(pref: u64, protocol: &str, control: &str) -> Value {
        let actions = json!([{"kind": "gact", "control_action": {"type": control}}]);
        json!({"protocol": protocol, "pref": pref, "kind": "matchall", "chain": 0, "options": {"actions": actions}})
    }

    fn found(filters: &[Value]) -> Vec<Finding> {
        findings(&json!(filters), FRAMES, "ingress")
    }

    fn check(filters: &[Value], expected: Option<&Kind>) {
        let found = found(filters);
        match expected {
            Some(kind) => assert!(
                matches!(&found[..], [one] if one.is(kind)),
                "{filters:?}: {found:?}"
            ),
            None => assert_eq!(found, [], "{filters:?}"),
        }
    }

    #[test]
    fn a_filter_is_found_if_it_can_drop_frames_of_the_ring() {
        let drop = json!({"keys": {}, "actions": [{"kind": "gact", "control_action": {"type": "drop"},
            "stats": {"drops": 12}}]});
        let some = json!({"keys": {"dst_mac": "02:00:00:00:00:01"}, "actions": [{"kind": "gact",
            "control_action": {"type": "drop"}}]});
        let pass = json!({"actions": [{"kind": "gact", "control_action": {"type": "pass"}}]});
        let program = json!({"handle": "0x1", "direct-action": true});
        for (protocol, kind, options, expected) in [
            ("all", "matchall", &drop, Some(&TC_DROPS)),
            ("[34997]", "flower", &drop, Some(&TC_DROPS)),
            ("[34997]", "flower", &some, Some(&TC_MAY_DROP)),
            ("all", "u32", &drop, Some(&TC_MAY_DROP)),
            ("ip", "flower", &drop, None),
            ("all", "matchall", &pass, None),
            ("all", "bpf", &program, Some(&TC_MAY_DROP)),
        ] {
            let filters = json!([
                {"protocol": protocol, "pref": 49152, "kind": kind, "chain": 0},
                {"protocol": protocol, "pref": 49152, "kind": kind, "chain": 0, "options": options},
            ]);
            check(filters.as_array().expect("an array"), expected);
        }
    }

    #[test]
    fn an_earlier_filter_of_chain_0_decides() {
        let drop = filter(5, "all", "drop");
        let pass = |pref| filter(pref, "[34997]", "pass");
        check(&[drop.clone(), pass(4)], None);
        check(&[drop.clone(), pass(6)], Some(&TC_DROPS));
        check(&[drop.clone(), filter(4, "ip", "pass")], Some(&TC_DROPS));
        check(
            &[drop.clone(), filter(4, "all", "continue")],
            Some(&TC_DROPS),
        );
        let mut some = pass(4);
        some["options"]["keys"] = json!({"dst_mac": "02:00:00:00:00:01"});
        check(&[drop.clone(), some], Some(&TC_MAY_DROP));
        let mut police = drop.clone();
        police["options"]["actions"][0]["kind"] = json!("police");
        check(&[police], Some(&TC_MAY_DROP));
        let mut chance = drop.clone();
        chance["options"]["actions"][0]["prob"] = json!({"random_type": "netrand"});
        check(&[chance], Some(&TC_MAY_DROP));
        let mut other = drop;
        other["chain"] = json!(3);
        check(&[other], None);
    }

    #[test]
    fn the_remedy_lets_frames_pass_and_keeps_the_filter() {
        let drop = |pref| filter(pref, "all", "drop");
        let page = found(&[filter(1, "ip", "pass"), drop(3)])[0].page();
        let command =
            "sudo tc filter add dev eth0 ingress pref 2 protocol 0x88b5 matchall action pass";
        assert!(page.contains(command) && !page.contains("del"), "{page}");
        let page = found(&[drop(1)])[0].page();
        let words = "configure the program that added this filter: frames of EtherType 0x88b5";
        assert!(
            page.contains(words) && !page.contains("tc filter add"),
            "{page}"
        );
    }
}
