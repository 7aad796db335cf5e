//! Servers of the token service that have keys.

mod attacker;
mod clients;
mod roll_out;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use anyhow::{Result, ensure};
use ring_segment::{Test, WAIT_LIMIT, key_line};

use super::stand::ServerStand;
use crate::locks::program::Running;

/// The servers are on the first nodes, and the clients are on the next node.
const SERVERS: usize = 3;
const CLIENTS: usize = SERVERS;
/// The key of clients that may have the tokens `held`, `load` and `backup/*`.
const CLIENT_KEY: u8 = 20;
const PERMITTED: &str = "held load backup/*";

pub(super) fn tests() -> Vec<Test> {
    [roll_out::tests(), attacker::tests(), clients::tests()].concat()
}

/// Servers with configuration files and key files.
struct KeyStand {
    servers: ServerStand,
}

impl KeyStand {
    /// Starts the servers with these keys on a segment of `nodes` nodes.
    fn new(nodes: usize, keys: &[u8]) -> Result<Self> {
        let mut stand = Self {
            servers: ServerStand::without_servers(nodes, SERVERS)?,
        };
        for index in 0..SERVERS {
            stand.write_keys(index, keys)?;
            stand.write_config(index, !keys.is_empty(), false)?;
            let config = stand.file(&format!("{index}.toml"));
            stand.servers.start_with_config(index, &config)?;
        }
        stand.servers.segment().node(CLIENTS).wait_for_link()?;
        stand.write_client_file("client.keys", &client_line(CLIENT_KEY, PERMITTED))?;
        Ok(stand)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.servers.folder().join(name)
    }

    fn write_client_file(&self, name: &str, lines: &str) -> Result<()> {
        let path = self.file(name);
        fs::write(&path, lines)?;
        Ok(fs::set_permissions(path, Permissions::from_mode(0o600))?)
    }

    /// Writes the key file of a server, and its file with the keys of clients.
    fn write_keys(&self, index: usize, keys: &[u8]) -> Result<()> {
        let lines: String = keys.iter().map(|id| key_line(*id)).collect();
        self.write_client_file(&format!("{index}.keys"), &lines)?;
        let clients = client_line(CLIENT_KEY, PERMITTED);
        self.write_client_file(&format!("{index}.clients"), &clients)
    }

    fn write_config(&self, index: usize, has_keys: bool, accepts_unsigned: bool) -> Result<()> {
        let option = |name: &str, kind: &str| {
            let path = self.file(&format!("{index}.{kind}"));
            format!("{name} = '{}'\n", path.display())
        };
        let mut text = "[ftn]\n".to_owned();
        if has_keys {
            text.push_str(&option("key-file", "keys"));
            text.push_str(&option("client-keys", "clients"));
        }
        if accepts_unsigned {
            text.push_str("accept-unsigned = true\n");
        }
        Ok(fs::write(self.file(&format!("{index}.toml")), text)?)
    }

    /// Waits until all servers serve, and the leader has received a proven message with this key from each other
    /// server. Returns the leader.
    fn wait_for_key(&mut self, key: u8) -> Result<usize> {
        let leader = self.servers.wait_until_served_by(&[0, 1, 2])?;
        let server = self.servers.server(leader);
        server.wait_for_status(WAIT_LIMIT, |status| {
            let mut others = (0..SERVERS).filter(|index| *index != leader);
            others.all(|index| status["servers"][index]["key"] == key)
        })?;
        Ok(leader)
    }

    /// Returns `ringctl token` with these arguments, for the machine of the clients.
    fn token(&self, key_file: Option<&str>, arguments: &[&str]) -> Command {
        let mut command = Command::new(ring_segment::program("ringctl"));
        command
            .arg("token")
            .arg("--servers")
            .arg(self.servers.list());
        if let Some(name) = key_file {
            command.arg("--key-file").arg(self.file(name));
        }
        command.args(arguments).stdin(Stdio::null());
        command
    }

    /// Runs `ringctl token` on the machine of the clients, and waits for its end.
    fn output(&self, key_file: Option<&str>, arguments: &[&str]) -> Result<Output> {
        let mut command = self.token(key_file, arguments);
        let ns = self.servers.segment().node(CLIENTS).ns();
        Ok(ns.run(|| command.output())??)
    }

    /// Checks the exit code of `ringctl token`, and that its error contains all these words.
    fn expect(
        &self,
        key_file: Option<&str>,
        arguments: &[&str],
        code: i32,
        words: &[&str],
    ) -> Result<()> {
        let output = self.output(key_file, arguments)?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.code() == Some(code) && words.iter().all(|word| errors.contains(word)),
            "{arguments:?}: {words:?}: {output:?}"
        );
        Ok(())
    }

    /// Starts a program that holds a token, and waits for the grant.
    fn hold(&self, key_file: Option<&str>, name: &str) -> Result<Running> {
        let mut command = self.token(key_file, &["hold", name]);
        let ns = self.servers.segment().node(CLIENTS).ns();
        let mut hold = ns.run(|| Running::start(&mut command))??;
        let line = hold.line();
        ensure!(line.starts_with("granted "), "{line:?}: {}", hold.errors());
        Ok(hold)
    }
}

/// Returns a line of a file with the keys of clients.
fn client_line(id: u8, names: &str) -> String {
    format!("{} {names}\n", key_line(id).trim_end())
}
