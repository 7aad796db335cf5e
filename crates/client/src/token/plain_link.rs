//! The link of a program without the feature `signatures`: a socket.

use std::io;
use std::net::SocketAddr;

use ring_proto::ftn::Servers;
use ring_runtime::net::UdpLink;

use super::Error;

pub(super) type Link = UdpLink;
/// The maximum length of a signature. Servers sign no messages to a program that does not sign.
pub(super) const SIGNATURE_LEN_MAX: usize = 0;

/// The keys of a program that cannot sign its messages.
#[derive(Debug)]
pub(super) struct Keys;

#[expect(
    clippy::unused_self,
    clippy::unnecessary_wraps,
    reason = "programs with the feature have keys"
)]
impl Keys {
    pub(super) const fn none() -> Self {
        Self
    }

    pub(super) fn link(&self, socket: UdpLink, _: &Servers) -> io::Result<Link> {
        Ok(socket)
    }

    pub(super) const fn check_name(&self, _: &[u8]) -> Result<(), Error> {
        Ok(())
    }

    pub(super) const fn id(&self) -> Option<u32> {
        None
    }
}

pub(super) const fn socket(link: &Link) -> &UdpLink {
    link
}

pub(super) const fn update_addresses(_: Option<&mut Link>, _: &Servers) {}

pub(super) const fn unsigned_server(_: Option<&mut Link>) -> Option<SocketAddr> {
    None
}
