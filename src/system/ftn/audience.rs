//! Who sees a server's events: the log, and those who watch.

use ring_proto::ftn::server::Event;
use ring_proto::time::Now;

use super::history::{History, remember};
use crate::driver::Observe;
use crate::host::Priority;
use crate::observe::ftn::{Log, News, print};

/// All observers of events.
#[derive(Debug)]
pub struct Audience {
    pub news: News,
    pub log: Log,
    pub history: History,
}

impl Observe<Event> for Audience {
    fn observe(&mut self, now: Now, event: &Event) {
        let line = self.log.admit(now.monotonic, event);
        let priority = match event {
            // As many as strangers please: watchers get as many as the log.
            Event::Dropped { .. } if line.is_none() => return,
            Event::Dropped { .. } => Priority::Routine,
            // Thousands in a second would displace all news.
            Event::SessionBegun { .. }
            | Event::SessionAdopted { .. }
            | Event::SessionExpired { .. }
            | Event::SessionLoggedOut { .. }
            | Event::OtherList { .. } => Priority::Passing,
            _ => Priority::News,
        };
        let told = self.news.tell(event);
        if let Some(hidden) = line {
            print(&told, hidden);
        }
        remember(&mut self.history, now, told, priority);
    }
}
