//! Packet sockets of the tests' own, with the kernel's time stamps.

use std::io::IoSliceMut;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use nix::cmsg_space;
use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType,
    getsockopt, recvmsg, send, setsockopt, socket, sockopt,
};
use nix::sys::time::TimeSpec;
use pnet::datalink::{self, ChannelType, NetworkInterface};
use socket2::SockRef;

use crate::clock;
use crate::filter::{self, Destinations};

/// Room for a storm between two turns of a reading thread.
const RECEIVE_BUFFER: usize = 32 << 20;
/// Experimental 2 of the IEEE: what an outlet would receive if anybody sent it.
const UNUSED_ETHERTYPE: u16 = 0x88b6;
const LONGEST_FRAME: usize = 2048;

/// A raw packet socket in the network namespace of the thread that made it.
#[derive(Debug)]
pub(crate) struct RawSocket {
    fd: OwnedFd,
}

/// One received frame.
#[derive(Debug)]
pub(crate) struct Received {
    pub at: Duration,
    pub interface: usize,
    pub bytes: Vec<u8>,
    /// How many frames the socket had no room for so far.
    pub lost: u32,
}

impl RawSocket {
    /// A socket for what comes in from the interfaces of the namespace: one EtherType, or all.
    pub(crate) fn on_all(ethertype: Option<u16>) -> Result<Self> {
        let fd = socket(
            AddressFamily::Packet,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
            SockProtocol::EthAll,
        )
        .context("cannot open a packet socket: CAP_NET_RAW and CONFIG_PACKET are needed")?;
        setsockopt(&fd, sockopt::ReceiveTimestampns, &true).context("cannot stamp frames")?;
        setsockopt(&fd, sockopt::RxqOvfl, &1).context("cannot count lost frames")?;
        if setsockopt(&fd, sockopt::RcvBufForce, &RECEIVE_BUFFER).is_err() {
            setsockopt(&fd, sockopt::RcvBuf, &RECEIVE_BUFFER).context("cannot size the buffer")?;
        }
        let this = Self { fd };
        this.accept(ethertype, Destinations::All, &[])?;
        Ok(this)
    }

    /// Says what the socket receives from now on: nothing from the `ignored` interfaces.
    pub(crate) fn accept(
        &self,
        ethertype: Option<u16>,
        destinations: Destinations,
        ignored: &[usize],
    ) -> Result<()> {
        SockRef::from(&self.fd)
            .attach_filter(&filter::incoming(ethertype, destinations, ignored))
            .context("cannot attach a packet filter")
    }

    /// A socket for one EtherType on one interface.
    pub(crate) fn on(interface: &str, ethertype: u16) -> Result<Self> {
        let index = if_nametoindex(interface)
            .with_context(|| format!("there is no interface {interface}"))?;
        let this = Self::on_all(Some(ethertype))?;
        // pnet knows how to bind a socket to an interface in safe code. It closes what it is
        // given, so it gets a duplicate.
        let twin = this.fd.try_clone().context("cannot duplicate a socket")?;
        let config = datalink::Config {
            channel_type: ChannelType::Layer3(ethertype),
            socket_fd: Some(twin.into_raw_fd()),
            promiscuous: false,
            ..datalink::Config::default()
        };
        let interface = NetworkInterface {
            name: interface.to_owned(),
            description: String::new(),
            index,
            mac: None,
            ips: Vec::new(),
            flags: 0,
        };
        datalink::channel(&interface, config)
            .with_context(|| format!("cannot bind a packet socket to {}", interface.name))?;
        Ok(this)
    }

    /// A socket that only sends, from one interface.
    pub(crate) fn outlet(interface: &str) -> Result<Self> {
        let this = Self::on(interface, UNUSED_ETHERTYPE)?;
        setsockopt(&this.fd, sockopt::RcvBuf, &0).context("cannot size the buffer")?;
        Ok(this)
    }

    /// Sends a whole frame from the interface that the socket is bound to.
    pub(crate) fn send(&self, frame: &[u8]) -> Result<()> {
        loop {
            match send(self.fd.as_raw_fd(), frame, MsgFlags::empty()) {
                Ok(_) => return Ok(()),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN | Errno::ENOBUFS) => {
                    wait_for(
                        self.fd.as_fd(),
                        PollFlags::POLLOUT,
                        Duration::from_millis(10),
                    )?;
                }
                Err(errno) => return Err(anyhow!("cannot send a frame: {errno}")),
            }
        }
    }

    /// The next frame, if one comes in time.
    pub(crate) fn receive(&self, timeout: Duration) -> Result<Option<Received>> {
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(received) = self.try_receive()? {
                return Ok(Some(received));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            self.wait(left)?;
        }
    }

    /// Waits for a frame and leaves it where it is.
    pub(crate) fn wait(&self, timeout: Duration) -> Result<()> {
        wait_for(self.fd.as_fd(), PollFlags::POLLIN, timeout)
    }

    /// The next frame, if one is there.
    pub(crate) fn try_receive(&self) -> Result<Option<Received>> {
        let mut bytes = [0; LONGEST_FRAME];
        let mut control = cmsg_space!(TimeSpec, u32);
        let mut parts = [IoSliceMut::new(&mut bytes)];
        let fd = self.fd.as_raw_fd();
        let flags = MsgFlags::empty();
        let message = loop {
            match recvmsg::<LinkAddr>(fd, &mut parts, Some(&mut control), flags) {
                Ok(message) => break message,
                Err(Errno::EAGAIN) => return Ok(None),
                // An interface that goes down tells every socket on it so, once: there may be
                // frames behind.
                Err(Errno::EINTR | Errno::ENETDOWN) => {}
                Err(errno) => return Err(anyhow!("cannot receive frames: {errno}")),
            }
        };
        let (mut at, mut lost) = (clock::now(), 0);
        for item in message
            .cmsgs()
            .context("cannot read a frame's time stamp")?
        {
            match item {
                ControlMessageOwned::ScmTimestampns(stamp) => at = clock::of_stamp(stamp),
                ControlMessageOwned::RxqOvfl(count) => lost = count,
                _ => {}
            }
        }
        let (length, from) = (message.bytes, message.address);
        Ok(Some(Received {
            at,
            interface: from.map_or(0, |from| from.ifindex()),
            // A recording keeps it: no more room than it needs.
            bytes: bytes[..length.min(LONGEST_FRAME)].to_vec(),
            lost,
        }))
    }

    /// Takes the socket's pending error (an interface that went down leaves one).
    pub(crate) fn clear_error(&self) {
        let _ = getsockopt(&self.fd, sockopt::SocketError);
    }
}

fn wait_for(fd: BorrowedFd<'_>, what: PollFlags, timeout: Duration) -> Result<()> {
    let mut fds = [PollFd::new(fd, what)];
    match ppoll(&mut fds, Some(TimeSpec::from_duration(timeout)), None) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(errno) => Err(anyhow!("cannot wait for frames: {errno}")),
    }
}
