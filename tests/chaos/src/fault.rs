//! Faults that a run can cause.

use std::time::Duration;

use ring_segment::Rng;

/// A fault. A station is given by its place.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// SIGKILL. The daemon starts again at the end of the fault.
    Kill {
        station: usize,
        forgets: bool,
        /// Whether the guardian of the daemon lives.
        has_guardian: bool,
    },
    /// SIGKILL. The daemon restarts at once with a different heartbeat, and uses it until the end of the fault.
    Constants {
        station: usize,
        /// Heartbeat of the daemon, in percent of the ring's heartbeat.
        percent: u32,
    },
    /// The station gets SIGSTOP, and SIGCONT at the end of the fault.
    Stop(usize),
    /// The station loses its carrier, as if its cable were unplugged.
    Carrier(usize),
    /// The switch forwards no frame from or to the station. The station does not notice this.
    Cut(usize),
    /// The segment is split into islands. The list names the island of each port.
    Islands(Vec<usize>),
    /// Frames of one station do not reach some other stations. Frames in the other direction arrive.
    OneWay {
        /// The station whose frames are lost.
        from: usize,
        /// The stations that the frames do not reach.
        to: Vec<usize>,
    },
    /// The station can send, but receives nothing.
    Deaf(usize),
    /// Unicast frames from the station are lost.
    Unicast(usize),
    /// Broadcasts do not reach the station.
    Broadcast(usize),
    /// The disk with the station's state file is full.
    Disk(usize),
    /// The station's interface gets a small MTU.
    Narrow { station: usize, mtu: u16 },
    /// Frames are lost, duplicated, delayed and reordered.
    BadNetwork {
        /// Probability that a receiver misses a frame.
        loss: f64,
        /// Probability that a receiver gets a frame twice.
        duplication: f64,
        delay: Duration,
    },
    /// The stranger sends malformed frames, valid frames at the wrong time, and replays. The number is frames per
    /// second.
    Garbage(u32),
    /// This many processes use CPU time.
    Starve(u32),
}

impl Fault {
    /// Number of values of [`Fault::kind`].
    pub const KINDS: usize = 17;

    pub fn random(rng: &mut Rng, daemons: usize, ports: usize) -> (Self, Duration) {
        let station = rng.usize(..daemons);
        let ms = |rng: &mut Rng, from, to| Duration::from_millis(rng.u64(from..to));
        match rng.u32(..22) {
            0..=2 => {
                let forgets = rng.u32(..3) == 0;
                let has_guardian = !forgets && rng.bool();
                let kill = Self::Kill {
                    station,
                    forgets,
                    has_guardian,
                };
                (kill, ms(rng, 300, 2500))
            }
            3 => (Self::Stop(station), ms(rng, 20, 350)),
            4 | 5 => (Self::Stop(station), ms(rng, 900, 3000)),
            6 => (Self::Carrier(station), ms(rng, 100, 2000)),
            7 => (Self::Cut(station), ms(rng, 100, 2500)),
            8..=10 => {
                let islands = rng.usize(2..=4);
                let sides = (0..ports).map(|_| rng.usize(..islands)).collect();
                (Self::Islands(sides), ms(rng, 300, 3000))
            }
            11 => {
                let from = rng.usize(..ports - 1);
                let others = (0..ports).filter(|to| *to != from);
                let to = others.filter(|_| rng.u32(..3) > 0).collect();
                (Self::OneWay { from, to }, ms(rng, 300, 2000))
            }
            12 | 13 => {
                let bad_network = Self::BadNetwork {
                    loss: rng.f64() * 0.4,
                    duplication: rng.f64() * 0.3,
                    delay: ms(rng, 0, 60),
                };
                (bad_network, ms(rng, 500, 3000))
            }
            14 => {
                let garbage = Self::Garbage(rng.u32(20..200));
                (garbage, ms(rng, 800, 2500))
            }
            15 => (Self::Deaf(station), ms(rng, 600, 3000)),
            16 => (Self::Unicast(station), ms(rng, 600, 3500)),
            17 => {
                let mtu = rng.u16(100..600);
                (Self::Narrow { station, mtu }, ms(rng, 600, 3000))
            }
            18 => (Self::Broadcast(station), ms(rng, 600, 3500)),
            19 => (Self::Disk(station), ms(rng, 600, 3000)),
            20 => {
                let percent = if rng.bool() { 50 } else { 200 };
                (Self::Constants { station, percent }, ms(rng, 900, 3000))
            }
            _ => {
                let burners = rng.u32(2..=6);
                (Self::Starve(burners), ms(rng, 800, 3000))
            }
        }
    }

