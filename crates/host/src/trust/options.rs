//! The options that give a node its keys.

use clap::Args;

use super::Trust;
use super::key_file::{KeyFileError, KeySource, ServiceUser};
use crate::Error;

/// The options that give a node its keys.
#[derive(Debug, Clone, Default, Args)]
pub struct KeyOptions {
    /// Sign messages with the first key of this file
    ///
    /// The node accepts only messages that are signed with a key of the file. Each line is an id and a key, as ringd
    /// keygen prints them. The file must belong to root or the daemon's user, with mode 0600. The value
    /// credential:NAME names a credential of the systemd unit.
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<KeySource>,

    /// Accept messages without a valid signature too
    ///
    /// Use the option only while members without the keys exist, because it removes the protection.
    #[arg(long)]
    pub accept_unsigned: bool,
}

impl KeyOptions {
    /// Checks that the options can work together.
    ///
    /// # Errors
    /// Fails if unsigned messages are accepted, but there are no keys.
    pub fn check(&self) -> Result<(), Error> {
        if self.accept_unsigned && self.key_file.is_none() {
            return Err(Error::Usage(
                "--accept-unsigned needs --key-file: without keys, a node accepts all messages; add --key-file FILE, \
                 or remove --accept-unsigned"
                    .to_owned(),
            ));
        }
        Ok(())
    }

    /// Reads the keys, if there is a key file.
    ///
    /// # Errors
    /// Fails if the file cannot be used.
    pub fn trust(&self) -> Result<Trust, KeyFileError> {
        let keys = self.key_file.as_ref().map(KeySource::read);
        Ok(Trust {
            keys: keys.transpose()?,
            accepts_unsigned: self.accept_unsigned,
        })
    }

    /// Checks the key file, if the options name one. The daemons of the systemd units run as the user `service`. If
    /// they cannot use the file, returns a note.
    ///
    /// # Errors
    /// Fails if no daemon can use the file.
    pub fn check_keys(
        &self,
        service: Option<&ServiceUser>,
    ) -> Result<Option<String>, KeyFileError> {
        let note = self.key_file.as_ref().map(|file| file.check(service));
        Ok(note.transpose()?.flatten())
    }
}
