//! Several machines, joined by datagrams and connections that take no time, and one database.

use super::prelude::*;

/// How the database answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answers {
    /// After so long.
    After(Duration),
    /// With an error: nothing is done.
    Fails,
    /// Everything is done, and no answer comes.
    Never,
}

#[derive(Debug)]
struct Pipe {
    /// Who has opened it, and who accepts; a process that stands still accepts later.
    ends: [(usize, Option<StreamId>); 2],
    /// Which ends were told that the other is gone.
    told: [bool; 2],
}

/// Processes on hosts of their own.
pub(super) struct World {
    pub(super) rigs: Vec<Rig>,
    pub(super) base: Base,
    pub(super) answers: Answers,
    /// Bytes that come at a time.
    pub(super) chunk: usize,
    /// Processes that are gone; their hosts refuse.
    dead: Vec<bool>,
    /// Processes that stand still.
    stopped: Vec<bool>,
    /// Which part of a cut network each host is in.
    pub(super) part: Vec<u8>,
    pipes: Vec<Pipe>,
    datagrams: VecDeque<(usize, usize, Vec<u8>)>,
    jobs: Vec<(Duration, usize, Job)>,
    restarts: u64,
    /// Requests that were answered, and how.
    pub(super) answered: BTreeMap<u64, Answer>,
}

impl World {
    /// Nodes 1 to `count`, which begin together.
    pub(super) fn new(count: u32, base: Base, options: impl Fn(u32) -> Options) -> Self {
        let nodes = usize::try_from(count).expect("a few");
        let rigs = (1..=count).map(|id| Rig::idle(options(id), list(count), Base::default()));
        let mut world = Self {
            rigs: rigs.collect(),
            base,
            answers: Answers::After(ms(2)),
            chunk: usize::MAX,
            dead: vec![false; nodes],
            stopped: vec![false; nodes],
            part: vec![0; nodes],
            pipes: Vec::new(),
            datagrams: VecDeque::new(),
            jobs: Vec::new(),
            restarts: 0,
            answered: BTreeMap::new(),
        };
        for rig in &mut world.rigs {
            rig.answers = false;
            rig.begin();
        }
        world
    }

    /// Default nodes that have formed a ring, with one token.
    pub(super) fn formed(count: u32) -> Self {
        let mut world = Self::new(count, Base::default(), Options::new);
        world.form();
        world
    }

    pub(super) fn form(&mut self) {
        assert!(self.until(ms(60_000), Self::is_ring), "{}", self.show());
        assert!(self.until(ms(20_000), Self::is_led), "{}", self.show());
        assert!(
            self.until(ms(20_000), |it| it.tokens() == 1),
            "{}",
            self.show()
        );
    }

    pub(super) fn at(id: u32) -> usize {
        usize::try_from(id).expect("a few") - 1
    }

    pub(super) fn rig(&mut self, id: u32) -> &mut Rig {
        &mut self.rigs[Self::at(id)]
    }

    fn runs(&self, at: usize) -> bool {
        !self.dead[at] && !self.stopped[at]
    }

    pub(super) fn live(&self) -> Vec<u32> {
        let live = self.rigs.iter().enumerate();
        live.filter(|(at, _)| self.runs(*at))
            .map(|(_, rig)| rig.id)
            .collect()
    }

    /// The process is gone: its peers read an end.
    pub(super) fn crash(&mut self, id: u32) {
        self.dead[Self::at(id)] = true;
        for stream in self.rig(id).streams.values_mut() {
            stream.fate = Fate::Closed;
            stream.written.clear();
        }
    }

    /// It begins anew, with nothing of what it knew.
    pub(super) fn restart(&mut self, id: u32) {
        let at = Self::at(id);
        self.crash(id);
        self.carry();
        self.restarts += 1;
        let old = &self.rigs[at];
        let options = *old.machine.options();
        let mut rig = Rig::idle(options, old.machine.list().clone(), Base::default());
        rig.answers = false;
        rig.now = old.now;
        self.rigs[at] = rig;
        self.dead[at] = false;
        self.stopped[at] = false;
        self.pipes
            .retain(|pipe| pipe.ends.iter().all(|end| end.0 != at));
        self.rigs[at].begin();
    }

    pub(super) fn stop(&mut self, id: u32) {
        self.stopped[Self::at(id)] = true;
    }

    pub(super) fn go_on(&mut self, id: u32) {
        self.stopped[Self::at(id)] = false;
    }

    /// The rows and the connections are one ring of all that live.
    pub(super) fn is_ring(&self) -> bool {
        let live = self.live();
        live.iter().copied().eq(self.base.ring.keys().copied())
            && live.iter().all(|&id| {
                let snapshot = self.rigs[Self::at(id)].snapshot();
                snapshot.state == State::Member && snapshot.successor == Some(self.base.ring[&id])
            })
    }

    /// The largest that lives is coordinator, and not an acting one.
    pub(super) fn is_led(&self) -> bool {
        self.base.seat.id == self.live().last().copied() && !self.base.acting
    }

    /// Nodes that have the token or pass it on.
    pub(super) fn tokens(&self) -> usize {
        let live = self.live();
        let is_here = |id: &&u32| {
            let token = self.rigs[Self::at(**id)].machine.token();
            token.held().is_some() || token.is_passing()
        };
        live.iter().filter(is_here).count()
    }

