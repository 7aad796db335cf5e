//! Rings whose daemons have keys.

mod attacker;
mod files;
mod flood;
mod roll_out;

use anyhow::Result;
use ring_segment::{Daemon, Test, WAIT_LIMIT};

pub(crate) fn tests() -> Vec<Test> {
    [
        roll_out::tests(),
        attacker::tests(),
        flood::tests(),
        files::tests(),
    ]
    .concat()
}

/// Waits until the daemon knows that each other member signs with this key.
fn wait_for_key(daemon: &Daemon, key: u8) -> Result<()> {
    let own = daemon.node().mac().to_string();
    daemon.wait_for_status(WAIT_LIMIT, |status| {
        let members = status["members"].as_array();
        members.is_some_and(|members| {
            let mut others = members.iter().filter(|it| it["mac"] != own.as_str());
            others.all(|it| it["key"] == key)
        })
    })?;
    Ok(())
}
