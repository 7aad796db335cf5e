//! Measures the floor: a program that only echoes datagrams that are as long as REQUEST and GRANT.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use nix::poll::{PollFd, PollFlags, poll};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use ring_runtime::clock;
use ring_runtime::driver::{Link, ReceiveBatch, TransmitBatch, datagrams};
use ring_runtime::net::{UdpLink, UdpOptions};

use super::median::median;
use super::raw::{BUFFER_LEN, REQUEST_LEN, WINDOW_SIZE, merged};
use super::server::pin_to;

/// Returns the median time of an exchange.
pub(crate) fn round_trip(time: Duration) -> Result<Duration> {
    let echo = UdpSocket::bind("127.0.0.1:0")?;
    let own = UdpSocket::bind("127.0.0.1:0")?;
    own.connect(echo.local_addr()?)?;
    let thread = thread::spawn(move || -> Result<()> {
        pin_to(0, Pid::from_raw(0))?;
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

/// A socket that sends each received datagram back.
struct Echo {
    link: UdpLink,
    received: ReceiveBatch<SocketAddr>,
    sent: TransmitBatch<SocketAddr>,
}

impl Echo {
    fn bind(merges: bool) -> Result<Self> {
        let (options, received) = if merges {
            (merged(), datagrams::merged_receive_batch(BUFFER_LEN))
        } else {
            (UdpOptions::default(), datagrams::receive_batch(BUFFER_LEN))
        };
        Ok(Self {
            link: UdpLink::bind((Ipv4Addr::LOCALHOST, 0).into(), &options)?,
            received,
            sent: datagrams::transmit_batch(BUFFER_LEN),
        })
    }

    /// Sends all received datagrams back, and returns their number.
    fn answer(&mut self) -> Result<u64> {
        self.link.receive(clock::now(), &mut self.received)?;
        let mut count = 0;
        for (bytes, from, ..) in self.received.iter() {
            if self.sent.len() == self.sent.capacity() {
                send(&mut self.link, &mut self.sent)?;
            }
            push(&mut self.sent, bytes, from);
            count += 1;
        }
        send(&mut self.link, &mut self.sent)?;
        Ok(count)
    }
}

fn push(batch: &mut TransmitBatch<SocketAddr>, bytes: &[u8], to: SocketAddr) {
    if let Some(buf) = batch.next_buffer() {
        buf[..bytes.len()].copy_from_slice(bytes);
        batch.push(bytes.len(), to);
    }
}

fn send(link: &mut UdpLink, batch: &mut TransmitBatch<SocketAddr>) -> Result<()> {
    while !batch.is_empty() {
        let sent = link.send(batch)?;
        batch.drop_first(sent);
    }
    batch.clear();
    Ok(())
}

/// Sends datagrams from many sockets to an echo, as many as the echo answers. Returns the number of echoes per second
/// of the processor time of the echo.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of a benchmark are small"
)]
pub(crate) fn flood(sockets: usize, merges: bool, time: Duration) -> Result<f64> {
    let mut echo = Echo::bind(merges)?;
    let to = echo.link.address()?;
    let is_over = AtomicBool::new(false);
    let run_echo = || -> Result<f64> {
        pin_to(0, Pid::from_raw(0))?;
        let mut count = 0;
        while !is_over.load(Ordering::Relaxed) {
            poll(
                &mut [PollFd::new(echo.link.as_fd(), PollFlags::POLLIN)],
                10_u8,
            )?;
            count += echo.answer()?;
        }
        let busy = Duration::from(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?);
        Ok(count as f64 / busy.as_secs_f64())
    };
    thread::scope(|scope| {
        let thread = scope.spawn(run_echo);
        let flooded = flood_echo(to, sockets, merges, time);
        is_over.store(true, Ordering::Relaxed);
        let rate = thread.join().expect("the thread does not panic");
        flooded.and(rate)
    })
}

fn flood_echo(to: SocketAddr, sockets: usize, merges: bool, time: Duration) -> Result<()> {
    pin_to(1, Pid::from_raw(0))?;
    let began = Instant::now();
    let mut clients = (0..sockets)
        .map(|_| Echo::bind(merges))
        .collect::<Result<Vec<_>>>()?;
    for client in &mut clients {
        for _ in 0..WINDOW_SIZE {
            push(&mut client.sent, &[0; REQUEST_LEN], to);
        }
        send(&mut client.link, &mut client.sent)?;
    }
    while began.elapsed() < time {
        for client in &mut clients {
            client.answer()?;
        }
    }
    Ok(())
}
