//! Logs which programs on other members hold locks, for `ringctl history`.
//!
//! A busy ring grants thousands of locks per second. So this node looks at the holders once per second, and logs only
//! holds that it saw twice.

use std::collections::BTreeMap;
use std::time::Duration;

use ring_client::fencing::FencingToken;
use ring_codec::MacAddr;
use ring_codec::lab2::Token;
use ring_host::announced_host_name;
use ring_host::observe::RateLimit;
use ring_proto::lab2::{Lab2, LockName};
use ring_proto::time::{Instant, nanos};
use ring_text::format_duration;
use tracing::info;

use super::events;

/// The time between two looks. Shorter holds are not logged.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// The time without a known owner after which a hold of the token counts as ended. A node often hears no owner for a
/// moment, although the program goes on.
const OWNER_GAP_MAX: Duration = Duration::from_secs(3);
/// Maximum number of holds of named locks that this node follows at the same time.
const FOLLOWED_MAX: usize = 1_000;
/// Limit of the holds of named locks that are logged. The end of a logged hold is always logged.
const HOLDS_LIMIT: RateLimit = RateLimit::new(100, Duration::from_secs(1));

/// The holds of other members' programs.
#[derive(Debug)]
pub(super) struct OtherHolds {
    looked_at: Instant,
    followed: BTreeMap<HoldKey, Hold>,
    limit: RateLimit,
}

/// The identity of a hold while it lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct HoldKey {
    mac: MacAddr,
    /// The name of the lock; `None` for the token.
    lock: Option<LockName>,
    /// The number of the session at this member; 0 for the token.
    session: u64,
}

#[derive(Debug)]
struct Hold {
    program: String,
    token: Option<String>,
    since: Instant,
    seen_at: Instant,
    /// Whether the log contains the beginning of the hold.
    is_logged: bool,
}

impl Default for OtherHolds {
    fn default() -> Self {
        Self {
            looked_at: Instant::from_nanos(0),
            followed: BTreeMap::new(),
            limit: HOLDS_LIMIT,
        }
    }
}

impl OtherHolds {
    /// Looks at the holders if the last look was a second ago, and logs the changes.
    pub(super) fn update(&mut self, now: Instant, machine: &Lab2) {
        if now.since(self.looked_at) < LOOK_INTERVAL {
            return;
        }
        self.looked_at = now;
        let known_owner = machine.owner();
        let owner = known_owner.filter(|&owner| !machine.is_own(owner));
        if let (Some(mac), Some(work)) = (owner, machine.work()) {
            let key = HoldKey {
                mac,
                lock: None,
                session: 0,
            };
            self.see(now, key, &work.program, machine.token(), work.since);
        }
        for view in machine.locks() {
            if view.is_held && !machine.is_own(view.member) {
                let key = HoldKey {
                    mac: view.member,
                    lock: Some(view.name),
                    session: view.session,
                };
                // The record has only the time of the request, so the hold begins when this node sees it.
                self.see(now, key, view.program.as_str(), Some(view.fence), now);
            }
        }
        self.log_changes(now, known_owner.is_some());
    }

    /// Notes a hold that exists at `now`. For the token, `since` is the time of the grant.
    fn see(
        &mut self,
        now: Instant,
        key: HoldKey,
        program: &str,
        token: Option<Token>,
        since: Instant,
    ) {
        if let Some(hold) = self.followed.get_mut(&key) {
            let is_same = key.lock.is_some() || hold.program == program && since <= hold.seen_at;
            if is_same {
                hold.seen_at = now;
                return;
            }
        }
        if let Some(ended) = self.followed.remove(&key) {
            log_end(&key, &ended);
        }
        // Many named locks must not hide the token, which has only one hold.
        if key.lock.is_none() || self.followed.len() < FOLLOWED_MAX {
            let hold = Hold {
                program: program.to_owned(),
                token: token.map(|token| FencingToken::from(token).to_string()),
                since,
                seen_at: now,
                is_logged: false,
            };
            self.followed.insert(key, hold);
        }
    }

    fn log_changes(&mut self, now: Instant, has_owner: bool) {
        let limit = &mut self.limit;
        self.followed.retain(|key, hold| {
            let is_token = key.lock.is_none();
            if hold.seen_at < now {
                if is_token && !has_owner && now.since(hold.seen_at) <= OWNER_GAP_MAX {
                    return true;
                }
                log_end(key, hold);
                return false;
            }
            let is_long = now.since(hold.since) >= LOOK_INTERVAL;
            if is_long && !hold.is_logged && (is_token || limit.allow(now)) {
                hold.is_logged = true;
                log_begin(now, key, hold);
            }
            true
        });
    }
}

/// Returns the text for a lock.
fn lock_text(name: Option<&str>) -> String {
    name.map_or_else(|| "the token".to_owned(), |name| format!("the lock {name}"))
}

fn log_begin(now: Instant, key: &HoldKey, hold: &Hold) {
    let (mac, host) = (key.mac, announced_host_name(key.mac.0));
    let name = key.lock.map(|lock| lock.to_string());
    let (label, token) = (&hold.program, &hold.token);
    let held_ns = nanos(now.since(hold.since));
    let text = lock_text(name.as_deref());
    info!(
        event = events::MEMBER_HOLDS,
        name, %mac, host, label, token, held_ns, "{label:?} on {mac} holds {text}"
    );
}

