//! The place of the database.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use form_urlencoded::parse;
use thiserror::Error;

use super::postgresql::{PostgreSql, Server};
use super::sqlite::Sqlite;
use super::tls::Tls;
use super::{Fault, Session};

/// The place of the database.
#[derive(Clone)]
pub enum Url {
    /// A file of this machine.
    Sqlite(PathBuf),
    /// A server.
    PostgreSql(Box<Server>),
}

/// The reason why a URL is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UrlError {
    /// The URL begins with a different scheme.
    #[error(
        "no such kind of database: use sqlite:///ABSOLUTE/PATH or postgres://USER@HOST/DATABASE"
    )]
    Scheme,
    /// The path of the file is not absolute.
    #[error("the path is not absolute: use sqlite:///ABSOLUTE/PATH, with three slashes")]
    Path,
    /// The server's address is invalid.
    #[error("invalid address of a PostgreSQL server ({0}): use postgres://USER@HOST/DATABASE")]
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
        let (text, tls) = split_tls_options(text).map_err(UrlError::Server)?;
        let config: tokio_postgres::Config = text
            .parse()
            .map_err(|error: tokio_postgres::Error| UrlError::Server(error.to_string()))?;
        if config.get_hosts().is_empty() {
            return Err(UrlError::Server("it names no host".to_owned()));
        }
        Ok(Self::PostgreSql(Box::new(Server { config, tls })))
    }
}

/// Separates the TLS options from a URL, because the client library knows only three of the modes.
fn split_tls_options(text: &str) -> Result<(String, Tls), String> {
    let (mut tls, mut others) = (Tls::default(), Vec::new());
    let Some((place, query)) = text.split_once('?') else {
        return Ok((text.to_owned(), tls));
    };
    for pair in query.split('&') {
        match parse(pair.as_bytes()).next() {
            Some((name, mode)) if name == "sslmode" => tls.mode = mode.parse()?,
            Some((name, path)) if name == "sslrootcert" => {
                // "system" is libpq's name for the machine's authorities, which are the default.
                tls.roots = (path != "system").then(|| PathBuf::from(&*path));
            }
            _ => others.push(pair),
        }
    }
    Ok((format!("{place}?{}", others.join("&")), tls))
}

/// Shows the URL without its password.
impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use tokio_postgres::config::Host;
        match self {
            Self::Sqlite(path) => write!(f, "sqlite://{}", path.display()),
            Self::PostgreSql(server) => {
                f.write_str("postgres://")?;
                for (place, host) in server.config.get_hosts().iter().enumerate() {
                    let comma = if place > 0 { "," } else { "" };
                    match host {
                        Host::Tcp(name) => write!(f, "{comma}{name}")?,
                        Host::Unix(path) => write!(f, "{comma}{}", path.display())?,
                    }
                }
                write!(f, "/{}", server.config.get_dbname().unwrap_or_default())
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
    /// Whether the URL contains a password. Everyone who sees the URL would see the password.
    pub fn has_password(&self) -> bool {
        matches!(self, Self::PostgreSql(server) if server.config.get_password().is_some())
    }

    /// Opens a session. When the session must wait for other nodes, it gives up after a small multiple of `timeout`.
    ///
    /// # Errors
    /// Returns a fault if the file cannot be used, or if the server cannot be reached.
    pub fn open(&self, timeout: Duration) -> Result<Box<dyn Session>, Fault> {
        Ok(match self {
            Self::Sqlite(path) => Box::new(Sqlite::open(path, timeout)?),
            Self::PostgreSql(server) => Box::new(PostgreSql::connect(server, timeout)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::postgresql::Server;
    use super::super::tls::TlsMode;
    use super::{Url, UrlError};

    fn server(text: &str) -> Box<Server> {
        match text.parse() {
            Ok(Url::PostgreSql(server)) => server,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn a_url_says_how_the_connection_is_protected() {
        assert_eq!(server("postgres://h/d").tls.mode, TlsMode::Prefer);
        let verified = server(
            "postgres://h/d?sslmode=verify-full&connect_timeout=3&sslrootcert=/etc/my%20ca.pem",
        );
        assert_eq!(verified.tls.mode, TlsMode::VerifyFull);
        assert_eq!(
            verified.tls.roots.as_deref(),
            Some(Path::new("/etc/my ca.pem"))
        );
        assert!(verified.config.get_connect_timeout().is_some());
    }

    #[test]
    fn a_password_is_found_wherever_a_url_has_it() {
        let has = |text: &str| text.parse::<Url>().map(|url| url.has_password());
        assert_eq!(has("postgres://board@h/d"), Ok(false));
        assert_eq!(has("postgres://board:secret@h/d"), Ok(true));
        assert_eq!(has("postgres://board@h/d?password=secret"), Ok(true));
    }

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
        for text in [
            "postgres://",
            "postgres://h:x/d",
            "postgres://h/d?sslmode=allow",
        ] {
            let Err(UrlError::Server(_)) = shown(text) else {
                panic!("{text}: {:?}", shown(text));
            };
        }
    }
}
