//! Tests of the evaluation. The JSON is from nftables 1.0.6.

use serde_json::{Value, json};

use super::{Evaluation, FrameDrop, RingFrames};

const FRAMES: RingFrames<'static> = RingFrames {
    interface: "eth0",
    ethertype: 0x88b5,
};

fn chain(family: &str, hook: &str, policy: &str) -> Value {
    json!({"chain": {"family": family, "table": "f", "name": "in", "handle": 1, "type": "filter",
        "hook": hook, "prio": 0, "policy": policy}})
}

fn rule(family: &str, chain: &str, handle: u64, expr: &Value) -> Value {
    json!({"rule": {"family": family, "table": "f", "chain": chain, "handle": handle, "expr": expr}})
}

fn ether_type(op: &str, right: &Value) -> Value {
    json!({"match": {"op": op, "left": {"payload": {"protocol": "ether", "field": "type"}}, "right": right}})
}

fn meta(key: &str, right: &Value) -> Value {
    json!({"match": {"op": "==", "left": {"meta": {"key": key}}, "right": right}})
}

fn drops(objects: &[Value], ports: &[&str]) -> Vec<FrameDrop> {
    let ruleset = json!({"nftables": objects});
    let ports: Vec<String> = ports.iter().map(|&port| port.to_owned()).collect();
    Evaluation::find_drops(&ruleset, FRAMES, &ports, |_, device| device == "eth0")
}

/// For each drop, returns the number of the rule, and whether the rule drops all frames.
fn summary(found: &[FrameDrop]) -> Vec<(Option<u64>, bool)> {
    found.iter().map(|it| (it.handle, it.drops_all)).collect()
}

#[test]
fn a_rule_is_found_if_it_can_match_frames_of_the_ring() {
    let drop = json!({"drop": null});
    let cases = [
        (vec![ether_type("==", &json!(34_997))], Some(true)),
        (vec![ether_type("==", &json!("ip"))], None),
        (vec![ether_type("!=", &json!("ip"))], Some(true)),
        (vec![ether_type("!=", &json!(34_997))], None),
        (
            vec![meta("protocol", &json!({"set": ["ip", 34_997]}))],
            Some(true),
        ),
        (vec![meta("protocol", &json!({"set": ["ip", "arp"]}))], None),
        (vec![meta("protocol", &json!("@types"))], Some(false)),
        (vec![meta("iifname", &json!("eth0"))], Some(true)),
        (vec![meta("iifname", &json!("eth*"))], Some(true)),
        (vec![meta("iifname", &json!("eth1"))], None),
        (vec![meta("pkttype", &json!("broadcast"))], Some(false)),
        (vec![meta("l4proto", &json!("tcp"))], None),
        (
            vec![
                json!({"match": {"op": "==", "left": {"payload": {"protocol": "ip", "field": "saddr"}},
                "right": "10.0.0.1"}}),
            ],
            None,
        ),
        (
            vec![
                json!({"match": {"op": "==", "left": {"payload": {"protocol": "ether", "field": "saddr"}},
                "right": "02:00:00:00:00:01"}}),
            ],
            Some(false),
        ),
        (
            vec![
                json!({"match": {"op": "==", "left": {"payload": {"base": "ll", "offset": 96, "len": 16}},
                "right": 34_997}}),
            ],
            Some(true),
        ),
        (
            vec![json!({"limit": {"rate": 10, "per": "second", "inv": true}})],
            Some(false),
        ),
        (vec![], Some(true)),
    ];
    for (conditions, expected) in cases {
        let mut expr = conditions.clone();
        expr.push(drop.clone());
        let objects = [
            chain("netdev", "ingress", "accept"),
            rule("netdev", "in", 7, &json!(expr)),
        ];
        let expected: Vec<_> = expected.map(|all| (Some(7), all)).into_iter().collect();
        assert_eq!(summary(&drops(&objects, &[])), expected, "{conditions:?}");
    }
}

#[test]
fn an_earlier_verdict_decides() {
    let own = ether_type("==", &json!(34_997));
    let accept = rule("netdev", "in", 2, &json!([own, {"accept": null}]));
    let accept_some = rule(
        "netdev",
        "in",
        2,
        &json!([meta("mark", &json!(1)), {"accept": null}]),
    );
    let drop_all = rule("netdev", "in", 3, &json!([{"drop": null}]));
    let base = chain("netdev", "ingress", "drop");
    let found = |objects: &[&Value]| {
        let objects: Vec<Value> = objects.iter().map(|&it| it.clone()).collect();
        summary(&drops(&objects, &[]))
    };
    assert_eq!(found(&[&base, &accept, &drop_all]), []);
    assert_eq!(found(&[&base, &drop_all, &accept]), [(Some(3), true)]);
    assert_eq!(found(&[&base]), [(None, true)], "the policy");
    let expected = [(Some(3), false)];
    assert_eq!(found(&[&base, &accept_some, &drop_all])[..1], expected);
}

