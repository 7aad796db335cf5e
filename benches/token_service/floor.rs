//! Measures the floor: a process that only echoes datagrams that are as long as REQUEST and GRANT.

use std::net::UdpSocket;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use super::median::median;
use super::raw::REQUEST_LEN;

/// Returns the median time of an exchange.
pub(crate) fn round_trip(time: Duration) -> Result<Duration> {
    let echo = UdpSocket::bind("127.0.0.1:0")?;
    let own = UdpSocket::bind("127.0.0.1:0")?;
    own.connect(echo.local_addr()?)?;
    let thread = thread::spawn(move || -> Result<()> {
        let mut cpus = CpuSet::new();
        cpus.set(0)?;
        sched_setaffinity(Pid::from_raw(0), &cpus)?;
        let mut buf = [0; 2048];
        loop {
            let (len, from) = echo.recv_from(&mut buf)?;
            if len == 0 {
                return Ok(());
            }
            echo.send_to(&buf[..len], from)?;
        }
    });
    let (mut times, began) = (Vec::new(), Instant::now());
    let mut buf = [0; 2048];
    while began.elapsed() < time {
        let at = Instant::now();
        own.send(&[0; REQUEST_LEN])?;
        own.recv(&mut buf)?;
        times.push(at.elapsed());
    }
    own.send(&[])?;
    thread.join().expect("the thread does not panic")?;
    Ok(median(times))
}
