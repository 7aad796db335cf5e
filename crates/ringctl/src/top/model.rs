//! The answers and events of the daemon, as they are shown.

use std::collections::VecDeque;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ring_control::escape_control_characters;

use super::super::render::{self, View};
use super::feed::Update;
use super::page::Page;
use super::rates::Rates;

/// Maximum number of events that are kept for scrolling.
const EVENTS_MAX: usize = 500;
/// Maximum number of owners in the path of the token.
const OWNERS_MAX: usize = 32;

/// Everything that is shown, except the state of the screen.
pub(super) struct Model {
    page: Page,
    view: Option<Box<dyn View>>,
    rates: Rates,
    /// The last owners, the newest at the end. Neighbors in the list differ.
    owners: VecDeque<String>,
    /// The last events as lines, the newest at the front.
    events: VecDeque<String>,
    loss: Option<Loss>,
}

/// The loss of the daemon.
struct Loss {
    /// The time of day.
    since: String,
    reason: String,
}

impl Model {
    pub(super) fn new() -> Self {
        Self {
            page: Page::default(),
            view: None,
            rates: Rates::default(),
            owners: VecDeque::new(),
            events: VecDeque::new(),
            loss: None,
        }
    }

    /// Applies an update that arrived at `now`. Returns whether a round of requests has ended, with or without an
    /// answer.
    pub(super) fn apply(&mut self, update: Update, now: Instant, wall: SystemTime) -> bool {
        match update {
            Update::Answers { status, locks } => {
                let built = render::view(status).and_then(|view| {
                    let page = Page::of(view.node(), &locks)?;
                    Ok((view, page))
                });
                match built {
                    Ok((view, page)) => self.set_page(view, page, now),
                    Err(reason) => {
                        let text = format!("{reason}; run the same version of ringd and ringctl");
                        self.set_loss(&text, wall);
                    }
                }
                true
            }
            Update::Event(event) => {
                if let Ok(head) = event.head() {
                    let text = render::event_text(&event, &head, self.view.as_deref());
                    let time = UNIX_EPOCH.checked_add(Duration::from_millis(head.time_ms));
                    let time = time.map_or_else(String::new, time_of_day);
                    let name = escape_control_characters(&head.event);
                    self.events.truncate(EVENTS_MAX - 1);
                    self.events.push_front(format!("{time} {name} {text}"));
                }
                false
            }
            Update::Lost(reason) => {
                self.set_loss(&reason, wall);
                true
            }
        }
    }

    fn set_page(&mut self, view: Box<dyn View>, page: Page, now: Instant) {
        if let Some(owner) = &page.owner
            && self.owners.back() != Some(owner)
        {
            if self.owners.len() == OWNERS_MAX {
                self.owners.pop_front();
            }
            self.owners.push_back(owner.clone());
        }
        self.rates.add(&page.counters, now);
        (self.page, self.view, self.loss) = (page, Some(view), None);
    }

    fn set_loss(&mut self, reason: &str, wall: SystemTime) {
        let since = match self.loss.take() {
            Some(loss) => loss.since,
            None => time_of_day(wall),
        };
        self.rates.pause();
        self.loss = Some(Loss {
            since,
            reason: escape_control_characters(&one_line(reason)),
        });
    }

    pub(super) const fn page(&self) -> &Page {
        &self.page
    }

    pub(super) const fn rates(&self) -> &Rates {
        &self.rates
    }

    pub(super) const fn events(&self) -> &VecDeque<String> {
        &self.events
    }

    pub(super) const fn owners(&self) -> &VecDeque<String> {
        &self.owners
    }

    /// Returns the sentence about a lost daemon.
    pub(super) fn loss_text(&self) -> Option<String> {
        let Loss { since, reason } = self.loss.as_ref()?;
        Some(format!("no daemon, since {since}; tries again: {reason}"))
    }
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

/// Returns the time of day in UTC, as in `08:15:29`.
pub(super) fn time_of_day(time: SystemTime) -> String {
    let text = humantime::format_rfc3339_seconds(time).to_string();
    let (_, time) = text.split_once('T').unwrap_or_default();
    time.trim_end_matches('Z').to_owned()
}
