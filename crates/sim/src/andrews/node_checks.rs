//! The checks after each input of a node, and after each transaction.

use ring_codec::andrews::Kind;
use ring_proto::andrews::{Andrews, Change, Work, Write};
use ring_proto::time::nanos;

use super::outcome::Rule;
use super::system::World;

/// The maximum number of waiting requests, including the requests that a node serves now.
const WAITING_REQUESTS_MAX: usize = 256;
/// The maximum travel time of a stranger's bytes, in nanoseconds.
const FORGED_BYTES_NANOS: u64 = 2_000_000_000;

impl World {
    /// Reports a broken rule at a node.
    pub(super) fn report_at(&mut self, at: usize, rule: Rule, what: String) {
        let now = self.now;
        self.system.findings.report(now, Some(at), rule, what);
    }

    /// Whether a node has the token and may use it.
    pub(super) fn holds(&self, at: usize) -> bool {
        self.machine(at).is_some_and(Andrews::may_use_token)
    }

    /// Checks a node after an input.
    pub(super) fn check_node(&mut self, at: usize) {
        let holds = self.holds(at);
        let now = self.now;
        if self.nodes[at].slow > 0 {
            self.nodes[at].own.process.troubled_at = Some(now);
        }
        self.system.set_holds(now, &mut self.nodes[at].own, holds);
        self.take_jobs(at);
        let input = std::mem::take(&mut self.nodes[at].own.process.input);
        for (request, answer) in input.answers {
            self.on_answer(at, request, answer);
        }
        self.check_datagram_counts(at);
    }

    fn check_datagram_counts(&mut self, at: usize) {
        let Some(machine) = self.machine(at) else {
            return;
        };
        let counters = machine.counters();
        let pleas =
            counters.receive_count(Kind::Join) + counters.receive_count(Kind::SuccessorRequest);
        let elections = counters.receive_count(Kind::CoordinatorElection);
        let datagrams = &self.nodes[at].own.process.datagrams;
        // A node that inserts itself sends one SUCCESSOR to its predecessor.
        if datagrams.answers > 2 * pleas + datagrams.joined {
            let what = format!("{} SUCCESSOR to {pleas} requests", datagrams.answers);
            return self.report_at(at, Rule::Answers, what);
        }
        if datagrams.oks > elections {
            let what = format!("{} OK to {elections} messages of elections", datagrams.oks);
            return self.report_at(at, Rule::Answers, what);
        }
        if self.nodes[at].own.process.asked > WAITING_REQUESTS_MAX {
            let waiting = machine.snapshot().waiting;
            if waiting > WAITING_REQUESTS_MAX {
                self.report_at(at, Rule::Memory, format!("{waiting} requests wait"));
            }
        }
    }

    /// Records a sign of life of the coordinator.
    pub(super) fn on_beat(&mut self) {
        let (now, beats) = (self.now, &mut self.system.beats);
        let most = nanos(self.system.schedule.options(0).alone_timeout);
        while beats.front().is_some_and(|first| first + 2 * most < now) {
            beats.pop_front();
        }
        beats.push_back(now);
    }

    /// Checks a claim that was committed. A node may claim only if it has evidence that the network works. If a node
    /// has no link and loses its successor, the node has no such evidence. If a node had no link for
    /// token-loss-timeout, and then claims because the token is missing, it has no such evidence either.
    pub(super) fn check_claim(&mut self, at: usize, work: &Work) {
        let Work::Write(Write::Claim { seen, change }) = work else {
            return;
        };
        self.check_beat(at, seen.id);
        let (now, node) = (self.now, &self.nodes[at]);
        let own = &node.own;
        let options = self.system.schedule.options(0);
        let (late, alone) = (nanos(options.ack_timeout), nanos(options.alone_timeout));
        let silence = nanos(options.token_loss_timeout(self.len()));
        let Some(since) = own
            .process
            .alone_since
            .filter(|since| since + 2 * late <= now)
        else {
            return;
        };
        // A node that tries to join may claim, but never because of a missing token.
        let joins = matches!(change, Some(Change::Insert { .. }));
        let is_for_silence = !joins && own.process.held_at + 2 * silence <= now + late;
        // A node that lost its successor before it lost the link may have received a message in between.
        let may_have_heard = own.process.lost_at.is_some_and(|lost| lost <= since);
        let lacks_proof = if is_for_silence {
            since + silence + late <= now
        } else {
            own.process.lost_at.is_some()
        };
        let is_cut_off = lacks_proof && !may_have_heard;
        // A restarted node needs no evidence. A node that waited for the database may have had its evidence earlier,
        // when it decided to claim.
        let is_prompt = own.process.troubled_at.is_none_or(|it| it + alone <= now);
        // A forged message may still be on its way for some time, and counts as evidence if it arrives.
        let is_unforged = own
            .process
            .forged_at
            .is_none_or(|it| it + FORGED_BYTES_NANOS < since);
        let is_old = node.is_running() && node.up_since + alone <= now;
        let lately = (now + late).saturating_sub(alone)..=now.saturating_sub(late);
        let is_beating = self.system.beats.iter().any(|beat| lately.contains(beat));
        if is_cut_off && is_prompt && is_unforged && is_old && is_beating {
            let what = format!("{work:?}: no link since {since}");
            self.report_at(at, Rule::Proof, what);
        }
    }

    /// Checks a committed claim. The claim is wrong if the coordinator is alive and has written a beat lately (within
    /// the time of two polls and one write). A beat that was written while the claim was on its way does not count.
    fn check_beat(&mut self, at: usize, coordinator: Option<u32>) {
        let now = self.now;
        let options = self.system.schedule.options(0);
        let (late, still) = (
            nanos(options.ack_timeout),
            nanos(options.beat_timeout_with_proof()),
        );
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
            self.report_at(at, Rule::Beat, what);
        }
    }

    /// Checks the tables after a transaction. `before` is the number of posts before the transaction.
    pub(super) fn check_tables(&mut self, at: usize, before: usize) {
        let tables = &self.system.tables;
        if !tables.topology.is_cycle() {
            let what = format!("{:?}", tables.topology.ring);
            return self.report_at(at, Rule::Cycle, what);
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
            self.report_at(at, Rule::Order, what);
        }
    }
}
