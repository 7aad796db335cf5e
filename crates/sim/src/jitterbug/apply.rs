//! Applies the faults and actions of a schedule.

use ring_proto::jitterbug::{Command, State};

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
            SystemFault::Start { node } => self.start(node),
            SystemFault::Pause { node } => self.stall(node),
            SystemFault::Resume { node } => self.resume(node),
            SystemFault::Jobs { node, behavior } => {
                self.nodes[node].own.programs.behavior = behavior;
            }
            SystemFault::Work { node, wants } => {
                self.give_input(node, HostInput::Command(Command::Work(wants)));
                self.system.count_fault(FaultKind::Work);
            }
            SystemFault::Yield { node } => {
                self.give_input(node, HostInput::Command(Command::Yield));
                self.system.count_fault(FaultKind::Yield);
            }
            SystemFault::Leave { node } if self.nodes[node].is_running() => {
                self.give_input(node, HostInput::Command(Command::ShutDown));
                self.system.count_fault(FaultKind::Leave);
            }
            SystemFault::Unreached { node, unreached } => {
                self.nodes[node].broadcasts_lost = unreached;
            }
            SystemFault::Link { node, up } if self.nodes[node].driver.is_some() => {
                // A stalled process does not notice the change and misses messages. During a pass, the token may be
                // delayed, and the reset of the connection may be lost.
                let at = &self.nodes[node];
                let is_giving = at.own.state == State::Leader && !at.own.uses;
                self.system.checks.exemptions.is_disturbed |= at.paused.is_some() || is_giving;
                self.nodes[node].unplugged = !up;
                self.system.count_fault(FaultKind::Link);
                self.report_network(node);
            }
            SystemFault::Address { node } => {
                self.system.count_fault(FaultKind::Address);
                self.change_address(node);
            }
            SystemFault::Stranger { node, count } => {
                for _ in 0..count {
                    self.system.count_fault(FaultKind::Stranger);
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
            SystemFault::Announce { claim } => {
                self.system.count_fault(FaultKind::Forge);
                self.announce_forged_token(claim);
            }
            SystemFault::Give { node, claim } => {
                self.system.count_fault(FaultKind::Forge);
                self.give_forged_token(node, claim);
            }
            _ => {}
        }
    }
}
