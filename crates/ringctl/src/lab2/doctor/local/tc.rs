//! Findings about the filters of `tc` at the interface.

use serde_json::Value;

use super::super::finding::Finding;
use super::super::kinds::{TC_DROPS, TC_MAY_DROP};
use super::{RingFrames, program};

/// Checks the filters of both directions. Returns no findings if the machine has no `tc`.
pub(super) fn check(frames: RingFrames<'_>) -> Vec<Finding> {
    let found = ["ingress", "egress"].into_iter().flat_map(|direction| {
        let arguments = [
            "-s",
            "-j",
            "filter",
            "show",
            "dev",
            frames.interface,
            direction,
        ];
        let filters = program::run("tc", &arguments).and_then(Result::ok);
        filters.map_or_else(Vec::new, |filters| findings(&filters, frames, direction))
    });
    found.collect()
}

fn findings(filters: &Value, frames: RingFrames<'_>, direction: &str) -> Vec<Finding> {
    let filters = filters.as_array().map_or(&[][..], Vec::as_slice);
    let found = filters.iter().filter_map(|filter| {
        let options = filter.get("options")?;
        let kind = filter["kind"].as_str()?;
        let ethertype = frames.ethertype;
        let protocol = filter["protocol"].as_str()?;
        if protocol != "all" && protocol != format!("[{ethertype}]") {
            return None;
        }
        let action = drop_action(options);
        if action.is_none() && options["direct-action"] != true {
            return None;
        }
        // `matchall`, and a filter without keys, match all frames of the protocol.
        let has_keys = options["keys"]
            .as_object()
            .is_some_and(|keys| !keys.is_empty());
        let drops_all = action.is_some() && matches!(kind, "matchall" | "flower") && !has_keys;
        let interface = frames.interface;
        let preference = &filter["pref"];
        let (found, quantity) = if drops_all {
            (&TC_DROPS, "drops the frames of the ring")
        } else {
            (&TC_MAY_DROP, "may drop frames of the ring")
        };
        let count = action.and_then(|action| action["stats"]["drops"].as_u64());
        let count = count.map(|count| format!(" that has dropped {count} frames"));
        Some(
            Finding::new(found, format!("a tc filter at {interface} {quantity}"))
                .with_evidence(format!(
                    "{direction}, preference {preference}: a filter of the kind {kind}{}",
                    count.unwrap_or_default()
                ))
                .with_remedy(format!(
                    "run: sudo tc filter del dev {interface} {direction} pref {preference}"
                )),
        )
    });
    found.collect()
}

/// Returns the first action of a filter that drops frames.
fn drop_action(options: &Value) -> Option<&Value> {
    let mut actions = options["actions"].as_array()?.iter();
    actions.find(|action| {
        let control = &action["control_action"]["type"];
        control == "drop" || control == "shot"
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::kinds::{TC_DROPS, TC_MAY_DROP};
    use super::{RingFrames, findings};

    #[test]
    fn a_filter_is_found_if_it_can_drop_frames_of_the_ring() {
        let frames = RingFrames {
            interface: "eth0",
            ethertype: 0x88b5,
        };
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
            let found = findings(&filters, frames, "ingress");
            match expected {
                Some(kind) => assert!(matches!(&found[..], [one] if one.is(kind)), "{found:?}"),
                None => assert_eq!(found, [], "{protocol} {kind}"),
            }
        }
    }
}
