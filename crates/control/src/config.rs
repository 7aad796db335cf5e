//! The options of a daemon, with the source of each value.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The options of a daemon.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigStatus {
    /// The path of the configuration file; `null` if the daemon read no file.
    pub file: Option<String>,
    /// The options by their long names.
    pub options: BTreeMap<String, OptionStatus>,
}

/// The value of an option.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionStatus {
    /// The value in the spelling of its source. The value is `null` if the option has no value.
    pub value: Option<String>,
    /// The source of the value.
    pub source: OptionSource,
    /// The line of the file; absent if the value is not in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

/// The source of an option's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptionSource {
    /// The program's default.
    Default,
    /// The configuration file.
    File,
    /// The command line.
    CommandLine,
}
