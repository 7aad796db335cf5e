//! The password of the page. The node knows only its Argon2 hash, from a file with one line.

use std::io::{self, BufRead, IsTerminal};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use ring_process::secret_file::{self, Owner};
use ring_runtime::random_bytes;

/// Minimum number of characters of a new password. It is the minimum of OWASP and NIST for a login without a second
/// factor.
const PASSWORD_CHARS_MIN: usize = 15;
/// Maximum number of bytes of a password. Longer passwords are wrong.
const PASSWORD_BYTES_MAX: usize = 1_024;
/// Maximum number of bytes of the file.
const FILE_BYTES_MAX: u64 = 1_024;
/// Maximum memory of one check in KiB.
pub(super) const CHECK_KIB_MAX: u32 = 64 << 10;
/// Maximum number of passes over the memory.
const PASSES_MAX: u32 = 16;

/// A keyed digest of a password, which is cheap to compute. It never leaves the process.
type Digest = [u8; 32];

#[derive(Debug)]
pub(crate) struct Password {
    hash: PasswordHash,
    /// The random key of the digests.
    key: Digest,
    /// The digest of the right password, after a check. A program sends the password with each request, and each check
    /// of the hash takes tens of milliseconds.
    known: Mutex<Option<Digest>>,
}

impl Password {
    /// Reads the hash from a file.
    ///
    /// # Errors
    /// Returns a sentence if the file cannot be read, if other users can read it, or if its line is no usable hash.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let file = secret_file::read(path, FILE_BYTES_MAX, Owner::Own);
        let file =
            file.map_err(|why| format!("cannot use the password file {}: {why}", path.display()))?;
        Self::of_line(file.text.trim()).map_err(|why| {
            format!(
                "cannot use the password file {}: {why}; make its line with: ring-board password",
                path.display()
            )
        })
    }

    fn of_line(line: &str) -> Result<Self, String> {
        let hash = PasswordHash::new(line).map_err(|_| "it is not one line $argon2id$…")?;
        let params = Params::try_from(&hash).map_err(|_| "its parameters are invalid")?;
        if hash.algorithm.as_str() != Algorithm::Argon2id.as_str() || hash.hash.is_none() {
            return Err("it is not one line $argon2id$…".to_owned());
        }
        if params.m_cost() > CHECK_KIB_MAX || params.t_cost() > PASSES_MAX {
            return Err(format!(
                "its hash needs more than m={CHECK_KIB_MAX} KiB or t={PASSES_MAX} passes"
            ));
        }
        Ok(Self {
            hash,
            key: random_bytes().map_err(|error| error.to_string())?,
            known: Mutex::default(),
        })
    }

    /// Checks a password. This call takes tens of milliseconds.
    pub(super) fn verify(&self, password: &[u8]) -> bool {
        let is_right = password.len() <= PASSWORD_BYTES_MAX
            && Argon2::default()
                .verify_password(password, &self.hash)
                .is_ok();
        if is_right {
            *self.lock_digest() = self.digest(password);
        }
        is_right
    }

    /// Whether an earlier check found that this password is right. This call is fast.
    pub(super) fn is_known(&self, password: &[u8]) -> bool {
        let known = *self.lock_digest();
        // The time of this comparison tells nothing about the password, because the key is secret.
        known.is_some() && password.len() <= PASSWORD_BYTES_MAX && self.digest(password) == known
    }

    fn lock_digest(&self) -> std::sync::MutexGuard<'_, Option<Digest>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn digest(&self, password: &[u8]) -> Option<Digest> {
        let params = Params::new(Params::MIN_M_COST, 1, 1, None).ok()?;
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let mut digest = Digest::default();
        let made = argon2.hash_password_into(password, &self.key, &mut digest);
        made.ok().map(|()| digest)
    }
}

/// Reads a new password from the terminal or from standard input. Returns the line for the password file.
///
/// # Errors
/// Returns a sentence if the password cannot be read, or if it is too short.
pub(crate) fn make_line() -> Result<String, String> {
    let stdin = io::stdin();
    let read = if stdin.is_terminal() {
        read_twice()
    } else {
        let mut line = String::new();
        stdin.lock().read_line(&mut line).map(|_| line)
    };
    let password = read.map_err(|error| {
        format!(
            "cannot read the password: {error}; type it on a terminal, or send it on standard input"
        )
    })?;
    line_of(password.trim_end_matches(['\r', '\n']))
}

