//! The findings of a test. A file stores the findings, so developers can read them without a new run.

use std::fmt::{Display, Write as _};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The findings of one test. The test prints each finding immediately. The job `model` of `.ci/run` reads the files.
pub struct Findings {
    /// The name of the test.
    pub test: &'static str,
    path: PathBuf,
    lines: String,
}

impl Findings {
    /// Creates the findings of a test. `suite` is the name of the binary that contains the test. The file of the
    /// findings is in the build's folder for tests. Removes the file of an earlier run, so a failed test leaves no
    /// file.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be created or the file cannot be removed.
    pub fn of(folder: &str, suite: &str, test: &'static str) -> io::Result<Self> {
        let folder = Path::new(folder).join("model").join(suite);
        fs::create_dir_all(&folder)?;
        let path = folder.join(test);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        Ok(Self {
            test,
            path,
            lines: String::new(),
        })
    }

    /// Prints and records a finding.
    pub fn note(&mut self, finding: impl Display) {
        println!("{finding}");
        let _ = writeln!(self.lines, "{finding}");
    }

    /// Writes the findings of a test that passed.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn keep(self) -> io::Result<()> {
        fs::write(self.path, self.lines)
    }
}

/// Creates the findings of a test in the current integration test.
///
/// # Panics
/// Panics if the file of an earlier run cannot be removed.
#[macro_export]
macro_rules! findings {
    ($test:expr) => {
        $crate::Findings::of(env!("CARGO_TARGET_TMPDIR"), env!("CARGO_CRATE_NAME"), $test)
            .expect("a file for the findings")
    };
}
