//! Where the database is.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

use super::postgresql::PostgreSql;
use super::sqlite::Sqlite;
use super::{Fault, Session};

/// Where the database is.
#[derive(Clone)]
pub enum Url {
    /// A file of this machine.
    Sqlite(PathBuf),
    /// A server.
    PostgreSql(Box<postgres::Config>),
}

/// Why a text is no such place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UrlError {
    /// It begins with something else.
    #[error("no database: give sqlite:///ABSOLUTE/PATH or postgres://USER@HOST/DATABASE")]
    Scheme,
    /// The file has no absolute path.
    #[error("an absolute path is needed: sqlite:///ABSOLUTE/PATH, with three slashes")]
    Path,
    /// The server's address cannot be read.
    #[error("no address of a PostgreSQL server ({0}): give postgres://USER@HOST/DATABASE")]
    Server(String),
}

impl FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        if let Some(path) = text.strip_prefix("sqlite://") {
            let path = Path::new(path);
            let is_file = path.is_absolute() && path.file_name().is_some();
            return is_file
                .then(|| Self::Sqlite(path.to_owned()))
                .ok_or(UrlError::Path);
        }
        if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
            return Err(UrlError::Scheme);
        }
        let config: postgres::Config = text
            .parse()
            .map_err(|error: postgres::Error| UrlError::Server(error.to_string()))?;
        if config.get_hosts().is_empty() {
            return Err(UrlError::Server("it names no host".to_owned()));
        }
        Ok(Self::PostgreSql(Box::new(config)))
    }
}

/// Without a password.
impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use postgres::config::Host;
        match self {
            Self::Sqlite(path) => write!(f, "sqlite://{}", path.display()),
            Self::PostgreSql(config) => {
                f.write_str("postgres://")?;
                for (place, host) in config.get_hosts().iter().enumerate() {
                    let comma = if place > 0 { "," } else { "" };
                    match host {
                        Host::Tcp(name) => write!(f, "{comma}{name}")?,
                        Host::Unix(path) => write!(f, "{comma}{}", path.display())?,
                    }
                }
                write!(f, "/{}", config.get_dbname().unwrap_or_default())
            }
        }
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Url {
    /// Connects. What waits for others in there gives up after some times `timeout`.
    ///
    /// # Errors
    /// The file cannot be used, or the server is not there.
    pub fn open(&self, timeout: Duration) -> Result<Box<dyn Session>, Fault> {
        Ok(match self {
            Self::Sqlite(path) => Box::new(Sqlite::open(path, timeout)?),
            Self::PostgreSql(config) => Box::new(PostgreSql::connect(config, timeout)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Url, UrlError};

    #[test]
    fn a_file_has_an_absolute_path_and_a_server_a_host() {
        let shown = |text: &str| text.parse::<Url>().map(|url| url.to_string());
        let file = "sqlite:///var/lib/ringd/board.db";
        assert_eq!(shown(file).as_deref(), Ok(file));
        assert_eq!(
            shown("postgres://board:secret@db.example/ring").as_deref(),
            Ok("postgres://db.example/ring"),
            "without the password"
        );
        assert_eq!(
            shown("postgresql://u@%2Frun%2Fpg/ring").as_deref(),
            Ok("postgres:///run/pg/ring")
        );
        for (text, error) in [
            ("board.db", UrlError::Scheme),
            ("mysql://a/b", UrlError::Scheme),
            ("sqlite://board.db", UrlError::Path),
            ("sqlite:///", UrlError::Path),
        ] {
            assert_eq!(shown(text), Err(error), "{text}");
        }
        for text in ["postgres://", "postgres://h:x/d"] {
            let Err(UrlError::Server(_)) = shown(text) else {
                panic!("{text}: {:?}", shown(text));
            };
        }
    }
}
