//! Rules for frames that may change a member's IP.

use anyhow::{Result, ensure};
use ring_segment::{Message, OTHER_DIGEST};

use super::members::{HEARTBEAT, SOME_IP, is_ping, member, stand, timing};
use super::stand::{AT_ONCE, NO_IP, Stand};

#[test]
fn a_ping_sets_the_ip_of_its_author() -> Result<()> {
    let stand = stand();
    stand.elect()?;
    for ip in [SOME_IP, [0x20; 16]] {
        let digest = stand.digest_with(&[member(stand.high.mac(), ip)]);
        stand.high.send(stand.mac(), &Message::Ping { digest, ip });
        stand.wait_for_digest(digest)?;
    }
    Ok(())
}

#[test]
fn a_known_ip_replaces_a_missing_ip_and_is_kept() -> Result<()> {
    let stand = stand();
    stand.elect()?;
    let tell = |ip: [u8; 16]| {
        let members = vec![member(stand.low.mac(), ip)];
        stand.high.send(
            stand.mac(),
            &Message::RingMembers {
                digest: OTHER_DIGEST,
                members,
            },
        );
    };
    let known =
        |ip| stand.digest_with(&[member(stand.high.mac(), NO_IP), member(stand.low.mac(), ip)]);
    // `low` is alive, so a message of `high` must not change the address of `low`.
    stand.low.send(stand.mac(), &Message::WhereIsToken);
    tell(NO_IP);
    stand.wait_for_digest(known(NO_IP))?;
    tell(SOME_IP);
    stand.wait_for_digest(known(SOME_IP))?;
    stand.low.send(stand.mac(), &Message::WhereIsToken);
    tell([0xee; 16]);
    tell(NO_IP);
    stand.pass(HEARTBEAT);
    stand.wait_for_digest(known(SOME_IP))
}

#[test]
fn a_daemon_corrects_a_wrong_ip_of_itself_with_a_broadcast() -> Result<()> {
    let own = [0x30; 16];
    let stand = Stand::with(timing(), own, |constants| constants);
    stand.elect()?;
    stand.high.forget();
    let members = vec![member(stand.mac(), SOME_IP)];
    stand.high.send(
        stand.mac(),
        &Message::RingMembers {
            digest: OTHER_DIGEST,
            members,
        },
    );
    let ping = stand
        .high
        .expect(AT_ONCE, |seen| seen.is_broadcast() && is_ping(seen))?;
    ensure!(
        matches!(ping.message, Message::Ping { ip, .. } if ip == own),
        "{ping:?}"
    );
    Ok(())
}
