//! Reads the configuration file and the key file of a running daemon again.

use std::fs;
use std::path::{Path, PathBuf};

use clap::FromArgMatches;
use ring_config::{Changes, Configured, DEFAULT_PATH, Failure};
use tracing::{info, warn};

use crate::Program;
use crate::observe::events;
use crate::trust::KeySource;

/// Reads the configuration file again, and logs the result. `adjustable` names the options that can change.
///
/// `apply` gets the options of the file. It applies the adjustable values, and returns the resulting options. If the
/// file cannot be used, or if `apply` fails, the options stay the same.
pub fn reload<O: Clone + FromArgMatches>(
    program: Program,
    configured: &mut Configured<O>,
    adjustable: &[&str],
    apply: impl FnOnce(&O) -> Result<O, String>,
) {
    let new = read_again(program, configured);
    let changed = new.and_then(|new| {
        let options = apply(new.options())?;
        Ok(configured.adopt(new, adjustable, options))
    });
    match changed {
        Ok(changes) => log(program, &changes),
        Err(error) => warn!(
            event = events::CONFIG_REFUSED,
            "the daemon keeps its options and its keys: {error}"
        ),
    }
}

/// Returns the directories to which a sandboxed daemon needs access for a reload. Access to the files is not enough,
/// because an editor may replace a file.
pub fn readable_directories<'a, O: FromArgMatches>(
    configured: &Configured<O>,
    keys: impl IntoIterator<Item = &'a KeySource>,
) -> Vec<PathBuf> {
    let config = configured.file().unwrap_or(Path::new(DEFAULT_PATH));
    let config = fs::canonicalize(config).unwrap_or(config.to_owned());
    let config = config.parent().map(Path::to_owned);
    let keys = keys.into_iter().flat_map(KeySource::directories);
    config.into_iter().chain(keys).collect()
}

fn read_again<O: FromArgMatches>(
    program: Program,
    configured: &Configured<O>,
) -> Result<Configured<O>, String> {
    let new = configured
        .reload()
        .map_err(|error: Failure| error.to_string())?;
    match (configured.file(), new.file()) {
        (Some(file), None) => Err(format!(
            "the configuration file {} is missing; put it back, or restart {program} without it",
            file.display()
        )),
        _ => Ok(new),
    }
}

fn log(program: Program, Changes { adopted, pending }: &Changes) {
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
            "read the configuration again: {adopted}; restart {program} to use {pending}"
        );
    }
}
