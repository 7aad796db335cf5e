//! The shared note as the simulator's kernel sees it: what must hold, and what may go wrong.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use ring_note::{Command, Event, Net, Note, Notes, Options, Version};
use ring_proto::JobOp;
use ringd::driver::Connections;
use ringd::sim::kernel::kinds::Trouble;
use ringd::sim::kernel::network::Network;
use ringd::sim::kernel::node::Node;
use ringd::sim::kernel::queue;
use ringd::sim::kernel::rng::{Rng, Stream};
use ringd::sim::kernel::streams::{Fabric, Tcp};
use ringd::sim::kernel::system::{Count, Moment, Route, System};
use ringd::sim::kernel::world;

use super::fault::Fault;

pub const PORT: u16 = 7;
pub const MTU: usize = 1472;
/// Connections of a node at a time, and how many of them it serves.
const SLOTS: u16 = 8;
const SERVED: usize = 4;
/// The time between two announcements, and the longest transfer.
pub const PERIOD: Duration = Duration::from_millis(100);
pub const TRANSFER: Duration = Duration::from_secs(1);
/// How long a job takes, in nanoseconds.
const JOB: u64 = 3_000_000;

pub type World = world::World<Room>;

/// What is known of all nodes.
#[derive(Debug, Default)]
pub struct Room {
    /// All that was ever written.
    pub texts: BTreeSet<Vec<u8>>,
    /// What each version was when it was shown first.
    versions: BTreeMap<Version, Vec<u8>>,
    /// What must hold and does not.
    pub broken: Vec<String>,
    pub met: BTreeSet<Trouble>,
    /// Events of the machines, by name.
    pub events: BTreeMap<&'static str, u64>,
}

/// What is kept of one node.
#[derive(Debug, Default)]
pub struct Own {
    pub stored: Note,
    /// The newest version that it has shown in any of its lives.
    shown: Version,
    /// Which of its lives this is.
    life: u32,
}

/// A job is done.
pub struct Done {
    node: usize,
    life: u32,
    command: RefCell<Option<Command>>,
}

pub fn address(node: usize) -> SocketAddr {
    let last = u8::try_from(node + 1).expect("few nodes");
    SocketAddr::from((Ipv4Addr::new(10, 0, 0, last), PORT))
}

/// The address of somebody who is no node.
pub fn stranger(number: u8) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(10, 0, 1, number), PORT))
}

fn node_of(address: SocketAddr) -> Option<usize> {
    match address.ip() {
        IpAddr::V4(ip) if ip.octets()[2] == 0 => usize::from(ip.octets()[3]).checked_sub(1),
        _ => None,
    }
}

/// Nodes of which none runs.
pub fn assemble(nodes: usize, seed: u64) -> World {
    let mut rng = Rng::new(seed, Stream::World);
    let nodes = (0..nodes)
        .map(|_| Node::new(Own::default(), MTU, 1 + rng.below(1_000_000)))
        .collect();
    World::assemble(nodes, Network::new((20_000, 80_000)), rng, Room::default())
}

/// Starts a node, with what it has stored.
pub fn start(world: &mut World, at: usize) {
    if world.nodes[at].driver.is_some() {
        return;
    }
    let own = &mut world.nodes[at].own;
    own.life += 1;
    let options = Options {
        id: at as u64 + 1,
        port: PORT,
        period: PERIOD,
        transfer: TRANSFER,
        served: SERVED,
    };
    let machine = Notes::new(options, own.stored.clone());
    world.launch(at, machine);
    let all = SocketAddr::from((Ipv4Addr::BROADCAST, PORT));
    world.input(at, |driver, now, surroundings| {
        driver.link_changed(now, Net::Up(all), surroundings);
    });
}

/// Has a node that runs write a version of the note, and gives it the time to sum it up.
pub fn write(world: &mut World, at: usize, text: Vec<u8>) {
    ask_to_write(world, at, text);
    world.run(Duration::from_nanos(JOB));
}

/// Has a node that runs write a version of the note.
pub fn ask_to_write(world: &mut World, at: usize, text: Vec<u8>) {
    if !world.nodes[at].is_running() {
        return;
    }
    world.system.texts.insert(text.clone());
    world.input(at, |driver, now, surroundings| {
        driver.command(now, Command::Write(text), surroundings);
    });
}

