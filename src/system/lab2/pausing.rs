//! The clients that wait until a paused node owns nothing.

use ring_control::lab2::PendingReason;
use ring_control::{Pending, Reply};
use ring_process::{Client, ClientId};
use ring_proto::lab2::Pause;
use ring_proto::time::Instant;

use super::stored_pause::PauseTerms;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PauseProgress {
    Complete,
    /// The node still owns something.
    Pending(PendingReason),
    /// The pause has ended. Contains the reason.
    Over(&'static str),
}

/// A step of a pause, for the log and watchers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PauseStep {
    /// The pause was requested. The step contains the client that requested the pause, and the reason why the pause
    /// waits.
    Pending(Client, PendingReason),
    /// The node owns nothing. If the request for the pause is unreported, the step contains the client of this request.
    Complete(Option<Client>),
}

#[derive(Debug, Clone, Copy, Default)]
enum ReportedProgress {
    /// All steps were reported: there is no pause, or the pause is complete.
    #[default]
    All,
    /// No step was reported, not even the request of this client.
    Nothing(Client),
    Request,
}

/// The waiting clients with their deadlines, and the steps that were reported.
#[derive(Debug, Default)]
pub(super) struct Pausing {
    waiting: Vec<(ClientId, Instant)>,
    reported: ReportedProgress,
    /// The end and the reason of the present pause, as they were requested, and on the clock of this run.
    present: Option<(PauseTerms, Pause)>,
    /// The cause of the end of the last pause.
    end_reason: &'static str,
}

impl Pausing {
    /// Begins a pause that this client requested.
    pub(super) fn begin(&mut self, by: Client) {
        self.reported = ReportedProgress::Nothing(by);
    }

    /// Ends the pause. `reason` is the cause, for clients that wait for the pause.
    pub(super) fn end(&mut self, reason: &'static str) {
        self.reported = ReportedProgress::All;
        self.present = None;
        self.end_reason = reason;
    }

