//! Packet sockets of the tests, with the kernel's timestamps.

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

/// Size of the receive buffer: enough for a storm of frames while the reading thread waits for a CPU.
const RECEIVE_BUFFER: usize = 32 << 20;
/// The IEEE's second experimental EtherType, which no station here sends.
const UNUSED_ETHERTYPE: u16 = 0x88b6;
const FRAME_LEN_MAX: usize = 2048;

/// A raw packet socket in the network namespace of the thread that made it.
#[derive(Debug)]
pub(crate) struct RawSocket {
    fd: OwnedFd,
}

#[derive(Debug)]
pub(crate) struct Received {
    pub at: Duration,
    pub interface: usize,
    pub bytes: Vec<u8>,
    /// Number of frames that the socket has already dropped because its buffer was full.
    pub lost: u32,
}

impl RawSocket {
    /// Opens a socket for incoming frames on all interfaces of the namespace, of one EtherType or of all EtherTypes.
    pub(crate) fn on_all(ethertype: Option<u16>) -> Result<Self> {
        let fd = socket(
            AddressFamily::Packet,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
            SockProtocol::EthAll,
        )
        .context("cannot open a packet socket: CAP_NET_RAW and CONFIG_PACKET are needed")?;
        setsockopt(&fd, sockopt::ReceiveTimestampns, &true).context("cannot enable timestamps")?;
        setsockopt(&fd, sockopt::RxqOvfl, &1).context("cannot count lost frames")?;
        if setsockopt(&fd, sockopt::RcvBufForce, &RECEIVE_BUFFER).is_err() {
            setsockopt(&fd, sockopt::RcvBuf, &RECEIVE_BUFFER)
                .context("cannot set the size of the buffer")?;
        }
        let this = Self { fd };
        this.accept(ethertype, Destinations::All, &[])?;
        Ok(this)
    }

    /// Changes the filter of the socket. The socket no longer receives frames from `ignored` interfaces.
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

    /// Opens a socket for one EtherType on one interface.
    pub(crate) fn on(interface: &str, ethertype: u16) -> Result<Self> {
        let index = if_nametoindex(interface)
            .with_context(|| format!("there is no interface {interface}"))?;
        let this = Self::on_all(Some(ethertype))?;
        // pnet offers a safe way to bind a socket to an interface, but closes that socket, so pnet gets a duplicate.
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

    /// Opens a socket that only sends, on one interface.
    pub(crate) fn send_only(interface: &str) -> Result<Self> {
        let this = Self::on(interface, UNUSED_ETHERTYPE)?;
        setsockopt(&this.fd, sockopt::RcvBuf, &0).context("cannot set the size of the buffer")?;
        Ok(this)
    }

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

    /// Returns the next frame, or `None` at the timeout.
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

    /// Waits for a frame, but does not receive it.
    pub(crate) fn wait(&self, timeout: Duration) -> Result<()> {
        wait_for(self.fd.as_fd(), PollFlags::POLLIN, timeout)
    }

    /// Returns the next frame if a frame has arrived.
    pub(crate) fn try_receive(&self) -> Result<Option<Received>> {
        let mut bytes = [0; FRAME_LEN_MAX];
        let mut control = cmsg_space!(TimeSpec, u32);
        let mut parts = [IoSliceMut::new(&mut bytes)];
        let fd = self.fd.as_raw_fd();
        let flags = MsgFlags::empty();
        let message = loop {
            match recvmsg::<LinkAddr>(fd, &mut parts, Some(&mut control), flags) {
                Ok(message) => break message,
                Err(Errno::EAGAIN) => return Ok(None),
                // An interface that goes down causes one such error on every socket. More frames may follow the error.
                Err(Errno::EINTR | Errno::ENETDOWN) => {}
                Err(errno) => return Err(anyhow!("cannot receive frames: {errno}")),
            }
        };
        let (mut at, mut lost) = (clock::now(), 0);
        for item in message.cmsgs().context("cannot read a frame's timestamp")? {
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
            // A recording keeps the frame, so its vector has no unused capacity.
            bytes: bytes[..length.min(FRAME_LEN_MAX)].to_vec(),
            lost,
        }))
    }

    /// Clears the pending error of the socket, for example the error that remains after an interface went down.
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
