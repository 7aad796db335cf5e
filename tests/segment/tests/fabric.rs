//! Tests of the segment, on which the other tests rely.

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ring_segment::{
    Digest, ETHERTYPE, Layout, MacAddr, Message, NetNs, Peer, Segment, Token, frame, tests,
};

const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(5);
const SILENCE_TIME: Duration = Duration::from_millis(100);

fn main() -> ExitCode {
    ring_segment::main(tests![
        the_sandbox_is_isolated_from_the_machine,
        nodes_hear_each_other_over_a_bridge,
        the_capture_sees_every_frame_once_and_in_order,
        the_capture_is_not_behind_the_nodes,
        the_capture_shows_the_node_that_really_sent_a_frame,
        a_cut_node_keeps_its_carrier_and_hears_nothing,
        a_node_notices_an_unplugged_cable_and_the_cable_can_be_plugged_in_again,
        an_interface_can_be_removed_and_added_again,
        the_switch_learns_and_floods,
        the_switch_loses_and_duplicates_by_its_rules,
        no_frame_crosses_between_partitions_of_the_switch,
        the_switch_delays_and_reorders,
        the_switch_removes_named_locks_from_the_frames_of_an_old_member,
        only_frames_of_the_ethertype_are_captured,
        nodes_have_the_requested_addresses_and_random_macs,
        a_pair_has_one_cable,
    ])
}

fn ping(hash: u64) -> Message {
    Message::Ping {
        digest: Digest { size: 1, hash },
        ip: [0; 16],
    }
}

fn hashes(frames: &[ring_segment::Seen]) -> Vec<u64> {
    frames
        .iter()
        .filter_map(|seen| Some(seen.message.digest()?.hash))
        .collect()
}

fn peers<const N: usize>(segment: &Segment) -> Result<[Peer; N]> {
    let peers: Vec<Peer> = (0..N)
        .map(|n| segment.node(n).peer())
        .collect::<Result<_>>()?;
    Ok(peers.try_into().expect("there are as many nodes"))
}

fn the_sandbox_is_isolated_from_the_machine() -> Result<()> {
    let links = Command::new("ip").args(["-brief", "link"]).output()?;
    let links = String::from_utf8(links.stdout)?;
    ensure!(
        links.lines().all(|line| line.starts_with("lo ")),
        "the sandbox has more than lo: {links}"
    );
    ensure!(
        std::process::id() == 1,
        "process {} would outlive the sandbox",
        std::process::id()
    );
    Ok(())
}

fn nodes_hear_each_other_over_a_bridge() -> Result<()> {
    let segment = Segment::bridge(3)?;
    let [a, b, c] = peers(&segment)?;
    a.broadcast(&Message::WhereIsToken)?;
    for peer in [&b, &c] {
        let seen = peer.expect(ARRIVAL_TIMEOUT, |seen| {
            seen.message == Message::WhereIsToken
        })?;
        ensure!(seen.src == a.mac() && seen.is_broadcast());
    }
    let token = Token {
        progress: 7,
        author: b.mac(),
        number: 1,
    };
    b.send(
        a.mac(),
        &Message::TokenWasHereRecently {
            token,
            holder: c.mac(),
        },
    )?;
    a.expect(ARRIVAL_TIMEOUT, |seen| seen.message.token() == Some(token))?;
    ensure!(
        c.receive(SILENCE_TIME)?.is_none(),
        "the peer received an answer to another station"
    );
    ensure!(
        b.receive(SILENCE_TIME)?.is_none(),
        "a peer heard its own frame"
    );
    Ok(())
}

