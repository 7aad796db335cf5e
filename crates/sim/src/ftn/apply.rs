//! Applies the faults and actions of a schedule.

use ring_codec::ftn::Access;
use ring_proto::ftn::{client, server};

use super::node::CrashAfterSend;
use super::schedule::{Fault, SystemFault};
use super::settings::FaultKind;
use super::system::World;
use crate::kernel::faults::ProcessFault;
use ring_proto::ftn::endpoint::Command;

const SECOND: i64 = 1_000_000_000;

impl World {
    /// Applies an action of the schedule.
    pub(super) fn act(&mut self, fault: &Fault) {
        let now = self.now;
        self.system.trace.note(now, || format!("{fault:?}"));
        if let Fault::Process(ProcessFault::Keys { node, keys }) = fault {
            return self.change_keys(*node, keys);
        }
        if let Some(fault) = self.apply_fault(fault) {
            self.apply_node_fault(fault);
            self.apply_program_action(fault);
        }
    }

    fn apply_node_fault(&mut self, fault: &SystemFault) {
        let now = self.now;
        match *fault {
            SystemFault::End { node, forget } if self.nodes[node].driver.is_some() => {
                self.kill_process(node);
                if let Some(server) = self.nodes[node].own.server_mut().filter(|_| forget) {
                    server.durable = server::Durable::default();
                    self.system.checks.exemptions.note_file_lost(now);
                    self.system.count_fault(FaultKind::Forget);
                } else {
                    self.system.count_fault(FaultKind::Crash);
                }
            }
            SystemFault::Doom { node, sends, us } if self.nodes[node].driver.is_some() => {
                self.nodes[node].own.crash_after_send = CrashAfterSend::Armed(sends, us * 1_000);
            }
            SystemFault::Start { node } => self.start(node),
            SystemFault::Pause { node } => {
                self.pause(node);
                if node < self.system.servers {
                    self.check_server(node);
                }
            }
            SystemFault::Resume { node } => self.resume(node),
            SystemFault::Disk { node, full } => {
                self.nodes[node].disk_full = full;
                self.system.count_fault(FaultKind::Disk);
            }
            SystemFault::Wall { node, seconds } => {
                self.nodes[node]
                    .clock
                    .set_wall(seconds.saturating_mul(SECOND));
                self.system.count_fault(FaultKind::Clock);
            }
            SystemFault::Stranger { node, count } if node < self.system.servers => {
                for _ in 0..count {
                    self.system.count_fault(FaultKind::Stranger);
                    self.send_from_stranger(node);
                }
            }
            SystemFault::Leave { node }
                if node < self.system.servers && self.nodes[node].is_running() =>
            {
                self.system.count_fault(FaultKind::Leave);
                if let Some(server) = self.nodes[node].own.server_mut() {
                    server.leaves = true;
                }
                self.command(node, Command::Server(server::Command::ShutDown));
            }
            _ => {}
        }
    }

    fn apply_program_action(&mut self, fault: &SystemFault) {
        let access = |shared| {
            if shared {
                Access::Shared
            } else {
                Access::Exclusive
            }
        };
        let (SystemFault::Run { node, .. }
        | SystemFault::Hold { node, .. }
        | SystemFault::Change { node, .. }
        | SystemFault::Update { node, .. }
        | SystemFault::Cancel { node, .. }
        | SystemFault::List { node, .. }
        | SystemFault::Socket { node }
        | SystemFault::Logout { node }) = *fault
        else {
            return;
        };
        if self.running_client(node).is_none() {
            return;
        }
        let met = match *fault {
            SystemFault::Run {
                token, shared, us, ..
            } => {
                self.request(node, token, access(shared), Some(us * 1_000));
                Some(FaultKind::Run)
            }
            SystemFault::Hold { token, shared, .. } => {
                self.request(node, token, access(shared), None);
                Some(FaultKind::Hold)
            }
            SystemFault::Change { token, .. } => {
                self.change_access(node, token).then_some(FaultKind::Change)
            }
            SystemFault::Update { token, .. } => {
                self.update(node, token).then_some(FaultKind::Update)
            }
            SystemFault::Cancel { token, .. } => {
                self.cancel(node, token);
                Some(FaultKind::Cancel)
            }
            SystemFault::List { server, .. } => {
                let list = client::Command::List {
                    server,
                    after: Box::default(),
                };
                self.command(node, Command::Client(list));
                Some(FaultKind::List)
            }
            SystemFault::Socket { .. } => {
                self.open_socket(node);
                Some(FaultKind::Socket)
            }
            SystemFault::Logout { .. } => {
                if let Some(own) = self.running_client(node) {
                    own.jobs.clear();
                }
                self.command(node, Command::Client(client::Command::Logout));
                Some(FaultKind::Logout)
            }
            _ => None,
        };
        if let Some(kind) = met {
            self.system.count_fault(kind);
        }
    }
}
