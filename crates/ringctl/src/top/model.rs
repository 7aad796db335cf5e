//! The answers and events of the daemon, in the form in which they are shown.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ring_client::daemon::ConnectError;
use ring_control::escape_control_characters;

use super::super::Error;
use super::super::render::{self, View};
use super::feed::Update;
use super::page::Page;
use super::rates::Rates;
use super::text::{path, rate_text};

/// Maximum number of events that are kept for scrolling.
const EVENTS_MAX: usize = 500;
/// Maximum number of owners in the path of the token.
const OWNERS_MAX: usize = 32;

/// All data that are shown, except the state of the screen.
pub(super) struct Model {
    /// The daemon's socket, for errors.
    socket: PathBuf,
    page: Page,
    view: Option<Box<dyn View>>,
    rates: Rates,
    /// The last owners. The newest is at the end. Two successive entries are never equal.
    owners: VecDeque<String>,
    /// The last events as lines, the newest at the front.
    events: VecDeque<String>,
    loss: Option<Loss>,
}

/// The loss of the daemon.
struct Loss {
    /// The time of day at which the daemon was lost.
    since: String,
    /// Whether no daemon can be reached.
    is_unreachable: bool,
    reason: String,
}

impl Model {
    pub(super) fn new(socket: &Path) -> Self {
        Self {
            socket: socket.to_owned(),
            page: Page::default(),
            view: None,
            rates: Rates::default(),
            owners: VecDeque::new(),
            events: VecDeque::new(),
            loss: None,
        }
    }

    /// Applies an update that arrived at `now`. Returns a value if a round of requests has ended: whether the daemon
    /// gave a readable answer.
    pub(super) fn apply(
        &mut self,
        update: Update,
        now: Instant,
        wall: SystemTime,
    ) -> Option<Result<(), Error>> {
        let error = match update {
            Update::Answers { status, locks } => {
                let built = render::view(status).and_then(|view| {
                    let page = Page::of(view.node(), &locks)?;
                    Ok((view, page))
                });
                match built {
                    Ok((view, page)) => {
                        self.set_page(view, page, now);
                        return Some(Ok(()));
                    }
                    Err(reason) => Error::Reply {
                        path: self.socket.clone(),
                        reason,
                    },
                }
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
                return None;
            }
            Update::Lost(error) => error,
        };
        self.set_loss(&error, wall);
        Some(Err(error))
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

    fn set_loss(&mut self, error: &Error, wall: SystemTime) {
        let since = match self.loss.take() {
            Some(loss) => loss.since,
            None => time_of_day(wall),
        };
        self.rates.pause();
        self.loss = Some(Loss {
            since,
            is_unreachable: matches!(error, Error::Connect(ConnectError::Unreachable { .. })),
            reason: escape_control_characters(&one_line(&error.to_string())),
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

    /// Returns the facts, the path of the token and the rates.
    pub(super) fn facts(&self) -> Vec<(&str, String)> {
        let mut facts: Vec<(&str, String)> = self.page.facts.clone();
        if self.owners.len() > 1 {
            facts.push(("Owners", path(&self.owners)));
        }
        let rates = self.rates.latest().iter();
        facts.extend(rates.map(|(name, rate)| (*name, rate_text(*rate))));
        facts
    }

    pub(super) const fn is_lost(&self) -> bool {
        self.loss.is_some()
    }

    /// Returns the sentence about a lost daemon.
    pub(super) fn loss_text(&self) -> Option<String> {
        let loss = self.loss.as_ref()?;
        let missing = if loss.is_unreachable {
            "no daemon"
        } else {
            "no answer"
        };
        let Loss { since, reason, .. } = loss;
        Some(format!("{missing}, since {since}; tries again: {reason}"))
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
