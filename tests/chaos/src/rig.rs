//! The ring of a run: daemons, members and a stranger on a switch, and the functions that cause faults.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::sys::signal::Signal;
use ring_segment::{Binaries, Daemon, Layout, MacAddr, Ringd, Rng, Segment, SmallDisk, Timing};

use crate::burners::Burners;
use crate::fault::Fault;
use crate::journal::{Event, Journal};
use crate::member::{self, MemberHandle, MemberOutputs};
use crate::stations::{StationRole, Stations};
use crate::stranger::{Pool, Stranger};

pub const DAEMONS: usize = 8;
/// Number of members of the second implementation.
pub const MEMBERS: usize = 2;
/// Difference between the monotonic clocks of two neighbors, in seconds.
const CLOCK_OFFSET: usize = 100_000;
const STATE_FILE: &str = "eth0.state";
/// Longest time that a daemon takes to store its state after its disk has space again.
const STORE_TIMEOUT: Duration = Duration::from_secs(2);
/// Interval between two checks for the state file.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// MTU of an intact interface.
const DEFAULT_MTU: u16 = 1500;

/// All stations of a run. The fields are dropped in this order.
pub struct Rig {
    burners: HashMap<u32, Burners>,
    heartbeat: Duration,
    members: Vec<MemberHandle>,
    stranger: Stranger,
    daemons: Vec<Daemon>,
    disks: Vec<SmallDisk>,
    /// Daemons that were killed and wait for their restart.
    killed: HashSet<usize>,
    pub segment: Arc<Segment>,
    program: PathBuf,
}

pub struct RigOptions<'a> {
    pub binaries: Binaries,
    pub timing: Timing,
    pub seed: u64,
    pub folder: &'a Path,
    pub journal: Journal,
    pub pool: Arc<Pool>,
    pub clocks_differ: bool,
}

pub fn build(seed: u64) -> Result<(Segment, Stations)> {
    let layout = Layout::new(DAEMONS + MEMBERS + 1).random_macs(seed);
    let segment = layout.addresses().switch(seed)?;
    let macs: Vec<MacAddr> = segment
        .nodes()
        .iter()
        .map(ring_segment::Node::mac)
        .collect();
    let stations = Stations::new(&macs, DAEMONS, MEMBERS);
    Ok((segment, stations))
}

impl Rig {
    pub fn start(segment: Segment, stations: &Stations, options: &RigOptions) -> Result<Self> {
        let (mut daemons, mut disks) = (Vec::new(), Vec::new());
        for place in stations.places(StationRole::Daemon) {
            let disk = SmallDisk::new(&options.folder.join(format!("disk-{}", place + 1)))?;
            let ringd = segment.node(place).ringd(options.binaries);
            let ringd = ringd.option("--state-dir", disk.path());
            daemons.push(configure(ringd, place, options).spawn()?);
            disks.push(disk);
        }
        let mut members = Vec::new();
        for place in stations.places(StationRole::Member) {
            let outputs = MemberOutputs {
                name: stations.name(place).to_owned(),
                log: log_of(options.folder, place),
                journal: options.journal.clone(),
            };
            let rng = Rng::with_seed(options.seed ^ place as u64);
            members.push(member::start(
                segment.node(place),
                options.timing,
                rng,
                outputs,
            )?);
        }
        let macs = stations
            .ring()
            .into_iter()
            .map(|place| segment.node(place).mac());
        let (place, rng) = (DAEMONS + MEMBERS, Rng::with_seed(options.seed));
        let pool = Arc::clone(&options.pool);
        let stranger = Stranger::start(segment.node(place), macs.collect(), pool, rng)?;
        segment.rules().set(|rules| rules.up[place] = false);
        Ok(Self {
            burners: HashMap::new(),
            heartbeat: options.timing.heartbeat,
            members,
            stranger,
            daemons,
            disks,
            killed: HashSet::new(),
            segment: Arc::new(segment),
            program: std::env::current_exe().context("cannot find the running program")?,
        })
    }

