//! What a system adds to the kernel.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use ring_proto::Machine;

use super::queue;
use super::stats::Count;
use super::streams::{Carrier, Fabric};
use super::world::World;

/// Whom a system's messages are from and for.
pub type Peer<S> = <<S as System>::Machine as Machine>::Peer;

/// A system's message on its way.
pub type Message<S> = queue::Message<Peer<S>, <S as System>::Address>;

/// Which input of which node something belongs to.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// The world's time, in nanoseconds.
    pub at: u64,
    /// The node.
    pub node: usize,
}

impl Moment {
    /// The world's time.
    pub const fn time(self) -> Duration {
        Duration::from_nanos(self.at)
    }
}

/// Who is to hear a message.
#[derive(Debug)]
pub enum Route {
    /// Everybody but its sender.
    All,
    /// One node, if it is one.
    One(Option<usize>),
    /// Several nodes, in this order.
    Several(Vec<usize>),
}

/// Whether a node that is up takes connections to an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listens {
    /// It does.
    Yes,
    /// It has the host's address, but nobody listens at that port.
    No,
    /// No host has the address any longer: there is no answer.
    Nowhere,
}

/// A system in the simulated world: what its messages mean, what happens in it alone, and what must
/// hold in it. The kernel calls; nothing here is called by the machines.
pub trait System: Sized {
    /// What the nodes run.
    type Machine: Machine;
    /// What carries its connections; [`NoStreams`](super::streams::NoStreams) if it has none.
    type Streams: Carrier<Peer<Self>>;
    /// What a message is addressed to.
    type Address: Copy;
    /// By what the system counts messages; those that no node has sent have the default.
    type Label: Copy + Default;
    /// What the system keeps of each node, its stored state included.
    type Node;
    /// What a stopped process finds when it goes on, beside messages.
    type Missed: Default;
    /// What happens in this system only.
    type Event;
    /// What a schedule may ask for.
    type Fault;

    /// How much longer than its payload a message is, in bytes.
    const HEADER_LEN: usize;
    /// The longest message, in bytes.
    const LONGEST: usize;

    /// A second copy of a message to one station may go to all: the network's bridges forget where stations are.
    const FLOODED: bool;

    /// Of 1,000 corrupt messages so many are found out by their checksum, and lost. A real one finds out
    /// nearly all; but then nothing would be left to look at.
    const CHECKSUM_FINDS: u16 = 900;

    /// The address that a node sends from just now. It may change while the node runs.
    fn address(node: usize, own: &Self::Node) -> Peer<Self>;

    /// Whether a node takes what arrives for an address: it may have had another when that was sent.
    fn takes(_own: &Self::Node, _to: Self::Address) -> bool {
        true
    }

    /// Whether a node takes connections to an address: it may have had another when that was learned.
    fn listens(_own: &Self::Node, _to: Peer<Self>) -> Listens {
        Listens::Yes
    }

    /// What carries the connections of a node's process that is started.
    fn listen(
        fabric: &Rc<RefCell<Fabric<Peer<Self>>>>,
        node: usize,
        own: &Self::Node,
    ) -> Self::Streams;

    /// Whether a message goes to everybody.
    fn is_broadcast(bytes: &[u8], to: Peer<Self>) -> bool;

    /// Who hears what is sent to an address.
    fn route(world: &World<Self>, to: Self::Address) -> Route;

    /// A node hands a message to its link, which accepts it. `None`: it is none that can be carried.
    fn sent(
        &mut self,
        moment: Moment,
        own: &mut Self::Node,
        bytes: &[u8],
        to: Peer<Self>,
    ) -> Option<(Self::Address, Self::Label)>;

    /// A message is on its way from a node or, if `None`, from something that is none.
    fn carried(
        &mut self,
        leaves: u64,
        from: Option<usize>,
        bytes: &[u8],
        to: Self::Address,
        label: Self::Label,
    );

    /// A node has read a message that had waited for `age`.
    fn heard(&mut self, moment: Moment, bytes: &[u8], age: Duration);

    /// A message that arrives at `due` is not what was sent, and no checksum has noticed.
    fn corrupted(&mut self, _due: u64, _sent: &[u8], _arrives: &[u8]) {}

    /// A machine has told something.
    fn observed(
        &mut self,
        moment: Moment,
        own: &mut Self::Node,
        event: &<Self::Machine as Machine>::Event,
    );

    /// A node's disk keeps this.
    fn stored(own: &mut Self::Node, durable: &<Self::Machine as Machine>::Durable);

    /// Something that is counted.
    fn count(&mut self, what: Count);

    /// There is no end to the messages: so many were sent in less than a second.
    fn storm(&mut self, now: u64, sent: u64);

    /// Whether the run has shown what it can.
    fn is_enough(&self) -> bool;

    /// Something of the system's own happens.
    fn happen(world: &mut World<Self>, event: Self::Event);

    /// An action of the schedule is due.
    fn act(world: &mut World<Self>, fault: &Self::Fault);

    /// A node's machine was given an input, and all that came of it was carried.
    fn look_at(world: &mut World<Self>, at: usize);

    /// A stopped process goes on, and has read what came meanwhile.
    fn resumed(world: &mut World<Self>, at: usize, missed: Self::Missed);

    /// An event is over.
    fn after_event(&mut self) {}
}