    pub(super) const fn end_reason(&self) -> &'static str {
        self.end_reason
    }

    /// Sets the end and the reason of the pause. Returns whether they were different. A client that repeats its request
    /// changes nothing.
    pub(super) fn set_terms(&mut self, terms: &PauseTerms, pause: Pause) -> bool {
        if matches!(&self.present, Some((present, _)) if present.is_same(terms)) {
            return false;
        }
        self.present = Some((terms.clone(), pause));
        true
    }

    /// Returns the end and the reason of the present pause.
    pub(super) fn terms(&self) -> Option<&PauseTerms> {
        self.present.as_ref().map(|(terms, _)| terms)
    }

    /// Returns the present pause.
    pub(super) fn pause(&self) -> Option<&Pause> {
        self.present.as_ref().map(|(_, pause)| pause)
    }

    /// Whether the time of the pause is over.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.end_time().is_some_and(|until| until <= now)
    }

    fn end_time(&self) -> Option<Instant> {
        self.pause().and_then(|pause| pause.until)
    }

    pub(super) fn next_step(
        &mut self,
        progress: impl FnOnce() -> PauseProgress,
    ) -> Option<PauseStep> {
        let by = match self.reported {
            ReportedProgress::All => return None,
            ReportedProgress::Nothing(by) => Some(by),
            ReportedProgress::Request => None,
        };
        match (progress(), by) {
            (PauseProgress::Complete, by) => {
                self.reported = ReportedProgress::All;
                Some(PauseStep::Complete(by))
            }
            (PauseProgress::Pending(why), Some(by)) => {
                self.reported = ReportedProgress::Request;
                Some(PauseStep::Pending(by, why))
            }
            (PauseProgress::Pending(_) | PauseProgress::Over(_), _) => None,
        }
    }

    /// Adds a client. The client gets a reply when the pause is complete. At `until`, it gets a reply with the reason
    /// why the pause still waits.
    pub(super) fn wait(&mut self, client: ClientId, until: Instant) {
        self.waiting.push((client, until));
    }

    pub(super) fn involves(&self, client: ClientId) -> bool {
        self.waiting.iter().any(|&(waiting, _)| waiting == client)
    }

    pub(super) fn forget(&mut self, client: ClientId) {
        self.waiting.retain(|&(waiting, _)| waiting != client);
    }

    /// Returns the earliest deadline of a client, or the end of the pause if it is earlier.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let clients = self.waiting.iter().map(|&(_, until)| until);
        clients.chain(self.end_time()).min()
    }

    /// Replies to the clients whose wait is over, and removes these clients.
    pub(super) fn reply_to_waiting(
        &mut self,
        now: Instant,
        progress: impl FnOnce() -> PauseProgress,
        mut tell: impl FnMut(ClientId, &Reply),
    ) {
        if self.waiting.is_empty() {
            return;
        }
        let progress = progress();
        self.waiting.retain(|&(client, until)| {
            let reply = match progress {
                PauseProgress::Complete => Reply::Done {},
                PauseProgress::Over(why) => Reply::Error(why.to_owned()),
                PauseProgress::Pending(_) if until > now => return true,
                PauseProgress::Pending(why) => Reply::Pending(Pending {
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
    use std::time::Duration;

    use ring_proto::time::{Instant, Now};

    use super::{PauseProgress, PauseStep, PauseTerms, Pausing};
    use ring_control::lab2::PendingReason;
    use ring_control::{Pending, Reply};
    use ring_process::Client;

    fn replies(pausing: &mut Pausing, now: u64, progress: PauseProgress) -> Vec<(u64, Reply)> {
        let mut replies = Vec::new();
        let now = Instant::from_nanos(now);
        pausing.reply_to_waiting(
            now,
            || progress,
            |client, reply| replies.push((client, reply.clone())),
        );
        replies
    }

    #[test]
    fn a_client_gets_the_end_of_a_pause_or_the_reason_for_waiting() {
        let mut pausing = Pausing::default();
        for client in 1..=4 {
            pausing.wait(client, Instant::from_nanos(10 * client));
        }
        pausing.forget(3);
        assert!(pausing.involves(4) && !pausing.involves(3));
        let pending = PauseProgress::Pending(PendingReason::Holder);
        assert_eq!(replies(&mut pausing, 9, pending), []);
        assert_eq!(pausing.deadline(), Some(Instant::from_nanos(10)));
        let reply = Reply::Pending(Pending {
            why: "holder".to_owned(),
            text: PendingReason::Holder.text().to_owned(),
        });
        assert_eq!(replies(&mut pausing, 10, pending), [(1, reply)]);
        assert_eq!(
            replies(&mut pausing, 11, PauseProgress::Complete),
            [(2, Reply::Done {}), (4, Reply::Done {})]
        );
        assert_eq!(pausing.deadline(), None);
    }

    #[test]
    fn a_pause_is_not_reported_as_complete_too_early() {
        let by = Client {
            id: 1,
            pid: Some(7),
            uid: None,
        };
        let (token, holder) = (PendingReason::Token, PendingReason::Holder);
        let mut pausing = Pausing::default();
        assert_eq!(pausing.next_step(|| PauseProgress::Complete), None);
        pausing.begin(by);
        let steps = [
            PauseProgress::Pending(holder),
            PauseProgress::Pending(token),
            PauseProgress::Complete,
            PauseProgress::Complete,
        ]
        .map(|progress| pausing.next_step(|| progress));
        let (asked, done) = (PauseStep::Pending(by, holder), PauseStep::Complete(None));
        assert_eq!(steps, [Some(asked), None, Some(done), None]);
        pausing.begin(by);
        let next_step = pausing.next_step(|| PauseProgress::Complete);
        assert_eq!(next_step, Some(PauseStep::Complete(Some(by))));
        pausing.begin(by);
        pausing.end("it was ended");
        assert_eq!(pausing.next_step(|| PauseProgress::Complete), None);
    }

    #[test]
    fn a_pause_has_the_last_end_and_reason_that_differ() {
        let terms = |until_ms, reason: &str| PauseTerms {
            until_ms,
            for_ms: None,
            reason: reason.to_owned(),
        };
        let now = Now {
            monotonic: Instant::from_nanos(5),
            wall: 1_000_000_000,
        };
        let mut pausing = Pausing::default();
        for (terms, is_new) in [
            (terms(Some(2_000), "disk"), true),
            (terms(Some(2_000), "disk"), false),
            (terms(Some(2_000), "cable"), true),
            (terms(Some(3_000), "cable"), true),
        ] {
            assert_eq!(
                pausing.set_terms(&terms, terms.pause(now)),
                is_new,
                "{terms:?}"
            );
        }
        let end = Instant::from_nanos(2_000_000_005);
        assert_eq!(pausing.deadline(), Some(end));
        assert!(pausing.is_over(end) && !pausing.is_over(end.before(Duration::from_nanos(1))));
        pausing.end("its time is over");
        assert!(pausing.pause().is_none() && !pausing.is_over(end));
    }

    #[test]
    fn a_client_gets_an_error_if_the_pause_ends() {
        let mut pausing = Pausing::default();
        pausing.wait(1, Instant::from_nanos(10));
        let why = Reply::Error("it was ended".to_owned());
        assert_eq!(
            replies(&mut pausing, 1, PauseProgress::Over("it was ended")),
            [(1, why)]
        );
    }
}
