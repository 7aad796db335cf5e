//! The command line of a process. The configuration file supplies options that the command line does not contain.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{ArgMatches, Command, FromArgMatches};
use ring_control::ConfigStatus;
use ring_text::usage::PartialParse;
use thiserror::Error;

use crate::CONFIG;
use crate::file::{ConfigError, ConfigFile};
use crate::section::Section;
use crate::settings::{Setting, is_typed, settings};

/// The reason why a process has no valid options.
#[derive(Debug, Error)]
pub enum Failure {
    /// The command line is wrong, or it requests the help text.
    #[error("{0}")]
    CommandLine(Box<clap::Error>),
    /// The file cannot be used.
    #[error("{0}")]
    File(ConfigError),
}

/// A command line, and the section of the file with further options.
#[derive(Debug, Clone)]
pub struct CommandLine {
    command: fn() -> Command,
    section: Section,
    words: Vec<OsString>,
    /// The number of words before the options: the program, and the subcommand if there is one.
    head: usize,
}

impl CommandLine {
    /// Creates a command line from its words. `command` declares the program. If the options belong to a subcommand,
    /// the subcommand is the second word and `in_subcommand` is `true`.
    pub fn new(
        command: fn() -> Command,
        section: Section,
        words: Vec<OsString>,
        in_subcommand: bool,
    ) -> Self {
        Self {
            command,
            section,
            words,
            head: 1 + usize::from(in_subcommand),
        }
    }

    /// Reads the file, and returns the options of the node. The command line has priority over the file.
    ///
    /// # Errors
    /// Fails if the command line is wrong, or if the file cannot be used.
    pub fn configure<O: FromArgMatches>(&self) -> Result<Configured<O>, Failure> {
        let wrong = |error| Failure::CommandLine(Box::new(error));
        let partial = match (self.command)().try_get_matches_from(&self.words) {
            // The file may contain the missing option.
            Err(error) if error.kind() == ErrorKind::MissingRequiredArgument => {
                PartialParse::of((self.command)(), &self.words)
                    .map(|partial| partial.read)
                    .ok_or_else(|| wrong(error))?
            }
            read => innermost(read.map_err(wrong)?),
        };
        let path: Option<&PathBuf> = partial.get_one(CONFIG);
        let file = ConfigFile::open(path.map(PathBuf::as_path)).map_err(Failure::File)?;
        let selector = self.section.selector;
        let selected = selector.and_then(|id| partial.get_one::<String>(id));
        let values = match &file {
            Some(file) => file.values(&self.section, selected.map(String::as_str)),
            None => Ok(Vec::new()),
        };
        let mut values = values.map_err(Failure::File)?;
        values.retain(|value| !is_typed(&partial, &value.id));
        let (head, options) = self.words.split_at(self.head.min(self.words.len()));
        let from_file = values.iter().flat_map(|it| &it.words).map(OsString::from);
        let words = head
            .iter()
            .cloned()
            .chain(from_file)
            .chain(options.iter().cloned());
        let merged = (self.command)().try_get_matches_from(words);
        let merged = innermost(merged.map_err(wrong)?);
        Ok(Configured {
            options: O::from_arg_matches(&merged).map_err(wrong)?,
            settings: settings(&self.section, &partial, &values, &merged),
            file: file.map(|file| file.path().to_owned()),
            command_line: self.clone(),
        })
    }
}

fn innermost(mut read: ArgMatches) -> ArgMatches {
    while let Some((_, inner)) = read.remove_subcommand() {
        read = inner;
    }
    read
}

/// The options that differ between two readings of the file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The options whose new values are already in force. Each text contains the new and the old value: `ring-size 5
    /// (was 3)`.
    pub adopted: Vec<String>,
    /// The options whose new values need a restart of the daemon. Each text contains the new and the old value.
    pub pending: Vec<String>,
}

/// The options of a node, with the source of each value.
#[derive(Debug)]
pub struct Configured<O> {
    options: O,
    settings: Vec<Setting>,
    file: Option<PathBuf>,
    command_line: CommandLine,
}

impl<O: FromArgMatches> Configured<O> {
    /// Returns the options.
    pub const fn options(&self) -> &O {
        &self.options
    }

    /// Returns the path of the configuration file; `None` if there is no file.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Returns the value and the source of each option, for clients.
    pub fn status(&self) -> ConfigStatus {
        let options = self.settings.iter();
        ConfigStatus {
            file: self.file.as_ref().map(|path| path.display().to_string()),
            options: options
                .map(|setting| (setting.name.clone(), setting.status.clone()))
                .collect(),
        }
    }

    /// Reads the file again, and returns the options from the file and the same command line.
    ///
    /// # Errors
    /// Fails if the file cannot be used.
    pub fn reload(&self) -> Result<Self, Failure> {
        self.command_line.configure()
    }

    /// Takes the new values of the `adjustable` options from `new`, and keeps the values of all other options.
    /// `options` are the parsed options with the resulting values.
    pub fn adopt(&mut self, new: Self, adjustable: &[&str], options: O) -> Changes {
        debug_assert!(
            adjustable
                .iter()
                .all(|name| self.settings.iter().any(|it| it.name == *name)),
            "each adjustable option exists"
        );
        let mut changes = Changes::default();
        for (own, new) in self.settings.iter_mut().zip(new.settings) {
            let differs = own.status.value != new.status.value;
            let names = if adjustable.contains(&own.name.as_str()) {
                &mut changes.adopted
            } else {
                &mut changes.pending
            };
            if differs {
                names.push(own.change_to(&new));
            }
            if !differs || adjustable.contains(&own.name.as_str()) {
                *own = new;
            }
        }
        self.file = new.file;
        self.options = options;
        changes
    }
}
