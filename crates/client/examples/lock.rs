//! Writes one line per second to a file while this machine has the token of a ring. The program stops when it loses the
//! lock.
//!
//! The usage is `lock SOCKET FILE LINES`. For example, while `ringd eth0` runs: `lock /run/ringd/eth0.sock
//! /mnt/shared/lines 10`

use std::error::Error;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use ring_client::lock::{Lock, LockOptions, Wake};

const PAUSE: Duration = Duration::from_secs(1);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, socket, file, lines] = &arguments[..] else {
        return Err("usage: lock SOCKET FILE LINES".into());
    };
    let options = LockOptions {
        label: "lines".to_owned(),
        wait: Some(Duration::from_secs(30)),
        ..LockOptions::default()
    };
    // After this line, this machine has the token. No other machine has it at the same time.
    let mut lock = Lock::acquire(Path::new(socket), &options)?;
    let mut file = OpenOptions::new().create(true).append(true).open(file)?;
    for number in 0..lines.parse::<u32>()? {
        writeln!(file, "{} {number}", lock.fencing())?;
        // During the pause, handle messages of the daemon: renewals, or the loss of the lock.
        let mut left = PAUSE;
        while !left.is_zero() {
            let began = std::time::Instant::now();
            match lock.wait(left)? {
                Wake::Renewed => left = left.saturating_sub(began.elapsed()),
                Wake::Lost(reason) => return Err(reason.into()),
                Wake::TimedOut => left = Duration::ZERO,
            }
        }
    }
    lock.release()?;
    Ok(())
}
