//! Carries a schedule's actions out.

use ring_proto::jitterbug::{Command, State};

use super::node::Told;
use super::plan::{Fault, WorldFault};
use super::segment::World;
use super::settings::FaultKind;

impl World {
    /// An action is due.
    pub fn act(&mut self, fault: &Fault) {
        let now = self.now;
        self.system.trace.note(now, || format!("{fault:?}"));
        let Some(fault) = self.act_on_any(fault) else {
            return;
        };
        match *fault {
            WorldFault::End { node } if self.nodes[node].driver.is_some() => {
                self.die(node);
                self.system.met(FaultKind::Crash);
            }
            WorldFault::Power { node } if self.nodes[node].driver.is_some() => {
                self.lose_power(node);
                self.bury(node);
                self.system.met(FaultKind::Power);
            }
            WorldFault::Start { node } => self.start(node),
            WorldFault::Pause { node } => self.stand_still(node),
            WorldFault::Resume { node } => self.resume(node),
            WorldFault::Jobs { node, mood } => self.nodes[node].own.programs.mood = mood,
            WorldFault::Work { node, wants } => {
                self.tell(node, Told::Asked(Command::Work(wants)));
                self.system.met(FaultKind::Work);
            }
            WorldFault::Yield { node } => {
                self.tell(node, Told::Asked(Command::Yield));
                self.system.met(FaultKind::Yield);
            }
            WorldFault::Leave { node } if self.nodes[node].is_running() => {
                self.tell(node, Told::Asked(Command::ShutDown));
                self.system.met(FaultKind::Leave);
            }
            WorldFault::Unreached { node, unreached } => {
                self.nodes[node].broadcasts_lost = unreached;
            }
            WorldFault::Link { node, up } if self.nodes[node].driver.is_some() => {
                // Who stands still does not hear of it, and misses what it is sent. Of a pass the token may be held up, and
                // its reset lost.
                let at = &self.nodes[node];
                let is_giving = at.own.state == State::Leader && !at.own.uses;
                self.system.checks.exempt.is_disturbed |= at.paused.is_some() || is_giving;
                self.nodes[node].unplugged = !up;
                self.system.met(FaultKind::Link);
                self.tell_network(node);
            }
            WorldFault::Address { node } => {
                self.system.met(FaultKind::Address);
                self.move_to_another_address(node);
            }
            WorldFault::Stranger { node, count } => {
                for _ in 0..count {
                    self.system.met(FaultKind::Stranger);
                    self.say_something_strange(node);
                    self.connect_strangely(node);
                }
            }
            WorldFault::Flood { node, count } => {
                self.system.met(FaultKind::Flood);
                for _ in 0..count {
                    self.connect_idly(node);
                }
            }
            WorldFault::Announce { claim } => {
                self.system.met(FaultKind::Forge);
                self.announce_falsely(claim);
            }
            WorldFault::Give { node, claim } => {
                self.system.met(FaultKind::Forge);
                self.give_falsely(node, claim);
            }
            _ => {}
        }
    }
}
