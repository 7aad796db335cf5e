//! A client of the control socket, and its description for people.

use std::fmt;
use std::fs;

/// The number of a client, which is never reused.
pub type ClientId = u64;

/// A client. `Display` shows `process 4711 of alice`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Client {
    /// The client's number.
    pub id: ClientId,
    /// The client's process, if it is known.
    pub pid: Option<i32>,
    /// The process's user, if it is known.
    pub uid: Option<u32>,
}

impl Client {
    /// Creates the description of a client that has disconnected. Its process and its user are unknown.
    pub const fn gone(id: ClientId) -> Self {
        Self {
            id,
            pid: None,
            uid: None,
        }
    }

    /// Returns the user's number. If the user is unknown, returns a number that belongs to no user.
    pub fn user(&self) -> u32 {
        self.uid.unwrap_or(u32::MAX)
    }

    /// Returns the user's name, if /etc/passwd contains it.
    pub fn user_name(&self) -> Option<String> {
        user_name(self.uid?)
    }

    /// Returns the text for people, with the [name](Self::user_name) of the user.
    pub const fn with_user_name<'a>(&'a self, name: Option<&'a str>) -> ClientText<'a> {
        ClientText { client: self, name }
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.user_name();
        self.with_user_name(name.as_deref()).fmt(f)
    }
}

/// Text for a client. The text has the user's name, or the user's number if the name is unknown.
#[derive(Debug)]
pub struct ClientText<'a> {
    client: &'a Client,
    name: Option<&'a str>,
}

impl fmt::Display for ClientText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.client.pid {
            Some(pid) => write!(f, "process {pid}")?,
            None => f.write_str("an unknown process")?,
        }
        match (self.name, self.client.uid) {
            (Some(name), _) => write!(f, " of {name}"),
            (None, Some(uid)) => write!(f, " of user {uid}"),
            (None, None) => Ok(()),
        }
    }
}

/// Returns a user's name from /etc/passwd. Does not use other sources of names, because they may be slow. The calling
/// event loop must not wait, because its node may own the token.
fn user_name(uid: u32) -> Option<String> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    find_user_name(&users, uid).map(str::to_owned)
}

fn find_user_name(users: &str, uid: u32) -> Option<&str> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let number = fields.nth(1)?.parse().ok();
        (number == Some(uid)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::find_user_name;

    #[test]
    fn users_are_found_by_number() {
        let users =
            "root:x:0:0:root:/root:/bin/bash\n\n+::::::\nalice:x:1000:100::/home/alice:/bin/sh\n";
        assert_eq!(find_user_name(users, 0), Some("root"));
        assert_eq!(find_user_name(users, 1000), Some("alice"));
        assert_eq!(find_user_name(users, 100), None);
    }
}
