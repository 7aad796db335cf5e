//! Finds the hooks in a directory.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};
use ring_process::private_files;

/// Suffixes of the names of files that are not hooks, such as leftovers of editors and package managers, and disabled
/// hooks.
const SKIPPED_SUFFIXES: [&str; 13] = [
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
/// Package managers leave files whose names contain one of these parts. Any text may follow the part.
const SKIPPED_INFIXES: [&str; 2] = [".dpkg-", ".ucf-"];

const NOT_EXECUTABLE: &str = "is skipped: it is not executable; make it executable with chmod +x";

/// The hooks in a directory, and the skipped files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct HookFiles {
    /// Hooks, ordered by the bytes of their names.
    pub(super) hooks: Vec<PathBuf>,
    /// Skipped files that an operator may have intended as hooks. Each file has the reason why it was skipped.
    pub(super) problems: Vec<(PathBuf, String)>,
}

/// Searches a directory for hooks. A missing directory counts as a directory without hooks. If other users can change
/// the directory, skips all hooks in it.
pub(super) fn find_hooks(directory: &Path) -> HookFiles {
    let mut found = HookFiles::default();
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return found,
        Err(error) => {
            let why = format!("cannot be read: {error}");
            found.problems.push((directory.to_owned(), why));
            return found;
        }
    };
    if let Some(why) = reason_for_distrust(directory) {
        found.problems.push((directory.to_owned(), why));
        return found;
    }
    let paths = entries.flatten().map(|entry| entry.path());
    let mut paths: Vec<_> = paths
        .filter(|path| path.file_name().is_some_and(is_meant_to_run))
        .collect();
    paths.sort();
    for path in paths {
        // `metadata` follows a symbolic link. A broken link is not a file.
        if !fs::metadata(&path).is_ok_and(|found| found.is_file()) {
            continue;
        }
        let why = match access(&path, AccessFlags::X_OK) {
            Ok(()) => reason_for_distrust(&path),
            Err(_) => Some(NOT_EXECUTABLE.to_owned()),
        };
        match why {
            None => found.hooks.push(path),
            Some(why) => found.problems.push((path, why)),
        }
    }
    found
}

/// Returns the reason why other users could change the program or directory; `None` if they cannot change it.
fn reason_for_distrust(path: &Path) -> Option<String> {
    match private_files::find_changeable_part(path) {
        Ok(None) => None,
        Ok(Some(way)) => Some(format!(
            "is skipped: users other than root and the daemon's user may change {}; run chmod go-w on it, and chown if \
             another user owns it",
            way.display()
        )),
        Err(error) => Some(format!(
            "is skipped: its owner and mode cannot be read: {error}"
        )),
    }
}

fn is_meant_to_run(name: &OsStr) -> bool {
    let name = name.as_bytes();
    let contains = |part: &str| name.windows(part.len()).any(|at| at == part.as_bytes());
    !name.starts_with(b".")
        && !SKIPPED_SUFFIXES
            .iter()
            .any(|end| name.ends_with(end.as_bytes()))
        && !SKIPPED_INFIXES.iter().any(|part| contains(part))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    use tempfile::{Builder, TempDir};

    use super::{HookFiles, find_hooks};

    /// Makes a directory that other users cannot change. The file mode mask has no influence.
    fn private_directory() -> TempDir {
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
        let directory = private_directory();
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
        let found = find_hooks(directory.path());
        let expected = ["10-Mail", "10-mail.sh", "9", "B", "a", "a.b.c", "link"];
        assert_eq!(found.hooks, expected.map(at));
        let [(path, why)] = &found.problems[..] else {
            panic!("{found:?}");
        };
        assert_eq!(*path, at("README"));
        assert!(why.contains("chmod +x"), "{why}");
    }

    #[test]
    fn hooks_that_others_may_change_are_skipped() {
        let directory = private_directory();
        let at = |name: &str| directory.path().join(name);
        make(directory.path(), "mine", 0o755);
        make(directory.path(), "group", 0o775);
        make(directory.path(), "all", 0o757);
        fs::create_dir(at("open")).unwrap();
        make(&at("open"), "target", 0o755);
        fs::set_permissions(at("open"), fs::Permissions::from_mode(0o777)).unwrap();
        symlink("open/target", at("link")).unwrap();
        let found = find_hooks(directory.path());
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
        let found = find_hooks(&at("open"));
        assert!(found.hooks.is_empty(), "{found:?}");
        assert_eq!(found.problems.len(), 1, "{found:?}");
    }

    #[test]
    fn a_missing_directory_is_no_problem_but_an_unreadable_one_is() {
        let directory = private_directory();
        assert_eq!(
            find_hooks(&directory.path().join("none")),
            HookFiles::default()
        );
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        let found = find_hooks(&file);
        assert!(found.hooks.is_empty());
        assert_eq!(found.problems.len(), 1, "{found:?}");
        assert_eq!(found.problems[0].0, file);
    }
}
