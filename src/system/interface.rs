//! The interface of a node, before the node starts.

use ring_host::observe::log_early;
use ring_host::{LogFormat, Prelude};
use ring_runtime::net::{Interface, InterfaceWatch};
use tracing::info;

use super::Error;

/// What a node is told of its interface.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// Its name, or another name of it.
    pub name: &'a str,
    /// Whether to wait for an interface that is missing.
    pub waits: bool,
    /// The format of log lines.
    pub log_format: LogFormat,
}

impl Wanted<'_> {
    /// Returns the name by which the kernel lists the interface. Waits for it if that is wanted.
    ///
    /// # Errors
    /// There is no such interface, or the kernel does not list them.
    pub(super) fn find(self) -> Result<String, ring_host::Error> {
        let watching = ring_host::Error::system("watch the interfaces");
        let mut watch = InterfaceWatch::new().map_err(watching)?;
        let mut prelude = None;
        loop {
            let found = Interface::name_of(self.name);
            if let Some(found) = found.map_err(ring_host::Error::system("list the interfaces"))? {
                self.say_found(&found);
                return Ok(found);
            }
            if !self.waits {
                return Err(self.missing().into());
            }
            let prelude = prelude.get_or_insert_with(|| self.begin_to_wait());
            let waited = prelude.wait_at(&watch).and_then(|()| watch.drain());
            waited.map_err(ring_host::Error::system("wait for the interface"))?;
        }
    }

    fn missing(self) -> Error {
        Error::NoInterface {
            name: self.name.to_owned(),
            existing: Interface::names().unwrap_or_default(),
        }
    }

    fn begin_to_wait(self) -> Prelude {
        let text = format!("waiting for the interface: {}", self.missing());
        log_early(self.log_format == LogFormat::Json, || {
            info!(event = "interface_missing", interface = self.name, "{text}");
        });
        Prelude::begin(&text)
    }

    fn say_found(self, found: &str) {
        let name = self.name;
        if found != name {
            log_early(self.log_format == LogFormat::Json, || {
                info!(
                    event = "interface_renamed",
                    interface = found,
                    "{name} is another name of {found}, which the node is called after"
                );
            });
        }
    }
}
