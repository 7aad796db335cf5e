//! A PostgreSQL server with a socket in a folder. The folder is deleted at the end of the test.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use crate::netns::NetNs;

/// Folder of the programs of each version on Debian.
const VERSIONS_DIR: &str = "/usr/lib/postgresql";
const DATABASE_USER: &str = "postgres";
/// Unprivileged user. The server runs as this user because it refuses to run as root.
const NOBODY_UID: u32 = 65534;

/// A PostgreSQL server with a socket in a folder. The server is stopped on drop.
#[derive(Debug)]
pub struct PostgreSql {
    programs: PathBuf,
    folder: TempDir,
    /// Command that runs a given command as the unprivileged user.
    as_nobody: Vec<String>,
    /// Options of the server, without the option for the socket.
    options: String,
    /// Network namespace of the server, or `None` for the test's namespace.
    ns: Option<NetNs>,
    runs: bool,
}

impl PostgreSql {
    /// Starts a server with its files in `folder`. Tests use a folder in memory, such as the sandbox's `/run`, because
    /// a server may need a minute on a busy disk.
    pub fn start(folder: TempDir) -> Result<Self> {
        let programs = programs()?;
        let as_nobody = as_nobody(folder.path())?;
        let mut server = Self {
            programs,
            folder,
            as_nobody,
            options: "-c listen_addresses=".to_owned(),
            ns: None,
            runs: false,
        };
        let data = server.data();
        server.run(
            "initdb",
            &[
                "-D",
                &data,
                "-U",
                DATABASE_USER,
                "--auth=trust",
                "--no-sync",
                "-E",
                "UTF8",
                "--no-locale",
            ],
        )?;
        server.launch()?;
        Ok(server)
    }

    /// Starts the server again after [`PostgreSql::crash`], with its committed data.
    pub fn launch(&mut self) -> Result<()> {
        let (data, socket) = (self.data(), self.folder.path().display());
        let own = &self.options;
        let options = format!("{own} -c unix_socket_directories={socket} -c fsync=off");
        let log = format!("{socket}/log");
        let started = self.run(
            "pg_ctl",
            &["-D", &data, "-w", "-l", &log, "-o", &options, "start"],
        );
        started.with_context(|| fs::read_to_string(&log).unwrap_or_default())?;
        self.runs = true;
        Ok(())
    }

    /// Starts the server again with TLS at a port of this machine. `certificate` and `key` are PEM texts.
    pub fn launch_with_tls(&mut self, port: u16, certificate: &str, key: &str) -> Result<()> {
        self.crash()?;
        for (name, text) in [("cert.pem", certificate), ("key.pem", key)] {
            let path = self.folder.path().join("data").join(name);
            let written = format!("umask 077; printf %s \"$1\" >{}", path.display());
            self.run_as_nobody(Path::new("sh"), &["-c", &written, "sh", text])?;
        }
        self.options = format!(
            "-c listen_addresses=localhost -c port={port} -c ssl=on -c ssl_cert_file=cert.pem -c ssl_key_file=key.pem"
        );
        self.launch()
    }

    /// Starts the server again in a different network namespace. There the server listens at `address` too, and trusts
    /// each client.
    pub fn move_to(&mut self, ns: &NetNs, address: &str) -> Result<()> {
        self.crash()?;
        let trust = format!("echo host all all all trust >>{}/pg_hba.conf", self.data());
        self.run_as_nobody(Path::new("sh"), &["-c", &trust])?;
        self.options = format!("-c listen_addresses={address}");
        self.ns = Some(ns.clone());
        self.launch()
    }

    /// Ends the server at once, like a crash: clients lose their connections and uncommitted data.
    pub fn crash(&mut self) -> Result<()> {
        self.run("pg_ctl", &["-D", &self.data(), "-m", "immediate", "stop"])?;
        self.runs = false;
        Ok(())
    }

    fn data(&self) -> String {
        self.folder.path().join("data").display().to_string()
    }

    /// Returns the folder of psql and the other programs.
    pub fn programs(&self) -> &Path {
        &self.programs
    }

    pub fn url(&self) -> String {
        let folder = self.folder.path().display().to_string().replace('/', "%2F");
        format!("postgres://{DATABASE_USER}@{folder}/{DATABASE_USER}")
    }

    /// Returns environment variables with the address of the server, for clients that read the address from the
    /// environment.
    pub fn environment(&self) -> [(&'static str, String); 3] {
        let folder = self.folder.path().display().to_string();
        [
            ("PGHOST", folder),
            ("PGUSER", DATABASE_USER.to_owned()),
            ("PGDATABASE", DATABASE_USER.to_owned()),
        ]
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Result<Output> {
        self.run_as_nobody(&self.programs.join(program), arguments)
    }

    fn run_as_nobody(&self, program: &Path, arguments: &[&str]) -> Result<Output> {
        let mut command = Command::new(&self.as_nobody[0]);
        command.args(&self.as_nobody[1..]);
        command.arg(program).args(arguments);
        // The output goes to a file: the server inherits the streams, and would keep a pipe open.
        let log_path = self.folder.path().join("said");
        let file = fs::File::create(&log_path)?;
        command.current_dir("/").stdin(Stdio::null());
        command.stdout(file.try_clone()?).stderr(file);
        let output = match &self.ns {
            Some(ns) => ns.run(|| command.output())??,
            None => command.output()?,
        };
        ensure!(
            output.status.success(),
            "{}: {}",
            program.display(),
            fs::read_to_string(&log_path).unwrap_or_default()
        );
        Ok(output)
    }
}

impl Drop for PostgreSql {
    fn drop(&mut self) {
        if self.runs
            && let Err(error) = self.crash()
        {
            eprintln!("cannot stop a PostgreSQL server: {error:#}");
        }
    }
}

/// Returns the folder of the newest version's programs.
fn programs() -> Result<PathBuf> {
    let versions = fs::read_dir(VERSIONS_DIR).into_iter().flatten().flatten();
    let number = |path: &Path| -> Option<u32> { path.file_name()?.to_str()?.parse().ok() };
    let mut found: Vec<_> = versions.map(|entry| entry.path()).collect();
    found.retain(|path| path.join("bin/initdb").exists());
    found.sort_by_key(|path| number(path));
    if let Some(newest) = found.pop() {
        return Ok(newest.join("bin"));
    }
    // Other distributions have the programs in PATH.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path);
    folders
        .find(|folder| folder.join("initdb").exists())
        .context("there is no PostgreSQL server: install it, for example with apt-get install postgresql")
}

/// Makes an unprivileged user the owner of the folder. Returns the command that runs a given command as this user.
fn as_nobody(folder: &Path) -> Result<Vec<String>> {
    let other = format!("--reuid={NOBODY_UID} --regid={NOBODY_UID} --clear-groups");
    // In a user namespace with a single user, a nested namespace provides the second user.
    let mapped = format!("--user --map-user={NOBODY_UID} --map-group={NOBODY_UID}");
    for (program, arguments, gives) in [("setpriv", other, true), ("unshare", mapped, false)] {
        let mut line = vec![program.to_owned()];
        line.extend(arguments.split(' ').map(str::to_owned));
        let tried = Command::new(program).args(&line[1..]).arg("true").output();
        if tried.is_ok_and(|output| output.status.success()) {
            if gives {
                chown(folder, Some(NOBODY_UID), Some(NOBODY_UID))?;
            }
            return Ok(line);
        }
    }
    bail!("neither setpriv nor unshare (util-linux) can run a command as another user than root")
}
