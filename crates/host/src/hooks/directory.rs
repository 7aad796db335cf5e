//! The hooks in a directory.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};
use ring_process::owned;

/// Suffixes of files that nobody means to run: leftovers of editors and package managers, and disabled hooks.
const PASSED_OVER: [&str; 13] = [
    "~",
    ",v",
    ".bak",
    ".disabled",
    ".old",
    ".orig",
    ".rej",
    ".rpmnew",
    ".rpmorig",
    ".rpmsave",
    ".sample",
    ".swp",
    ".tmp",
];
/// The same, followed by any suffix.
const PACKAGE: [&str; 2] = [".dpkg-", ".ucf-"];

const NOT_EXECUTABLE: &str = "is skipped: it is not executable; chmod +x makes it so";

/// The contents of a directory.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// The hooks, in the order of their names' bytes.
    pub(super) hooks: Vec<PathBuf>,
    /// Files that are skipped though they may be meant as hooks, and why.
    pub(super) problems: Vec<(PathBuf, String)>,
}

/// Looks for hooks. A missing directory has none; one that other users may write to is not trusted.
pub(super) fn look(directory: &Path) -> Found {
    let mut found = Found::default();
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return found,
        Err(error) => {
            let why = format!("cannot be read: {error}");
            found.problems.push((directory.to_owned(), why));
            return found;
        }
    };
    if let Some(why) = distrust(directory) {
        found.problems.push((directory.to_owned(), why));
        return found;
    }
    let paths = entries.flatten().map(|entry| entry.path());
    let mut paths: Vec<_> = paths
        .filter(|path| path.file_name().is_some_and(is_meant))
        .collect();
    paths.sort();
    for path in paths {
        // Follows a symbolic link; one that points nowhere is no file.
        if !fs::metadata(&path).is_ok_and(|found| found.is_file()) {
            continue;
        }
        let why = match access(&path, AccessFlags::X_OK) {
            Ok(()) => distrust(&path),
            Err(_) => Some(NOT_EXECUTABLE.to_owned()),
        };
        match why {
            None => found.hooks.push(path),
            Some(why) => found.problems.push((path, why)),
        }
    }
    found
}

/// Returns why other users could change what runs; `None`: they cannot.
fn distrust(path: &Path) -> Option<String> {
    match owned::changeable_by_others(path) {
        Ok(None) => None,
        Ok(Some(way)) => Some(format!(
            "is skipped: others than root and this daemon's user may change {}; chmod go-w it, and chown it if it \
             is another user's",
            way.display()
        )),
        Err(error) => Some(format!("is skipped: it cannot be looked at: {error}")),
    }
}

/// Whether a file of this name is meant to run.
fn is_meant(name: &OsStr) -> bool {
    let name = name.as_bytes();
    let contains = |part: &str| name.windows(part.len()).any(|at| at == part.as_bytes());
    !name.starts_with(b".")
        && !PASSED_OVER.iter().any(|end| name.ends_with(end.as_bytes()))
        && !PACKAGE.iter().any(|part| contains(part))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    use tempfile::{Builder, TempDir};

    use super::{Found, look};

    /// Others cannot change it, whatever the file mode mask is just now.
    fn place() -> TempDir {
        let own = fs::Permissions::from_mode(0o700);
        Builder::new().permissions(own).tempdir().unwrap()
    }

    fn make(directory: &Path, name: &str, mode: u32) {
        let path = directory.join(name);
        fs::write(&path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn executable_files_are_found_in_the_order_of_their_names() {
        let directory = place();
        let at = |name: &str| directory.path().join(name);
        for name in ["9", "10-mail.sh", "B", "a", "10-Mail", "a.b.c"] {
            make(directory.path(), name, 0o755);
        }
        for name in [
            ".hidden",
            "a~",
            "a.bak",
            "a.swp",
            "a.dpkg-old",
            "a.ucf-dist",
            "a.rpmsave",
            "a.sample",
        ] {
            make(directory.path(), name, 0o755);
        }
        make(directory.path(), "README", 0o644);
        fs::create_dir(at("directory")).unwrap();
        symlink(at("a"), at("link")).unwrap();
        symlink(at("nowhere"), at("broken")).unwrap();
        let found = look(directory.path());
        let expected = ["10-Mail", "10-mail.sh", "9", "B", "a", "a.b.c", "link"];
        assert_eq!(found.hooks, expected.map(at));
        let [(path, why)] = &found.problems[..] else {
            panic!("{found:?}");
        };
        assert_eq!(*path, at("README"));
        assert!(why.contains("chmod +x"), "{why}");
    }

    #[test]
    fn what_others_may_write_is_not_run() {
        let directory = place();
        let at = |name: &str| directory.path().join(name);
        make(directory.path(), "mine", 0o755);
        make(directory.path(), "group", 0o775);
        make(directory.path(), "all", 0o757);
        fs::create_dir(at("open")).unwrap();
        make(&at("open"), "target", 0o755);
        fs::set_permissions(at("open"), fs::Permissions::from_mode(0o777)).unwrap();
        symlink("open/target", at("link")).unwrap();
        let found = look(directory.path());
        assert_eq!(found.hooks, [at("mine")]);
        let problems = found.problems.iter().map(|(path, _)| path.clone());
        assert_eq!(
            problems.collect::<Vec<_>>(),
            ["all", "group", "link"].map(at)
        );
        assert!(
            found
                .problems
                .iter()
                .all(|(_, why)| why.contains("chmod go-w")),
            "{found:?}"
        );
        let named = &found.problems[2].1;
        assert!(named.contains(&at("open").display().to_string()), "{named}");
        let found = look(&at("open"));
        assert!(found.hooks.is_empty(), "{found:?}");
        assert_eq!(found.problems.len(), 1, "{found:?}");
    }

    #[test]
    fn no_directory_is_no_problem_and_one_that_cannot_be_read_is() {
        let directory = place();
        assert_eq!(look(&directory.path().join("none")), Found::default());
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        let found = look(&file);
        assert!(found.hooks.is_empty());
        assert_eq!(found.problems.len(), 1, "{found:?}");
        assert_eq!(found.problems[0].0, file);
    }
}
