//! Finds the interface of a node, before the node starts.

use std::io;

use ring_host::observe::{events as host_events, log_early};
use ring_host::{LogFormat, StartDelay};
use ring_runtime::net::{Interface, InterfaceWatch};
use tracing::{info, warn};

use super::Error;
use crate::system::events;

/// The options that select the interface.
#[derive(Debug, Clone, Copy)]
pub(super) struct InterfaceRequest<'a> {
    /// The interface's main name or an alternative name of it.
    pub name: &'a str,
    /// Whether to wait for a missing interface.
    pub waits_if_missing: bool,
    pub log_format: LogFormat,
}

impl InterfaceRequest<'_> {
    /// Returns the interface's main name. If the options require it, first waits until the interface exists.
    ///
    /// # Errors
    /// Fails if there is no such interface, or if the kernel cannot list the interfaces.
    pub(super) fn find(self) -> Result<String, ring_host::Error> {
        let watching = ring_host::Error::system("watch the interfaces");
        let mut watch = InterfaceWatch::new().map_err(watching)?;
        let mut delay = None;
        loop {
            let found = Interface::name_of(self.name);
            if let Some(found) = found.map_err(ring_host::Error::system("list the interfaces"))? {
                self.log_alternative_name(&found);
                if delay.is_some_and(|it: StartDelay| it.was_hung_up()) {
                    self.log_missed_reload();
                }
                return Ok(found);
            }
            if !self.waits_if_missing {
                return Err(self.missing().into());
            }
            let begun = delay.take().map_or_else(|| self.start_waiting(), Ok);
            let catching = ring_host::Error::system("catch signals");
            let delay = delay.insert(begun.map_err(catching)?);
            let waited = delay
                .wait_until_readable(&watch)
                .and_then(|()| watch.drain());
            waited.map_err(ring_host::Error::system("wait for the interface"))?;
        }
    }

    fn missing(self) -> Error {
        Error::NoInterface {
            name: self.name.to_owned(),
            existing: Interface::names().unwrap_or_default(),
        }
    }

    fn start_waiting(self) -> io::Result<StartDelay> {
        let text = format!("waiting for the interface: {}", self.missing());
        // A reload that follows the line in the log must not end the daemon.
        let delay = StartDelay::begin(&text)?;
        log_early(self.log_format == LogFormat::Json, || {
            info!(
                event = events::INTERFACE_MISSING,
                interface = self.name,
                "{text}"
            );
        });
        Ok(delay)
    }

    fn log_missed_reload(self) {
        log_early(self.log_format == LogFormat::Json, || {
            warn!(
                event = host_events::CONFIG_REFUSED,
                "a reload came while ringd waited for its interface, so ringd keeps its options; reload it again"
            );
        });
    }

    fn log_alternative_name(self, found: &str) {
        let name = self.name;
        if found != name {
            log_early(self.log_format == LogFormat::Json, || {
                info!(
                    event = events::INTERFACE_RENAMED,
                    interface = found,
                    "{name} is an alternative name of {found}; the node uses {found}"
                );
            });
        }
    }
}
