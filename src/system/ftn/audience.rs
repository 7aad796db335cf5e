//! Who sees a server's events: the log, and those who watch.

use ring_host::{History, Priority};
use ring_proto::ftn::server::Event;
use ring_proto::time::Now;
use ring_runtime::driver::Observe;

use crate::system::ftn::observe::{Admitted, Keys, Log, News, print};

/// All observers of events.
#[derive(Debug)]
pub(super) struct Audience {
    pub news: News,
    pub log: Log,
    pub history: History<Keys>,
}

impl Observe<Event> for Audience {
    fn observe(&mut self, now: Now, event: &Event) {
        let admitted = self.log.admit(now.monotonic, event);
        let priority = match event {
            // Strangers and programs decide how many there are, so watchers get only those that are logged.
            Event::Dropped { .. }
            | Event::SessionIntroduced { .. }
            | Event::TokenGranted(_)
            | Event::TokenReturned(_)
            | Event::TokenLost(_)
                if admitted.is_none() =>
            {
                return;
            }
            Event::Dropped { .. } => Priority::Routine,
            // Thousands in a second would displace all news.
            Event::SessionBegun { .. }
            | Event::SessionAdopted { .. }
            | Event::SessionExpired { .. }
            | Event::SessionLoggedOut { .. }
            | Event::SessionIntroduced { .. }
            | Event::TokenGranted(_)
            | Event::TokenReturned(_)
            | Event::TokenLost(_)
            | Event::OtherList { .. }
            | Event::Misplaced { .. } => Priority::Passing,
            _ => Priority::News,
        };
        let held = admitted.and_then(|it| it.held);
        let line = self.news.describe(event, held);
        if let Some(Admitted { hidden, .. }) = admitted {
            print(&line, hidden);
        }
        self.history
            .remember(now, (line.event, line.text), line.keys, priority);
    }
}

#[cfg(test)]
mod tests {
    use ring_proto::ftn::server::Event;
    use ring_proto::time::{Instant, Now};

    use super::{Audience, Log, News};
    use crate::system::ftn::observe::Names;
    use ring_host::History;
    use ring_runtime::driver::Observe;

    #[test]
    fn watchers_get_an_event_with_its_sentence_and_the_keys_that_it_is_about() {
        let now = Now {
            monotonic: Instant::default(),
            wall: 5_000_000,
        };
        let mut audience = Audience {
            news: News::new(Names::new(["a:1".into()], 0)),
            log: Log::new(false),
            history: History::new(now),
        };
        let begun = Event::SessionBegun {
            id: 7,
            address: ([192, 0, 2, 1], 7).into(),
        };
        audience.observe(now, &begun);
        let recent = audience.history.recent();
        let number = recent.latest();
        let message = recent.get(number).unwrap().message(number);
        let text = format!(
            r#"{{"number":{number},"time_ms":5,"event":"session_begun","text":"session 7 of 192.0.2.1:7 has begun","session":7,"address":"192.0.2.1:7"}}"#
        );
        assert_eq!(message.json().text(), text);
    }
}
