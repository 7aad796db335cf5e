//! The files that a daemon may open after its start-up.

use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, BitFlags, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    RulesetStatus, path_beneath_rules,
};

/// The version of Landlock whose rules the daemon uses. Later versions could also restrict connections to the sockets
/// of the journal and of the service manager.
const VERSION: ABI = ABI::V5;

/// Files of the kernel: the lists of sockets, and the properties of interfaces.
const KERNEL_DIRECTORIES: [&str; 2] = ["/proc", "/sys"];
/// Files with names of machines and users, for the log. If an editor replaces such a file, a running daemon cannot read
/// the new file. It then keeps the names that it has read before.
const NAME_FILES: [&str; 3] = ["/etc/ethers", "/etc/hosts", "/etc/passwd"];

/// The files that a daemon may open.
#[derive(Debug, Clone, Default)]
pub struct Files {
    /// Whether the daemon may read all files that its user may read. The resolver of host names reads many files, and
    /// these files differ between machines.
    pub reads_everything: bool,
    /// Files and directories that the daemon may read.
    pub read: Vec<PathBuf>,
    /// Directories in which the daemon may also create, change and remove files.
    pub write: Vec<PathBuf>,
}

impl Files {
    /// Limits the files that the calling thread, and the threads that it starts later, can open. These threads cannot
    /// execute any file.
    ///
    /// Paths that do not exist are skipped.
    pub(super) fn restrict(&self) -> Result<(), String> {
        let status = self.rules().map_err(|error| error.to_string())?;
        match status {
            RulesetStatus::FullyEnforced => Ok(()),
            RulesetStatus::PartiallyEnforced => {
                Err("the kernel's Landlock is older than version 5".to_owned())
            }
            RulesetStatus::NotEnforced => Err("the kernel has no Landlock".to_owned()),
        }
    }

    fn rules(&self) -> Result<RulesetStatus, RulesetError> {
        let reading = AccessFs::ReadFile | AccessFs::ReadDir;
        let all: BitFlags<AccessFs> = AccessFs::from_all(VERSION);
        let everything = self.reads_everything.then(|| PathBuf::from("/"));
        let fixed = KERNEL_DIRECTORIES.iter().chain(&NAME_FILES);
        let read = fixed.map(PathBuf::from).chain(everything);
        let read = read.chain(self.read.iter().cloned());
        let ruleset = Ruleset::default()
            .handle_access(all)?
            .create()?
            .add_rules(path_beneath_rules(read, reading))?
            .add_rules(path_beneath_rules(&self.write, all & !AccessFs::Execute))?;
        Ok(ruleset.restrict_self()?.ruleset)
    }
}
