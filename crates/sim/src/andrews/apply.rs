//! Carries a schedule's actions out.

use ring_proto::andrews::Command;

use super::node::Told;
use super::plan::Fault;
use super::settings::FaultKind;
use super::world::World;

impl World {
    /// An action is due.
    pub fn act(&mut self, fault: &Fault) {
        let now = self.now;
        self.system.note(now, || format!("{fault:?}"));
        match fault {
            Fault::Network(fault) => self.act_on_network(fault),
            Fault::Stream(fault) => self.act_on_streams(fault),
            Fault::Process(fault) => self.act_on_process(fault),
            _ => {
                self.act_on_node(fault);
                self.act_on_host(fault);
                self.act_as_stranger(fault);
                self.act_as_client(fault);
            }
        }
    }

    fn act_on_node(&mut self, fault: &Fault) {
        match *fault {
            Fault::End { node } if self.nodes[node].driver.is_some() => {
                self.die(node);
                self.system.met(FaultKind::Crash);
            }
            Fault::Power { node } if self.nodes[node].driver.is_some() => {
                self.lose_power(node);
                self.bury(node);
                self.system.met(FaultKind::Power);
            }
            Fault::Start { node, drop } if self.nodes[node].driver.is_none() => {
                self.start(node, drop);
                if drop {
                    self.system.met(FaultKind::Empty);
                }
            }
            Fault::Pause { node } => self.pause(node),
            Fault::Resume { node } => self.go_on_again(node),
            Fault::List { node, lacks } => {
                if lacks.is_some() {
                    self.system.met(FaultKind::List);
                }
                self.set_list(node, lacks);
            }
            Fault::Leave { node } if self.nodes[node].is_running() => {
                self.nodes[node].own.is_leaving = true;
                self.tell(node, Told::Asked(Command::ShutDown));
                self.system.met(FaultKind::Leave);
            }
            _ => {}
        }
    }

    fn act_on_host(&mut self, fault: &Fault) {
        match *fault {
            Fault::Link { node, up } if self.nodes[node].driver.is_some() => {
                let now = self.now;
                let own = &mut self.nodes[node].own;
                own.alone_since = (!up).then_some(own.alone_since.unwrap_or(now));
                self.nodes[node].unplugged = !up;
                self.system.met(FaultKind::Link);
            }
            Fault::Database { node, mood } => self.nodes[node].own.mood = mood,
            Fault::Databases { mood } => {
                for node in &mut self.nodes {
                    node.own.mood = mood;
                }
            }
            _ => {}
        }
    }

    fn act_as_stranger(&mut self, fault: &Fault) {
        match *fault {
            Fault::Stranger { node, count } => {
                self.system.met(FaultKind::Stranger);
                for _ in 0..count {
                    self.say_something_strange(node);
                    self.connect_strangely(node);
                }
            }
            Fault::Flood { node, count } => {
                self.system.met(FaultKind::Flood);
                for _ in 0..count {
                    self.connect_idly(node);
                }
            }
            Fault::Forge { node, count } => {
                self.system.met(FaultKind::Forge);
                for _ in 0..count {
                    self.forge(node);
                }
            }
            _ => {}
        }
    }

    fn act_as_client(&mut self, fault: &Fault) {
        match *fault {
            Fault::Post { node, count } => {
                self.system.met(FaultKind::Post);
                self.ask_often(node, count);
            }
            Fault::Listen { node, listens } => {
                self.tell(node, Told::Asked(Command::Listeners(listens)));
                self.system.met(FaultKind::Listen);
            }
            _ => {}
        }
    }
}
