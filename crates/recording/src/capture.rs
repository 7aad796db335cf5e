//! Writes frames as a pcapng file, which Wireshark and tshark read.

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::unknown::UnknownBlock;
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriter};
use pcap_file::{DataLink, PcapError};

/// The maximum length of a frame in the file.
const SNAP_LENGTH: u32 = 65_535;
/// The value of the option if_tsresol. It means that times are in units of 10^-9 s.
const NANOSECONDS: u8 = 9;

/// The direction of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The interface received the frame.
    Inbound,
    /// The interface sent the frame.
    Outbound,
}

impl Direction {
    /// Returns the value of the option epb_flags.
    const fn flags(self) -> u32 {
        match self {
            Self::Inbound => 1,
            Self::Outbound => 2,
        }
    }
}

/// A capture of one Ethernet interface.
pub struct Capture<W: Write> {
    writer: PcapNgWriter<W>,
}

impl<W: Write> Capture<W> {
    /// Begins a capture of the interface with this name.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn new(out: W, interface: &str) -> io::Result<Self> {
        let mut writer = PcapNgWriter::new(out).map_err(io_error)?;
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::ETHERNET,
            snaplen: SNAP_LENGTH,
            options: vec![
                InterfaceDescriptionOption::IfName(interface.to_owned().into()),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ],
        };
        writer.write_pcapng_block(interface).map_err(io_error)?;
        Ok(Self { writer })
    }

    /// Writes a frame with comments. `at` is the time since 1970.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn write_frame(
        &mut self,
        at: Duration,
        frame: &[u8],
        direction: Option<Direction>,
        comments: Vec<String>,
    ) -> io::Result<()> {
        let flags = direction.map(|direction| EnhancedPacketOption::Flags(direction.flags()));
        let comments = comments.into_iter().map(Cow::Owned);
        let comments = comments.map(EnhancedPacketOption::Comment);
        self.write_block(EnhancedPacketBlock {
            interface_id: 0,
            timestamp: at,
            original_len: u32::try_from(frame.len()).unwrap_or(u32::MAX),
            data: frame.into(),
            options: flags.into_iter().chain(comments).collect(),
        })
    }

    /// Writes a block of a type that only programs of this repository know. Other programs skip it.
    pub(super) fn write_private(&mut self, block_type: u32, bytes: &[u8]) -> io::Result<()> {
        // The writer computes the length.
        self.write_block(UnknownBlock::new(block_type, 0, bytes))
    }

    fn write_block<'a>(&mut self, block: impl PcapNgBlock<'a>) -> io::Result<()> {
        let written = self.writer.write_pcapng_block(block);
        written.map(drop).map_err(io_error)
    }

    /// Writes buffered bytes.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.writer.get_mut().flush()
    }
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        error => io::Error::other(error),
    }
}
