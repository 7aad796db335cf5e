//! The files that git tracks.

use std::fs;
use std::path::Path;
use std::process::Command;

/// A text file of the repository.
pub(super) struct File {
    pub path: String,
    pub text: String,
}

/// All Markdown and Rust files, except data that programs generate.
pub(super) struct Tree(Vec<File>);

impl Tree {
    pub(super) fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let files = git(&["ls-files", "*.md", "*.rs"]);
        let files = files.lines().filter_map(|path| {
            // A file may be deleted in the working tree and still be tracked.
            let text = fs::read_to_string(root.join(path)).ok()?;
            let path = path.to_owned();
            Some(File { path, text })
        });
        Self(files.collect())
    }

    pub(super) fn markdown(&self) -> impl Iterator<Item = &File> {
        self.with_extension("md")
    }

    pub(super) fn rust(&self) -> impl Iterator<Item = &File> {
        self.with_extension("rs")
    }

    fn with_extension(&self, extension: &'static str) -> impl Iterator<Item = &File> {
        self.0.iter().filter(|file| file.has_extension(extension))
    }
}

impl File {
    fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path)
            .extension()
            .is_some_and(|it| it == extension)
    }

    /// Whether the file contains only tests, benchmarks or their tools.
    pub(super) fn is_of_tests(&self) -> bool {
        let path = &self.path;
        path.starts_with("tests/")
            || path.contains("/tests/")
            || path.contains("benches/")
            || path.ends_with("tests.rs")
    }
}

/// Returns the output of a git command on this repository.
pub(super) fn git(arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-C", env!("CARGO_MANIFEST_DIR")])
        .args(arguments)
        .output()
        .expect("git is installed, because the checks cover the files that git tracks");
    assert!(
        output.status.success(),
        "git {arguments:?} failed in this checkout: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("git prints UTF-8")
}
