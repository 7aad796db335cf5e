//! The interface between the kernel and a system.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use ring_proto::Machine;
use ring_runtime::driver::Addressing;
use ring_trust::Authenticator;

use super::queue;
use super::signed_link::Sender;
use super::simulation::Simulation;
use super::stats::Count;
use super::streams::{Carrier, ConnectionTable, Side};

/// The address of a system's peer.
pub type Peer<S> = <<S as System>::Machine as Machine>::Peer;

/// A message of a system.
pub type Message<S> = queue::Message<Peer<S>, <S as System>::Address>;

/// The time and the node of an input.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// The simulated time, in nanoseconds.
    pub at: u64,
    /// The node.
    pub node: usize,
}

impl Moment {
    /// Returns the simulated time.
    pub const fn time(self) -> Duration {
        Duration::from_nanos(self.at)
    }
}

/// The receivers of a message.
#[derive(Debug)]
pub enum Route {
    /// The message goes to every node except the sender.
    All,
    /// The message goes to one node, or to no node if the address belongs to no node.
    One(Option<usize>),
    /// Several nodes, in this order.
    Several(Vec<usize>),
}

/// The answer of a host to a connection request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listens {
    /// A process listens.
    Yes,
    /// The host has the address, but no process listens at that port.
    No,
    /// No host has the address, so there is no answer.
    Nowhere,
}

/// A system in the simulator: the meaning of its messages, its own events, and its checks. The kernel calls the
/// functions of a system; the state machines do not call them.
pub trait System: Sized {
    /// The state machine that the nodes run.
    type Machine: Machine;
    /// The connections; [`NoStreams`](super::streams::NoStreams) if the system has no connections.
    type Streams: Carrier<Peer<Self>>;
    /// The destination of a message.
    type Address: Copy;
    /// The label by which the system counts a message. Messages that do not come from nodes have the default label.
    type Label: Copy + Default;
    /// The system's data of each node, including the node's stored state.
    type Node;
    /// The addresses of signed messages.
    type Addressing: Addressing<Peer = Peer<Self>>;
    /// The events, except messages, that wait while a process is stalled.
    type Missed: Default;
    /// The events of this system.
    type Event;
    /// The faults of a schedule.
    type Fault;

    /// The length of the header before the payload, in bytes.
    const HEADER_LEN: usize;
    /// The length of the longest message, in bytes.
    const MESSAGE_LEN_MAX: usize;

    /// Whether a duplicate of a unicast may be flooded. A bridge floods a frame if the bridge has forgotten the
    /// receiver's address.
    const FLOODS_DUPLICATES: bool;

    /// The number of corrupt messages per thousand that a checksum finds. These messages are lost. A real checksum
    /// finds nearly all corrupt messages. With a real checksum, tests would almost never receive a corrupt message.
    const CHECKSUM_FINDS_PER_1000: u16 = 900;

    /// Returns the address from which a node sends. The address may change while the node runs.
    fn address(node: usize, own: &Self::Node) -> Peer<Self>;

    /// Returns the address of a node in its signed messages. The address may change while the node runs.
    fn addressing(node: usize, own: &Self::Node) -> Self::Addressing;

    /// Sets the options of a node's signatures that do not belong to its keys.
    fn set_signature_options(_own: &Self::Node, _authenticator: &mut Authenticator<Sender<Self>>) {}

    /// Whether a node accepts a message that was sent to this address. The node may have changed its address since the
    /// message was sent.
    fn accepts(_own: &Self::Node, _to: Self::Address) -> bool {
        true
    }

    /// Returns the answer to a connection request for an address. The node may have changed its address.
    fn answer_to_connect(_own: &Self::Node, _to: Peer<Self>) -> Listens {
        Listens::Yes
    }

    /// Returns the connections of a process that is started.
    fn listen(
        fabric: &Rc<RefCell<ConnectionTable<Peer<Self>>>>,
        node: usize,
        own: &Self::Node,
    ) -> Self::Streams;

    /// Whether a message goes to every node.
    fn is_broadcast(bytes: &[u8], to: Peer<Self>) -> bool;

