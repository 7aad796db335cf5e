//! The configuration file of `ringd` and `ring-board`.
//!
//! The keys of the file are the long options of the command line, so each option is declared only once. The crate turns
//! the values of a section into words of a command line. Start with [`CommandLine::configure`].

#![forbid(unsafe_code)]

mod command_line;
mod document;
mod file;
mod key;
mod position;
mod section;
mod settings;

use std::path::PathBuf;

use clap::Args;

pub use command_line::{Changes, CommandLine, Configured, Failure};
pub use file::{Checked, ConfigError, ConfigFile};
pub use position::Problem;
pub use section::Section;

/// The file that a program reads if its command line names no other file.
pub const DEFAULT_PATH: &str = "/etc/ringd/ringd.toml";

/// The clap id of the option that names the file.
const CONFIG: &str = "config";

/// The option that names the file.
#[derive(Debug, Clone, Args)]
pub struct ConfigOption {
    /// Read options from this TOML file
    ///
    /// The keys of the file are the long options. An option of the command line has priority over the file. The default
    /// is /etc/ringd/ringd.toml, which may be missing.
    #[arg(id = CONFIG, long = CONFIG, value_name = "FILE")]
    pub file: Option<PathBuf>,
}
