//! The link and the store of a node. Before they act, they withdraw the node's last frames.

use std::io;
use std::rc::Rc;

use ring_codec::lab2::Token;
use ring_process::SharedRecord;
use ring_proto::StoreOutcome;
use ring_proto::lab2::StoredState;
use ring_proto::time::Now;
use ring_runtime::driver::{Link, ReceiveBatch, Refused, Store, TransmitBatch};
use ring_runtime::net::PacketSocket;

use crate::system::lab2::state_file::StateFile;

/// The socket of a node; `None` while the link is lost.
#[derive(Debug)]
pub(in crate::system::lab2) struct GuardedSocket {
    record: Rc<SharedRecord>,
    pub socket: Option<PacketSocket>,
}

impl GuardedSocket {
    /// Makes a link without a socket.
    pub(in crate::system::lab2) fn new(record: Rc<SharedRecord>) -> Self {
        Self {
            record,
            socket: None,
        }
    }
}

impl Link for GuardedSocket {
    fn receive(&mut self, now: Now, batch: &mut ReceiveBatch) -> io::Result<()> {
        self.socket.receive(now, batch)
    }

    fn send(&mut self, batch: &TransmitBatch) -> Result<usize, Refused> {
        self.record.clear();
        self.socket.send(batch)
    }

    fn sent_by(&self, now: Now) -> Now {
        self.socket.sent_by(now)
    }

    fn has_message(&self) -> bool {
        self.socket.has_message()
    }
}

/// The state file of a node.
#[derive(Debug)]
pub(in crate::system::lab2) struct GuardedStore {
    record: Rc<SharedRecord>,
    pub file: StateFile,
    /// The offered token of the last frames that was written last, and whether the file has it.
    offered: Option<(Token, bool)>,
}

impl GuardedStore {
    pub(in crate::system::lab2) fn new(record: Rc<SharedRecord>, file: StateFile) -> Self {
        Self {
            record,
            file,
            offered: None,
        }
    }

    /// Stores the state in which the node leaves an offer to its guardian. Returns whether the file has this state.
    pub(super) fn store_offer(&mut self, state: &StoredState) -> bool {
        let Some(token) = state.known else {
            return false;
        };
        match self.offered {
            Some((last, is_stored)) if last == token => is_stored,
            _ => {
                let is_stored = self.file.store(state) == StoreOutcome::Done;
                self.offered = Some((token, is_stored));
                is_stored
            }
        }
    }
}

impl Store<StoredState> for GuardedStore {
    fn store(&mut self, durable: &StoredState) -> StoreOutcome {
        self.record.clear();
        self.offered = None;
        self.file.store(durable)
    }
}
