//! Clients that wait until a paused node owns nothing.

use ring_control::lab2::PendingReason;
use ring_control::{Pending, Reply};
use ring_process::{Client, ClientId};
use ring_proto::time::Instant;

/// How far a pause has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// The node owns nothing.
    Complete,
    /// It still does.
    Pending(PendingReason),
    /// Why the pause is over.
    Over(&'static str),
}

/// What people are told of a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Who has asked for it, and what it waits for.
    Pending(Client, PendingReason),
    /// The node owns nothing; who has asked for that, if nobody knows yet.
    Complete(Option<Client>),
}

/// How much of a pause people know.
#[derive(Debug, Clone, Copy, Default)]
enum Known {
    /// All: there is none, or it is complete.
    #[default]
    All,
    /// Not even that this client has asked for it.
    Nothing(Client),
    /// That it was asked for.
    Request,
}

/// The clients that wait, each with its deadline, and what people know.
#[derive(Debug, Default)]
pub(super) struct Pausing {
    waiting: Vec<(ClientId, Instant)>,
    known: Known,
}

impl Pausing {
    /// A pause begins that this client has asked for.
    pub(super) fn begin(&mut self, by: Client) {
        self.known = Known::Nothing(by);
    }

    /// The pause is over.
    pub(super) fn end(&mut self) {
        self.known = Known::All;
    }

    /// Returns what people are to be told now, once.
    pub(super) fn step(&mut self, progress: impl FnOnce() -> Progress) -> Option<Step> {
        let by = match self.known {
            Known::All => return None,
            Known::Nothing(by) => Some(by),
            Known::Request => None,
        };
        match (progress(), by) {
            (Progress::Complete, by) => {
                self.known = Known::All;
                Some(Step::Complete(by))
            }
            (Progress::Pending(why), Some(by)) => {
                self.known = Known::Request;
                Some(Step::Pending(by, why))
            }
            (Progress::Pending(_) | Progress::Over(_), _) => None,
        }
    }

    /// Adds a client: it gets a reply when the pause is complete, or at `until` with what it waits for.
    pub(super) fn wait(&mut self, client: ClientId, until: Instant) {
        self.waiting.push((client, until));
    }

    /// Whether a client waits.
    pub(super) fn concerns(&self, client: ClientId) -> bool {
        self.waiting.iter().any(|&(waiting, _)| waiting == client)
    }

    /// Removes a client.
    pub(super) fn forget(&mut self, client: ClientId) {
        self.waiting.retain(|&(waiting, _)| waiting != client);
    }

    /// Returns the earliest deadline of a client.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.waiting.iter().map(|&(_, until)| until).min()
    }

    /// Replies to the clients whose wait is over, and removes them.
    pub(super) fn reply_to_waiting(
        &mut self,
        now: Instant,
        progress: impl FnOnce() -> Progress,
        mut tell: impl FnMut(ClientId, &Reply),
    ) {
        if self.waiting.is_empty() {
            return;
        }
        let progress = progress();
        self.waiting.retain(|&(client, until)| {
            let reply = match progress {
                Progress::Complete => Reply::Done {},
                Progress::Over(why) => Reply::Error(why.to_owned()),
                Progress::Pending(_) if until > now => return true,
                Progress::Pending(why) => Reply::Pending(Pending {
                    why: why.name().to_owned(),
                    text: why.text().to_owned(),
                }),
            };
            tell(client, &reply);
            false
        });
    }
}

#[cfg(test)]
mod tests {
    use ring_proto::time::Instant;

    use super::{Pausing, Progress, Step};
    use ring_control::lab2::PendingReason;
    use ring_control::{Pending, Reply};
    use ring_process::Client;

    fn told(pausing: &mut Pausing, now: u64, progress: Progress) -> Vec<(u64, Reply)> {
        let mut told = Vec::new();
        let now = Instant::from_nanos(now);
        pausing.reply_to_waiting(
            now,
            || progress,
            |client, reply| told.push((client, reply.clone())),
        );
        told
    }

    #[test]
    fn who_waits_is_told_of_the_end_or_what_it_has_waited_for() {
        let mut pausing = Pausing::default();
        for client in 1..=4 {
            pausing.wait(client, Instant::from_nanos(10 * client));
        }
        pausing.forget(3);
        assert!(pausing.concerns(4) && !pausing.concerns(3));
        let pending = Progress::Pending(PendingReason::Holder);
        assert_eq!(told(&mut pausing, 9, pending), []);
        assert_eq!(pausing.deadline(), Some(Instant::from_nanos(10)));
        let reply = Reply::Pending(Pending {
            why: "holder".to_owned(),
            text: PendingReason::Holder.text().to_owned(),
        });
        assert_eq!(told(&mut pausing, 10, pending), [(1, reply)]);
        assert_eq!(
            told(&mut pausing, 11, Progress::Complete),
            [(2, Reply::Done {}), (4, Reply::Done {})]
        );
        assert_eq!(pausing.deadline(), None);
    }

    #[test]
    fn nobody_hears_that_a_node_owns_nothing_before_it_does() {
        let by = Client {
            id: 1,
            pid: Some(7),
            uid: None,
        };
        let (token, holder) = (PendingReason::Token, PendingReason::Holder);
        let mut pausing = Pausing::default();
        assert_eq!(pausing.step(|| Progress::Complete), None);
        pausing.begin(by);
        let steps = [
            Progress::Pending(holder),
            Progress::Pending(token),
            Progress::Complete,
            Progress::Complete,
        ]
        .map(|progress| pausing.step(|| progress));
        let (asked, done) = (Step::Pending(by, holder), Step::Complete(None));
        assert_eq!(steps, [Some(asked), None, Some(done), None]);
        pausing.begin(by);
        let step = pausing.step(|| Progress::Complete);
        assert_eq!(step, Some(Step::Complete(Some(by))));
        pausing.begin(by);
        pausing.end();
        assert_eq!(pausing.step(|| Progress::Complete), None);
    }

    #[test]
    fn who_waits_for_a_pause_that_ends_is_told_so() {
        let mut pausing = Pausing::default();
        pausing.wait(1, Instant::from_nanos(10));
        let why = Reply::Error("it was ended".to_owned());
        assert_eq!(
            told(&mut pausing, 1, Progress::Over("it was ended")),
            [(1, why)]
        );
    }
}
