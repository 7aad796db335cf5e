//! What a test has found out, for whoever wants to know it without running the test again.

use std::fmt::{Display, Write as _};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The findings of one test, printed as they come. The job `model` of `.ci/run` reads the files.
pub struct Findings {
    /// The test's name.
    pub test: &'static str,
    path: PathBuf,
    lines: String,
}

impl Findings {
    /// Of a test in the binary `suite`, kept below the build's own folder for tests. What an earlier
    /// run has left goes: a test that fails leaves nothing.
    ///
    /// # Errors
    /// The folder cannot be made, or the file not removed.
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

    /// Prints a finding and takes it down.
    pub fn note(&mut self, finding: impl Display) {
        println!("{finding}");
        let _ = writeln!(self.lines, "{finding}");
    }

    /// Leaves the findings of a test that has passed.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(self) -> io::Result<()> {
        fs::write(self.path, self.lines)
    }
}

/// The findings of a test of the binary that this stands in, which only an integration test can
/// ask for.
///
/// # Panics
/// The test's file cannot be replaced.
#[macro_export]
macro_rules! findings {
    ($test:expr) => {
        $crate::Findings::of(env!("CARGO_TARGET_TMPDIR"), env!("CARGO_CRATE_NAME"), $test)
            .expect("a file for the findings")
    };
}
