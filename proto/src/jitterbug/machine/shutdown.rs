//! Changes of the network, and shutdown (`docs/jitterbug/protocol/addresses.md` A8 to A11,
//! `docs/jitterbug/protocol/leader.md` H1 to H6).

use super::Jitterbug;
use crate::StreamOp;
use crate::jitterbug::role::Role;
use crate::jitterbug::{Event, Network, NetworkState};

impl Jitterbug {
    pub(super) fn on_link(&mut self, net: NetworkState) {
        let net = match net {
            NetworkState::Down => None,
            NetworkState::Up(network) => Some(network),
        };
        let before = std::mem::replace(&mut self.net, net);
        let address = |net: Option<Network>| net.map(|net| net.address);
        // Connections depend only on the address, and the port stays the same while the process lives.
        if address(before) == address(net) {
            return;
        }
        self.out.push_event(Event::AddressChanged {
            address: address(net),
        });
        // Connections of the old address cannot continue.
        self.reset_exchanges();
        if let Some(own) = self.own() {
            if self.list.len() == 0 {
                self.list.put_own(own);
            } else {
                // Other nodes may know the old entry, so the new entry goes the usual way through `to_add`.
                self.note_node(own);
            }
        }
        match self.role {
            // A leader continues with the new address, unless a candidate may have its token.
            Role::Leader(_) if net.is_some() => self.break_pass(),
            // A waiter has asked no question, so no answer depends on the old address.
            Role::Waiter(_) if net.is_some() => {}
            _ => {
                // Datagrams that wait belong to the old address.
                self.out.clear_datagrams();
                self.become_orphan();
            }
        }
    }

    /// Ends the node because the time limit of its shutdown has passed. A running pass ends as if its time were over.
    pub(super) fn finish_in_time(&mut self) {
        self.give_up_pass();
        if !self.is_finished {
            self.finish();
        }
    }

    /// Ends the node at once.
    pub(super) fn finish(&mut self) {
        self.is_finished = true;
        self.reset_exchanges();
        self.data.cancel();
        // An answer that has not left would announce a leader that no longer exists.
        self.out.clear_datagrams();
        self.out.push_event(Event::ShutDown);
    }

    pub(super) fn shut_down(&mut self) {
        if self.leave_by.is_some() {
            return;
        }
        // The time allows one timeout for decisions, and one timeout for passes.
        self.leave_by = Some(self.now + self.options.token_pass_timeout.saturating_mul(2));
        if self.role.turn().is_some() {
            self.data.cancel_computation();
        } else {
            self.finish();
        }
    }

    fn reset_exchanges(&mut self) {
        for id in self.inbound.streams() {
            self.inbound.remove(id);
            self.out.push_operation(StreamOp::Abort(id));
        }
    }
}
