//! Several nodes in virtual time, joined by datagrams and connections without delay, with one database.

use super::prelude::*;

/// The behavior of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DatabaseMode {
    /// The database answers after this time.
    After(Duration),
    /// The database answers at once with an error, and the job has no effect.
    Fails,
    /// The database does not answer, but each job has its effect.
    Never,
}

/// A connection between two nodes.
#[derive(Debug)]
struct Pipe {
    /// The node that opened the connection, and the node that accepted it. A stalled process accepts later.
    ends: [(usize, Option<StreamId>); 2],
    /// For each end: whether the end knows that the peer's end is closed.
    is_notified: [bool; 2],
}

/// Simulated nodes. Each node has its own machine.
pub(super) struct Network {
    pub(super) rigs: Vec<Rig>,
    pub(super) database: FakeDatabase,
    pub(super) answers: DatabaseMode,
    /// The number of bytes that are delivered at a time.
    pub(super) chunk: usize,
    /// Nodes whose process has ended. The machines of these nodes refuse connections.
    dead: Vec<bool>,
    /// Nodes whose process is stalled.
    stalled: Vec<bool>,
    /// For each node, the part of the split network that the node is in.
    pub(super) part: Vec<u8>,
    pipes: Vec<Pipe>,
    datagrams: VecDeque<(usize, usize, Vec<u8>)>,
    jobs: Vec<(Duration, usize, Job)>,
    restarts: u64,
    pub(super) answered: BTreeMap<u64, RequestAnswer>,
}

impl Network {
    /// Creates nodes 1 to `count`. All nodes begin at the same time.
    pub(super) fn new(
        count: u32,
        database: FakeDatabase,
        options: impl Fn(u32) -> Options,
    ) -> Self {
        let nodes = usize::try_from(count).expect("a few");
        let rigs =
            (1..=count).map(|id| Rig::idle(options(id), list(count), FakeDatabase::default()));
        let mut network = Self {
            rigs: rigs.collect(),
            database,
            answers: DatabaseMode::After(ms(2)),
            chunk: usize::MAX,
            dead: vec![false; nodes],
            stalled: vec![false; nodes],
            part: vec![0; nodes],
            pipes: Vec::new(),
            datagrams: VecDeque::new(),
            jobs: Vec::new(),
            restarts: 0,
            answered: BTreeMap::new(),
        };
        for rig in &mut network.rigs {
            rig.answers = false;
            rig.begin();
        }
        network
    }

    /// Creates nodes with default options that already form a ring with one token.
    pub(super) fn with_ring(count: u32) -> Self {
        let mut network = Self::new(count, FakeDatabase::default(), Options::new);
        network.form();
        network
    }

    pub(super) fn form(&mut self) {
        assert!(
            self.run_until(ms(60_000), Self::is_ring),
            "{}",
            self.describe()
        );
        assert!(
            self.run_until(ms(20_000), Self::has_final_coordinator),
            "{}",
            self.describe()
        );
        assert!(
            self.run_until(ms(20_000), |it| it.token_count() == 1),
            "{}",
            self.describe()
        );
    }

    pub(super) fn index(id: u32) -> usize {
        usize::try_from(id).expect("a few") - 1
    }

    pub(super) fn rig(&mut self, id: u32) -> &mut Rig {
        &mut self.rigs[Self::index(id)]
    }

    fn is_running(&self, at: usize) -> bool {
        !self.dead[at] && !self.stalled[at]
    }

    pub(super) fn running_ids(&self) -> Vec<u32> {
        let live = self.rigs.iter().enumerate();
        live.filter(|(at, _)| self.is_running(*at))
            .map(|(_, rig)| rig.id)
            .collect()
    }

    /// Ends the process of a node. At the other nodes, the streams of the connections to this node end.
    pub(super) fn crash(&mut self, id: u32) {
        self.dead[Self::index(id)] = true;
        for stream in self.rig(id).streams.values_mut() {
            stream.fate = Fate::Closed;
            stream.written.clear();
        }
    }

    /// Starts the process of a node again. The new process remembers nothing.
    pub(super) fn restart(&mut self, id: u32) {
        let at = Self::index(id);
        self.crash(id);
        self.deliver_all();
        self.restarts += 1;
        let old = &self.rigs[at];
        let options = *old.machine.options();
        let mut rig = Rig::idle(options, old.machine.list().clone(), FakeDatabase::default());
        rig.answers = false;
        rig.now = old.now;
        self.rigs[at] = rig;
        self.dead[at] = false;
        self.stalled[at] = false;
        self.pipes
            .retain(|pipe| pipe.ends.iter().all(|end| end.0 != at));
        self.rigs[at].begin();
    }

