//! The options of a daemon. Each value has a source: the default, the configuration file or the command line.

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
    /// The number of the value's line in the file. Absent if the value does not come from the file.
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
