//! The command `ringd keygen`.

use std::io::{self, Write};
use std::num::NonZeroU32;
use std::time::SystemTime;

use clap::Parser;
use ring_runtime::{random, random_bytes};
use ring_trust::Key;

/// The name of the command.
pub(super) const NAME: &str = "keygen";
/// The smallest random id of a client. The dates up to the year 9999 are smaller.
const CLIENT_ID_MIN: u32 = 100_000_000;

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
  ringd keygen --client 'backup/*' >> ftn.clients
                                       permit a client the tokens backup/…

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

    /// Print a line for a client that may have these tokens
    ///
    /// The line is for the file of ringd ftn --client-keys and for the key file of the client. A name that ends in *
    /// permits all names that begin with the text before it. Without names, the key permits all tokens. The id is a
    /// random number by default, because each client needs a different id.
    #[arg(long, value_name = "NAME", num_args = 0.., value_parser = parse_name)]
    client: Option<Vec<String>>,
}

impl Options {
    /// Prints a key.
    ///
    /// # Errors
    /// Fails if there are no random bits, or if the key cannot be printed.
    pub fn run(&self) -> Result<(), ring_host::Error> {
        let bits =
            random_bytes().map_err(ring_host::Error::system("draw random bits for a key"))?;
        let random = || random().map_err(ring_host::Error::system("draw a random id"));
        let id = match (self.id, &self.client) {
            (Some(id), _) => id,
            (None, Some(_)) => client_id(random()?),
            (None, None) => date_id(SystemTime::now()),
        };
        let mut names = String::new();
        for name in self.client.iter().flatten() {
            names.push(' ');
            names.push_str(name);
        }
        let key = Key::new(id, bits).to_line();
        let printed = writeln!(io::stdout(), "{}{names}", &*key);
        printed.map_err(ring_host::Error::system("print the key"))
    }
}

fn parse_id(text: &str) -> Result<NonZeroU32, String> {
    let number = text.parse();
    number.map_err(|_| "not an id: give a number from 1 to 4294967295".to_owned())
}

fn parse_name(text: &str) -> Result<String, String> {
    let start = text.strip_suffix('*').unwrap_or(text);
    if text.is_empty() || start.contains(|it: char| it.is_whitespace() || ['#', '*'].contains(&it))
    {
        return Err(
            "not a name: give a name without spaces and #, with * only at its end".to_owned(),
        );
    }
    Ok(text.to_owned())
}

/// Returns a number that is larger than all dates.
fn client_id(random: u64) -> NonZeroU32 {
    let [low, high] = [CLIENT_ID_MIN, u32::MAX].map(u64::from);
    let id = low + random % (high - low + 1);
    u32::try_from(id)
        .ok()
        .and_then(NonZeroU32::new)
        .unwrap_or(NonZeroU32::MAX)
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

    use super::{client_id, date_id, parse_id, parse_name};

    #[test]
    fn the_id_is_the_date() {
        let at = |seconds| date_id(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).get();
        assert_eq!(at(1_796_083_199), 20_261_130);
        assert_eq!(at(1_796_083_200), 20_261_201);
    }

    #[test]
    fn the_id_of_a_client_is_no_date() {
        for random in [0, 1, 4_194_967_295, 4_194_967_296, u64::MAX] {
            assert!(client_id(random).get() >= 100_000_000);
        }
        assert_eq!(client_id(4_194_967_295).get(), u32::MAX);
    }

    #[test]
    fn a_name_can_stand_in_a_line_of_the_file() {
        for name in ["backup/*", "index", "*"] {
            assert!(parse_name(name).is_ok(), "{name}");
        }
        for name in ["", "a b", "a#b", "a*b", "**"] {
            assert!(parse_name(name).is_err(), "{name}");
        }
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
