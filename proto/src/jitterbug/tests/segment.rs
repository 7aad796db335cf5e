//! Several nodes in virtual time, joined by datagrams and connections without delay.

use std::collections::VecDeque;

use super::prelude::*;
use crate::time::Instant;

/// A fault of connections. The fault occurs after one side sent `after` bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    pub(super) after: usize,
    pub(super) how: How,
    /// Whether `after` counts the bytes of the node that opened the connection. If the value is `false`, `after` counts
    /// the bytes of the other node.
    pub(super) of_giver: bool,
    /// The number of connections that are cut.
    pub(super) times: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// Both ends of the connection get a reset.
    Reset,
    /// No more bytes arrive at either end.
    Silence,
}

#[derive(Debug)]
struct Pipe {
    /// The node that connects, and the node that accepts the connection.
    ends: [(usize, StreamId); 2],
    carried: [usize; 2],
    /// For each end: the last reported state of its peer's end.
    reported: [Fate; 2],
    is_cut: bool,
    is_silent: bool,
}

pub(super) struct Segment {
    pub(super) rigs: Vec<Rig>,
    pipes: Vec<Pipe>,
    /// For each node: the number of connections that it handled.
    seen: Vec<usize>,
    /// The part of the split network that each node is in.
    pub(super) part: Vec<u8>,
    pub(super) cut: Option<Cut>,
    stalled: Vec<bool>,
    restarts: u64,
    pub(super) datagrams: u64,
    /// The maximum number of nodes that led at the same time.
    pub(super) leaders: usize,
}

impl Segment {
    pub(super) fn new(count: u8, options: Options) -> Self {
        let mut segment = Self {
            rigs: (1..=count)
                .map(|number| Rig::off(number, options))
                .collect(),
            pipes: Vec::new(),
            seen: vec![0; count.into()],
            part: vec![0; count.into()],
            cut: None,
            stalled: vec![false; count.into()],
            restarts: 0,
            datagrams: 0,
            leaders: 0,
        };
        for rig in &mut segment.rigs {
            let net = network(rig.number);
            rig.link(NetworkState::Up(net));
        }
        segment.deliver_all();
        segment
    }

    /// Creates nodes with default options that already form one ring.
    pub(super) fn ring(count: u8) -> Self {
        let mut segment = Self::new(count, Options::default());
        assert!(segment.run_until(Duration::from_secs(20), Self::is_one_ring));
        segment
    }

    /// Stalls a node's process until the end of the test.
    pub(super) fn stall(&mut self, at: usize) {
        self.stalled[at] = true;
    }

    /// Restarts a node. It has lost its memory.
    pub(super) fn restart(&mut self, at: usize) {
        self.restart_with(at, self.rigs[at].options());
    }

    /// Restarts a node with new options.
    pub(super) fn restart_with(&mut self, at: usize, options: Options) {
        let old = &self.rigs[at];
        let (number, now) = (old.number, old.now);
        self.restarts += 1;
        let seed = u64::from(number) + 1000 * self.restarts;
        self.rigs[at] = Rig::with_seed(number, options, seed);
        self.rigs[at].now = now;
        self.seen[at] = 0;
        for pipe in &mut self.pipes {
            pipe.is_silent |= pipe.ends.iter().any(|(node, _)| *node == at);
        }
        self.rigs[at].link(NetworkState::Up(network(number)));
    }

    pub(super) fn leader_indexes(&self) -> Vec<usize> {
        let leads = |&at: &usize| self.rigs[at].state() == State::Leader;
        (0..self.rigs.len()).filter(leads).collect()
    }

    pub(super) fn run(&mut self, time: Duration) {
        self.run_until(time, |_| false);
    }