fn the_capture_sees_every_frame_once_and_in_order() -> Result<()> {
    let segment = Segment::bridge(4)?;
    let peer = segment.node(1).peer()?;
    let before = ring_segment::now();
    for number in 0..500 {
        let dst = if number % 2 == 0 {
            MacAddr::broadcast()
        } else {
            segment.node(2).mac()
        };
        peer.send(dst, &ping(number))?;
    }
    let after = ring_segment::now();
    segment.capture().wait_until(ARRIVAL_TIMEOUT, |frames| {
        (frames.len() >= 500).then_some(())
    })?;
    let frames = segment.capture().frames();
    ensure!(hashes(&frames) == (0..500).collect::<Vec<_>>());
    ensure!(
        frames.is_sorted_by_key(|seen| seen.at),
        "the stamps go back"
    );
    ensure!(
        frames
            .iter()
            .all(|seen| before <= seen.at && seen.at <= after + ARRIVAL_TIMEOUT)
    );
    Ok(())
}

/// When the node's socket delivers the frame, the capture already contains it.
fn the_capture_is_not_behind_the_nodes() -> Result<()> {
    let segment = Segment::bridge(2)?;
    let [a, b] = peers(&segment)?;
    for number in 0..500 {
        let mark = segment.capture().mark();
        a.broadcast(&ping(number))?;
        b.expect(ARRIVAL_TIMEOUT, |seen| seen.message == ping(number))?;
        let frames = segment.capture().frames_from(mark);
        ensure!(hashes(&frames) == [number], "{number}: {frames:?}");
    }
    Ok(())
}

fn the_capture_shows_the_node_that_really_sent_a_frame() -> Result<()> {
    let segment = Segment::bridge(3)?;
    let (honest, forger) = (segment.node(0), segment.node(2).peer()?);
    forger.send_as(honest.mac(), MacAddr::broadcast(), &Message::Leaving)?;
    let seen = segment.capture().wait_from(0, ARRIVAL_TIMEOUT, |_| true)?;
    ensure!(seen.port == 2 && seen.src == honest.mac(), "{seen:?}");
    Ok(())
}

/// Returns the state of the second node's link.
fn link_of(segment: &Segment) -> Result<String> {
    let ns = segment.node(1).ns();
    ns.ask_ip(&["-brief", "link", "show", "eth0"])
}

fn a_cut_node_keeps_its_carrier_and_hears_nothing() -> Result<()> {
    for segment in [Segment::bridge(3)?, Segment::switch(3, 1)?] {
        let [a, b] = peers(&segment)?;
        segment.cut(1)?;
        a.broadcast(&ping(1))?;
        b.broadcast(&ping(2))?;
        ensure!(
            a.receive(SILENCE_TIME)?.is_none() && b.receive(SILENCE_TIME)?.is_none(),
            "the node is not cut off"
        );
        let link = link_of(&segment)?;
        ensure!(
            link.contains("UP") && !link.contains("NO-CARRIER"),
            "{link}"
        );
        // The capture also records a frame that no port receives.
        segment
            .capture()
            .wait_from(0, ARRIVAL_TIMEOUT, |seen| seen.port == 1)?;
        segment.heal(1)?;
        a.broadcast(&ping(3))?;
        b.expect(ARRIVAL_TIMEOUT, |seen| seen.message == ping(3))?;
    }
    Ok(())
}

fn a_node_notices_an_unplugged_cable_and_the_cable_can_be_plugged_in_again() -> Result<()> {
    let segment = Segment::bridge(2)?;
    segment.lose_carrier(1)?;
    let link = link_of(&segment)?;
    ensure!(link.contains("NO-CARRIER"), "{link}");
    segment.regain_carrier(1)?;
    segment.wait_for_link(1)?;
    let [a, b] = peers(&segment)?;
    a.broadcast(&ping(1))?;
    b.expect(ARRIVAL_TIMEOUT, |seen| seen.message == ping(1))?;
    Ok(())
}

fn an_interface_can_be_removed_and_added_again() -> Result<()> {
    let mut segment = Segment::bridge(2)?;
    segment.unplug(1)?;
    segment
        .node(1)
        .peer()
        .err()
        .context("there is no interface")?;
    segment.plug(1)?;
    segment.wait_for_link(1)?;
    segment.node(1).peer()?.broadcast(&ping(1))?;
    let seen = segment.capture().wait_from(0, ARRIVAL_TIMEOUT, |_| true)?;
    ensure!(seen.port == 1 && seen.src == segment.node(1).mac());
    Ok(())
}

