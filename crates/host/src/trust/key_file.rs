//! Reads files with the keys of a node.

use std::env;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use ring_process::secret_file::{self, Owner, SecretFileError};
use ring_trust::{ClientKeys, KeyId, Keyring, KeyringError};
use thiserror::Error;

/// If the value of an option begins with this text, it names a credential of systemd.
const CREDENTIAL: &str = "credential:";
/// The variable with the directory of the credentials.
const CREDENTIALS_DIRECTORY: &str = "CREDENTIALS_DIRECTORY";
/// The maximum length of a key file, in bytes. A file with the maximum number of keys needs less than a quarter of this
/// length.
const LEN_MAX: u64 = 4096;
/// The maximum length of a file with the keys of clients, in bytes.
const CLIENTS_LEN_MAX: u64 = 1 << 20;

/// The user as which the systemd units of a system run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServiceUser {
    /// The name of the user.
    pub name: &'static str,
    /// The id of the user.
    pub id: u32,
}

/// The place of a key file, from the value of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// The file at this path.
    File(PathBuf),
    /// The credential with this name, which systemd gives to the unit.
    Credential(String),
}

impl FromStr for KeySource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(name) = text.strip_prefix(CREDENTIAL) else {
            return Ok(Self::File(text.into()));
        };
        if name.is_empty() || name.contains('/') || name.starts_with('.') {
            return Err(format!(
                "not a credential; give the name from LoadCredential=, as in {CREDENTIAL}ring.keys"
            ));
        }
        Ok(Self::Credential(name.to_owned()))
    }
}

/// The reason why the keys of a node cannot be used, and a remedy.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KeyFileError {
    /// The file cannot be used.
    #[error("cannot use the key file {}: {why}", path.display())]
    Refused {
        /// The path of the file.
        path: PathBuf,
        /// The reason.
        why: SecretFileError,
    },
    /// The contents of the file are wrong.
    #[error("cannot use the key file {}: {why}", path.display())]
    Invalid {
        /// The path of the file.
        path: PathBuf,
        /// The reason.
        why: KeyringError,
    },
    /// systemd gave this process no credentials.
    #[error(
        "cannot read the credential {name}: {CREDENTIALS_DIRECTORY} is not set; add LoadCredential={name}:FILE to the \
         unit, or give the path of a file instead of credential:{name}"
    )]
    NoCredentials {
        /// The name of the credential.
        name: String,
    },
    /// The credential cannot be read.
    #[error(
        "cannot read the credential {name}: {why}; compare the name with LoadCredential= of the unit"
    )]
    Credential {
        /// The name of the credential.
        name: String,
        /// The reason.
        why: SecretFileError,
    },
}

impl KeySource {
    /// Reads the keys.
    ///
    /// # Errors
    /// Fails if there is no such file, or if its contents are wrong. Also fails if users other than root and the user
    /// of this process have access to it.
    pub(crate) fn read(&self) -> Result<Keyring, KeyFileError> {
        self.parse(LEN_MAX, Keyring::parse)
    }

    /// Reads the keys of clients. A key of a client must not have the id of a key in `ring`.
    ///
    /// # Errors
    /// Fails with the errors of a key file.
    pub fn read_client_keys(&self, ring: &Keyring) -> Result<ClientKeys, KeyFileError> {
        let ids: Vec<KeyId> = ring.ids().collect();
        self.parse(CLIENTS_LEN_MAX, |text| ClientKeys::parse(text, &ids))
    }

    fn parse<T>(
        &self,
        len_max: u64,
        parse: impl FnOnce(&str) -> Result<T, KeyringError>,
    ) -> Result<T, KeyFileError> {
        match self {
            Self::File(path) => read_file(path, len_max, Owner::Own, parse).map(|(keys, _)| keys),
            Self::Credential(name) => read_credential(name, len_max, parse),
        }
    }

