//! `ringctl doctor` on real machines with faults.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_segment::{
    Daemon, Layout, Node, Ring, Ringd, Segment, Test, Timing, WAIT_LIMIT, binaries, tests,
};
use serde_json::{Value, json};

/// A heartbeat with which a busy test machine causes no false alarm.
const HEARTBEAT: Duration = Duration::from_millis(200);

pub(crate) fn tests() -> Vec<Test> {
    // The command would report a stalled daemon as a finding.
    let healthy = tests![
        a_healthy_ring_has_a_complete_matrix_and_no_finding,
        a_rule_that_drops_all_frames_of_a_lonely_member_is_named,
    ];
    let faulty = tests![
        a_member_with_another_rule_for_its_locks_is_named,
        frames_that_a_filter_drops_in_one_direction_are_named_at_both_ends,
        a_machine_with_a_smaller_mtu_is_named,
        a_machine_without_a_daemon_is_examined,
        a_user_without_rights_gets_a_finding,
    ];
    let healthy = healthy.into_iter().map(Test::without_stalls);
    healthy.chain(faulty).collect()
}

/// Forms a ring of three members. Their constants make the stalls of a busy machine harmless.
fn form() -> Result<Ring> {
    let timing = Timing::stall_tolerant(HEARTBEAT);
    let ring = Ring::start(Layout::new(3).bridge()?, 3, timing, binaries())?;
    ring.wait_until_formed()?;
    Ok(ring)
}

/// Runs a program on a node. Returns its exit code and its standard output.
fn run(node: &Node, command: &mut Command) -> Result<(Option<i32>, String)> {
    let output = node
        .ns()
        .spawn(command.stdin(Stdio::null()).stdout(Stdio::piped()))?
        .wait_with_output()?;
    Ok((output.status.code(), String::from_utf8(output.stdout)?))
}

fn nft(node: &Node, script: &str) -> Result<()> {
    let (code, text) = run(node, Command::new("nft").arg(script))?;
    ensure!(code == Some(0), "install nftables: {script}: {text}");
    Ok(())
}

fn tc(node: &Node, arguments: &[&str]) -> Result<()> {
    let (code, _) = run(node, Command::new("tc").args(arguments))?;
    ensure!(code == Some(0), "tc refused {arguments:?}");
    Ok(())
}

/// Drops the frames that match `condition` on their way to a node.
fn drop_incoming(node: &Node, condition: &str) -> Result<()> {
    let chain = "add chain netdev f in { type filter hook ingress device eth0 priority 0; }";
    let rule = format!("add rule netdev f in {condition} counter drop");
    nft(node, &format!("add table netdev f; {chain}; {rule}"))
}

/// Examines the ring of a daemon. Returns the exit code and the JSON.
fn examine(daemon: &Daemon) -> Result<(Option<i32>, Value)> {
    let output = daemon.ringctl(&["doctor", "--json"])?;
    let json = serde_json::from_slice(&output.stdout);
    let json = json.with_context(|| format!("not JSON: {output:?}"))?;
    Ok((output.status.code(), json))
}

/// Returns the findings of a kind.
fn findings<'a>(found: &'a Value, kind: &str) -> Vec<&'a Value> {
    let all = found["findings"].as_array().into_iter().flatten();
    all.filter(|finding| finding["kind"] == kind).collect()
}

/// Checks that a finding of this kind contains these words in one of its texts.
fn check_finding(found: &Value, kind: &str, words: &str) -> Result<()> {
    let matching = findings(found, kind);
    let has = matching.iter().any(|it| it.to_string().contains(words));
    ensure!(has, "no {kind} with {words}: {:#}", found["findings"]);
    Ok(())
}

fn a_healthy_ring_has_a_complete_matrix_and_no_finding() -> Result<()> {
    let ring = form()?;
    let (code, found) = examine(&ring.daemons[0])?;
    ensure!(code == Some(0), "{code:?}: {found:#}");
    ensure!(found["findings"] == json!([]), "{found:#}");
    let pairs = found["survey"]["pairs"].as_array().context("no pairs")?;
    ensure!(pairs.len() == 6, "{found:#}");
    for pair in pairs {
        let (sender, receiver) = (&pair["sender"], &pair["receiver"]);
        ensure!(receiver["arrived"] == sender["sent"], "{pair:#}");
        ensure!(
            sender["round_trip"]["max_ns"].as_u64() > Some(0),
            "{pair:#}"
        );
    }
    ensure!(
        found["shortest_heartbeat"]["shortest_ns"].as_u64() >= Some(1_000_000),
        "{found:#}"
    );
    ring.check()
}

/// A filter drops the frames of one member at another member. The third member examines the ring.
fn frames_that_a_filter_drops_in_one_direction_are_named_at_both_ends() -> Result<()> {
    let ring = form()?;
    let [from, _, to] = [0, 1, 2].map(|place| ring.segment.node(place));
    drop_incoming(to, &format!("ether saddr {}", from.mac()))?;
    let (code, found) = examine(&ring.daemons[1])?;
    ensure!(code == Some(1), "{code:?}: {found:#}");
    let one_way = findings(&found, "one_way");
    ensure!(one_way.len() == 1, "{found:#}");
    let text = one_way[0]["text"].as_str().unwrap_or_default();
    let first = text
        .find(&from.mac().to_string())
        .context("the sender is not named")?;
    let second = text
        .find(&to.mac().to_string())
        .context("the receiver is not named")?;
    ensure!(first < second, "{text}");
    // The machine with the filter names the rule.
    let (_, found) = examine(&ring.daemons[2])?;
    check_finding(&found, "firewall_may_drop", "of the chain netdev f in")
}

