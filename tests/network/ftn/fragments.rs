//! Networks that drop fragments, and servers that become silent after a grant.

use std::fs;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_codec::ftn::{Datagram, Header, Message, ServerState};
use ring_segment::{Test, WAIT_LIMIT, tests};

use super::client_stand::serve;
use crate::locks::program::Running;

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_client_can_read_and_write_data_in_a_network_that_drops_fragments,
        a_set_command_without_confirmation_ends_in_time_and_on_a_signal,
    ]
}

/// Sets the loopback interface's MTU to 1,280 bytes, and makes the kernel drop all fragments.
fn drop_fragments() -> Result<()> {
    let status = Command::new("ip")
        .args(["link", "set", "lo", "mtu", "1280"])
        .status()?;
    ensure!(status.success(), "{status}");
    // The high threshold must not be below the low threshold, so the low threshold is set first.
    for bound in ["low", "high"] {
        let path = format!("/proc/sys/net/ipv4/ipfrag_{bound}_thresh");
        fs::write(&path, "0").context(path)?;
    }
    let [sender, receiver] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0"));
    let (sender, receiver) = (sender?, receiver?);
    let to = receiver.local_addr()?;
    for len in [1_300, 1_232] {
        sender.send_to(&vec![1; len], to)?;
    }
    let mut buf = [0; 2_000];
    let came = receiver.recv(&mut buf)?;
    ensure!(came == 1_232, "a datagram of {came} bytes arrived");
    Ok(())
}

fn a_client_can_read_and_write_data_in_a_network_that_drops_fragments() -> Result<()> {
    drop_fragments()?;
    let stand = serve(1)?;
    for len in [8_000, 32_768] {
        let data = "d".repeat(len);
        stand.expect_exit(0, &["set", "-w", "3", "t", &data])?;
        let got = stand.expect_exit(0, &["get", "-w", "3", "t"])?;
        ensure!(got == data.as_bytes(), "{} bytes of {len}", got.len());
    }
    Ok(())
}

/// Runs a fake server. It grants sessions and tokens but confirms no release. The server sends a notice to `returned`
/// for each release.
fn grant_and_fall_silent(
    socket: &UdpSocket,
    lines: &str,
    end: &AtomicBool,
    returned: &Sender<()>,
) -> Result<()> {
    let signature = ring_codec::ftn::server_signature(lines.lines().map(str::as_bytes));
    socket.set_read_timeout(Some(Duration::from_millis(20)))?;
    let mut buf = [0; 2_000];
    while !end.load(Ordering::Relaxed) {
        let (len, from) = match socket.recv_from(&mut buf) {
            Ok(came) => came,
            Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error.into()),
        };
        let datagram = Datagram::decode(&buf[..len])?;
        let ready = [ServerState::Ready];
        let answer = match datagram.message() {
            Message::Login { .. } => Message::Config {
                leader: 1,
                sstates: ready[..].into(),
            },
            Message::Return { msgnum, token, .. } if token.name.is_empty() => {
                Message::Confirm { msgnum }
            }
            Message::Request { msgnum, token, .. } => Message::Grant {
                msgnum,
                token: ring_codec::ftn::Token {
                    name: token.name,
                    data: b"7 ",
                },
            },
            Message::Return { .. } => {
                returned.send(())?;
                continue;
            }
            _ => continue,
        };
        let header = Header {
            from: 0,
            to: 1 << 20,
            ssig: signature,
        };
        let mut out = [0; 2_000];
        let len = Datagram::new(header, answer).encode(&mut out)?;
        socket.send_to(&out[..len], from)?;
    }
    Ok(())
}

fn a_set_command_without_confirmation_ends_in_time_and_on_a_signal() -> Result<()> {
    let stand = serve(1)?;
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    let address: SocketAddr = socket.local_addr()?;
    let (list, lines) = (stand.file("mute"), format!("{address}\n"));
    fs::write(&list, &lines)?;
    let end = AtomicBool::new(false);
    let (tells, returned) = mpsc::channel();
    thread::scope(|scope| {
        let server = scope.spawn(|| grant_and_fall_silent(&socket, &lines, &end, &tells));
        let look = || -> Result<()> {
            let began = Instant::now();
            let set = ["set", "-w", "1", "-E", "9", "t", "new"];
            let output = stand.token_of(&list, &set).output()?;
            let errors = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.code() == Some(9), "{output:?}");
            ensure!(
                errors.contains("it is unknown whether the data were set"),
                "{errors}"
            );
            ensure!(
                began.elapsed() >= Duration::from_secs(1),
                "{:?}",
                began.elapsed()
            );
            // The lease would last for 11 s, so the wait must end earlier.
            ensure!(
                began.elapsed() < Duration::from_secs(9),
                "{:?}",
                began.elapsed()
            );
            for command in [&["set", "t", "new"][..], &["get", "t"]] {
                let mut waits = Running::start(&mut stand.token_of(&list, command))?;
                while returned.try_recv().is_ok() {}
                returned.recv_timeout(WAIT_LIMIT)?;
                let signal_time = Instant::now();
                waits.signal(Signal::SIGTERM)?;
                waits.expect_code(128 + Signal::SIGTERM as i32)?;
                ensure!(
                    signal_time.elapsed() < Duration::from_secs(9),
                    "{:?}",
                    signal_time.elapsed()
                );
            }
            Ok(())
        };
        let looked = look();
        end.store(true, Ordering::Relaxed);
        server.join().ok().context("the server panicked")??;
        looked
    })
}
