//! The file with the keys of a client.

use std::path::{Path, PathBuf};

use ring_client::token::{self, ClientKeys, Servers, Session};
use ring_process::secret_file::{self, Owner};
use std::time::Duration;

/// The environment variable with the path of the key file.
pub(super) const KEY_FILE_VARIABLE: &str = "RINGD_KEY_FILE";

/// The maximum length of a key file, in bytes.
const LEN_MAX: u64 = 64 << 10;

/// A key file that was read.
#[derive(Debug, Clone)]
pub(super) struct KeyFile {
    /// The absolute path of the file.
    path: PathBuf,
    keys: ClientKeys,
}

impl KeyFile {
    /// Reads the file, if there is a path.
    ///
    /// # Errors
    /// Returns the reason and a remedy as a sentence.
    pub(super) fn read(path: Option<&Path>) -> Result<Option<Self>, String> {
        path.map(Self::open).transpose()
    }

    fn open(path: &Path) -> Result<Self, String> {
        let refused = |why: String| format!("cannot use the key file {}: {why}", path.display());
        let file = secret_file::read(path, LEN_MAX, Owner::Own);
        let file = file.map_err(|why| refused(why.to_string()))?;
        let keys = ClientKeys::parse(&file.text, &[]).map_err(|why| refused(why.to_string()))?;
        let path = std::path::absolute(path).map_err(|why| refused(why.to_string()))?;
        Ok(Self { path, keys })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) const fn keys(&self) -> &ClientKeys {
        &self.keys
    }
}

/// Opens a session, with signatures if there is a key file.
pub(super) fn open_session(
    servers: Servers,
    timeout: Duration,
    introduction: &str,
    file: Option<&KeyFile>,
) -> Result<Session, token::Error> {
    match file {
        Some(KeyFile { keys, .. }) => {
            Session::open_signed(servers, timeout, introduction, keys.clone())
        }
        None => Session::open(servers, timeout, introduction),
    }
}