    pub fn kind(&self) -> &'static str {
        match self {
            Self::Kill {
                has_guardian: true, ..
            } => "crash",
            Self::Kill { forgets: false, .. } => "kill",
            Self::Kill { forgets: true, .. } => "amnesia",
            Self::Stop(_) => "stop",
            Self::Carrier(_) => "carrier",
            Self::Cut(_) => "cut",
            Self::Islands(_) => "islands",
            Self::OneWay { .. } => "one-way",
            Self::Deaf(_) => "deaf",
            Self::Unicast(_) => "unicast",
            Self::Broadcast(_) => "broadcast",
            Self::Disk(_) => "disk",
            Self::Narrow { .. } => "narrow",
            Self::BadNetwork { .. } => "weather",
            Self::Garbage(_) => "garbage",
            Self::Starve(_) => "starve",
            Self::Constants { .. } => "constants",
        }
    }

    /// Returns the resource that the fault breaks. Two faults at the same time must not break the same resource.
    pub fn resource(&self) -> String {
        match self {
            // A killed daemon whose disk is full also loses its state file, so both faults break the same resource.
            Self::Kill { station, .. }
            | Self::Constants { station, .. }
            | Self::Stop(station)
            | Self::Disk(station) => {
                format!("process {station}")
            }
            Self::Carrier(station)
            | Self::Cut(station)
            | Self::Deaf(station)
            | Self::Unicast(station)
            | Self::Broadcast(station)
            | Self::Narrow { station, .. } => format!("port {station}"),
            _ => self.kind().to_owned(),
        }
    }

    pub fn stations(&self) -> Vec<usize> {
        match self {
            Self::Kill { station, .. }
            | Self::Constants { station, .. }
            | Self::Stop(station)
            | Self::Carrier(station)
            | Self::Cut(station)
            | Self::Deaf(station)
            | Self::Unicast(station)
            | Self::Broadcast(station)
            | Self::Disk(station)
            | Self::Narrow { station, .. }
            | Self::OneWay { from: station, .. } => vec![*station],
            _ => Vec::new(),
        }
    }

    /// Returns a short description of the fault.
    pub fn detail(&self) -> String {
        match self {
            Self::Kill {
                has_guardian: true, ..
            } => "SIGKILL only to the daemon, then started again".to_owned(),
            Self::Kill { forgets: false, .. } => "SIGKILL, then started again".to_owned(),
            Self::Kill { forgets: true, .. } => {
                "SIGKILL, then started again without its state file".to_owned()
            }
            Self::Constants { percent, .. } => {
                format!("SIGKILL, then started again with a heartbeat of {percent} %")
            }
            Self::Stop(_) => "SIGSTOP, then SIGCONT".to_owned(),
            Self::Carrier(_) => "cable pulled, then put back".to_owned(),
            Self::Cut(_) => "cut off, and does not notice".to_owned(),
            Self::Islands(sides) => {
                let sides: Vec<String> = sides.iter().map(usize::to_string).collect();
                format!("station by station: {}", sides.join(""))
            }
            Self::OneWay { to, .. } => {
                let to: Vec<String> = to.iter().map(|to| (to + 1).to_string()).collect();
                format!("does not reach {}", to.join(" "))
            }
            Self::Deaf(_) => "sends, but receives nothing".to_owned(),
            Self::Unicast(_) => "its unicasts are lost".to_owned(),
            Self::Broadcast(_) => "broadcasts do not reach it".to_owned(),
            Self::Disk(_) => "its disk is full".to_owned(),
            Self::Narrow { mtu, .. } => format!("MTU {mtu}"),
            Self::BadNetwork {
                loss,
                duplication,
                delay,
            } => format!(
                "{:.0} % of frames lost, {:.0} % duplicated, up to {} ms late",
                loss * 100.0,
                duplication * 100.0,
                delay.as_millis()
            ),
            Self::Garbage(rate) => format!("{rate} garbage frames per second"),
            Self::Starve(burners) => format!("{burners} CPU burners"),
        }
    }
}
