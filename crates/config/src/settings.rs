//! The values of all options, with their sources.

use std::ffi::OsStr;

use clap::ArgMatches;
use clap::parser::ValueSource;
use ring_control::{OptionSource, OptionStatus};

use crate::document::FileValue;
use crate::section::Section;

/// An option of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting {
    /// The long name of the option, which is also its key in the file.
    pub(crate) name: String,
    pub(crate) status: OptionStatus,
}

impl Setting {
    /// Returns a text about a change of this setting to `new`: `ring-size 5 (was 3)`.
    pub(crate) fn change_to(&self, new: &Self) -> String {
        let text = |it: &Self| {
            it.status
                .value
                .clone()
                .unwrap_or_else(|| "unset".to_owned())
        };
        format!("{} {} (was {})", self.name, text(new), text(self))
    }
}

/// Returns the settings of a section. `typed` is the parsed command line without the file, and `merged` is the parsed
/// command line with the words of the file.
pub(crate) fn settings(
    section: &Section,
    typed: &ArgMatches,
    from_file: &[FileValue],
    merged: &ArgMatches,
) -> Vec<Setting> {
    let options = section.options();
    let setting = options.iter().map(|option| {
        let id = option.get_id().as_str();
        let raw = merged.get_raw(id).into_iter().flatten();
        let texts: Vec<_> = raw.map(OsStr::to_string_lossy).collect();
        let in_file = from_file.iter().find(|it| it.id == id);
        let source = match in_file {
            _ if is_typed(typed, id) => OptionSource::CommandLine,
            Some(_) => OptionSource::File,
            None => OptionSource::Default,
        };
        Setting {
            name: option.get_long().unwrap_or(id).to_owned(),
            status: OptionStatus {
                value: (!texts.is_empty()).then(|| texts.join(", ")),
                source,
                line: in_file.map(|it| it.line),
            },
        }
    });
    setting.collect()
}

/// Whether the command line contains this option.
pub(crate) fn is_typed(typed: &ArgMatches, id: &str) -> bool {
    typed.value_source(id) == Some(ValueSource::CommandLine)
}
