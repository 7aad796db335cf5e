//! The log of messages in systems that send datagrams: counters, a fingerprint and a trace.

/// Declares the log methods of a [`System`](super::system::System) that sends datagrams. The system needs the fields
/// `stats` and `trace`. The first argument is the path of the field that holds the system's findings. The second
/// argument is the function that formats a datagram.
macro_rules! datagram_log {
    ($($findings:ident).+, $line:path) => {
        fn on_handshake(
            _: &[u8],
            to: SocketAddr,
            name: &'static str,
        ) -> (SocketAddr, Option<&'static str>) {
            (to, Some(name))
        }

        fn describe(bytes: &[u8]) -> String {
            $line(bytes)
        }

        fn on_forgery(&mut self, moment: Moment, what: String) {
            let Moment { at, node } = moment;
            self.$($findings).+.report(at, Some(node), Rule::Forgery, what);
        }

        fn readdress(sim: &mut World, message: &mut $crate::kernel::system::Message<Self>) {
            let at = sim.rng.index(sim.nodes.len());
            let address = Self::address(at, &sim.nodes[at].own);
            if sim.rng.chance(500) {
                message.from = address;
            } else {
                message.to = address;
            }
        }

        fn forge(
            sim: &mut World,
            heard: &$crate::kernel::system::Message<Self>,
        ) -> $crate::kernel::system::Message<Self> {
            sim.forge(heard)
        }

        fn on_carried(
            &mut self,
            leaves: u64,
            _: Option<usize>,
            bytes: &[u8],
            to: SocketAddr,
            kind: Option<&'static str>,
        ) {
            self.stats.note_carried(kind);
            if kind.is_none() {
                let injected = || format!("injected to {to}: {}", $line(bytes));
                self.trace.note(leaves, injected);
            }
            self.stats.mix(leaves, bytes);
        }

        fn on_read(&mut self, moment: Moment, bytes: &[u8], age: Duration) {
            self.stats.delivered += 1;
            let Moment { at, node } = moment;
            let read = || format!("n{node} reads {} ({age:?} old)", $line(bytes));
            self.trace.note(at, read);
        }

        fn on_storm(&mut self, now: u64, sent: u64) {
            let what = format!("{sent} in less than a second");
            self.$($findings).+.report(now, None, Rule::Storm, what);
        }

        fn can_end(&self) -> bool {
            self.$($findings).+.is_enough()
        }
    };
}
pub(crate) use datagram_log;
