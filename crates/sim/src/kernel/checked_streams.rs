//! The connections of a node: encrypted by the code of the daemon, and checked.
//!
//! A state machine that requires encryption may get only the data that its peer has written on the same connection.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

use ring_runtime::driver::{
    Changed, Connection, Connections, Encrypted, EncryptedConnection, LocalAddress, Network,
    Streams,
};
use ring_trust::StreamKeys;

use super::streams::{Carrier, ConnectionTable, Pipe, Side, Socket, Tcp};

/// A node's connections, in a system whose connections the daemon encrypts.
pub type NodeStreams = Connections<CheckedNetwork, SocketAddr>;

type Table = Rc<RefCell<ConnectionTable<SocketAddr>>>;

/// The data that one end has written, before the encryption.
#[derive(Debug, Default)]
pub(super) struct WrittenData {
    /// Whether the end knows that the connection is established.
    is_established: bool,
    /// The data that the other end has not read.
    unread: VecDeque<u8>,
    has_ended: bool,
}

/// A node's encrypted connections.
#[derive(Debug)]
pub struct CheckedNetwork {
    network: Encrypted<Tcp<SocketAddr>>,
    node: usize,
    table: Table,
}

impl CheckedNetwork {
    /// Returns the connections of a node, which has no keys yet. The name of the system is part of each handshake.
    pub fn new(tcp: Tcp<SocketAddr>, system: &'static str) -> Self {
        let (node, table) = (tcp.node, Rc::clone(&tcp.fabric));
        let seeds = Rc::clone(&table);
        let draw_seed = move || Ok(seeds.borrow_mut().draw_seed());
        Self {
            network: Encrypted::with_seeds(tcp, system, Box::new(draw_seed)),
            node,
            table,
        }
    }

    fn check(&self, connection: EncryptedConnection<Socket<SocketAddr>>) -> CheckedConnection {
        CheckedConnection {
            connection,
            node: self.node,
            table: Rc::clone(&self.table),
        }
    }
}

impl Network<SocketAddr> for CheckedNetwork {
    type Connection = CheckedConnection;

    fn connect(&mut self, to: SocketAddr) -> io::Result<CheckedConnection> {
        let connection = self.network.connect(to)?;
        Ok(self.check(connection))
    }

    fn accept(&mut self) -> io::Result<(CheckedConnection, SocketAddr)> {
        let (connection, from) = self.network.accept()?;
        let connection = self.check(connection);
        connection.check(|pipe, side| {
            let peer = &pipe.written[1 - side];
            (!peer.is_established).then_some("the connection of a peer that is not proven")
        });
        Ok((connection, from))
    }

    fn watch(&mut self, connection: &CheckedConnection, key: u64) -> io::Result<()> {
        self.network.watch(&connection.connection, key)
    }

    fn next_changed(&mut self) -> Option<Changed> {
        self.network.next_changed()
    }
}

/// A connection of a [`CheckedNetwork`].
#[derive(Debug)]
pub struct CheckedConnection {
    connection: EncryptedConnection<Socket<SocketAddr>>,
    node: usize,
    table: Table,
}

impl CheckedConnection {
    /// Changes the records of the connection if the run has keys.
    fn record<T>(&self, change: impl FnOnce(&mut Pipe<SocketAddr>, Side) -> T) -> Option<T> {
        let table = &mut *self.table.borrow_mut();
        if !table.is_checked {
            return None;
        }
        let Socket { pipe, side, .. } = *self.connection.carrier();
        Some(change(&mut table.pipes[pipe], side))
    }

    /// Reports the text that `find` returns, if the node requires encryption.
    fn check(&self, find: impl FnOnce(&mut Pipe<SocketAddr>, Side) -> Option<&'static str>) {
        if let Some(Some(forgery)) = self.record(find) {
            let table = &mut *self.table.borrow_mut();
            if table.requires_encryption[self.node] {
                table.forgeries.push(forgery);
            }
        }
    }

    fn check_data(&self, data: &[u8]) {
        self.check(|pipe, side| {
            let written = &mut pipe.written[1 - side];
            if data.is_empty() {
                let is_legal = written.has_ended && written.unread.is_empty();
                return (!is_legal).then_some("an end of a stream that its peer has not ended");
            }
            let count = data.len().min(written.unread.len());
            let is_legal = written.unread.drain(..count).eq(data.iter().copied());
            (!is_legal).then_some("data of a stream that its peer has not written")
        });
    }
}

impl Connection for CheckedConnection {
    fn check_established(&mut self) -> io::Result<()> {
        self.connection.check_established()?;
        self.record(|pipe, side| pipe.written[side].is_established = true);
        self.check(|pipe, side| {
            let is_answered = pipe.ends[1 - side].node.is_some();
            (!is_answered).then_some("a connection that its peer has not accepted")
        });
        Ok(())
    }

    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = self.connection.read(room)?;
        self.check_data(&room[..count]);
        Ok(count)
    }

    fn check_reset(&mut self) -> io::Result<()> {
        self.connection.check_reset()
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.connection.write(bytes)?;
        self.record(|pipe, side| pipe.written[side].unread.extend(&bytes[..count]));
        Ok(count)
    }

    fn write_end(&mut self) -> io::Result<()> {
        self.connection.write_end()?;
        self.record(|pipe, side| pipe.written[side].has_ended = true);
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.connection.finish()
    }

    fn close(self) {
        self.connection.close();
    }

    fn abort(self) {
        self.connection.abort();
    }
}

impl Carrier<SocketAddr> for NodeStreams {
    const ANY: bool = true;

    fn streams(&mut self) -> Option<&mut dyn Streams<SocketAddr>> {
        Some(self)
    }

    fn is_due(&self) -> bool {
        Streams::is_due(self)
    }

    fn set_keys(&mut self, keys: StreamKeys) {
        let network = self.network_mut();
        let requires = &mut network.table.borrow_mut().requires_encryption;
        requires[network.node] = !keys.permits(None);
        network.network.set_keys(keys);
    }
}

impl LocalAddress for Socket<SocketAddr> {
    fn local_address(&self) -> io::Result<SocketAddr> {
        let pipe = &self.fabric.borrow().pipes[self.pipe];
        Ok(if self.side == 0 { pipe.from } else { pipe.to })
    }
}
