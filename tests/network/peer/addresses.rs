//! Whose word counts for a member's ip.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_segment::{
    ALIEN, Binaries, FOR_GOOD, Layout, MacAddr, Member, Message, SLACK, Seen, Stand, Test, Timing,
    binaries, tests,
};

const BINARIES: Binaries = binaries!();
const HEARTBEAT: Duration = Duration::from_millis(200);
const NONE: [u8; 16] = [0; 16];
const SOME: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3];

pub fn tests() -> Vec<Test> {
    tests![
        ping_sets_the_ip_of_its_author,
        an_address_beats_none_and_is_kept,
        a_wrong_ip_of_its_own_is_corrected_by_broadcast,
        a_new_ip_is_announced,
    ]
}

fn stand() -> Result<Stand> {
    Stand::new(BINARIES, Timing::patient(HEARTBEAT).idle_hold(FOR_GOOD))
}

fn is_ping(seen: &Seen) -> bool {
    matches!(seen.message, Message::Ping { .. })
}

fn member(mac: MacAddr, ip: [u8; 16]) -> Member {
    Member { mac, ip }
}

fn ping_sets_the_ip_of_its_author() -> Result<()> {
    let stand = stand()?;
    stand.elect()?;
    for ip in [SOME, [0x20; 16]] {
        let digest = stand.digest_with(&[member(stand.high.mac(), ip)]);
        stand
            .high
            .send(stand.mac(), &Message::Ping { digest, ip })?;
        stand.wait_for_digest(digest)?;
    }
    Ok(())
}

fn an_address_beats_none_and_is_kept() -> Result<()> {
    let stand = stand()?;
    stand.elect()?;
    let tell = |ip: [u8; 16]| {
        let members = vec![member(stand.low.mac(), ip)];
        stand.high.send(
            stand.mac(),
            &Message::RingMembers {
                digest: ALIEN,
                members,
            },
        )
    };
    let known =
        |ip| stand.digest_with(&[member(stand.high.mac(), NONE), member(stand.low.mac(), ip)]);
    // `low` is alive: what it has is not for `high` to change.
    stand.low.send(stand.mac(), &Message::WhereIsToken)?;
    tell(NONE)?;
    stand.wait_for_digest(known(NONE))?;
    tell(SOME)?;
    stand.wait_for_digest(known(SOME))?;
    stand.low.send(stand.mac(), &Message::WhereIsToken)?;
    tell([0xee; 16])?;
    tell(NONE)?;
    stand.high.collect(Duration::from_millis(100))?;
    stand.wait_for_digest(known(SOME))
}

fn a_wrong_ip_of_its_own_is_corrected_by_broadcast() -> Result<()> {
    let layout = Layout::new(3).addresses();
    let timing = Timing::patient(HEARTBEAT).idle_hold(FOR_GOOD);
    let stand = Stand::with(BINARIES, timing, layout, |ringd| ringd)?;
    stand.elect()?;
    stand.high.forget()?;
    let members = vec![member(stand.mac(), SOME)];
    stand.high.send(
        stand.mac(),
        &Message::RingMembers {
            digest: ALIEN,
            members,
        },
    )?;
    let ping = stand
        .high
        .expect(SLACK, |seen| seen.is_broadcast() && is_ping(seen))?;
    let own = stand
        .daemon
        .node()
        .ip()
        .context("the layout has addresses")?;
    let own = own.to_ipv6_mapped().octets();
    ensure!(
        matches!(ping.message, Message::Ping { ip, .. } if ip == own),
        "{ping:?}"
    );
    Ok(())
}

fn a_new_ip_is_announced() -> Result<()> {
    let stand = stand()?;
    stand.elect()?;
    stand.high.forget()?;
    stand
        .daemon
        .node()
        .ns()
        .ip("addr add 10.1.2.3/24 dev eth0\n")?;
    let ping = stand.high.expect(stand.patience(), |seen| {
        seen.is_broadcast() && is_ping(seen)
    })?;
    ensure!(
        matches!(ping.message, Message::Ping { ip, .. } if ip == SOME),
        "{ping:?}"
    );
    Ok(())
}
