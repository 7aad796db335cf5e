//! Carries a schedule's actions out.

use ring_codec::ftn::Access;
use ring_proto::ftn::{client, server};

use super::node::Doom;
use super::plan::Fault;
use super::settings::FaultKind;
use super::world::World;
use ring_proto::ftn::station::Command;

const SECOND: i64 = 1_000_000_000;

impl World {
    /// An action is due.
    pub fn act(&mut self, fault: &Fault) {
        let now = self.now;
        self.system.note(now, || format!("{fault:?}"));
        match fault {
            Fault::Network(fault) => self.act_on_network(fault),
            Fault::Process(fault) => self.act_on_process(fault),
            _ => {
                self.act_on_node(fault);
                self.act_on_program(fault);
            }
        }
    }

    fn act_on_node(&mut self, fault: &Fault) {
        let now = self.now;
        match *fault {
            Fault::End { node, forget } if self.nodes[node].driver.is_some() => {
                self.die(node);
                if let Some(server) = self.nodes[node].own.server_mut().filter(|_| forget) {
                    server.durable = server::Durable::default();
                    self.system.checks.exempt.note_file_lost(now);
                    self.system.met(FaultKind::Forget);
                } else {
                    self.system.met(FaultKind::Crash);
                }
            }
            Fault::Doom { node, sends, us } if self.nodes[node].driver.is_some() => {
                self.nodes[node].own.doom = Doom::Waits(sends, us * 1_000);
            }
            Fault::Start { node } => self.start(node),
            Fault::Pause { node } => {
                self.pause(node);
                if node < self.system.servers {
                    self.look_at_server(node);
                }
            }
            Fault::Resume { node } => self.resume(node),
            Fault::Disk { node, full } => {
                self.nodes[node].disk_full = full;
                self.system.met(FaultKind::Disk);
            }
            Fault::Wall { node, seconds } => {
                self.nodes[node]
                    .clock
                    .set_wall(seconds.saturating_mul(SECOND));
                self.system.met(FaultKind::Clock);
            }
            Fault::Stranger { node, count } if node < self.system.servers => {
                for _ in 0..count {
                    self.system.met(FaultKind::Stranger);
                    self.strange(node);
                }
            }
            Fault::Leave { node }
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

    fn act_on_program(&mut self, fault: &Fault) {
        let access = |shared| {
            if shared {
                Access::Shared
            } else {
                Access::Exclusive
            }
        };
        let (Fault::Run { node, .. }
        | Fault::Hold { node, .. }
        | Fault::Change { node, .. }
        | Fault::Update { node, .. }
        | Fault::Cancel { node, .. }
        | Fault::List { node, .. }
        | Fault::Socket { node }
        | Fault::Logout { node }) = *fault
        else {
            return;
        };
        if self.running_client(node).is_none() {
            return;
        }
        let met = match *fault {
            Fault::Run {
                token, shared, us, ..
            } => {
                self.ask(node, token, access(shared), Some(us * 1_000));
                Some(FaultKind::Run)
            }
            Fault::Hold { token, shared, .. } => {
                self.ask(node, token, access(shared), None);
                Some(FaultKind::Hold)
            }
            Fault::Change { token, .. } => {
                self.change_access(node, token).then_some(FaultKind::Change)
            }
            Fault::Update { token, .. } => self.update(node, token).then_some(FaultKind::Update),
            Fault::Cancel { token, .. } => {
                self.cancel(node, token);
                Some(FaultKind::Cancel)
            }
            Fault::List { server, .. } => {
                let list = client::Command::List {
                    server,
                    after: Box::default(),
                };
                self.command(node, Command::Client(list));
                Some(FaultKind::List)
            }
            Fault::Socket { .. } => {
                self.open_socket(node);
                Some(FaultKind::Socket)
            }
            Fault::Logout { .. } => {
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