    pub(super) fn sum(&self, count: impl Fn(&Rig) -> u64) -> u64 {
        self.rigs.iter().map(count).sum()
    }

    pub(super) fn show(&self) -> String {
        let nodes = self.rigs.iter().map(Rig::snapshot);
        format!(
            "{:?} {:?} {:#?}",
            self.base.ring,
            self.base.seat,
            nodes.collect::<Vec<_>>()
        )
    }

    pub(super) fn run(&mut self, time: Duration) {
        self.until(time, |_| false);
    }

    #[track_caller]
    pub(super) fn expect(&mut self, time: Duration, holds: impl Fn(&Self) -> bool) {
        assert!(self.until(time, holds), "{}", self.show());
    }

    /// Runs until something is so, or the time is over; whether it was so.
    pub(super) fn until(&mut self, time: Duration, is_so: impl Fn(&Self) -> bool) -> bool {
        let end = self.rigs[0].now + time;
        loop {
            self.carry();
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
            self.carry();
            for at in 0..self.rigs.len() {
                if self.due(at).is_some_and(|due| due <= now) {
                    self.rigs[at].time_out();
                    self.carry();
                }
            }
        }
    }

    fn due(&self, at: usize) -> Option<Duration> {
        let due = self.rigs[at].due_at();
        due.filter(|_| self.runs(at))
    }

    fn answer(&mut self, now: Duration) {
        let jobs = std::mem::take(&mut self.jobs);
        let (due, later) = jobs.into_iter().partition(|(due, ..)| *due <= now);
        self.jobs = later;
        let mut due: Vec<(Duration, usize, Job)> = due;
        due.sort_by_key(|(due, at, job)| (*due, *at, job.id));
        for (_, at, job) in due {
            let outcome = match self.answers {
                Answers::Fails => Outcome::Failed,
                _ => self.base.run(self.rigs[at].id, &job.work),
            };
            if self.runs(at) && self.answers != Answers::Never {
                self.rigs[at].done(job.id, outcome);
            }
        }
        let posts = &self.base.posts;
        assert!(posts.is_sorted_by_key(|(sequence, ..)| sequence));
        let apart = |pair: &[Post]| pair[0].0 != pair[1].0 || pair[0].1 == pair[1].1;
        assert!(posts.windows(2).all(apart), "one sequence, two nodes");
    }

    /// Brings all that was said to where it goes.
    pub(super) fn carry(&mut self) {
        while self.carry_once() {}
    }

    fn carry_once(&mut self) -> bool {
        let mut has_carried = false;
        for at in 0..self.rigs.len() {
            self.collect(at);
        }
        for _ in 0..self.datagrams.len() {
            let Some((from, to, bytes)) = self.datagrams.pop_front() else {
                break;
            };
            if self.stopped[to] {
                self.datagrams.push_back((from, to, bytes));
            } else if !self.dead[to] && self.part[from] == self.part[to] {
                let source = address(self.rigs[from].id).ip();
                self.rigs[to].hear_bytes(source, &bytes);
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
                has_carried |= self.bring(number, side);
            }
        }
        let dead = &self.dead;
        self.pipes.retain(|pipe| {
            !pipe
                .ends
                .iter()
                .zip(pipe.told)
                .all(|(end, told)| told || dead[end.0])
        });
        has_carried
    }

    fn collect(&mut self, at: usize) {
        let now = self.rigs[at].now;
        let delay = match self.answers {
            Answers::After(delay) => delay,
            Answers::Fails | Answers::Never => ms(2),
        };
        let jobs = self.rigs[at].jobs.drain(..);
        self.jobs.extend(jobs.map(|job| (now + delay, at, job)));
        let sent: Vec<(SocketAddr, Vec<u8>)> = self.rigs[at].sent.drain(..).collect();
        for (to, bytes) in sent {
            if let Some(to) = self.find(to) {
                self.datagrams.push_back((at, to, bytes));
            }
        }
        for event in self.rigs[at].events() {
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
            return self.rigs[from].gone(id, Closed::Refused);
        }
        self.pipes.push(Pipe {
            ends: [(from, Some(id)), (to, None)],
            told: [false; 2],
        });
        self.rigs[from].connected(id);
    }

    fn accept(&mut self, number: usize) -> bool {
        let [(from, _), (to, accepted)] = self.pipes[number].ends;
        if accepted.is_some() || !self.runs(to) {
            return false;
        }
        let source = address(self.rigs[from].id).ip();
        let id = self.rigs[to].accept(source);
        self.pipes[number].ends[1].1 = Some(id);
        true
    }

    /// Brings one end what the other has written, or that it is gone.
    fn bring(&mut self, number: usize, side: usize) -> bool {
        let pipe = &self.pipes[number];
        let ((from, source), (to, target)) = (pipe.ends[side], pipe.ends[1 - side]);
        if self.part[from] != self.part[to] || !self.runs(to) || pipe.told[1 - side] {
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
        self.pipes[number].told[1 - side] = true;
        self.rigs[to].end(target);
        true
    }
}