    /// Returns the directory of the file. If the file is a symbolic link, also returns the directory of the link's
    /// target. The list is empty if the file is a credential and the process has no credentials.
    pub(crate) fn directories(&self) -> Vec<PathBuf> {
        match self {
            Self::File(path) => [std::path::absolute(path), path.canonicalize()]
                .into_iter()
                .filter_map(|path| path.ok()?.parent().map(Path::to_owned))
                .collect(),
            Self::Credential(_) => env::var_os(CREDENTIALS_DIRECTORY)
                .map(PathBuf::from)
                .into_iter()
                .collect(),
        }
    }

    /// Checks whether a daemon can use the file. The daemon may run as another user than this process. The daemons of
    /// the systemd units run as the user `service`. If they cannot use the file, returns a note.
    ///
    /// # Errors
    /// Fails if no daemon can use the file.
    pub(crate) fn check(
        &self,
        service: Option<&ServiceUser>,
    ) -> Result<Option<String>, KeyFileError> {
        self.check_with(service, LEN_MAX, Keyring::parse)
    }

    /// Checks the file with the keys of clients as [`KeyOptions::check_keys`](super::KeyOptions::check_keys) does.
    ///
    /// # Errors
    /// Fails if no daemon can use the file.
    pub fn check_client_keys(
        &self,
        service: Option<&ServiceUser>,
    ) -> Result<Option<String>, KeyFileError> {
        self.check_with(service, CLIENTS_LEN_MAX, |text| {
            ClientKeys::parse(text, &[])
        })
    }

    fn check_with<T>(
        &self,
        service: Option<&ServiceUser>,
        len_max: u64,
        parse: impl FnOnce(&str) -> Result<T, KeyringError>,
    ) -> Result<Option<String>, KeyFileError> {
        match self {
            Self::File(path) => {
                let (_, owner) = read_file(path, len_max, Owner::Any, parse)?;
                let path = path.display();
                Ok(service.filter(|it| it.id != owner).map(|it| {
                    format!(
                        "the daemons of the systemd units cannot read the key file {path}; run chown {} on it",
                        it.name
                    )
                }))
            }
            Self::Credential(name) => Ok(Some(format!(
                "only a unit can read the credential {name}, so it is not checked"
            ))),
        }
    }
}

fn read_file<T>(
    path: &Path,
    len_max: u64,
    owner: Owner,
    parse: impl FnOnce(&str) -> Result<T, KeyringError>,
) -> Result<(T, u32), KeyFileError> {
    let refused = |why| KeyFileError::Refused {
        path: path.to_owned(),
        why,
    };
    let file = secret_file::read(path, len_max, owner).map_err(refused)?;
    let keys = parse(&file.text).map_err(|why| invalid(path, why))?;
    Ok((keys, file.owner))
}

fn invalid(path: &Path, why: KeyringError) -> KeyFileError {
    let path = path.to_owned();
    KeyFileError::Invalid { path, why }
}

fn read_credential<T>(
    name: &str,
    len_max: u64,
    parse: impl FnOnce(&str) -> Result<T, KeyringError>,
) -> Result<T, KeyFileError> {
    let owned = || name.to_owned();
    let Some(folder) = env::var_os(CREDENTIALS_DIRECTORY) else {
        return Err(KeyFileError::NoCredentials { name: owned() });
    };
    let path = Path::new(&folder).join(name);
    let text = secret_file::read_credential(&path, len_max)
        .map_err(|why| KeyFileError::Credential { name: owned(), why })?;
    parse(&text).map_err(|why| invalid(&path, why))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::KeySource;

    #[test]
    fn a_value_is_a_path_or_the_name_of_a_credential() {
        let file = KeySource::File(PathBuf::from("/etc/ringd/ring.keys"));
        assert_eq!("/etc/ringd/ring.keys".parse(), Ok(file));
        let credential = KeySource::Credential("ring.keys".to_owned());
        assert_eq!("credential:ring.keys".parse(), Ok(credential));
        for wrong in ["credential:", "credential:a/b", "credential:../b"] {
            let error = wrong.parse::<KeySource>().unwrap_err();
            assert!(error.contains("LoadCredential="), "{wrong}: {error}");
        }
    }
}
