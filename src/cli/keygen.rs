//! The command `ringd keygen`.

use std::io::{self, Write};
use std::num::NonZeroU32;
use std::time::SystemTime;

use clap::Parser;
use ring_runtime::random_bytes;
use ring_trust::Key;

/// The name of the command.
pub(super) const NAME: &str = "keygen";

/// Print a new key for the key file of a ring.
///
/// The command prints one line with the id of the key and 256 random bits. A daemon with the option --key-file signs
/// its frames with the first key of the file. It accepts frames that are signed with any key of the file.
#[derive(Debug, Parser)]
#[command(
    name = "keygen",
    after_long_help = "\
Examples:
  umask 077; ringd keygen > ring.keys  make a key file that only you can read

Copy the file to all machines of the ring over a channel that you trust, such as
scp. On each machine, it must belong to the user of the daemon:
  sudo install -o ringd -m 600 ring.keys /etc/ringd/ring.keys

To replace a key without a gap, change the file of all machines in three rounds,
and reload the daemons in each round:
  1. append the new line
  2. move the new line to the first place
  3. remove the old line

Exit codes:
  0  the key was printed
  1  no random bits, or the key cannot be printed
  2  wrong usage",
    after_help = "See --help for more."
)]
pub struct Options {
    /// Set the id of the key: 1 to 4294967295
    ///
    /// The default is today's date in UTC: 20261130 is 30 November 2026. Two keys of one file need different ids.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse_id)]
    id: Option<NonZeroU32>,
}

impl Options {
    /// Prints a key.
    ///
    /// # Errors
    /// Fails if there are no random bits, or if the key cannot be printed.
    pub fn run(&self) -> Result<(), ring_host::Error> {
        let bits =
            random_bytes().map_err(ring_host::Error::system("draw random bits for a key"))?;
        let id = self.id.unwrap_or_else(|| date_id(SystemTime::now()));
        let printed = writeln!(io::stdout(), "{}", &*Key::new(id, bits).to_line());
        printed.map_err(ring_host::Error::system("print the key"))
    }
}

fn parse_id(text: &str) -> Result<NonZeroU32, String> {
    let number = text.parse();
    number.map_err(|_| "not an id: give a number from 1 to 4294967295".to_owned())
}

/// Returns the date as a number: 20261130 for 30 November 2026.
fn date_id(now: SystemTime) -> NonZeroU32 {
    let time = humantime::format_rfc3339_seconds(now).to_string();
    let date = time.split('T').next().unwrap_or_default();
    date.replace('-', "").parse().unwrap_or(NonZeroU32::MIN)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::{date_id, parse_id};

    #[test]
    fn the_id_is_the_date() {
        let at = |seconds| date_id(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).get();
        assert_eq!(at(1_796_083_199), 20_261_130);
        assert_eq!(at(1_796_083_200), 20_261_201);
    }

    #[test]
    fn an_id_is_a_positive_number_of_32_bits() {
        assert_eq!(parse_id("4294967295").unwrap().get(), u32::MAX);
        for wrong in ["0", "-1", "4294967296", "x", ""] {
            let error = parse_id(wrong).unwrap_err();
            assert!(error.contains("from 1 to 4294967295"), "{wrong}: {error}");
        }
    }
}
