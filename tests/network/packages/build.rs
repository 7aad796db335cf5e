//! Builds Debian packages from the programs that cargo has already built.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use ring_segment::{binaries, program};
use tempfile::TempDir;

/// A folder for packages.
pub(super) struct Packages {
    folder: TempDir,
}

impl Packages {
    pub(super) fn new() -> Result<Self> {
        check_programs()?;
        let folder = tempfile::tempdir()?;
        // cargo-deb takes only optimized programs from the target folder.
        let programs = Path::new(binaries().ringd).parent().context("a folder")?;
        symlink(programs, folder.path().join("release"))?;
        Ok(Self { folder })
    }

    /// Builds a version of a package, and returns its file.
    pub(super) fn build(&self, name: &str, version: &str) -> Result<PathBuf> {
        // Fails if the program is older than its sources.
        program(name);
        let file = self.folder.path().join(format!("{name}_{version}.deb"));
        let output = Command::new(env!("CARGO"))
            .args([
                "deb",
                "--locked",
                "--offline",
                "--no-build",
                "--no-strip",
                "--fast",
            ])
            .args(["--package", name, "--deb-version", version, "--output"])
            .arg(&file)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env("CARGO_TARGET_DIR", self.folder.path())
            .output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "cannot build {name}: {errors}");
        Ok(file)
    }
}

/// Reports a missing program, and how to install it.
fn check_programs() -> Result<()> {
    for (command, install) in [
        (
            &[env!("CARGO"), "deb"][..],
            "cargo install --locked cargo-deb",
        ),
        (&["dpkg"], "this test needs a Debian system"),
        (&["dpkg-shlibdeps"], "apt-get install dpkg-dev"),
    ] {
        let output = Command::new(command[0])
            .args(&command[1..])
            .arg("--version")
            .output();
        ensure!(
            output.is_ok_and(|output| output.status.success()),
            "{} --version fails: {install}",
            command.join(" ")
        );
    }
    Ok(())
}
