//! The observers of a server's events: the log, and clients that watch.

use ring_host::{History, Priority};
use ring_proto::ftn::server::Event;
use ring_proto::time::Now;
use ring_runtime::driver::Observe;

use crate::system::ftn::observe::{Describer, EventRate, Keys, Log, print};

#[derive(Debug)]
pub(super) struct Observers {
    pub describer: Describer,
    pub log: Log,
    pub history: History<Keys>,
}

impl Observe<Event> for Observers {
    fn observe(&mut self, now: Now, event: &Event) {
        if matches!(event, Event::Dropped { .. }) && !self.log.is_verbose() {
            return;
        }
        let token = match self.log.admit_token(now.monotonic, event) {
            Ok(None) => return,
            Ok(admitted) => admitted,
            Err(()) => None,
        };
        let line = self.describer.describe(event, token.and_then(|it| it.held));
        let rate = line.keys.rate;
        let admitted = match token {
            Some(token) => Some(token.hidden),
            None => self.log.admit(now.monotonic, rate),
        };
        match admitted {
            Some(hidden) => print(&line, hidden),
            // Other machines and programs determine the number of these events, so watchers get only the logged events.
            None if matches!(rate, EventRate::Drop | EventRate::Introduction) => return,
            None => {}
        }
        let priority = match rate {
            EventRate::Rare => Priority::News,
            EventRate::Drop => Priority::Routine,
            // Thousands of these events per second would push all other events out of the history.
            _ => Priority::Passing,
        };
        self.history
            .add(now, (line.event, line.text), line.keys, priority);
    }
}

#[cfg(test)]
mod tests {
    use ring_proto::ftn::server::Event;
    use ring_proto::time::{Instant, Now};

    use super::{Describer, Log, Observers};
    use crate::system::ftn::observe::Names;
    use ring_host::History;
    use ring_runtime::driver::Observe;

    #[test]
    fn watchers_get_an_event_with_its_sentence_and_keys() {
        let now = Now {
            monotonic: Instant::default(),
            wall: 5_000_000,
        };
        let mut observers = Observers {
            describer: Describer::new(Names::new(["a:1".into()], 0)),
            log: Log::new(false),
            history: History::new(now),
        };
        let begun = Event::SessionBegun {
            id: 7,
            address: ([192, 0, 2, 1], 7).into(),
        };
        observers.observe(now, &begun);
        let recent = observers.history.recent();
        let number = recent.latest();
        let message = recent.get(number).unwrap().message(number);
        let text = [
            &format!(r#"{{"number":{number},"time_ms":5,"event":"session_begun","#),
            r#""text":"session 7 of 192.0.2.1:7 has begun","#,
            r#""session":7,"address":"192.0.2.1:7"}"#,
        ];
        let text = text.concat();
        assert_eq!(message.json().text(), text);
    }
}