    /// Returns the receivers of an address.
    fn route(sim: &Simulation<Self>, to: Self::Address) -> Route;

    /// Handles a message that a node's link accepts. Returns `None` if the message cannot be sent.
    fn on_sent(
        &mut self,
        moment: Moment,
        own: &mut Self::Node,
        bytes: &[u8],
        to: Peer<Self>,
    ) -> Option<(Self::Address, Self::Label)>;

    /// Returns the destination and the label of a challenge or an answer that a node's link accepts.
    fn on_handshake(
        bytes: &[u8],
        to: Peer<Self>,
        name: &'static str,
    ) -> (Self::Address, Self::Label);

    /// Records a message that is on its way; `from` is `None` if the message does not come from a node.
    fn on_carried(
        &mut self,
        leaves: u64,
        from: Option<usize>,
        bytes: &[u8],
        to: Self::Address,
        label: Self::Label,
    );

    /// Records that a node read a message that had waited for `age`.
    fn on_read(&mut self, moment: Moment, bytes: &[u8], age: Duration);

    /// Formats a message as one line.
    fn describe(bytes: &[u8]) -> String;

    /// Reports a violation: a state machine that requires signatures got a message or data that no node sent, or got
    /// them again.
    fn on_forgery(&mut self, moment: Moment, what: String);

    /// Changes the message to another sender or destination. The addresses belong to nodes of the simulation.
    fn readdress(sim: &mut Simulation<Self>, message: &mut Message<Self>);

    /// Updates the destination of a message after its bytes have changed.
    fn update_destination(_message: &mut Message<Self>) {}

    /// Returns the address at which a node accepts connections; `None` if the system has no connections.
    fn listener(_own: &Self::Node) -> Option<Peer<Self>> {
        None
    }

    /// Makes the bytes of one side of a connection with which an attacker would break the system, if nodes accepted
    /// them. `ends` are the connecting node and the accepting node.
    fn forge_stream(_sim: &mut Simulation<Self>, _ends: [usize; 2], _side: Side) -> Vec<u8> {
        Vec::new()
    }

    /// Makes a message with which an attacker would break the system, if nodes accepted it. The attacker has heard
    /// another message.
    fn forge(sim: &mut Simulation<Self>, heard: &Message<Self>) -> Message<Self>;

    /// Handles a message of a node that the attacker hears.
    fn on_overheard(_sim: &mut Simulation<Self>, _message: &Message<Self>) {}

    /// Whether an address belongs to the attacker, and the attacker has a key.
    fn is_attackers(_address: Peer<Self>) -> bool {
        false
    }

    /// Records that a corrupt message arrives at `due`, because no checksum detected the flipped bits.
    fn on_corrupted(&mut self, _due: u64, _sent: &[u8], _arrives: &[u8]) {}

    /// Handles an event of a state machine.
    fn on_event(
        &mut self,
        moment: Moment,
        own: &mut Self::Node,
        event: &<Self::Machine as Machine>::Event,
    );

    /// Stores a node's state on its disk.
    fn store(own: &mut Self::Node, durable: &<Self::Machine as Machine>::Durable);

    /// Counts an event of the kernel.
    fn count(&mut self, what: Count);

    /// Reports a violation: too many messages were sent in less than a second.
    fn on_storm(&mut self, now: u64, sent: u64);

    /// Whether the run has found enough violations and can end.
    fn can_end(&self) -> bool;

    /// Handles an event of the system.
    fn on_system_event(sim: &mut Simulation<Self>, event: Self::Event);

    /// Carries out an action of the schedule.
    fn apply_action(sim: &mut Simulation<Self>, fault: &Self::Fault);

    /// Checks a node after an input, when all messages that the input caused were sent.
    fn check_node(sim: &mut Simulation<Self>, at: usize);

    /// Continues a stalled process after it has read its messages.
    fn on_resumed(sim: &mut Simulation<Self>, at: usize, missed: Self::Missed);

    /// Runs after each event.
    fn after_event(&mut self) {}
}
