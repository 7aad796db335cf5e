//! What goes wrong with the shared note, as a schedule: made from a seed, carried out, made shorter.

use std::net::{Ipv4Addr, SocketAddr};

use ring_note::Version;
use ring_note::wire::Announcement;
use ringd::sim::kernel::faults::{NetworkFault, ProcessFault};
use ringd::sim::kernel::network::Weather;
use ringd::sim::kernel::rng::{Rng, Stream};
use ringd::sim::kernel::schedule::{self, Action, Fault as _, Schedule};
use ringd::sim::kernel::streams::StreamWeather;

use super::world::{PORT, World, ask_to_write, start, stranger};

const MS: u64 = 1_000_000;
/// Actions of a schedule.
const ACTIONS: usize = 80;

/// Something that goes wrong, or is wanted, at a node where one is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// A note of so many bytes that are made from a number.
    Write(usize, usize, u64),
    End(usize),
    Start(usize),
    Pause(usize),
    Resume(usize),
    Network(NetworkFault),
    Process(ProcessFault),
    /// Lost, doubled, late and corrupt, in thousandths; how much later all are, in milliseconds; the longest.
    Weather([u16; 4], u64, Option<usize>),
    /// Unanswered, dribbling, reset, stalled and ended one way, in thousandths.
    Streams([u16; 5]),
    DiskFull(usize, bool),
    /// What is for all does not reach it.
    Unreached(usize, bool),
    Unplugged(usize, bool),
    /// The longest payload of the interface.
    Mtu(usize, usize),
    /// The wall clock is set, by so many seconds.
    Wall(usize, i64),
    /// A stranger announces a version that nobody has.
    Forge(u64),
}

/// A run, written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub seed: u64,
    nodes: usize,
    time_us: u64,
    actions: Vec<Action<Fault>>,
}

/// So many different bytes.
pub fn text(len: usize, number: u64) -> Vec<u8> {
    let mut rng = Rng::new(number, Stream::System);
    (0..len).map(|_| rng.draw().to_be_bytes()[0]).collect()
}

impl Plan {
    /// What goes wrong among so many nodes with this seed.
    pub fn draw(seed: u64, nodes: usize) -> Self {
        let mut rng = Rng::new(seed, Stream::Plan);
        let mut at_us = 0;
        let actions = (0..ACTIONS as u64).map(|number| {
            at_us += 1 + rng.below(400_000);
            let fault = Fault::draw(&mut rng, nodes, seed << 8 | number);
            Action { at_us, fault }
        });
        let actions: Vec<Action<Fault>> = actions.collect();
        Self {
            seed,
            nodes,
            time_us: at_us + 1,
            actions,
        }
    }
}

impl Fault {
    fn draw(rng: &mut Rng, nodes: usize, number: u64) -> Self {
        let at = rng.index(nodes);
        let is_bad = rng.chance(500);
        match rng.below(24) {
            0..5 => Self::Write(at, rng.index(1_500), number),
            5 => Self::End(at),
            6 => Self::Start(at),
            7 => Self::Pause(at),
            8 => Self::Resume(at),
            9 => {
                let groups = (0..nodes).map(|_| u8::from(rng.chance(300))).collect();
                Self::Network(NetworkFault::Part { groups })
            }
            10 => Self::Network(NetworkFault::Part { groups: Vec::new() }),
            11 => {
                let by = rng.index(nodes);
                Self::Network(NetworkFault::Unheard { node: at, by })
            }
            12 => Self::Network(NetworkFault::Hear),
            13 | 14 => {
                let mut rate = |rates: &[u16]| rng.pick(rates);
                let rates = [
                    rate(&[0, 100, 500]),
                    rate(&[0, 100]),
                    rate(&[0, 100]),
                    rate(&[0, 50]),
                ];
                let longest = rng.chance(100).then_some(16);
                Self::Weather(rates, rng.pick(&[0, 0, 30]), longest)
            }
            15 => Self::Streams([
                rng.pick(&[0, 100, 300]),
                rng.pick(&[0, 100]),
                rng.pick(&[0, 300, 900]),
                rng.pick(&[0, 0, 300]),
                rng.pick(&[0, 0, 300]),
            ]),
            16 => Self::DiskFull(at, is_bad),
            17 if is_bad => {
                let deaf = rng.chance(500);
                Self::Process(ProcessFault::Deaf { node: at, deaf })
            }
            17 => Self::Unreached(at, rng.chance(500)),
            18 => Self::Unplugged(at, is_bad),
            19 => {
                let us = rng.pick(&[0, 200, 20_000]);
                Self::Process(ProcessFault::Slow { node: at, us })
            }
            20 => Self::Mtu(at, rng.pick(&[16, 1_472])),
            21 => {
                let rate = rng.pick(&[0, 500]);
                Self::Process(ProcessFault::Refuse { node: at, rate })
            }
            22 if is_bad => {
                let millionths = rng.pick(&[-10_000, 0, 10_000]);
                let node = at;
                Self::Process(ProcessFault::Rate { node, millionths })
            }
            22 => Self::Wall(at, rng.pick(&[-86_400, 86_400])),
            _ if is_bad => Self::Network(NetworkFault::Replay { count: 1 }),
            _ => Self::Forge(number),
        }
    }

