//! The password for a server. The password never comes from the command line, because `ps` shows the command line to
//! every user.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The name of the systemd credential.
pub(super) const CREDENTIAL: &str = "database-password";

/// The parts of a login. The parts select a line of the password file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Login<'a> {
    /// The server's name or address, or `localhost` for a socket.
    pub host: &'a str,
    pub port: u16,
    pub database: &'a str,
    pub user: &'a str,
}

/// Finds the password in `PGPASSWORD`, in the systemd credential, or in the password file, `PGPASSFILE` or `~/.pgpass`.
///
/// # Errors
/// Returns a sentence if the credential or the file cannot be used.
pub(super) fn find(
    login: Login<'_>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Option<String>, String> {
    if let Some(password) = variable("PGPASSWORD") {
        let password = password.into_string();
        return password
            .map(Some)
            .map_err(|_| "PGPASSWORD is not UTF-8: set it to the password as text".to_owned());
    }
    if let Some(folder) = variable("CREDENTIALS_DIRECTORY") {
        let path = Path::new(&folder).join(CREDENTIAL);
        if path.exists() {
            let text = read(&path)?;
            return Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()));
        }
    }
    if let Some(path) = variable("PGPASSFILE") {
        return find_in_file(Path::new(&path), login);
    }
    let home = variable("HOME").map(PathBuf::from);
    match home.map(|home| home.join(".pgpass")) {
        Some(path) if path.exists() => find_in_file(&path, login),
        _ => Ok(None),
    }
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn find_in_file(path: &Path, login: Login<'_>) -> Result<Option<String>, String> {
    let text = read(path)?;
    let mode = fs::metadata(path).map_or(0, |it| it.permissions().mode());
    if mode & 0o077 != 0 {
        let path = path.display();
        return Err(format!(
            "cannot use the password file {path}: other users can read it; run chmod 600 {path}"
        ));
    }
    Ok(text.lines().find_map(|line| password_of_line(line, login)))
}

/// Parses a line `host:port:database:user:password`, and returns the password if the line matches this login. Each of
/// the first four fields may be `*`. A character after a backslash has no special meaning.
fn password_of_line(line: &str, login: Login<'_>) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let port = login.port.to_string();
    let mut rest = line;
    for wanted in [login.host, &port, login.database, login.user] {
        let (field, after) = split_field(rest)?;
        let is_any = rest.starts_with("*:");
        if !is_any && field != wanted {
            return None;
        }
        rest = after;
    }
    let (password, _) = split_field(rest).unwrap_or((unescape(rest), ""));
    Some(password)
}

/// Splits a text at the first colon that is not escaped. Returns the text before the colon, without escapes, and the
/// text after the colon.
fn split_field(text: &str) -> Option<(String, &str)> {
    let mut is_escaped = false;
    for (at, character) in text.char_indices() {
        if character == ':' && !is_escaped {
            return Some((unescape(&text[..at]), &text[at + 1..]));
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    None
}

fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let next = if character == '\\' {
            characters.next()
        } else {
            None
        };
        plain.push(next.unwrap_or(character));
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::{CREDENTIAL, Login, find, password_of_line};

    const LOGIN: Login<'_> = Login {
        host: "db.example",
        port: 5432,
        database: "board",
        user: "anna",
    };

    #[test]
    fn a_line_is_chosen_by_host_port_database_and_user() {
        for (line, password) in [
            ("db.example:5432:board:anna:geheim", Some("geheim")),
            ("*:*:*:anna:geheim", Some("geheim")),
            ("db.example:5433:board:anna:geheim", None),
            ("db.example:5432:board:otto:geheim", None),
            (r"*:*:*:*:a\:b\\c", Some(r"a:b\c")),
            (r"\*:*:*:*:geheim", None),
            ("*:*:*:*:a:comment", Some("a")),
            ("# *:*:*:*:a", None),
            ("*:*:*", None),
            ("", None),
        ] {
            assert_eq!(password_of_line(line, LOGIN).as_deref(), password, "{line}");
        }
    }

    fn variables_of<'a>(
        variables: &'a [(&'a str, &'a Path)],
    ) -> impl Fn(&str) -> Option<OsString> + use<'a> {
        move |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.as_os_str().to_owned())
        }
    }

    fn write_private(path: &Path, text: &str) {
        fs::write(path, text).expect("it can be written");
        let mode = fs::Permissions::from_mode(0o600);
        fs::set_permissions(path, mode).expect("it is ours");
    }

    #[test]
    fn the_variable_precedes_the_credential_which_precedes_a_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, home) = (folder.path().join("file"), folder.path().join(".pgpass"));
        write_private(&file, "*:*:*:*:of the file\n");
        write_private(&home, "# mine\n*:*:*:anna:of home\n");
        fs::write(folder.path().join(CREDENTIAL), "of systemd\n").expect("it can be written");
        let all = [
            ("PGPASSWORD", Path::new("of the variable")),
            ("CREDENTIALS_DIRECTORY", folder.path()),
            ("PGPASSFILE", &file),
            ("HOME", folder.path()),
        ];
        for (from, password) in ["of the variable", "of systemd", "of the file", "of home"]
            .into_iter()
            .enumerate()
        {
            let found = find(LOGIN, variables_of(&all[from..])).expect("it can be used");
            assert_eq!(found.as_deref(), Some(password));
        }
        assert_eq!(find(LOGIN, variables_of(&[])), Ok(None));
    }

    #[test]
    fn a_file_that_others_can_read_is_not_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        write_private(&file, "*:*:*:*:geheim\n");
        let mode = fs::Permissions::from_mode(0o640);
        fs::set_permissions(&file, mode).expect("it is ours");
        let error = find(LOGIN, variables_of(&[("PGPASSFILE", &file)])).unwrap_err();
        assert!(error.contains("chmod 600"), "{error}");
        let error = find(
            LOGIN,
            variables_of(&[("PGPASSFILE", Path::new("/nowhere"))]),
        )
        .unwrap_err();
        assert!(error.contains("/nowhere"), "{error}");
    }
}
