//! Reads the configuration file of a running node again.

use ring_config::Configured;
use ring_proto::lab2::{Adjustment, Command};

use super::Options;
use super::attachment::Attachment;
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

/// Reads the configuration file and the key file again, and logs the result. Returns the command that changes the
/// machine's constants. If one of the files cannot be used, changes nothing.
pub(super) fn reload(
    configured: &mut Configured<Options>,
    attachment: &mut Attachment,
) -> Option<Command> {
    let mut options = configured.options().clone();
    let has_changed = ring_host::reload(PROGRAM, configured, &ADJUSTABLE, |new| {
        options.adjust(new);
        options.check().map_err(|error| error.to_string())?;
        let trust = options.keys.trust().map_err(|error| error.to_string())?;
        attachment.set_trust(&trust)?;
        Ok(options)
    });
    let constants = configured.options().constants();
    has_changed.then_some(Command::Adjust(Adjustment {
        idle_hold: constants.idle_hold,
        expect: constants.expect,
        forget: constants.forget,
        preference: configured.options().prefer,
    }))
}
