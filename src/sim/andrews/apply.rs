//! Carries a schedule's actions out.

use ring_proto::andrews::Command;

use super::node::Told;
use super::plan::Fault;
use super::settings::FaultKind;
use super::world::World;

const MS: u64 = 1_000_000;

impl World {
    /// An action is due.
    pub fn act(&mut self, fault: &Fault) {
        let now = self.now;
        self.system.note(now, || format!("{fault:?}"));
        self.act_on_network(fault);
        self.act_on_connections(fault);
        self.act_on_process(fault);
        self.act_on_host(fault);
        self.act_as_stranger(fault);
        self.act_as_client(fault);
    }

    fn act_on_network(&mut self, fault: &Fault) {
        let weather = &mut self.network.weather;
        match *fault {
            Fault::Drop { rate } => weather.drop = rate,
            Fault::Duplicate { rate } => weather.duplicate = rate,
            Fault::Reorder { rate, ms } => {
                weather.reorder = rate;
                weather.reorder_by = (ms * MS).max(1);
            }
            Fault::Delay { ms, jitter_ms } => {
                (weather.delay, weather.jitter) = (ms * MS, jitter_ms * MS);
            }
            Fault::Corrupt { rate } => weather.corrupt = rate,
            Fault::Part { ref groups } => {
                self.part(groups);
                if !groups.is_empty() {
                    self.system.met(FaultKind::Partition);
                }
            }
            Fault::Unheard { node, by } => {
                self.network.cuts.push((node, by));
                self.system.met(FaultKind::Oneway);
            }
            Fault::Hear => self.network.cuts.clear(),
            Fault::Replay { count } => {
                for _ in 0..self.send_again(count, None) {
                    self.system.met(FaultKind::Replay);
                }
            }
            _ => {}
        }
        self.network.look_up();
    }

    fn act_on_connections(&mut self, fault: &Fault) {
        let weather = &mut self.system.weather;
        match *fault {
            Fault::Reset { rate } => (weather.reset, weather.reset_at) = (rate, None),
            Fault::ResetAt { byte } => weather.reset_at = Some(byte),
            Fault::Half { rate } => weather.half = rate,
            Fault::Stall { rate } => weather.stall = rate,
            Fault::Dribble { rate } => weather.dribble = rate,
            Fault::Unanswered { rate } => weather.unanswered = rate,
            _ => return,
        }
        let weather = *weather;
        self.set_stream_weather(weather);
    }

    fn act_on_process(&mut self, fault: &Fault) {
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
            Fault::Slow { node, us } => {
                self.nodes[node].slow = us * 1_000;
                if us > 0 {
                    self.system.met(FaultKind::Slow);
                }
            }
            Fault::Rate { node, millionths } => {
                self.set_rate(node, millionths);
                self.system.met(FaultKind::Clock);
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
            Fault::Deaf { node, deaf } => self.nodes[node].deaf = deaf,
            Fault::Refuse { node, rate } => self.nodes[node].refuse = rate,
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
