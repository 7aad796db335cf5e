//! Findings about the rules of nftables.

use serde_json::Value;

use super::super::finding::Finding;
use super::super::kinds::{FIREWALL_DROPS, FIREWALL_MAY_DROP, FIREWALL_UNREAD};
use super::nft::{Evaluation, FrameDrop};
use super::{RingFrames, program};

/// Checks the rules. Returns no findings if the machine has no `nft`.
pub(super) fn check(frames: RingFrames<'_>, ports: &[String]) -> Vec<Finding> {
    // With `-t`, `nft` omits the elements of sets, which may be many. The checks do not use these elements.
    match program::run("nft", &["-j", "-t", "list", "ruleset"]) {
        None => Vec::new(),
        Some(Err(error)) => vec![
            Finding::new(&FIREWALL_UNREAD, "the rules of nftables were not checked")
                .with_evidence(format!("nft: {error}"))
                .with_remedy(if rustix::process::geteuid().is_root() {
                    "look for the reason: nft -j -t list ruleset"
                } else {
                    "run: sudo ringctl doctor"
                }),
        ],
        Some(Ok(ruleset)) => findings(&ruleset, frames, ports, has_device),
    }
}

fn findings(
    ruleset: &Value,
    frames: RingFrames<'_>,
    ports: &[String],
    has_device: impl Fn(&str, &str) -> bool,
) -> Vec<Finding> {
    let drops = Evaluation::find_drops(ruleset, frames, ports, has_device);
    drops.iter().map(|drop| finding(drop, frames)).collect()
}

fn finding(drop: &FrameDrop, frames: RingFrames<'_>) -> Finding {
    let RingFrames {
        interface,
        ethertype,
    } = frames;
    let (kind, quantity) = if drop.drops_all {
        (
            &FIREWALL_DROPS,
            format!("frames of the ring at {interface}"),
        )
    } else {
        (
            &FIREWALL_MAY_DROP,
            format!("some frames at {interface}, perhaps frames of the ring"),
        )
    };
    let by = match drop.handle {
        Some(handle) => format!("rule {handle} of the chain {}", drop.chain),
        None => format!("the policy of the chain {}", drop.chain),
    };
    let comment = drop
        .comment
        .as_ref()
        .map(|it| format!(" ({it})"))
        .unwrap_or_default();
    let count = drop
        .frames
        .map(|count| format!("; the rule has counted {count} frames"));
    Finding::new(kind, format!("nftables drops {quantity}: {by}{comment}"))
        .with_evidence(format!(
            "the hook is {}{}; show the rules: nft -a list chain {}",
            drop.hook,
            count.unwrap_or_default(),
            drop.chain
        ))
        .with_remedy(format!(
            "run: sudo nft insert rule {} ether type {ethertype:#06x} accept",
            drop.hooked_chain
        ))
}

/// Whether a chain is attached to this device. Reads the text of the chain, because the JSON of `nft` before version
/// 1.0.9 does not contain the devices.
fn has_device(chain: &str, device: &str) -> bool {
    let arguments: Vec<&str> = ["-t", "list", "chain"]
        .into_iter()
        .chain(chain.split(' '))
        .collect();
    // If the text cannot be read, assume that the chain is attached to the device.
    match program::run_for_text("nft", &arguments) {
        Some(Ok(text)) => names_device(&text, device),
        _ => true,
    }
}

fn names_device(text: &str, device: &str) -> bool {
    let hooks = text.lines().filter(|line| line.contains(" hook "));
    let separator = |it: char| it.is_whitespace() || ['"', ',', '{', '}', ';'].contains(&it);
    let mut words = hooks.flat_map(|line| line.split(separator));
    words.any(|word| word == device)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::kinds::{FIREWALL_DROPS, FIREWALL_MAY_DROP};
    use super::{RingFrames, findings, names_device};

    #[test]
    fn a_finding_names_the_rule_and_the_command_that_helps() {
        let frames = RingFrames {
            interface: "eth0",
            ethertype: 0x88b5,
        };
        let rule = |condition: &serde_json::Value| {
            json!({"nftables": [
            {"chain": {"family": "netdev", "table": "filter", "name": "ingress", "hook": "ingress",
                "policy": "accept"}},
            {"rule": {"family": "netdev", "table": "filter", "chain": "ingress", "handle": 4, "comment": "no rings",
                "expr": [condition, {"counter": {"packets": 17, "bytes": 0}}, {"drop": null}]}}]})
        };
        let all =
            json!({"match": {"op": "==", "left": {"meta": {"key": "protocol"}}, "right": 0x88b5}});
        let found = findings(&rule(&all), frames, &[], |_, _| true);
        assert!(found[0].is(&FIREWALL_DROPS));
        let page = found[0].page();
        for words in [
            "rule 4 of the chain netdev filter ingress (no rings)",
            "has counted 17 frames",
            "sudo nft insert rule netdev filter ingress ether type 0x88b5 accept",
        ] {
            assert!(page.contains(words), "{page}");
        }
        let some = json!({"limit": {"rate": 1}});
        assert!(findings(&rule(&some), frames, &[], |_, _| true)[0].is(&FIREWALL_MAY_DROP));
        assert_eq!(findings(&rule(&all), frames, &[], |_, _| false), []);
    }

    #[test]
    fn the_device_of_a_chain_is_a_whole_word_of_its_hook() {
        for (hook, expected) in [
            (
                "type filter hook ingress device \"eth0\" priority filter; policy accept;",
                true,
            ),
            (
                "type filter hook ingress devices = { eth1, eth0 } priority filter; policy accept;",
                true,
            ),
            (
                "type filter hook ingress device \"eth01\" priority filter; policy accept;",
                false,
            ),
        ] {
            let text = format!("table netdev f {{\n\tchain eth0 {{\n\t\t{hook}\n\t}}\n}}\n");
            assert_eq!(names_device(&text, "eth0"), expected, "{hook}");
        }
    }
}