    /// Runs until the condition holds, or until the time is over. Returns whether it holds.
    pub(super) fn run_until(
        &mut self,
        time: Duration,
        mut is_so: impl FnMut(&Self) -> bool,
    ) -> bool {
        let end = self.rigs[0].now + time;
        loop {
            self.deliver_all();
            if is_so(self) {
                return true;
            }
            let due = |at: usize| self.due(at);
            let next = (0..self.rigs.len()).filter_map(due).min();
            let now = next.unwrap_or(end).max(self.rigs[0].now).min(end);
            for rig in &mut self.rigs {
                rig.now = now;
            }
            if next.is_none_or(|next| next > end) {
                return false;
            }
            for at in 0..self.rigs.len() {
                if self.due(at).is_some_and(|due| due <= now) {
                    self.rigs[at].fire_timeout();
                    self.deliver_all();
                }
            }
        }
    }

    /// Delivers everything that can be delivered.
    pub(super) fn deliver_all(&mut self) {
        for _ in 0..100_000 {
            if !self.deliver_datagrams() && !self.deliver_streams() {
                self.leaders = self.leaders.max(self.leader_indexes().len());
                return;
            }
            self.leaders = self.leaders.max(self.leader_indexes().len());
        }
        panic!("it never ends");
    }

    /// If a node's process runs, returns the time of its next timeout.
    fn due(&self, at: usize) -> Option<Duration> {
        let runs = !self.stalled[at];
        runs.then(|| self.rigs[at].machine_due()).flatten()
    }

    fn hears(&self, from: usize, to: usize) -> bool {
        from != to && self.part[from] == self.part[to]
    }

    fn at(&self, address: IpAddr) -> Option<usize> {
        (0..self.rigs.len()).find(|&at| host(self.rigs[at].number) == address)
    }

    fn deliver_datagrams(&mut self) -> bool {
        let mut waiting = VecDeque::new();
        for (from, rig) in self.rigs.iter_mut().enumerate() {
            waiting.extend(rig.sent.drain(..).map(|(to, bytes)| (from, to, bytes)));
        }
        let any = !waiting.is_empty();
        for (from, to, bytes) in waiting {
            self.datagrams += 1;
            let source = SocketAddr::new(host(self.rigs[from].number), to.port());
            for at in 0..self.rigs.len() {
                let is_meant = to.ip() == BROADCAST || self.at(to.ip()) == Some(at);
                if is_meant && self.hears(from, at) && !self.stalled[at] {
                    self.rigs[at].receive_datagram_from(source, &bytes);
                }
            }
        }
        any
    }

    fn deliver_streams(&mut self) -> bool {
        let opened = self.open();
        (0..self.pipes.len()).fold(opened, |any, pipe| {
            (0..2).fold(any, |any, side| self.deliver_side(pipe, side) | any)
        })
    }

    fn open(&mut self) -> bool {
        for from in 0..self.rigs.len() {
            let Some(&id) = self.rigs[from].opened.get(self.seen[from]) else {
                continue;
            };
            let to = self.rigs[from].streams[&id].peer;
            let at = self.at(to.ip()).filter(|&at| self.hears(from, at));
            let is_open = self.rigs[from].fate(id) == Fate::Open;
            if is_open && at.is_some_and(|at| self.stalled[at]) {
                continue;
            }
            self.seen[from] += 1;
            if !is_open {
                return true;
            }
            let is_up = |at: &usize| !self.rigs[*at].machine.is_finished();
            if let Some(at) = at.filter(is_up) {
                let source = SocketAddr::new(host(self.rigs[from].number), 50_000);
                let accepted = self.rigs[at].accept_from(source);
                self.pipes.push(Pipe {
                    ends: [(from, id), (at, accepted)],
                    carried: [0; 2],
                    reported: [Fate::Open; 2],
                    is_cut: false,
                    is_silent: false,
                });
                self.rigs[from].open_by_kernel(id);
            } else if at.is_some() {
                self.rigs[from].close_by_kernel(id, CloseReason::Refused);
            }
            // Otherwise no kernel answers.
            return true;
        }
        false
    }