/// Logs the end of a hold if its beginning was logged.
fn log_end(key: &HoldKey, hold: &Hold) {
    if !hold.is_logged {
        return;
    }
    let (mac, host) = (key.mac, announced_host_name(key.mac.0));
    let name = key.lock.map(|lock| lock.to_string());
    let (label, token) = (&hold.program, &hold.token);
    let held = hold.seen_at.since(hold.since);
    let held_ns = nanos(held);
    let (text, held) = (lock_text(name.as_deref()), format_duration(held));
    info!(
        event = events::MEMBER_HELD,
        name, %mac, host, label, token, held_ns,
        "{label:?} on {mac} no longer holds {text} after {held}"
    );
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ring_codec::MacAddr;
    use ring_codec::lab2::Token;
    use ring_host::observe::{LogTarget, Style};
    use ring_proto::lab2::LockName;
    use ring_proto::time::Instant;

    use super::{FOLLOWED_MAX, HoldKey, OtherHolds};
    use crate::system::lab2::observe::captured;

    const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 7]);
    const FENCE: Token = Token {
        progress: 17,
        author: MAC,
        number: 3,
    };
    const TOKEN_KEY: HoldKey = HoldKey {
        mac: MAC,
        lock: None,
        session: 0,
    };

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * 1_000_000_000)
    }

    /// A hold that a look sees: its key, its program, and the time of the grant.
    type SeenHold = (HoldKey, &'static str, u64);

    /// Returns the log lines of looks. Each item has the time of a look in seconds and the holds that it sees.
    fn lines(looks: &[(u64, &[SeenHold])]) -> Vec<String> {
        let style = Style {
            json: false,
            target: LogTarget::Journal,
        };
        let found = captured(style, false, || {
            let mut holds = OtherHolds::default();
            for (now, seen) in looks {
                for (key, program, since) in *seen {
                    holds.see(at(*now), *key, program, Some(FENCE), at(*since));
                }
                // A look without any hold hears no owner.
                holds.log_changes(at(*now), !seen.is_empty());
            }
        });
        let sentences = found.iter().map(|line| line.replace("<6>", ""));
        sentences.collect()
    }

    fn lock(name: &str, session: u64) -> HoldKey {
        HoldKey {
            mac: MAC,
            lock: LockName::new(name),
            session,
        }
    }

    #[test]
    fn a_hold_is_logged_once_and_its_end_once() {
        let index = lock("index", 7);
        let found = lines(&[
            (10, &[(TOKEN_KEY, "tar", 8), (index, "make", 10)]),
            (11, &[(TOKEN_KEY, "tar", 8), (index, "make", 11)]),
            (12, &[(index, "make", 12)]),
            (13, &[]),
        ]);
        let expected = [
            r#""tar" on 02:00:00:00:00:07 holds the token"#,
            r#""make" on 02:00:00:00:00:07 holds the lock index"#,
            r#""tar" on 02:00:00:00:00:07 no longer holds the token after 3 s"#,
            r#""make" on 02:00:00:00:00:07 no longer holds the lock index after 2 s"#,
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_second_hold_of_the_same_program_is_a_new_hold() {
        let found = lines(&[
            (10, &[(TOKEN_KEY, "tar", 8)]),
            (20, &[(TOKEN_KEY, "tar", 19)]),
            (21, &[(TOKEN_KEY, "make", 19)]),
        ]);
        assert_eq!(found.len(), 5, "{found:#?}");
        assert!(found[1].contains("after 2 s"), "{found:#?}");
    }

    #[test]
    fn a_hold_of_the_token_goes_on_while_no_owner_is_known_for_a_moment() {
        let held: &[_] = &[(TOKEN_KEY, "tar", 8)];
        let made_by: &[_] = &[(lock("index", 7), "make", 15)];
        let found = lines(&[(10, held), (11, &[]), (13, &[]), (14, held), (15, made_by)]);
        assert_eq!(found.len(), 2, "{found:#?}");
        assert!(found[1].contains("the token after 6 s"), "{found:#?}");
        let found = lines(&[(10, held), (13, &[]), (14, &[]), (15, held)]);
        assert_eq!(found.len(), 3, "{found:#?}");
        assert!(found[1].contains("the token after 2 s"), "{found:#?}");
    }

    #[test]
    fn short_holds_leave_no_line() {
        let short: Vec<_> = (0..50).map(|session| lock("index", session)).collect();
        let looks: Vec<[_; 1]> = (0..)
            .zip(&short)
            .map(|(at, &key)| [(key, "make", 10 + at)])
            .collect();
        let looks: Vec<_> = (10..)
            .zip(&looks)
            .map(|(at, seen)| (at, &seen[..]))
            .collect();
        assert_eq!(lines(&looks), Vec::<String>::new());
    }

    #[test]
    fn many_holds_are_logged_slowly_and_their_number_is_bounded() {
        let mut holds = OtherHolds::default();
        let style = Style {
            json: false,
            target: LogTarget::Journal,
        };
        let found = captured(style, false, || {
            for now in 10..30 {
                for session in 0..2 * FOLLOWED_MAX as u64 {
                    holds.see(at(now), lock("index", session), "make", None, at(now));
                }
                holds.see(at(now), TOKEN_KEY, "tar", Some(FENCE), at(9));
                holds.log_changes(at(now), true);
            }
        });
        assert_eq!(holds.followed.len(), FOLLOWED_MAX + 1);
        // The limits do not apply to the token.
        assert!(
            found.iter().any(|line| line.contains("holds the token")),
            "{found:#?}"
        );
        let expected = 1 + 100 + Duration::from_secs(29 - 11).as_secs();
        assert_eq!(found.len() as u64, expected);
    }
}
