//! The key of a ring as a credential of a live systemd.

use anyhow::{Result, ensure};
use ring_segment::{Test, WAIT_LIMIT, tests};

use super::{UNIT, UnitScene};

const LINES: &str = "[Service]\nLoadCredential=ring.keys:/etc/ringd/ring.keys\n";

/// Gives the unit a credential. The unit requires signatures.
const SET_UP: &str = "
    umask 022 && mkdir -p /etc/ringd
    (umask 077 && ringd keygen --id 7 >/etc/ringd/ring.keys)
    printf '[ring.eth0]\\nkey-file = \"credential:ring.keys\"\\n' >/etc/ringd/ringd.toml";

pub(super) fn tests() -> Vec<Test> {
    tests![a_unit_reads_its_keys_from_a_credential_when_it_starts]
}

fn a_unit_reads_its_keys_from_a_credential_when_it_starts() -> Result<()> {
    let scene = UnitScene::before_the_start(LINES)?;
    let container = &scene.container;
    container.sh(SET_UP)?;
    container.run(&["systemctl", "start", UNIT])?;
    let wait_for = |text: &str| container.wait_for_line(WAIT_LIMIT, |line| line.contains(text));
    wait_for("signs with key 7, drops unsigned")?;
    // The daemon cannot read root's file, so a reload reads only systemd's copy of it.
    container.sh("(umask 077 && ringd keygen --id 8 >/etc/ringd/ring.keys)")?;
    container.run(&["systemctl", "reload", UNIT])?;
    wait_for("read the configuration again")?;
    let new = "signs with key 8, drops unsigned";
    ensure!(!container.journal().iter().any(|line| line.contains(new)));
    container.run(&["systemctl", "restart", UNIT])?;
    wait_for(new).map(drop)
}
