//! Carries a schedule's actions out.

use ring_proto::andrews::Command;

use super::circle::World;
use super::node::Told;
use super::plan::{Fault, WorldFault};
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
            WorldFault::Start { node, drop } if self.nodes[node].driver.is_none() => {
                self.start(node, drop);
                if drop {
                    self.system.met(FaultKind::Empty);
                }
            }
            WorldFault::Pause { node } => self.pause(node),
            WorldFault::Resume { node } => self.go_on_again(node),
            WorldFault::List { node, lacks } => {
                if lacks.is_some() {
                    self.system.met(FaultKind::List);
                }
                self.set_list(node, lacks);
            }
            WorldFault::Leave { node } if self.nodes[node].is_running() => {
                self.nodes[node].own.process.is_leaving = true;
                self.tell(node, Told::Asked(Command::ShutDown));
                self.system.met(FaultKind::Leave);
            }
            WorldFault::Link { node, up } if self.nodes[node].driver.is_some() => {
                let now = self.now;
                let own = &mut self.nodes[node].own;
                own.process.alone_since = (!up).then_some(own.process.alone_since.unwrap_or(now));
                self.nodes[node].unplugged = !up;
                self.system.met(FaultKind::Link);
            }
            WorldFault::Database { node, mood } => self.nodes[node].own.mood = mood,
            WorldFault::Databases { mood } => {
                for node in &mut self.nodes {
                    node.own.mood = mood;
                }
            }
            WorldFault::Stranger { node, count } => {
                self.system.met(FaultKind::Stranger);
                for _ in 0..count {
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
            WorldFault::Forge { node, count } => {
                self.system.met(FaultKind::Forge);
                for _ in 0..count {
                    self.forge(node);
                }
            }
            WorldFault::Post { node, count } => {
                self.system.met(FaultKind::Post);
                self.ask_often(node, count);
            }
            WorldFault::Listen { node, listens } => {
                self.tell(node, Told::Asked(Command::Listeners(listens)));
                self.system.met(FaultKind::Listen);
            }
            _ => {}
        }
    }
}
