//! Recordings of frames as pcapng files with times in nanoseconds. Each station has its own interface in the file, so
//! the recording shows the real sender or receiver of each frame.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::{Block, PcapNgReader, PcapNgWriter};
use pcap_file::{DataLink, PcapError};
use ring_segment::{Seen, epoch};

use crate::stations::Stations;

/// Name of the file with the frames at the time of sending.
pub const SENT: &str = "sent.pcapng";
/// Name of the file with the frames at the time of their arrival.
pub const DELIVERED: &str = "delivered.pcapng";
/// `if_tsresol`: 10^-9.
const NANOSECONDS: u8 = 9;

pub struct Recording {
    writer: PcapNgWriter<BufWriter<File>>,
}

impl Recording {
    /// Creates the file, with an interface for each station.
    pub fn create(path: &Path, stations: &Stations) -> Result<Self> {
        let file =
            File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
        let mut writer = PcapNgWriter::new(BufWriter::new(file)).map_err(explain)?;
        for station in &stations.0 {
            let interface = InterfaceDescriptionBlock {
                linktype: DataLink::ETHERNET,
                snaplen: 0,
                options: vec![
                    InterfaceDescriptionOption::IfName(Cow::Borrowed(&station.name)),
                    InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
                ],
            };
            writer
                .write_block(&Block::InterfaceDescription(interface))
                .map_err(explain)?;
        }
        Ok(Self { writer })
    }

    pub fn add(&mut self, frames: &[Seen]) -> Result<()> {
        for seen in frames {
            let packet = EnhancedPacketBlock {
                interface_id: u32::try_from(seen.port)?,
                timestamp: epoch() + seen.at,
                original_len: u32::try_from(seen.bytes.len())?,
                data: Cow::Borrowed(&seen.bytes),
                options: Vec::new(),
            };
            self.writer
                .write_block(&Block::EnhancedPacket(packet))
                .map_err(explain)?;
        }
        std::io::Write::flush(self.writer.get_mut()).context("cannot write a recording")
    }
}

/// Reads a recording, and sorts the frames by time. Times count from `start`, which is given as a time since 1970.
/// Ignores an incomplete last block.
pub fn read(path: &Path, start: Duration) -> Result<Vec<Seen>> {
    let file = File::open(path).with_context(|| format!("there is no {}", path.display()))?;
    let mut reader = PcapNgReader::new(BufReader::new(file)).map_err(explain)?;
    let mut frames = Vec::new();
    while let Some(block) = reader.next_block() {
        let packet = match block {
            Ok(Block::EnhancedPacket(packet)) => packet,
            Ok(_) => continue,
            Err(PcapError::IncompleteBuffer) => break,
            Err(error) => return Err(explain(error)),
        };
        let at = packet.timestamp.saturating_sub(start);
        let port = usize::try_from(packet.interface_id)?;
        frames.extend(Seen::read(at, port, packet.data.into_owned()));
    }
    frames.sort_by_key(|seen| seen.at);
    Ok(frames)
}

#[expect(clippy::needless_pass_by_value, reason = "map_err passes it by value")]
fn explain(error: PcapError) -> anyhow::Error {
    anyhow!("a recording: {error}")
}

#[cfg(test)]
mod tests {
    use super::{Recording, read};
    use crate::stations::Stations;
    use anyhow::Result;
    use ring_segment::{ETHERTYPE, MacAddr, Message, Seen, epoch, frame};
    use std::time::Duration;

    #[test]
    fn frames_are_read_back_unchanged_with_exact_nanoseconds() -> Result<()> {
        let macs = [
            MacAddr::new(2, 0, 0, 0, 0, 1),
            MacAddr::new(2, 0, 0, 0, 0, 2),
        ];
        let path = std::env::temp_dir().join(format!("recording-{}.pcapng", std::process::id()));
        let mut recording = Recording::create(&path, &Stations::new(&macs, 1, 1))?;
        let bytes = |from: usize| {
            let payload = Message::WhereIsToken.payload(macs[from]);
            frame(MacAddr::broadcast(), macs[from], ETHERTYPE, &payload)
        };
        let sent: Vec<Seen> = [(123_456_789, 1), (123_456_790, 0)]
            .into_iter()
            .filter_map(|(ns, from)| Seen::read(Duration::from_nanos(ns), from, bytes(from)))
            .collect();
        recording.add(&sent)?;
        let back = read(&path, epoch());
        std::fs::remove_file(&path)?;
        assert_eq!(back?, sent);
        Ok(())
    }
}