fn a_machine_with_a_smaller_mtu_is_named() -> Result<()> {
    let ring = form()?;
    let node = ring.segment.node(2);
    node.ns().ip("link set eth0 mtu 576\n")?;
    ring.daemons[2].wait_for_line(WAIT_LIMIT, |line| line.contains("MTU 576"))?;
    let (code, found) = examine(&ring.daemons[0])?;
    ensure!(code == Some(1), "{code:?}: {found:#}");
    let mac = node.mac();
    check_finding(&found, "member_mtu", &format!("the MTU of {mac}"))?;
    let lost = findings(&found, "large_frames_lost");
    ensure!(lost.is_empty(), "the MTU explains the loss: {lost:#?}");
    Ok(())
}

fn a_rule_that_drops_all_frames_of_a_lonely_member_is_named() -> Result<()> {
    let segment = Segment::bridge(2)?;
    let node = segment.node(1).clone();
    drop_incoming(&node, "ether type 0x88b5")?;
    let timing = Timing::stall_tolerant(HEARTBEAT);
    let ring = Ring::start(segment, 2, timing, binaries())?;
    ring.daemons[1].wait_for_status(WAIT_LIMIT, |status| status["state"] == "OWNER")?;
    let (code, found) = examine(&ring.daemons[1])?;
    ensure!(code == Some(1), "{code:?}: {found:#}");
    check_finding(&found, "firewall_drops", "of the chain netdev f in")?;
    check_finding(
        &found,
        "firewall_drops",
        "nft insert rule netdev f in ether type 0x88b5 accept",
    )?;
    check_finding(&found, "no_other_member", "knows no other member")?;
    // The remedy works.
    nft(&node, "insert rule netdev f in ether type 0x88b5 accept")?;
    ring.wait_until_formed()?;
    let (code, found) = examine(&ring.daemons[1])?;
    ensure!(code == Some(0), "{code:?}: {found:#}");
    Ok(())
}

fn a_machine_without_a_daemon_is_examined() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let node = segment.node(0);
    let doctor = |arguments: &[&str]| -> Result<(Option<i32>, Value)> {
        let mut command = Command::new(binaries().ringctl);
        let (code, text) = run(node, command.args(["doctor", "--json"]).args(arguments))?;
        Ok((code, serde_json::from_str(&text).context("not JSON")?))
    };
    let (code, found) = doctor(&[])?;
    ensure!(code == Some(1), "{code:?}: {found:#}");
    check_finding(&found, "no_daemon", "sudo ringd IFACE")?;
    let (code, found) = doctor(&["eth0"])?;
    ensure!(code == Some(1), "{code:?}: {found:#}");
    check_finding(&found, "no_daemon", "run: sudo ringd eth0")?;
    ensure!(
        found["findings"].as_array().map(Vec::len) == Some(1),
        "{found:#}"
    );
    node.ns().ip("link set eth0 down\n")?;
    tc(node, &["qdisc", "add", "dev", "eth0", "clsact"])?;
    let filter = "filter add dev eth0 ingress bpf direct-action bytecode";
    let drop_all = ["1,6 0 0 2,"];
    tc(node, &filter.split(' ').chain(drop_all).collect::<Vec<_>>())?;
    drop_incoming(node, "ether type != ip")?;
    let (_, found) = doctor(&["eth0"])?;
    check_finding(&found, "interface_down", "sudo ip link set eth0 up")?;
    check_finding(&found, "firewall_drops", "of the chain netdev f in")?;
    check_finding(
        &found,
        "tc_may_drop",
        "sudo tc filter add dev eth0 ingress pref 1 protocol 0x88b5 matchall action pass",
    )?;
    let (_, found) = doctor(&["eth7"])?;
    check_finding(&found, "no_interface", "eth0")
}

/// A user may connect to neither socket of the daemon.
fn a_user_without_rights_gets_a_finding() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let node = segment.node(0);
    let daemon = node.ringd(binaries()).default_places().spawn()?;
    daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("OWNER"))?;
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    command.args([binaries().ringctl, "doctor", "eth0", "--json"]);
    let (code, text) = run(node, &mut command)?;
    let found: Value = serde_json::from_str(&text).with_context(|| format!("not JSON: {text}"))?;
    ensure!(code == Some(1), "{code:?}: {found:#}");
    check_finding(&found, "no_answer", "try sudo")?;
    check_finding(&found, "firewall_unread", "sudo ringctl doctor")
}

fn a_member_with_another_rule_for_its_locks_is_named() -> Result<()> {
    let started = AtomicUsize::new(0);
    let all_but_first = move |ringd: Ringd| {
        let is_first = started.fetch_add(1, Ordering::Relaxed) == 0;
        ringd.option("--require", if is_first { "alone" } else { "quorum" })
    };
    let timing = Timing::stall_tolerant(HEARTBEAT);
    let segment = Layout::new(3).bridge()?;
    let ring = Ring::start_with(segment, 3, timing, binaries(), all_but_first)?;
    ring.wait_until_formed()?;
    let (code, found) = examine(&ring.daemons[1])?;
    ensure!(code == Some(1), "{code:?}: {found:#}");
    let words = format!(
        "{} requires the grade alone for locks",
        ring.daemons[0].node().mac()
    );
    check_finding(&found, "require_differs", &words)?;
    check_finding(&found, "require_differs", "2 of 3 members require quorum")
}