fn read_twice() -> io::Result<String> {
    let password = rpassword::prompt_password("Password: ")?;
    if rpassword::prompt_password("Again: ")? == password {
        return Ok(password);
    }
    Err(io::Error::other("the two passwords differ"))
}

fn line_of(password: &str) -> Result<String, String> {
    let length = password.chars().count();
    if length < PASSWORD_CHARS_MIN || password.len() > PASSWORD_BYTES_MAX {
        return Err(format!(
            "cannot use the password: it has {length} characters; give at least {PASSWORD_CHARS_MIN} characters, and \
             at most {PASSWORD_BYTES_MAX} bytes"
        ));
    }
    let hash: Result<PasswordHash, _> = Argon2::default().hash_password(password.as_bytes());
    hash.map(|hash| hash.to_string())
        .map_err(|error| format!("cannot hash the password: {error}; try again"))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use base64::Engine;
    use base64::engine::general_purpose::STANDARD_NO_PAD;

    use super::{Password, line_of};

    const RIGHT: &str = "correct horse battery";

    #[test]
    fn only_the_password_of_the_line_is_right() {
        let line = line_of(RIGHT).unwrap();
        assert!(
            line.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"),
            "{line}"
        );
        assert_ne!(line, line_of(RIGHT).unwrap(), "each line has its own salt");
        let password = Password::of_line(&line).unwrap();
        assert!(
            !password.is_known(RIGHT.as_bytes()),
            "it is not checked yet"
        );
        for wrong in ["", "correct horse batterz", &RIGHT.repeat(100)] {
            assert!(!password.verify(wrong.as_bytes()), "{wrong}");
        }
        assert!(!password.is_known(RIGHT.as_bytes()));
        assert!(password.verify(RIGHT.as_bytes()));
        assert!(password.is_known(RIGHT.as_bytes()));
        assert!(!password.is_known(b"correct horse batterz"));
    }

    #[test]
    fn a_short_password_gets_no_line() {
        for (password, why) in [
            ("", "it has 0 characters"),
            ("fourteen chars", "it has 14 characters; give at least 15"),
            (&"a".repeat(1_025), "at most 1024 bytes"),
        ] {
            let error = line_of(password).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_file_needs_one_usable_hash_and_no_other_readers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("board.password");
        let [salt, hash] = [&[1; 12][..], &[2; 32]].map(|it| STANDARD_NO_PAD.encode(it));
        let with = |head: &str| format!("{head}${salt}${hash}\n");
        for (text, mode, why) in [
            (with("$argon2id$v=19$m=8,t=1,p=1"), 0o600, ""),
            (with("$argon2id$v=19$m=65536,t=3,p=4"), 0o400, ""),
            (with("$argon2id$v=19$m=65537,t=3,p=4"), 0o600, "m=65536 KiB"),
            (with("$argon2id$v=19$m=8,t=17,p=1"), 0o600, "t=16 passes"),
            (with("$argon2i$v=19$m=8,t=1,p=1"), 0o600, "$argon2id$"),
            (with("$argon2id$v=19$m=1,t=1,p=1"), 0o600, "parameters"),
            (
                "$argon2id$v=19$m=8,t=1,p=1\n".to_owned(),
                0o600,
                "$argon2id$",
            ),
            ("a password\n".to_owned(), 0o600, "ring-board password"),
            (String::new(), 0o600, "ring-board password"),
            (with("$argon2id$v=19$m=8,t=1,p=1"), 0o640, "chmod 600"),
            (with("$argon2id$v=19$m=8,t=1,p=1"), 0o602, "chmod 600"),
        ] {
            fs::write(&path, &text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            match Password::read(&path) {
                Ok(_) => assert_eq!(why, "", "{text}"),
                Err(error) => assert!(!why.is_empty() && error.contains(why), "{text}: {error}"),
            }
        }
        let error = Password::read(folder.path()).unwrap_err();
        assert!(error.contains("regular file"), "{error}");
        let error = Password::read(&folder.path().join("absent")).unwrap_err();
        assert!(error.contains("make the file"), "{error}");
    }
}
