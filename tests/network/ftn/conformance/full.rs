//! The level full: the program also survives faults and restarts, leaves as planned, and handles long messages.

use anyhow::Result;
use ring_segment::{Test, tests};

use super::super::load;

pub(super) fn tests() -> Vec<Test> {
    tests![clients_share_one_token_safely_while_servers_and_clients_crash,]
}

/// The judge of the recorded datagrams names the violated rule.
fn clients_share_one_token_safely_while_servers_and_clients_crash() -> Result<()> {
    load::survive_losses()
}