    pub(super) fn stall(&mut self, id: u32) {
        self.stalled[Self::index(id)] = true;
    }

    pub(super) fn resume(&mut self, id: u32) {
        self.stalled[Self::index(id)] = false;
    }

    /// Whether the successors in the rows and the connections form one ring of all running nodes.
    pub(super) fn is_ring(&self) -> bool {
        let live = self.running_ids();
        live.iter().copied().eq(self.database.ring.keys().copied())
            && live.iter().all(|&id| {
                let snapshot = self.rigs[Self::index(id)].snapshot();
                snapshot.state == State::Member
                    && snapshot.successor == Some(self.database.ring[&id])
            })
    }

    /// Whether the running node with the largest id is the elected coordinator, not only the acting coordinator.
    pub(super) fn has_final_coordinator(&self) -> bool {
        self.database.seat.id == self.running_ids().last().copied() && !self.database.acting
    }

    /// Returns how many nodes hold or pass a token.
    pub(super) fn token_count(&self) -> usize {
        let live = self.running_ids();
        let is_here = |id: &&u32| {
            let token = self.rigs[Self::index(**id)].machine.token();
            token.held_sequence().is_some() || token.is_passing()
        };
        live.iter().filter(is_here).count()
    }

    pub(super) fn sum(&self, count: impl Fn(&Rig) -> u64) -> u64 {
        self.rigs.iter().map(count).sum()
    }

    pub(super) fn describe(&self) -> String {
        let nodes = self.rigs.iter().map(Rig::snapshot);
        format!(
            "{:?} {:?} {:#?}",
            self.database.ring,
            self.database.seat,
            nodes.collect::<Vec<_>>()
        )
    }

    pub(super) fn run(&mut self, time: Duration) {
        self.run_until(time, |_| false);
    }

    #[track_caller]
    pub(super) fn expect(&mut self, time: Duration, holds: impl Fn(&Self) -> bool) {
        assert!(self.run_until(time, holds), "{}", self.describe());
    }

    /// Runs until the condition holds, but at most for `time`. Returns whether it holds.
    pub(super) fn run_until(&mut self, time: Duration, is_so: impl Fn(&Self) -> bool) -> bool {
        let end = self.rigs[0].now + time;
        loop {
            self.deliver_all();
            if is_so(self) {
                return true;
            }
            let timers = (0..self.rigs.len()).filter_map(|at| self.due(at));
            let next = timers.chain(self.jobs.iter().map(|(due, ..)| *due)).min();
            let now = next.unwrap_or(end).max(self.rigs[0].now).min(end);
            for rig in &mut self.rigs {
                rig.now = now;
            }
            if next.is_none_or(|next| next > end) {
                return false;
            }
            self.answer(now);
            self.deliver_all();
            for at in 0..self.rigs.len() {
                if self.due(at).is_some_and(|due| due <= now) {
                    self.rigs[at].fire_timeout();
                    self.deliver_all();
                }
            }
        }
    }

    fn due(&self, at: usize) -> Option<Duration> {
        let due = self.rigs[at].due_at();
        due.filter(|_| self.is_running(at))
    }

    fn answer(&mut self, now: Duration) {
        let jobs = std::mem::take(&mut self.jobs);
        let (due, later) = jobs.into_iter().partition(|(due, ..)| *due <= now);
        self.jobs = later;
        let mut due: Vec<(Duration, usize, Job)> = due;
        due.sort_by_key(|(due, at, job)| (*due, *at, job.id));
        for (_, at, job) in due {
            let outcome = match self.answers {
                DatabaseMode::Fails => Outcome::Failed,
                _ => self.database.run(self.rigs[at].id, &job.work),
            };
            if self.is_running(at) && self.answers != DatabaseMode::Never {
                self.rigs[at].answer_job(job.id, outcome);
            }
        }
        let posts = &self.database.posts;
        assert!(posts.is_sorted_by_key(|(sequence, ..)| sequence));
        let apart = |pair: &[Post]| pair[0].0 != pair[1].0 || pair[0].1 == pair[1].1;
        assert!(posts.windows(2).all(apart), "two nodes used one sequence");
    }