fn the_switch_learns_and_floods() -> Result<()> {
    let segment = Segment::switch(3, 1)?;
    let [a, b, c] = peers(&segment)?;
    a.broadcast(&ping(1))?;
    b.expect(ARRIVAL_TIMEOUT, |seen| seen.message == ping(1))?;
    c.expect(ARRIVAL_TIMEOUT, |seen| seen.message == ping(1))?;
    b.send(a.mac(), &ping(2))?;
    a.expect(ARRIVAL_TIMEOUT, |seen| seen.message == ping(2))?;
    ensure!(
        c.receive(SILENCE_TIME)?.is_none(),
        "the switch flooded a frame to a station whose port it had learned"
    );
    let frames = segment.capture().frames();
    ensure!(hashes(&frames) == [1, 2], "{frames:?}");
    Ok(())
}

/// Number of the last frame. The earlier frames have the numbers from 0.
const LAST: u64 = 1000;

/// Returns the numbers of the frames that passed the switch. The switch keeps their order. The last frame shows that
/// the switch has handled all frames. The function sends the last frame repeatedly, because the switch may lose a
/// frame.
fn received_before_the_last(from: &Peer, to: &Peer) -> Result<Vec<u64>> {
    let mut received = Vec::new();
    let until = Instant::now() + ARRIVAL_TIMEOUT;
    while Instant::now() < until {
        from.broadcast(&ping(LAST))?;
        while let Some(seen) = to.receive(SILENCE_TIME)? {
            match seen.message.digest().context("a ping")?.hash {
                LAST => return Ok(received),
                number => received.push(number),
            }
        }
    }
    anyhow::bail!("the last frame did not arrive in {ARRIVAL_TIMEOUT:?}")
}

fn the_switch_loses_and_duplicates_by_its_rules() -> Result<()> {
    let mut outcomes = Vec::new();
    for _ in 0..2 {
        let segment = Segment::switch(2, 42)?;
        let [a, b] = peers(&segment)?;
        segment
            .rules()
            .set(|rules| (rules.loss, rules.duplication) = (0.3, 0.2));
        for number in 0..LAST {
            a.broadcast(&ping(number))?;
        }
        outcomes.push(received_before_the_last(&a, &b)?);
    }
    ensure!(
        outcomes[0] == outcomes[1],
        "the same seed had a different outcome"
    );
    let received = &outcomes[0];
    let mut distinct = received.clone();
    distinct.dedup();
    ensure!(
        (600..800).contains(&distinct.len()),
        "{} of 1000 frames arrived",
        distinct.len()
    );
    let doubles = received.len() - distinct.len();
    ensure!(
        (90..190).contains(&doubles),
        "{doubles} frames arrived twice"
    );
    Ok(())
}

fn no_frame_crosses_between_partitions_of_the_switch() -> Result<()> {
    let segment = Segment::switch(3, 1)?;
    let [a, b, c] = peers(&segment)?;
    segment.rules().set(|rules| rules.partition = vec![0, 1, 0]);
    a.broadcast(&ping(1))?;
    c.expect(ARRIVAL_TIMEOUT, |seen| seen.message == ping(1))?;
    ensure!(b.receive(SILENCE_TIME)?.is_none(), "a frame crossed over");
    segment.rules().set(|rules| rules.partition = vec![0, 0, 0]);
    a.broadcast(&ping(2))?;
    b.expect(ARRIVAL_TIMEOUT, |seen| seen.message == ping(2))?;
    Ok(())
}

