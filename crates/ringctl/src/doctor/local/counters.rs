//! The counters of the interface that show lost frames.

use std::collections::BTreeMap;

use super::super::finding::Finding;
use super::super::kinds::FRAME_ERRORS;
use super::files::SystemFiles;

/// The counters, and the usual cause of each. `rx_dropped` is not in the list, because it also counts the frames whose
/// EtherType no program reads.
const COUNTERS: [(&str, &str); 9] = [
    ("collisions", "a duplex mismatch with the switch port"),
    ("rx_crc_errors", "the cable, the plug or the card"),
    ("rx_fifo_errors", "a machine that is too slow for its card"),
    (
        "rx_frame_errors",
        "the cable, or a duplex mismatch with the switch port",
    ),
    ("rx_length_errors", "a sender with a larger MTU"),
    (
        "rx_missed_errors",
        "a machine that is too slow for its card",
    ),
    ("tx_carrier_errors", "the cable, the plug or the card"),
    (
        "tx_dropped",
        "a queue of the interface that is full or stuck",
    ),
    ("tx_errors", "the driver, the cable or the card"),
];

/// The values of the counters at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in super::super) struct ErrorCounters(BTreeMap<&'static str, u64>);

impl ErrorCounters {
    pub(super) fn read(files: &SystemFiles) -> Self {
        let values = COUNTERS.iter().filter_map(|(name, _)| {
            let value = files.number(&format!("statistics/{name}"))?;
            Some((*name, value))
        });
        Self(values.collect())
    }

    /// Returns one finding for each counter that has grown since `before`.
    pub(in super::super) fn growth(&self, before: &Self, interface: &str) -> Vec<Finding> {
        let grown = COUNTERS.iter().filter_map(|(name, cause)| {
            let (old, new) = (before.0.get(name)?, self.0.get(name)?);
            let by = new.checked_sub(*old).filter(|&by| by > 0)?;
            Some(
                Finding::new(&FRAME_ERRORS, format!("{interface} loses frames"))
                    .with_evidence(format!(
                        "the counter {name} grew by {by} during the examination"
                    ))
                    .with_remedy(format!("check the usual cause: {cause}")),
            )
        });
        grown.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{ErrorCounters, SystemFiles};

    #[test]
    fn only_counters_that_grow_are_found() {
        let base = tempfile::tempdir().expect("a folder");
        let statistics = base.path().join("eth0/statistics");
        fs::create_dir_all(&statistics).expect("a folder");
        let read = |crc: u64, dropped: u64| {
            fs::write(statistics.join("rx_crc_errors"), crc.to_string()).expect("a file");
            fs::write(statistics.join("rx_dropped"), dropped.to_string()).expect("a file");
            ErrorCounters::read(&SystemFiles::new(base.path(), "eth0"))
        };
        let before = read(7, 0);
        assert_eq!(read(7, 9).growth(&before, "eth0"), []);
        let found = read(9, 9).growth(&before, "eth0");
        assert_eq!(found.len(), 1);
        let page = found[0].page();
        assert!(
            page.contains("rx_crc_errors grew by 2") && page.contains("cable"),
            "{page}"
        );
        assert_eq!(read(9, 9).growth(&ErrorCounters::default(), "eth0"), []);
    }
}