    /// Delivers everything that can be delivered.
    pub(super) fn deliver_all(&mut self) {
        while self.deliver_once() {}
    }

    fn deliver_once(&mut self) -> bool {
        let mut has_carried = false;
        for at in 0..self.rigs.len() {
            self.collect(at);
        }
        for _ in 0..self.datagrams.len() {
            let Some((from, to, bytes)) = self.datagrams.pop_front() else {
                break;
            };
            if self.stalled[to] {
                self.datagrams.push_back((from, to, bytes));
            } else if !self.dead[to] && self.part[from] == self.part[to] {
                let source = address(self.rigs[from].id).ip();
                self.rigs[to].receive_datagram_bytes(source, &bytes);
                has_carried = true;
            }
        }
        for at in 0..self.rigs.len() {
            while let Some(id) = self.rigs[at].opened.pop_front() {
                has_carried = true;
                self.connect(at, id);
            }
        }
        for number in 0..self.pipes.len() {
            has_carried |= self.accept(number);
            for side in 0..2 {
                has_carried |= self.deliver(number, side);
            }
        }
        let dead = &self.dead;
        self.pipes.retain(|pipe| {
            !pipe
                .ends
                .iter()
                .zip(pipe.is_notified)
                .all(|(end, is_notified)| is_notified || dead[end.0])
        });
        has_carried
    }

    fn collect(&mut self, at: usize) {
        let now = self.rigs[at].now;
        let delay = match self.answers {
            DatabaseMode::After(delay) => delay,
            DatabaseMode::Fails | DatabaseMode::Never => ms(2),
        };
        let jobs = self.rigs[at].jobs.drain(..);
        self.jobs.extend(jobs.map(|job| (now + delay, at, job)));
        let sent: Vec<(SocketAddr, Vec<u8>)> = self.rigs[at].sent.drain(..).collect();
        for (to, bytes) in sent {
            if let Some(to) = self.find(to) {
                self.datagrams.push_back((at, to, bytes));
            }
        }
        for event in self.rigs[at].take_events() {
            if let Event::Answered { request, answer } = event {
                let before = self.answered.insert(request, answer);
                assert_eq!(before, None, "{request} is answered twice");
            }
        }
    }

    fn find(&self, to: SocketAddr) -> Option<usize> {
        self.rigs.iter().position(|rig| address(rig.id) == to)
    }

    fn connect(&mut self, from: usize, id: StreamId) {
        let peer = self.rigs[from].streams[&id].peer;
        let to = self.find(peer).expect("it is a node");
        if self.part[from] != self.part[to] || self.rigs[from].fate(id) != Fate::Open {
            return;
        }
        if self.dead[to] {
            return self.rigs[from].close_by_kernel(id, CloseReason::Refused);
        }
        self.pipes.push(Pipe {
            ends: [(from, Some(id)), (to, None)],
            is_notified: [false; 2],
        });
        self.rigs[from].open_by_kernel(id);
    }

    fn accept(&mut self, number: usize) -> bool {
        let [(from, _), (to, accepted)] = self.pipes[number].ends;
        if accepted.is_some() || !self.is_running(to) {
            return false;
        }
        let source = address(self.rigs[from].id).ip();
        let id = self.rigs[to].accept(source);
        self.pipes[number].ends[1].1 = Some(id);
        true
    }

    /// Delivers the bytes that one end wrote, or informs the other end that this end is closed.
    fn deliver(&mut self, number: usize, side: usize) -> bool {
        let pipe = &self.pipes[number];
        let ((from, source), (to, target)) = (pipe.ends[side], pipe.ends[1 - side]);
        if self.part[from] != self.part[to] || !self.is_running(to) || pipe.is_notified[1 - side] {
            return false;
        }
        let Some(target) = target else {
            return false;
        };
        let chunk = self.chunk;
        let stream = source.and_then(|id| self.rigs[from].streams.get_mut(&id));
        let (bytes, is_open) = match stream {
            Some(stream) => {
                let count = stream.written.len().min(chunk);
                let bytes: Vec<u8> = stream.written.drain(..count).collect();
                (bytes, stream.fate == Fate::Open)
            }
            None => (Vec::new(), !self.dead[from]),
        };
        if !bytes.is_empty() {
            self.rigs[to].receive_bytes(target, &bytes);
            return true;
        }
        if is_open {
            return false;
        }
        self.pipes[number].is_notified[1 - side] = true;
        self.rigs[to].end_stream(target);
        true
    }
}
