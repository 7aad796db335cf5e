//! Reads the configuration file and the host name of a running node again.

use ring_config::Configured;
use ring_proto::lab2::{Adjustment, Command};

use super::Options;
use super::attachment::Attachment;
use super::member_addresses::read_host_name;
use crate::system::PROGRAM;

/// The options that change without a restart.
const ADJUSTABLE: [&str; 11] = [
    "accept-unsigned",
    "forget-after",
    "hook-timeout",
    "hooks-dir",
    "idle-hold",
    "key-file",
    "on-change",
    "prefer",
    "require",
    "ring-size",
    "verbose",
];

/// Reads the configuration file and the key file again, and logs the result. Also reads the host name of the machine
/// again. Returns the command that changes the state machine. If one of the files cannot be used, changes no option.
pub(super) fn reload(configured: &mut Configured<Options>, attachment: &mut Attachment) -> Command {
    let mut options = configured.options().clone();
    ring_host::reload(PROGRAM, configured, &ADJUSTABLE, |new| {
        options.adjust(new);
        options.check().map_err(|error| error.to_string())?;
        let trust = options.keys.trust().map_err(|error| error.to_string())?;
        attachment.set_trust(&trust)?;
        Ok(options)
    });
    let constants = configured.options().constants();
    Command::Adjust(Adjustment {
        idle_hold: constants.idle_hold,
        expect: constants.expect,
        forget: constants.forget,
        preference: configured.options().prefer,
        host_name: read_host_name(attachment.interface().mac),
    })
}
