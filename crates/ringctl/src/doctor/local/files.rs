//! The system files of an interface (`/sys/class/net/IFACE`).

use std::fs;
use std::path::{Path, PathBuf};

use ring_runtime::net::Interface;

const NETWORK_DIR: &str = "/sys/class/net";

#[derive(Debug, Clone)]
pub(super) struct SystemFiles {
    /// The directory of all interfaces.
    base: PathBuf,
    interface: String,
}

impl SystemFiles {
    /// Returns the files of the interface. Returns `None` if the files belong to another network namespace. In this
    /// case, they contain a different index or a different address.
    pub(super) fn of(interface: &Interface) -> Option<Self> {
        let files = Self::new(Path::new(NETWORK_DIR), &interface.name);
        let is_this = files.number("ifindex") == Some(interface.index.into())
            && files.read("address") == Some(interface.mac.to_string());
        is_this.then_some(files)
    }

    pub(super) fn new(base: &Path, interface: &str) -> Self {
        let (base, interface) = (base.to_owned(), interface.to_owned());
        Self { base, interface }
    }

    /// Returns the files of another interface.
    pub(super) fn other(&self, interface: &str) -> Self {
        Self::new(&self.base, interface)
    }

    pub(super) fn name(&self) -> &str {
        &self.interface
    }

    pub(super) fn read(&self, file: &str) -> Option<String> {
        let text = fs::read_to_string(self.path(file)).ok()?;
        Some(text.trim().to_owned())
    }

    pub(super) fn number(&self, file: &str) -> Option<u64> {
        self.read(file)?.parse().ok()
    }

    /// Whether the file contains 1.
    pub(super) fn is_set(&self, file: &str) -> bool {
        self.number(file) == Some(1)
    }

    pub(super) fn exists(&self, file: &str) -> bool {
        self.path(file).exists()
    }

    /// Returns the sorted names in a directory.
    pub(super) fn list(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(directory)).into_iter().flatten();
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// Returns the name of the bridge or bond to which the interface belongs.
    pub(super) fn master(&self) -> Option<String> {
        let target = fs::read_link(self.path("master")).ok()?;
        Some(target.file_name()?.to_str()?.to_owned())
    }

    fn path(&self, file: &str) -> PathBuf {
        self.base.join(&self.interface).join(file)
    }
}