    pub fn begin(&mut self, id: u32, fault: &Fault) -> Result<()> {
        match fault {
            Fault::Kill {
                station,
                forgets,
                has_guardian,
            } => {
                if *has_guardian {
                    self.crash(*station)?;
                } else {
                    self.kill(*station)?;
                }
                if *forgets {
                    self.disks[*station].clear()?;
                }
            }
            Fault::Constants { station, percent } => {
                self.change_heartbeat(*station, self.heartbeat * *percent / 100)?;
            }
            Fault::Stop(station) => self.daemons[*station].signal(Signal::SIGSTOP)?,
            Fault::Carrier(station) => self.segment.lose_carrier(*station)?,
            Fault::Cut(station) => self.segment.cut(*station)?,
            Fault::Islands(sides) => self.rules(|rules| rules.partition.clone_from(sides)),
            Fault::OneWay { from, to } => self.rules(|rules| {
                rules.blocked.extend(to.iter().map(|to| (*from, *to)));
            }),
            Fault::Deaf(station) => self.rules(|rules| {
                rules.blocked.extend(links_to(*station));
            }),
            Fault::Unicast(station) => self.rules(|rules| {
                rules.broadcasts_only.insert(*station);
            }),
            Fault::Broadcast(station) => self.rules(|rules| {
                rules.unicasts_only.insert(*station);
            }),
            Fault::Disk(station) => self.disks[*station].fill(STATE_FILE)?,
            Fault::Narrow { station, mtu } => self.set_mtu(*station, *mtu)?,
            Fault::BadNetwork {
                loss,
                duplication,
                delay,
            } => self.rules(|rules| {
                (rules.loss, rules.duplication) = (*loss, *duplication);
                rules.delay = Duration::ZERO..*delay;
            }),
            Fault::Garbage(rate) => {
                self.rules(|rules| rules.up[DAEMONS + MEMBERS] = true);
                self.stranger.send(*rate);
            }
            Fault::Starve(burners) => {
                let burners = Burners::start(&self.program, *burners)?;
                self.burners.insert(id, burners);
            }
        }
        Ok(())
    }

    pub fn undo(&mut self, id: u32, fault: &Fault) -> Result<()> {
        match fault {
            Fault::Kill { station, .. } => self.restart(*station)?,
            Fault::Constants { station, .. } => {
                self.change_heartbeat(*station, self.heartbeat)?;
            }
            Fault::Stop(station) => self.daemons[*station].signal(Signal::SIGCONT)?,
            Fault::Carrier(station) => self.segment.regain_carrier(*station)?,
            Fault::Cut(station) => self.segment.heal(*station)?,
            Fault::Islands(_) => self.rules(|rules| rules.partition.fill(0)),
            Fault::OneWay { from, to } => {
                self.unblock(to.iter().map(|to| (*from, *to)));
            }
            Fault::Deaf(station) => self.unblock(links_to(*station)),
            Fault::Unicast(station) => self.rules(|rules| {
                rules.broadcasts_only.remove(station);
            }),
            Fault::Broadcast(station) => self.rules(|rules| {
                rules.unicasts_only.remove(station);
            }),
            Fault::Disk(station) => self.free_disk(*station)?,
            Fault::Narrow { station, .. } => self.set_mtu(*station, DEFAULT_MTU)?,
            Fault::BadNetwork { .. } => self.rules(|rules| {
                (rules.loss, rules.duplication) = (0.0, 0.0);
                rules.delay = Duration::ZERO..Duration::ZERO;
            }),
            Fault::Garbage(_) => {
                self.stranger.send(0);
                // When the stranger's port is down, the switch forgets the addresses that the stranger claimed.
                self.rules(|rules| rules.up[DAEMONS + MEMBERS] = false);
            }
            Fault::Starve(_) => drop(self.burners.remove(&id)),
        }
        Ok(())
    }