    pub fn act(&self, world: &mut World) {
        match *self {
            Self::Write(at, len, number) => ask_to_write(world, at, text(len, number)),
            Self::End(at) => world.end(at),
            Self::Start(at) => start(world, at),
            Self::Pause(at) => world.pause(at),
            Self::Resume(at) => world.resume(at),
            Self::Network(ref fault) => world.act_on_network(fault),
            Self::Weather([drop, duplicate, reorder, corrupt], delay, longest) => {
                world.set_weather(Weather {
                    drop,
                    duplicate,
                    reorder,
                    reorder_by: 50 * MS,
                    delay: delay * MS,
                    jitter: delay * MS,
                    corrupt,
                    longest,
                });
            }
            Self::Streams([unanswered, dribble, reset, stall, half]) => {
                world.set_stream_weather(StreamWeather {
                    unanswered,
                    dribble,
                    reset,
                    stall,
                    reset_at: None,
                    half,
                });
            }
            Self::DiskFull(at, full) => world.nodes[at].disk_full = full,
            Self::Process(ref fault) => world.act_on_process(fault),
            Self::Unreached(at, lost) => world.nodes[at].broadcasts_lost = lost,
            Self::Unplugged(at, unplugged) => world.nodes[at].unplugged = unplugged,
            Self::Mtu(at, mtu) => world.nodes[at].mtu = mtu,
            Self::Wall(at, seconds) => {
                world.nodes[at]
                    .clock
                    .set_wall(seconds * 1_000 * MS.cast_signed());
            }
            Self::Forge(author) => {
                let announcement = Announcement {
                    version: Version {
                        number: 1 << 40,
                        author,
                    },
                    port: PORT,
                };
                let all = SocketAddr::from((Ipv4Addr::BROADCAST, PORT));
                world.inject(stranger(0), all, announcement.encode().as_slice().into());
            }
        }
    }
}

impl schedule::Fault for Fault {
    fn nodes_mut(&mut self) -> [Option<&mut usize>; 2] {
        match self {
            Self::Network(fault) => fault.nodes_mut(),
            Self::Process(fault) => fault.nodes_mut(),
            Self::Write(at, ..)
            | Self::End(at)
            | Self::Start(at)
            | Self::Pause(at)
            | Self::Resume(at)
            | Self::DiskFull(at, _)
            | Self::Unreached(at, _)
            | Self::Unplugged(at, _)
            | Self::Mtu(at, _)
            | Self::Wall(at, _) => [Some(at), None],
            Self::Weather(..) | Self::Streams(_) | Self::Forge(_) => [None, None],
        }
    }

    fn groups_mut(&mut self) -> Option<&mut Vec<u8>> {
        match self {
            Self::Network(fault) => fault.groups_mut(),
            _ => None,
        }
    }
}

impl Schedule for Plan {
    type Fault = Fault;

    fn nodes(&self) -> usize {
        self.nodes
    }

    fn time_us(&self) -> u64 {
        self.time_us
    }

    fn set_time_us(&mut self, time_us: u64) {
        self.time_us = time_us;
    }

    fn actions(&self) -> &[Action<Fault>] {
        &self.actions
    }

    fn actions_mut(&mut self) -> &mut Vec<Action<Fault>> {
        &mut self.actions
    }

    fn without(&self, node: usize) -> Self {
        let mut fewer = self.clone();
        fewer.nodes -= 1;
        fewer
            .actions
            .retain_mut(|action| action.fault.take_out(node));
        fewer
    }

    /// They are in any case.
    fn start_all_again(&mut self) {}
}
