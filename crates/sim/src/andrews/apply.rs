//! Applies the faults and actions of a schedule.

use ring_proto::andrews::Command;

use super::node::HostInput;
use super::schedule::{Fault, SystemFault};
use super::settings::FaultKind;
use super::system::World;

impl World {
    /// Applies an action of the schedule.
    pub(super) fn act(&mut self, fault: &Fault) {
        let now = self.now;
        self.system.trace.note(now, || format!("{fault:?}"));
        let Some(fault) = self.apply_fault(fault) else {
            return;
        };
        match *fault {
            SystemFault::End { node } if self.nodes[node].driver.is_some() => {
                self.kill_process(node);
                self.system.count_fault(FaultKind::Crash);
            }
            SystemFault::Power { node } if self.nodes[node].driver.is_some() => {
                self.lose_power(node);
                self.clean_up(node);
                self.system.count_fault(FaultKind::Power);
            }
            SystemFault::Start { node, drop } if self.nodes[node].driver.is_none() => {
                self.start(node, drop);
                if drop {
                    self.system.count_fault(FaultKind::Empty);
                }
            }
            SystemFault::Pause { node } => self.pause(node),
            SystemFault::Resume { node } => self.resume_late(node),
            SystemFault::List { node, lacks } => {
                if lacks.is_some() {
                    self.system.count_fault(FaultKind::List);
                }
                self.set_list(node, lacks);
            }
            SystemFault::Leave { node } if self.nodes[node].is_running() => {
                self.nodes[node].own.process.is_leaving = true;
                self.give_input(node, HostInput::Command(Command::ShutDown));
                self.system.count_fault(FaultKind::Leave);
            }
            SystemFault::Link { node, up } if self.nodes[node].driver.is_some() => {
                let now = self.now;
                let own = &mut self.nodes[node].own;
                own.process.alone_since = (!up).then_some(own.process.alone_since.unwrap_or(now));
                self.nodes[node].unplugged = !up;
                self.system.count_fault(FaultKind::Link);
            }
            SystemFault::Database { node, behavior } => self.nodes[node].own.behavior = behavior,
            SystemFault::Databases { behavior } => {
                for node in &mut self.nodes {
                    node.own.behavior = behavior;
                }
            }
            SystemFault::Stranger { node, count } => {
                self.system.count_fault(FaultKind::Stranger);
                for _ in 0..count {
                    self.send_strange_datagram(node);
                    self.connect_stranger(node);
                }
            }
            SystemFault::Flood { node, count } => {
                self.system.count_fault(FaultKind::Flood);
                for _ in 0..count {
                    self.connect_idle_stranger(node);
                }
            }
            SystemFault::Forge { node, count } => {
                self.system.count_fault(FaultKind::Forge);
                for _ in 0..count {
                    self.send_forged_message(node);
                }
            }
            SystemFault::Post { node, count } => {
                self.system.count_fault(FaultKind::Post);
                self.ask_many(node, count);
            }
            SystemFault::Listen { node, listens } => {
                self.give_input(node, HostInput::Command(Command::Listeners(listens)));
                self.system.count_fault(FaultKind::Listen);
            }
            _ => {}
        }
    }
}