fn the_switch_delays_and_reorders() -> Result<()> {
    let segment = Segment::switch(2, 5)?;
    let [a, b] = peers(&segment)?;
    segment
        .rules()
        .set(|rules| rules.delay = Duration::from_millis(20)..Duration::from_millis(60));
    let mut first = None;
    for number in 0..50 {
        let at = a.broadcast(&ping(number))?;
        first.get_or_insert(at);
    }
    let mut received = Vec::new();
    while received.len() < 50 {
        let seen = b.receive(ARRIVAL_TIMEOUT)?;
        received.push(seen.with_context(|| format!("{} of 50 frames arrived", received.len()))?);
    }
    let order = hashes(&received);
    ensure!(!order.is_sorted(), "no frame overtook another one");
    let delay = received[0].at.saturating_sub(first.unwrap_or_default());
    ensure!(
        delay >= Duration::from_millis(20),
        "the first frame came after {delay:?}"
    );
    Ok(())
}

fn only_frames_of_the_ethertype_are_captured() -> Result<()> {
    let segment = Layout::new(2).ethertype(0x9000).bridge()?;
    let [a, b] = peers(&segment)?;
    let other = frame(b.mac(), a.mac(), 0x88b5, &Message::Leaving.payload(a.mac()));
    a.send_frame(&other)?;
    a.broadcast(&ping(1))?;
    b.expect(ARRIVAL_TIMEOUT, |seen| seen.message == ping(1))?;
    segment.capture().wait_from(0, ARRIVAL_TIMEOUT, |_| true)?;
    let frames = segment.capture().frames();
    ensure!(hashes(&frames) == [1] && frames.len() == 1, "{frames:?}");
    Ok(())
}

fn nodes_have_the_requested_addresses_and_random_macs() -> Result<()> {
    let segment = Layout::new(2).random_macs(9).addresses().bridge()?;
    for node in segment.nodes() {
        let text = node.ns().ask_ip(&["address", "show", "eth0"])?;
        ensure!(text.contains(&node.mac().to_string()), "{text}");
        ensure!(
            text.contains(&format!("10.77.0.{}/24", node.index() + 1)),
            "{text}"
        );
        ensure!(!text.contains("inet6"), "IPv6 sends frames: {text}");
    }
    let fresh: &NetNs = segment.hub();
    ensure!(fresh.ask_ip(&["-brief", "link"])?.contains("br0"));
    Ok(())
}

fn a_pair_has_one_cable() -> Result<()> {
    let [left, right] = Segment::pair()?;
    let (a, b) = (left.peer()?, right.peer()?);
    a.send(b.mac(), &ping(1))?;
    b.expect(ARRIVAL_TIMEOUT, |seen| seen.message == ping(1))?;
    Ok(())
}

fn the_switch_removes_named_locks_from_the_frames_of_an_old_member() -> Result<()> {
    const KIND_OFFSET: usize = 14;
    let segment = Segment::switch(3, 1)?;
    let [a, old, other] = peers(&segment)?;
    segment.rules().set(|rules| {
        rules.without_named_locks.insert(1);
    });
    let plain = |sender: &Peer| {
        let payload = ping(1).payload(sender.mac());
        frame(MacAddr::broadcast(), sender.mac(), ETHERTYPE, &payload)
    };
    let standing = [&b"RGD4"[..], &[0; 50]].concat();
    for (sender, receiver, is_kept) in [(&a, &other, true), (&a, &old, false), (&old, &a, false)] {
        receiver.forget()?;
        let plain = plain(sender);
        let with_standing = [&plain[..], &standing, b"RGD5\x03db1"].concat();
        sender.send_frame(&with_standing)?;
        for kind in [12, 13] {
            let mut about_locks = plain.clone();
            about_locks[KIND_OFFSET] = kind;
            sender.send_frame(&about_locks)?;
        }
        sender.broadcast(&ping(2))?;
        let first = receiver.expect(ARRIVAL_TIMEOUT, |_| true)?;
        ensure!(
            first.bytes == *if is_kept { &with_standing } else { &plain },
            "{first:?}"
        );
        let mut between = 0;
        while receiver.expect(ARRIVAL_TIMEOUT, |_| true)?.message != ping(2) {
            between += 1;
        }
        ensure!(
            between == if is_kept { 2 } else { 0 },
            "{between} frames about named locks"
        );
    }
    Ok(())
}
