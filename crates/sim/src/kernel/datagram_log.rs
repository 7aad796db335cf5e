//! The log of messages in systems that send datagrams: counters, a fingerprint and a trace.

/// Declares the log methods of a [`System`](super::system::System) that sends datagrams. The system needs the fields
/// `stats` and `trace`. The first argument is the path of the field that holds the system's findings. The second
/// argument is the function that formats a datagram.
macro_rules! datagram_log {
    ($($findings:ident).+, $line:path) => {
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
