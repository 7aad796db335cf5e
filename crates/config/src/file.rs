//! Reads a file, unless other users can change it.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ring_process::private_files::find_changeable_part;
use rustix::fs::OFlags;
use thiserror::Error;

use crate::DEFAULT_PATH;
use crate::document::{self, FileValue, SectionValues};
use crate::position::Problem;
use crate::section::Section;

/// The maximum length of a file, in bytes. A daemon reads the file in its loop.
const LEN_MAX: u64 = 1 << 16;

/// The reason why a program cannot use a file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration file {}: {source}; correct its path or its permissions", path.display())]
    Read {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// The file is not a text in UTF-8.
    #[error("cannot read the configuration file {}: it is not UTF-8; save it as UTF-8", path.display())]
    NotText {
        /// The path of the file.
        path: PathBuf,
    },
    /// The path leads to a directory, a device or a pipe.
    #[error("cannot read the configuration file {}: it is not a regular file; give the path of a file", path.display())]
    NotRegular {
        /// The path.
        path: PathBuf,
    },
    /// The file is too long.
    #[error(
        "cannot read the configuration file {}: it is longer than {LEN_MAX} bytes; shorten it",
        path.display()
    )]
    TooLong {
        /// The path of the file.
        path: PathBuf,
    },
    /// Users other than root and the user of this process can change the file.
    #[error(
        "cannot use the configuration file {}: other users can change {}; run chown root and chmod go-w on it",
        path.display(), part.display()
    )]
    Changeable {
        /// The path of the file.
        path: PathBuf,
        /// The part of the path that other users can change.
        part: PathBuf,
    },
    /// The contents of the file are wrong.
    #[error(
        "cannot use the configuration file {}: {}",
        path.display(), summary(problems)
    )]
    Invalid {
        /// The path of the file.
        path: PathBuf,
        /// The problems in the order of their lines. There is at least one problem.
        problems: Vec<Problem>,
    },
}

fn summary(problems: &[Problem]) -> String {
    match problems {
        [only] => format!("{only}; correct the file"),
        [first, rest @ ..] => format!(
            "{first}; correct the file, which has {} more mistakes",
            rest.len()
        ),
        [] => String::new(),
    }
}

/// A file with its contents.
#[derive(Debug)]
pub struct ConfigFile {
    path: PathBuf,
    text: String,
}

/// The result of a check of one section.
#[derive(Debug, Default)]
pub struct Checked {
    /// The mistakes.
    pub mistakes: Vec<String>,
    /// Problems that only an interface without a subsection would have. The machine may have no such interface.
    pub notes: Vec<String>,
}

impl ConfigFile {
    /// Reads the file at `path`, or the default file. Returns `None` if the default file does not exist.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or if users other than root and the user of this process can change the file.
    pub fn open(path: Option<&Path>) -> Result<Option<Self>, ConfigError> {
        Self::open_if(path, find_changeable_part)
    }

    /// Reads the file as [`open`](Self::open) does, but accepts a file that other users can change.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn open_to_check(path: Option<&Path>) -> Result<Option<Self>, ConfigError> {
        Self::open_if(path, |_| Ok(None))
    }

    fn open_if(
        path: Option<&Path>,
        find_changeable_part: impl Fn(&Path) -> io::Result<Option<PathBuf>>,
    ) -> Result<Option<Self>, ConfigError> {
        let wanted = path.unwrap_or(Path::new(DEFAULT_PATH));
        match Self::read(wanted, find_changeable_part) {
            Err(ConfigError::Read { source, .. })
                if path.is_none() && source.kind() == ErrorKind::NotFound =>
            {
                Ok(None)
            }
            read => read.map(Some),
        }
    }

    fn read(
        path: &Path,
        find_changeable_part: impl Fn(&Path) -> io::Result<Option<PathBuf>>,
    ) -> Result<Self, ConfigError> {
        let owned = || path.to_owned();
        let unreadable = |source| ConfigError::Read {
            path: owned(),
            source,
        };
        let file = open(path).map_err(unreadable)?;
        let found = file.metadata().map_err(unreadable)?;
        if !found.is_file() {
            return Err(ConfigError::NotRegular { path: owned() });
        }
        if let Some(part) = find_changeable_part(path).map_err(unreadable)? {
            return Err(ConfigError::Changeable {
                path: owned(),
                part,
            });
        }
        let mut bytes = Vec::new();
        // The metadata do not contain the true length of every file.
        let mut file = file.take(LEN_MAX + 1);
        file.read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() as u64 > LEN_MAX {
            return Err(ConfigError::TooLong { path: owned() });
        }
        let text = String::from_utf8(bytes).map_err(|_| ConfigError::NotText { path: owned() })?;
        Ok(Self {
            path: owned(),
            text,
        })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks a section. Calls `check` for each node of the section, with the words of the command line that set the
    /// options of the node. `check` also gets the name of the node. This name is `None` if the section has no
    /// subsections.
    pub fn check(
        &self,
        section: &Section,
        mut check: impl FnMut(Option<&str>, &[String]) -> Result<(), String>,
    ) -> Checked {
        let values = match document::read(&self.text, section) {
            Ok(values) => values,
            Err(problems) => {
                return Checked {
                    mistakes: problems.iter().map(Problem::to_string).collect(),
                    notes: Vec::new(),
                };
            }
        };
        let mut problem = |name: Option<&str>| {
            let values = values.of_node(name);
            let words: Vec<_> = values.into_iter().flat_map(|it| it.words).collect();
            let heading = match name {
                Some(name) => format!("{}.{name}", section.name),
                None => section.name.to_owned(),
            };
            let why = check(name, &words).err()?;
            Some(format!("[{heading}]: {why}"))
        };
        let names = values.subsections.iter().map(|(name, _)| Some(&**name));
        let of_names: Vec<_> = names.filter_map(&mut problem).collect();
        let of_all: Vec<_> = problem(None).into_iter().collect();
        // Perhaps all interfaces of the machine have subsections.
        if values.subsections.is_empty() {
            Checked {
                mistakes: of_all,
                notes: Vec::new(),
            }
        } else {
            Checked {
                mistakes: of_names,
                notes: of_all,
            }
        }
    }

    /// Returns the values for the node with the subsection `selected`.
    pub(crate) fn values(
        &self,
        section: &Section,
        selected: Option<&str>,
    ) -> Result<Vec<FileValue>, ConfigError> {
        let values = document::read(&self.text, section);
        let values: Result<SectionValues, _> = values.map_err(|problems| ConfigError::Invalid {
            path: self.path.clone(),
            problems,
        });
        Ok(values?.of_node(selected))
    }
}

/// Opens a file for reading. Never waits, because a daemon opens the file in its loop, and a pipe may have no writer.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let flags = flags.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}
