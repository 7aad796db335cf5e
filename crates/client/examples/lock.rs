//! Writes a line a second to a file while this machine has the token of a ring, and stops in time.
//!
//! `lock SOCKET FILE LINES`, with `ringd eth0` running: `lock /run/ringd/eth0.sock /mnt/shared/lines 10`

use std::error::Error;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use ring_client::lock::{Lock, Wake, Wanted};

const PAUSE: Duration = Duration::from_secs(1);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, socket, file, lines] = &arguments[..] else {
        return Err("usage: lock SOCKET FILE LINES".into());
    };
    let wanted = Wanted {
        label: "lines".to_owned(),
        wait: Some(Duration::from_secs(30)),
        ..Wanted::default()
    };
    // Until here any number of machines may come; from here on one at a time.
    let mut lock = Lock::acquire(Path::new(socket), &wanted)?;
    let mut file = OpenOptions::new().create(true).append(true).open(file)?;
    for number in 0..lines.parse::<u32>()? {
        writeln!(file, "{} {number}", lock.fencing())?;
        // The pause between two lines is where the lock is looked after.
        let mut left = PAUSE;
        while !left.is_zero() {
            let began = std::time::Instant::now();
            match lock.wait(left)? {
                Wake::Renewed => left = left.saturating_sub(began.elapsed()),
                Wake::Lost(why) => return Err(why.into()),
                Wake::Late => left = Duration::ZERO,
            }
        }
    }
    lock.release()?;
    Ok(())
}
