//! What must hold after each input of a node, and after each transaction.

use ring_codec::andrews::Kind;
use ring_proto::andrews::{Andrews, Change, Work, Write};
use ring_proto::time::nanos;

use super::circle::World;
use super::outcome::Rule;

/// Requests that wait, and those that are being served.
const MOST_WAITING: usize = 256;
/// So long a stranger's bytes may be on their way, in nanoseconds.
const FORGED: u64 = 2_000_000_000;

impl World {
    /// Notes that a rule was broken at a node, now.
    pub fn broken_at(&mut self, at: usize, rule: Rule, what: String) {
        let now = self.now;
        self.system.found.broken(now, Some(at), rule, what);
    }

    /// Whether a node has the token, and may use it.
    pub fn holds(&self, at: usize) -> bool {
        self.machine(at).is_some_and(Andrews::may_use_token)
    }

    /// A node was given an input.
    pub fn look_at_node(&mut self, at: usize) {
        let holds = self.holds(at);
        let now = self.now;
        if self.nodes[at].slow > 0 {
            self.nodes[at].own.process.troubled_at = Some(now);
        }
        self.system.holds(now, &mut self.nodes[at].own, holds);
        self.take_jobs(at);
        let input = std::mem::take(&mut self.nodes[at].own.process.input);
        for (request, answer) in input.answers {
            self.answered(at, request, answer);
        }
        self.look_at_ledger(at);
    }

    fn look_at_ledger(&mut self, at: usize) {
        let Some(machine) = self.machine(at) else {
            return;
        };
        let counters = machine.counters();
        let pleas = counters.received(Kind::Join) + counters.received(Kind::SuccessorRequest);
        let elections = counters.received(Kind::CoordinatorElection);
        let ledger = &self.nodes[at].own.process.ledger;
        // Who puts itself in tells its predecessor.
        if ledger.answers > 2 * pleas + ledger.joined {
            let what = format!("{} SUCCESSOR to {pleas} requests", ledger.answers);
            return self.broken_at(at, Rule::Answers, what);
        }
        if ledger.oks > elections {
            let what = format!("{} OK to {elections} messages of elections", ledger.oks);
            return self.broken_at(at, Rule::Answers, what);
        }
        if self.nodes[at].own.process.asked > MOST_WAITING {
            let waiting = machine.snapshot().waiting;
            if waiting > MOST_WAITING {
                self.broken_at(at, Rule::Memory, format!("{waiting} requests wait"));
            }
        }
    }

    /// The coordinator has shown that it lives.
    pub fn note_beat(&mut self) {
        let (now, beats) = (self.now, &mut self.system.beats);
        let most = nanos(self.system.schedule.options(0).alone_timeout);
        while beats.front().is_some_and(|first| first + 2 * most < now) {
            beats.pop_front();
        }
        beats.push_back(now);
    }

    /// A transaction was committed. A claim was decided on a little earlier. Who has lost its successor while it had no link
    /// has no proof of the network; nor has who claims for want of a token, if it has had no link for R.
    pub fn look_at_claim(&mut self, at: usize, work: &Work) {
        let Work::Write(Write::Claim { seen, change }) = work else {
            return;
        };
        self.look_at_beat(at, seen.id);
        let (now, node) = (self.now, &self.nodes[at]);
        let own = &node.own;
        let options = self.system.schedule.options(0);
        let (late, alone) = (nanos(options.ack_timeout), nanos(options.alone_timeout));
        let silence = nanos(options.silence(self.len()));
        let Some(since) = own
            .process
            .alone_since
            .filter(|since| since + 2 * late <= now)
        else {
            return;
        };
        // Who wants to join has no token to want.
        let joins = matches!(change, Some(Change::Insert { .. }));
        let is_for_silence = !joins && own.process.held_at + 2 * silence <= now + late;
        // Who lost its successor before that may have heard somebody in between.
        let may_have_heard = own.process.lost_at.is_some_and(|lost| lost <= since);
        let lacks_proof = if is_for_silence {
            since + silence + late <= now
        } else {
            own.process.lost_at.is_some()
        };
        let is_cut_off = lacks_proof && !may_have_heard;
        // One that begins needs none, and one that waits for the database may have had it when it decided.
        let is_prompt = own.process.troubled_at.is_none_or(|it| it + alone <= now);
        // What was forged counts as proof for as long as it may be on its way.
        let is_unforged = own.process.forged_at.is_none_or(|it| it + FORGED < since);
        let is_old = node.is_running() && node.up_since + alone <= now;
        let lately = (now + late).saturating_sub(alone)..=now.saturating_sub(late);
        let is_beating = self.system.beats.iter().any(|beat| lately.contains(beat));
        if is_cut_off && is_prompt && is_unforged && is_old && is_beating {
            let what = format!("{work:?}: no link since {since}");
            self.broken_at(at, Rule::Proof, what);
        }
    }

    /// A claim was committed. Its coordinator's process lives, and has shown it less than two polls and a write ago: but for a
    /// beat that came while the claim was on its way.
    fn look_at_beat(&mut self, at: usize, coordinator: Option<u32>) {
        let now = self.now;
        let options = self.system.schedule.options(0);
        let (late, still) = (nanos(options.ack_timeout), nanos(options.still_timeout()));
        let is_prompt = self.nodes[at]
            .own
            .process
            .troubled_at
            .is_none_or(|it| it + still <= now);
        let mut nodes = self.nodes.iter();
        let lives = nodes.any(|node| {
            let is_old = node.is_running() && node.up_since + still <= now;
            Some(node.own.id) == coordinator && is_old && !node.own.process.is_leaving
        });
        let lately = (now + late).saturating_sub(still)..=now.saturating_sub(late);
        let is_beating = self.system.beats.iter().any(|beat| lately.contains(beat));
        if is_prompt && lives && is_beating && coordinator != Some(self.nodes[at].own.id) {
            let what = format!("{coordinator:?} lives");
            self.broken_at(at, Rule::Beat, what);
        }
    }

    /// A transaction was carried out: these posts were there before.
    pub fn look_at_tables(&mut self, at: usize, before: usize) {
        let tables = &self.system.tables;
        if !tables.topology.is_cycle() {
            let what = format!("{:?}", tables.topology.ring);
            return self.broken_at(at, Rule::Cycle, what);
        }
        let first = before.saturating_sub(1);
        let wrong = tables.posts[first.min(tables.posts.len())..]
            .windows(2)
            .find(|pair| {
                let (one, next) = (pair[0], pair[1]);
                let is_shared = one.sequence == next.sequence && one.node != next.node;
                one.sequence > next.sequence || is_shared
            });
        if let Some(pair) = wrong {
            let what = format!("{pair:?}");
            self.broken_at(at, Rule::Order, what);
        }
    }
}