#[test]
fn a_jump_leads_into_another_chain_and_back() {
    let base = chain("netdev", "ingress", "accept");
    let jump = rule("netdev", "in", 2, &json!([{"jump": {"target": "more"}}]));
    let more = rule(
        "netdev",
        "more",
        5,
        &json!([ether_type("==", &json!(34_997)), {"drop": null}]),
    );
    let found = drops(&[base.clone(), jump.clone(), more], &[]);
    assert_eq!(summary(&found), [(Some(5), true)]);
    assert_eq!(
        (found[0].chain.as_str(), found[0].hooked_chain.as_str()),
        ("netdev f more", "netdev f in")
    );
    let back = rule("netdev", "more", 5, &json!([{"return": null}]));
    let after = rule("netdev", "in", 6, &json!([{"drop": null}]));
    assert_eq!(
        summary(&drops(&[base.clone(), jump, back, after], &[])),
        [(Some(6), true)]
    );
    let endless = rule("netdev", "in", 2, &json!([{"jump": {"target": "in"}}]));
    assert_eq!(drops(&[base, endless], &[]), []);
}

#[test]
fn only_chains_that_see_the_frames_count() {
    let drop = |family: &str| {
        rule(
            family,
            "in",
            2,
            &json!([{"counter": {"packets": 9, "bytes": 1}}, {"drop": null}]),
        )
    };
    for (family, ports, expected) in [
        ("netdev", &[][..], 1),
        ("bridge", &["p1"], 1),
        ("bridge", &[], 0),
        ("inet", &["p1"], 0),
        ("arp", &["p1"], 0),
    ] {
        let found = drops(&[chain(family, "input", "accept"), drop(family)], ports);
        assert_eq!(found.len(), expected, "{family}");
        assert!(found.iter().all(|it| it.frames == Some(9)), "{found:?}");
    }
    for (device, expected) in [
        (json!("eth0"), 1),
        (json!(["eth1", "eth0"]), 1),
        (json!("eth1"), 0),
    ] {
        let mut base = chain("netdev", "ingress", "accept");
        base["chain"]["dev"] = device;
        assert_eq!(drops(&[base, drop("netdev")], &[]).len(), expected);
    }
}

/// Evaluates a chain with these rules. For each drop, returns whether it drops all frames. The interface is a bridge
/// with two ports.
fn drops_all_of(chain: &Value, flags: &Value, rules: &[Value]) -> Vec<bool> {
    let family = &chain["chain"]["family"];
    let family = family.as_str().expect("a family");
    let table = json!({"table": {"family": family, "name": "f", "handle": 1, "flags": flags}});
    let mut objects = vec![table, chain.clone()];
    let rules = rules.iter().zip(2..);
    objects.extend(rules.map(|(expr, handle)| rule(family, "in", handle, expr)));
    let found = drops(&objects, &["p1", "p2"]);
    found.iter().map(|it| it.drops_all).collect()
}

#[test]
fn a_hook_that_some_frames_do_not_pass_drops_only_some() {
    let drop = [json!([{"drop": null}])];
    for (device, expected) in [
        (json!("p1"), vec![false]),
        (json!(["p1", "p2"]), vec![true]),
        (json!(["p1", "eth0"]), vec![true]),
        (json!("p3"), vec![]),
    ] {
        let mut base = chain("netdev", "ingress", "accept");
        base["chain"]["dev"] = device.clone();
        let found = drops_all_of(&base, &Value::Null, &drop);
        assert_eq!(found, expected, "{device}");
    }
    for (hook, expected) in [("forward", false), ("input", true), ("prerouting", true)] {
        let base = chain("bridge", hook, "accept");
        let found = drops_all_of(&base, &Value::Null, &drop);
        assert_eq!(found, [expected], "{hook}");
        let base = chain("bridge", hook, "drop");
        assert_eq!(drops_all_of(&base, &Value::Null, &[]), [expected], "{hook}");
    }
    let mut inner = chain("netdev", "", "drop");
    let object = inner["chain"].as_object_mut().expect("an object");
    object.remove("hook");
    let found = drops_all_of(&inner, &Value::Null, &drop);
    assert!(found.is_empty(), "it has no hook");
}

#[test]
fn a_dormant_table_drops_nothing() {
    let base = chain("netdev", "ingress", "drop");
    for (flags, expected) in [
        (json!("dormant"), vec![]),
        (json!(["owner", "dormant"]), vec![]),
        (json!("owner"), vec![true]),
        (json!(["owner", "persist"]), vec![true]),
        (json!("f"), vec![false]),
    ] {
        assert_eq!(drops_all_of(&base, &flags, &[]), expected, "{flags}");
    }
}

#[test]
fn after_an_exception_for_some_frames_a_drop_concerns_only_the_rest() {
    let base = chain("netdev", "ingress", "accept");
    let saddr = json!({"match": {"op": "==", "left": {"payload": {"protocol": "ether", "field": "saddr"}},
        "right": "@members"}});
    let map = json!({"vmap": {"key": {"meta": {"key": "protocol"}},
        "data": {"set": [["ip", {"drop": null}], [34_997, {"accept": null}]]}}});
    let ip = ether_type("==", &json!("ip"));
    for (exception, expected) in [
        (json!([saddr, {"return": null}]), vec![false]),
        (json!([ip, {"return": null}]), vec![true]),
        (json!([{"return": null}]), vec![]),
        (json!([saddr, {"goto": {"target": "none"}}]), vec![false]),
        (json!([map]), vec![false]),
        (json!([ip, map]), vec![true]),
    ] {
        let rules = [exception.clone(), json!([{"drop": null}])];
        let found = drops_all_of(&base, &Value::Null, &rules);
        assert_eq!(found, expected, "{exception}");
    }
}
