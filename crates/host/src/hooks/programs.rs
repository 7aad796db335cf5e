//! The programs of the launcher: the hooks that the options name.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::directory;
use crate::program::{Found, Launcher, Programs};

const COMMAND_LINE_HOOK: &str = "--on-change";

/// The options that name hooks.
#[derive(Debug, Clone, Default)]
pub struct HookSources {
    /// Command line for the shell.
    pub command: Option<String>,
    /// Directory of hook programs.
    pub directory: PathBuf,
}

#[derive(Debug)]
enum Hook {
    Line(String),
    File(PathBuf),
}

impl Hook {
    fn name(&self) -> String {
        match self {
            Self::Line(_) => COMMAND_LINE_HOOK.to_owned(),
            Self::File(path) => display_path(path),
        }
    }
}

struct HookPrograms<R> {
    sources: HookSources,
    reload: R,
    /// The hooks of the last search.
    hooks: Vec<Hook>,
}

/// Starts the process that starts hooks. The daemon must have a single thread. The process calls `reload` after the
/// daemon has read its configuration file again. If `reload` returns `None`, the hooks stay the same.
///
/// # Errors
/// Fails if the process has too many files open, or if the system has too many processes.
pub fn start_launcher(
    sources: HookSources,
    reload: impl FnMut() -> Option<HookSources>,
) -> io::Result<Launcher> {
    Launcher::start(HookPrograms {
        sources,
        reload,
        hooks: Vec::new(),
    })
}

impl<R: FnMut() -> Option<HookSources>> Programs for HookPrograms<R> {
    fn find(&mut self, reloads: bool) -> Found {
        let new = reloads.then(|| (self.reload)()).flatten();
        self.sources = new.unwrap_or_else(|| self.sources.clone());
        let found = directory::find_hooks(&self.sources.directory);
        let line = self.sources.command.clone().map(Hook::Line);
        let files = found.hooks.into_iter().map(Hook::File);
        self.hooks = line.into_iter().chain(files).collect();
        let problems = found.problems.into_iter();
        Found {
            names: self.hooks.iter().map(Hook::name).collect(),
            problems: problems
                .map(|(path, why)| (display_path(&path), why))
                .collect(),
        }
    }

    fn command(&mut self, program: usize, _: &[OsString]) -> Option<Command> {
        Some(match self.hooks.get(program)? {
            Hook::Line(line) => {
                let mut shell = Command::new("/bin/sh");
                shell.args(["-c", line]);
                shell
            }
            Hook::File(path) => Command::new(path),
        })
    }
}

fn display_path(path: &Path) -> String {
    path.display().to_string()
}
