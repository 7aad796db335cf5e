//! Reads the configuration file of a running node again.

use ring_config::{Changes, Configured};
use ring_proto::lab2::{Adjustment, Command};
use tracing::{info, warn};

use super::attachment::Attachment;
use super::{Options, events};
use crate::system::events as shared_events;

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
    match try_reload(configured, attachment) {
        Ok(changes) => {
            log(&changes);
            let constants = configured.options().constants();
            (!changes.adopted.is_empty()).then_some(Command::Adjust(Adjustment {
                idle_hold: constants.idle_hold,
                expect: constants.expect,
                forget: constants.forget,
                preference: configured.options().prefer,
            }))
        }
        Err(error) => {
            warn!(
                event = shared_events::CONFIG_REFUSED,
                "the daemon keeps its options and its keys: {error}"
            );
            None
        }
    }
}

fn try_reload(
    configured: &mut Configured<Options>,
    attachment: &mut Attachment,
) -> Result<Changes, String> {
    let new = configured.reload().map_err(|error| error.to_string())?;
    if let (Some(file), None) = (configured.status().file, new.status().file) {
        return Err(format!(
            "the configuration file {file} is missing; put it back, or restart ringd without it"
        ));
    }
    let mut options = configured.options().clone();
    options.adjust(new.options());
    options.check().map_err(|error| error.to_string())?;
    let trust = options.keys.trust().map_err(|error| error.to_string())?;
    let had_keys = attachment.signer().is_some();
    let adopted = attachment.set_trust(&trust);
    adopted.map_err(|error| format!("cannot draw a random number: {error}; try again"))?;
    trust.log(had_keys);
    Ok(configured.adopt(new, &ADJUSTABLE, options))
}

fn log(Changes { adopted, pending }: &Changes) {
    let adopted = if adopted.is_empty() {
        "no option got a new value".to_owned()
    } else {
        format!("now in force: {}", adopted.join(", "))
    };
    if pending.is_empty() {
        info!(
            event = events::CONFIG_RELOADED,
            "read the configuration again: {adopted}"
        );
    } else {
        let pending = pending.join(", ");
        warn!(
            event = events::CONFIG_RELOADED,
            "read the configuration again: {adopted}; restart ringd to use {pending}"
        );
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::{ADJUSTABLE, Options};

    #[test]
    fn each_adjustable_option_exists() {
        let command = Options::command();
        for name in ADJUSTABLE {
            let mut options = command.get_arguments();
            assert!(options.any(|it| it.get_long() == Some(name)), "{name}");
        }
    }
}