/// Whether all nodes show the newest version that any of them has stored.
pub fn agree(world: &World) -> bool {
    let newest = world.nodes.iter().map(|node| node.own.stored.version).max();
    let shown = |at| world.machine(at).map(|machine| machine.note().version);
    (0..world.len()).all(|at| shown(at) == newest)
}

impl System for Room {
    type Machine = Notes;
    type Streams = Connections<Tcp<SocketAddr>, SocketAddr>;
    type Address = SocketAddr;
    type Label = ();
    type Node = Own;
    type Missed = ();
    type Event = Done;
    type Fault = Fault;

    const HEADER_LEN: usize = 0;
    const LONGEST: usize = 64;
    const FLOODED: bool = false;

    fn address(node: usize, _: &Own) -> SocketAddr {
        address(node)
    }

    fn listen(fabric: &Rc<RefCell<Fabric<SocketAddr>>>, node: usize, _: &Own) -> Self::Streams {
        Connections::new(Tcp::of(fabric, node, address(node), node_of), SLOTS)
    }

    fn is_broadcast(_: &[u8], to: SocketAddr) -> bool {
        to.ip() == Ipv4Addr::BROADCAST
    }

    fn route(_: &World, to: SocketAddr) -> Route {
        if Self::is_broadcast(&[], to) {
            Route::All
        } else {
            Route::One(node_of(to))
        }
    }

    fn sent(
        &mut self,
        _: Moment,
        _: &mut Own,
        _: &[u8],
        to: SocketAddr,
    ) -> Option<(SocketAddr, ())> {
        Some((to, ()))
    }

    fn carried(&mut self, _: u64, _: Option<usize>, _: &[u8], _: SocketAddr, (): ()) {}

    fn heard(&mut self, _: Moment, _: &[u8], _: Duration) {}

    fn corrupted(&mut self, _: u64, _: &[u8], _: &[u8]) {}

    fn observed(&mut self, moment: Moment, own: &mut Own, event: &Event) {
        *self.events.entry(event.name()).or_default() += 1;
        if let Event::Shown(version) = *event {
            if version <= own.shown || own.stored.version != version {
                let Moment { at, node } = moment;
                let (before, stored) = (own.shown, own.stored.version);
                self.broken.push(format!(
                    "at {at} node {node} shows {version} after {before}, and has stored {stored}"
                ));
            }
            own.shown = version;
        }
    }

    fn stored(own: &mut Own, note: &Note) {
        own.stored = note.clone();
    }

    fn count(&mut self, what: Count) {
        if let Count::Met(trouble) = what {
            self.met.insert(trouble);
        }
    }

    fn storm(&mut self, now: u64, sent: u64) {
        self.broken
            .push(format!("at {now} there is no end: {sent} messages"));
    }

    fn is_enough(&self) -> bool {
        !self.broken.is_empty()
    }

    fn happen(world: &mut World, done: Done) {
        let node = &world.nodes[done.node];
        let Some(command) = done.command.take().filter(|_| node.own.life == done.life) else {
            return;
        };
        world.input(done.node, |driver, now, surroundings| {
            driver.command(now, command, surroundings);
        });
    }

    fn act(world: &mut World, fault: &Fault) {
        fault.act(world);
    }

    fn look_at(world: &mut World, at: usize) {
        let due = world.now + JOB;
        let node = &mut world.nodes[at];
        let Some(driver) = node.driver.as_mut() else {
            return;
        };
        while let Some(wanted) = driver.next_job() {
            // These jobs take so little time that none heeds it.
            let JobOp::Start(job) = wanted else { continue };
            let done = Done {
                node: at,
                life: node.own.life,
                command: RefCell::new(Some(job.run())),
            };
            world.queue.push(due, queue::Event::Own(done));
        }
        let shown = driver.machine().note();
        if shown.version == Version::default() {
            return;
        }
        let room = &mut world.system;
        let first = room.versions.entry(shown.version);
        let first = first.or_insert_with(|| shown.bytes.to_vec());
        if **first != *shown.bytes || !room.texts.contains(&**first) {
            let (version, len) = (shown.version, shown.bytes.len());
            room.broken.push(format!(
                "node {at} shows {len} bytes as {version} that nobody wrote"
            ));
        }
    }

    fn resumed(_: &mut World, _: usize, (): ()) {}

    fn after_event(&mut self) {}
}