    /// Sets whether the members want the token repeatedly.
    pub fn keep_members_busy(&self, busy: bool) {
        for member in &self.members {
            member.keep_busy(busy);
        }
    }

    pub fn kill(&mut self, place: usize) -> Result<()> {
        self.killed.insert(place);
        self.daemons[place].kill()
    }

    /// Kills a daemon, but not its guardian.
    pub fn crash(&mut self, place: usize) -> Result<()> {
        self.killed.insert(place);
        self.daemons[place].crash()
    }

    pub fn restart(&mut self, place: usize) -> Result<()> {
        self.killed.remove(&place);
        self.daemons[place].start()
    }

    fn change_heartbeat(&mut self, place: usize, heartbeat: Duration) -> Result<()> {
        self.kill(place)?;
        let value = format!("{}us", heartbeat.as_micros());
        self.daemons[place].set_option("--heartbeat", value);
        self.restart(place)
    }

    pub fn note_exits(&mut self, journal: &Journal) -> Result<()> {
        for (station, daemon) in self.daemons.iter_mut().enumerate() {
            if !self.killed.contains(&station) && !daemon.poll_running()? {
                let status = daemon.wait_exit(Duration::ZERO)?.to_string();
                journal.note(Event::Died { station, status })?;
                daemon.start()?;
            }
        }
        Ok(())
    }

    pub fn statuses(&self) -> Result<Vec<(usize, serde_json::Value)>> {
        let daemons = self.daemons.iter().enumerate();
        daemons
            .map(|(place, daemon)| Ok((place, daemon.status()?)))
            .collect()
    }

    /// Whether time namespaces make the daemons' clocks differ from this process's clocks.
    pub fn clocks_differ(&self) -> Result<bool> {
        let own = fs::read_link("/proc/self/ns/time").ok();
        let daemon = self.daemons.last().context("there is a daemon")?;
        let theirs = fs::read_link(format!("/proc/{}/ns/time", daemon.pid())).ok();
        Ok(theirs.is_some() && own != theirs)
    }

    /// Frees a daemon's disk, and waits until the daemon's state file exists. A daemon that is killed before it writes
    /// the file loses its state.
    fn free_disk(&self, station: usize) -> Result<()> {
        let disk = &self.disks[station];
        disk.free()?;
        let (file, began) = (disk.path().join(STATE_FILE), Instant::now());
        while fs::metadata(&file)?.len() == 0 && began.elapsed() < STORE_TIMEOUT {
            thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    fn set_mtu(&self, station: usize, mtu: u16) -> Result<()> {
        let node = self.segment.node(station);
        node.ns().ip(&format!("link set eth0 mtu {mtu}\n"))
    }

    fn unblock(&self, cuts: impl Iterator<Item = (usize, usize)>) {
        self.rules(|rules| {
            for cut in cuts {
                rules.blocked.remove(&cut);
            }
        });
    }

    fn rules(&self, change: impl FnOnce(&mut ring_segment::Rules)) {
        self.segment.rules().set(change);
    }
}

/// Returns the links from other stations to a station. The links to a station are blocked while the station is deaf.
fn links_to(station: usize) -> impl Iterator<Item = (usize, usize)> {
    let ports = 0..=(DAEMONS + MEMBERS);
    ports
        .filter(move |&port| port != station)
        .map(move |port| (port, station))
}

pub fn log_of(folder: &Path, place: usize) -> PathBuf {
    folder.join(format!("station-{}.log", place + 1))
}

fn configure(ringd: Ringd, place: usize, options: &RigOptions) -> Ringd {
    let ringd = ringd
        .timing(&options.timing)
        .option("--log-format", "json")
        .flag("--verbose")
        .log_to(log_of(options.folder, place));
    if !options.clocks_differ {
        return ringd;
    }
    let offset = (place * CLOCK_OFFSET).to_string();
    ringd.through([
        "unshare",
        "--time",
        "--monotonic",
        &offset,
        "--boottime",
        &offset,
    ])
}
