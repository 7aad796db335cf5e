//! Datagrams and connections as one link.

use std::io;

use ring_proto::time::Now;

use super::{Link, Quota, ReceiveBatch, Refused, Streams, TransmitBatch};

/// A link of datagrams, together with connections.
#[derive(Debug)]
pub struct JoinedLink<D, S> {
    /// Link that carries the datagrams.
    pub datagrams: D,
    /// Connections of the link.
    pub streams: S,
}

impl<P, D: Link<P>, S: Streams<P>> Link<P> for JoinedLink<D, S> {
    const QUOTA: Quota = D::QUOTA;

    fn receive(&mut self, now: Now, batch: &mut ReceiveBatch<P>) -> io::Result<()> {
        self.datagrams.receive(now, batch)
    }

    fn sent_by(&self, now: Now) -> Now {
        self.datagrams.sent_by(now)
    }

    fn send(&mut self, batch: &TransmitBatch<P>) -> Result<usize, Refused> {
        self.datagrams.send(batch)
    }

    fn streams(&mut self) -> Option<&mut dyn Streams<P>> {
        Some(&mut self.streams)
    }
}