    fn deliver_side(&mut self, pipe: usize, side: usize) -> bool {
        let [(from, own), (to, peer)] = match side {
            0 => self.pipes[pipe].ends,
            _ => [self.pipes[pipe].ends[1], self.pipes[pipe].ends[0]],
        };
        if self.pipes[pipe].is_silent || self.stalled[to] {
            return false;
        }
        let mut bytes = self.rigs[from].take_written(own);
        let fate = self.rigs[from].fate(own);
        let is_reported = self.pipes[pipe].reported[side] == fate;
        if bytes.is_empty() && is_reported && !self.is_cut_here(pipe, side) {
            return false;
        }
        if !self.hears(from, to) {
            self.pipes[pipe].is_silent = true;
            return true;
        }
        let end = matches!(fate, Fate::Finished | Fate::Closed);
        let left = self.left(pipe, side);
        let is_cut = left
            .is_some_and(|left| bytes.len() >= left && (end || bytes.len() > left || left == 0));
        if let Some(left) = left.filter(|_| is_cut) {
            bytes.truncate(left);
        }
        self.pipes[pipe].carried[side] += bytes.len();
        if is_cut {
            return self.cut_here(pipe, &bytes, (to, peer));
        }
        self.pipes[pipe].reported[side] = fate;
        match fate {
            Fate::Reset | Fate::Gone => self.rigs[to].close_by_kernel(peer, CloseReason::Reset),
            _ if end => self.rigs[to].receive_end(peer, &bytes),
            _ => self.rigs[to].receive(peer, &bytes),
        }
        true
    }

    fn left(&self, pipe: usize, side: usize) -> Option<usize> {
        let it = &self.pipes[pipe];
        let cut = self.cut.filter(|cut| cut.times > 0 && !it.is_cut)?;
        let counts = cut.of_giver == (side == 0);
        counts.then(|| cut.after - it.carried[side].min(cut.after))
    }

    fn is_cut_here(&self, pipe: usize, side: usize) -> bool {
        self.left(pipe, side) == Some(0)
    }

    fn cut_here(&mut self, pipe: usize, bytes: &[u8], (to, peer): (usize, StreamId)) -> bool {
        let how = self.cut.as_mut().map(|cut| {
            cut.times -= 1;
            cut.how
        });
        self.pipes[pipe].is_cut = true;
        self.pipes[pipe].is_silent = true;
        if !bytes.is_empty() {
            self.rigs[to].receive(peer, bytes);
        }
        if how == Some(How::Reset) {
            for (at, id) in self.pipes[pipe].ends {
                self.rigs[at].close_by_kernel(id, CloseReason::Reset);
            }
        }
        true
    }

    /// Whether exactly one leader exists and all lists are equal.
    pub(super) fn is_one_ring(&self) -> bool {
        let hashes: Vec<i32> = self
            .rigs
            .iter()
            .map(|rig| rig.machine.snapshot().node_list_hash)
            .collect();
        let len = self.rigs.len();
        let are_complete = self
            .rigs
            .iter()
            .all(|it| it.machine.snapshot().nodes.len() == len);
        hashes.iter().all(|hash| *hash == hashes[0]) && are_complete
    }

    /// For each node, returns the number of tokens that it took from other nodes or created.
    pub(super) fn take_times(&self) -> Vec<u64> {
        let counters = self.rigs.iter().map(|rig| rig.machine.counters());
        counters.map(|it| it.taken + it.restores_won).collect()
    }
}

impl Rig {
    fn machine_due(&self) -> Option<Duration> {
        let due = self.machine.poll_timeout().map(Instant::as_nanos);
        due.map(Duration::from_nanos)
    }

    /// Delivers a TR1 that names another node as its sender.
    pub(super) fn receive_tr1(&mut self, from: u8, token: i32) {
        self.receive_datagram(from, &tr1(token, tcp_port(from)));
    }
}
