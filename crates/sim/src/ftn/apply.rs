//! Carries a schedule's actions out.

use ring_codec::ftn::Access;
use ring_proto::ftn::{client, server};

use super::node::Doom;
use super::plan::{Fault, WorldFault};
use super::service::World;
use super::settings::FaultKind;
use ring_proto::ftn::station::Command;

const SECOND: i64 = 1_000_000_000;

impl World {
    /// An action is due.
    pub fn act(&mut self, fault: &Fault) {
        let now = self.now;
        self.system.trace.note(now, || format!("{fault:?}"));
        if let Some(fault) = self.act_on_any(fault) {
            self.act_on_node(fault);
            self.act_on_program(fault);
        }
    }

    fn act_on_node(&mut self, fault: &WorldFault) {
        let now = self.now;
        match *fault {
            WorldFault::End { node, forget } if self.nodes[node].driver.is_some() => {
                self.die(node);
                if let Some(server) = self.nodes[node].own.server_mut().filter(|_| forget) {
                    server.durable = server::Durable::default();
                    self.system.checks.exempt.note_file_lost(now);
                    self.system.met(FaultKind::Forget);
                } else {
                    self.system.met(FaultKind::Crash);
                }
            }
            WorldFault::Doom { node, sends, us } if self.nodes[node].driver.is_some() => {
                self.nodes[node].own.doom = Doom::Waits(sends, us * 1_000);
            }
            WorldFault::Start { node } => self.start(node),
            WorldFault::Pause { node } => {
                self.pause(node);
                if node < self.system.servers {
                    self.look_at_server(node);
                }
            }
            WorldFault::Resume { node } => self.resume(node),
            WorldFault::Disk { node, full } => {
                self.nodes[node].disk_full = full;
                self.system.met(FaultKind::Disk);
            }
            WorldFault::Wall { node, seconds } => {
                self.nodes[node]
                    .clock
                    .set_wall(seconds.saturating_mul(SECOND));
                self.system.met(FaultKind::Clock);
            }
            WorldFault::Stranger { node, count } if node < self.system.servers => {
                for _ in 0..count {
                    self.system.met(FaultKind::Stranger);
                    self.strange(node);
                }
            }
            WorldFault::Leave { node }
                if node < self.system.servers && self.nodes[node].is_running() =>
            {
                self.system.met(FaultKind::Leave);
                if let Some(server) = self.nodes[node].own.server_mut() {
                    server.leaves = true;
                }
                self.command(node, Command::Server(server::Command::ShutDown));
            }
            _ => {}
        }
    }

    fn act_on_program(&mut self, fault: &WorldFault) {
        let access = |shared| {
            if shared {
                Access::Shared
            } else {
                Access::Exclusive
            }
        };
        let (WorldFault::Run { node, .. }
        | WorldFault::Hold { node, .. }
        | WorldFault::Change { node, .. }
        | WorldFault::Update { node, .. }
        | WorldFault::Cancel { node, .. }
        | WorldFault::List { node, .. }
        | WorldFault::Socket { node }
        | WorldFault::Logout { node }) = *fault
        else {
            return;
        };
        if self.running_client(node).is_none() {
            return;
        }
        let met = match *fault {
            WorldFault::Run {
                token, shared, us, ..
            } => {
                self.ask(node, token, access(shared), Some(us * 1_000));
                Some(FaultKind::Run)
            }
            WorldFault::Hold { token, shared, .. } => {
                self.ask(node, token, access(shared), None);
                Some(FaultKind::Hold)
            }
            WorldFault::Change { token, .. } => {
                self.change_access(node, token).then_some(FaultKind::Change)
            }
            WorldFault::Update { token, .. } => {
                self.update(node, token).then_some(FaultKind::Update)
            }
            WorldFault::Cancel { token, .. } => {
                self.cancel(node, token);
                Some(FaultKind::Cancel)
            }
            WorldFault::List { server, .. } => {
                let list = client::Command::List {
                    server,
                    after: Box::default(),
                };
                self.command(node, Command::Client(list));
                Some(FaultKind::List)
            }
            WorldFault::Socket { .. } => {
                self.open_socket(node);
                Some(FaultKind::Socket)
            }
            WorldFault::Logout { .. } => {
                if let Some(own) = self.running_client(node) {
                    own.jobs.clear();
                }
                self.command(node, Command::Client(client::Command::Logout));
                Some(FaultKind::Logout)
            }
            _ => None,
        };
        if let Some(kind) = met {
            self.system.met(kind);
        }
    }
}
