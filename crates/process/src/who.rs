//! Who a client of the control socket is, for people.

use std::fmt;
use std::fs;

/// A client's number, never used again.
pub type ClientId = u64;

/// Who asks. Displayed as `process 4711 of alice`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Client {
    /// Its number.
    pub id: ClientId,
    /// Its process, if that is known.
    pub pid: Option<i32>,
    /// That process's user.
    pub uid: Option<u32>,
}

impl Client {
    /// A client that is gone.
    pub const fn gone(id: ClientId) -> Self {
        Self {
            id,
            pid: None,
            uid: None,
        }
    }

    /// The user's number, or one that is nobody's.
    pub fn user(&self) -> u32 {
        self.uid.unwrap_or(u32::MAX)
    }

    /// Returns the user's name, if /etc/passwd has it.
    pub fn user_name(&self) -> Option<String> {
        name(self.uid?)
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            Some(pid) => write!(f, "process {pid}")?,
            None => f.write_str("an unknown process")?,
        }
        match self.uid {
            Some(uid) => match name(uid) {
                Some(name) => write!(f, " of {name}"),
                None => write!(f, " of user {uid}"),
            },
            None => Ok(()),
        }
    }
}

/// Returns a user's name, if /etc/passwd has it. Other sources of names may take seconds to answer, and the
/// loop that asks may hold the token.
fn name(uid: u32) -> Option<String> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    find(&users, uid).map(str::to_owned)
}

fn find(users: &str, uid: u32) -> Option<&str> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let number = fields.nth(1)?.parse().ok();
        (number == Some(uid)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn users_are_found_by_number() {
        let users =
            "root:x:0:0:root:/root:/bin/bash\n\n+::::::\nalice:x:1000:100::/home/alice:/bin/sh\n";
        assert_eq!(find(users, 0), Some("root"));
        assert_eq!(find(users, 1000), Some("alice"));
        assert_eq!(find(users, 100), None);
    }
}
