//! One connection: a note on its way, in or out.

use std::sync::Arc;

use ring_proto::time::Instant;

use super::wire::{self, HEADER, Header, REQUEST};
use super::{Failure, Note, Version};

/// A connection and what is transferred over it.
#[derive(Debug)]
pub(super) struct Transfer {
    /// When the node gives it up.
    pub deadline: Instant,
    pub role: Role,
    /// Bytes still to be written, and how many of them were.
    out: Vec<Part>,
    written: usize,
}

/// Which side the node is on.
#[derive(Debug)]
pub(super) enum Role {
    /// It serves its note, of this version once it was asked for it.
    Serves(Option<Version>),
    /// It fetches a version, or a newer one.
    Fetches {
        wanted: Version,
        header: Option<Header>,
        /// What of the note has come. It grows with that, and not by what was announced.
        bytes: Vec<u8>,
    },
}

#[derive(Debug)]
enum Part {
    Head(Vec<u8>),
    Note(Arc<[u8]>),
}

impl Part {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Head(bytes) => bytes,
            Self::Note(bytes) => bytes,
        }
    }
}

/// What became of the bytes that were received.
#[derive(Debug)]
pub(super) enum Progress {
    /// So many were used; more are needed.
    Wait(usize),
    /// The peer asks for a version.
    Asked(Version),
    /// A note is complete, by its length.
    Complete(Header, Vec<u8>),
    /// No note comes of it.
    Failed(Failure),
}

impl Transfer {
    /// For a peer that has connected.
    pub fn serve(deadline: Instant) -> Self {
        Self {
            deadline,
            role: Role::Serves(None),
            out: Vec::new(),
            written: 0,
        }
    }

    /// For a version that a peer has announced.
    pub fn fetch(wanted: Version, deadline: Instant) -> Self {
        Self {
            deadline,
            role: Role::Fetches {
                wanted,
                header: None,
                bytes: Vec::new(),
            },
            out: vec![Part::Head(wire::request(wanted).to_vec())],
            written: 0,
        }
    }

    /// Answers with a note.
    pub fn answer(&mut self, note: &Note) {
        let header = Header {
            version: note.version,
            sum: note.sum,
            len: note.bytes.len(),
        };
        self.role = Role::Serves(Some(note.version));
        self.out = vec![
            Part::Head(header.encode().to_vec()),
            Part::Note(Arc::clone(&note.bytes)),
        ];
        self.written = 0;
    }

    /// Writes the next bytes into `room`; 0: all is written.
    pub fn write(&mut self, room: &mut [u8]) -> usize {
        let mut skip = self.written;
        let mut filled = 0;
        for part in &self.out {
            let bytes = part.bytes();
            let rest = bytes.get(skip..).unwrap_or_default();
            skip = skip.saturating_sub(bytes.len());
            let count = rest.len().min(room.len() - filled);
            room[filled..filled + count].copy_from_slice(&rest[..count]);
            filled += count;
        }
        self.written += filled;
        filled
    }

    /// Whether there is nothing left to write.
    pub fn is_written(&self) -> bool {
        self.written == self.out.iter().map(|part| part.bytes().len()).sum()
    }

    /// All bytes that were received and not used, and whether the peer's end is behind them.
    pub fn receive(&mut self, received: &[u8], end: bool) -> Progress {
        let failed = |failure| Progress::Failed(failure);
        match &mut self.role {
            Role::Serves(Some(_)) => Progress::Wait(received.len()),
            Role::Serves(None) if received.len() < REQUEST => unfinished(end),
            Role::Serves(None) => match wire::requested(received) {
                Some(wanted) => Progress::Asked(wanted),
                None => failed(Failure::Malformed),
            },
            Role::Fetches {
                wanted,
                header,
                bytes,
            } => {
                let mut used = 0;
                if header.is_none() {
                    let Some(head) = received.first_chunk::<HEADER>() else {
                        return unfinished(end);
                    };
                    *header = Header::decode(head).filter(|found| found.version >= *wanted);
                    used = HEADER;
                }
                let Some(header) = *header else {
                    return failed(Failure::Malformed);
                };
                bytes.extend_from_slice(&received[used..]);
                if bytes.len() > header.len {
                    failed(Failure::Malformed)
                } else if end && bytes.len() == header.len {
                    Progress::Complete(header, std::mem::take(bytes))
                } else if end {
                    failed(Failure::Closed)
                } else {
                    Progress::Wait(received.len())
                }
            }
        }
    }
}

/// More is needed, and comes unless the peer has ended.
fn unfinished(end: bool) -> Progress {
    if end {
        Progress::Failed(Failure::Closed)
    } else {
        Progress::Wait(0)
    }
}
