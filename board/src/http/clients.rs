//! Limits for each client: connections, live views, bytes of answers, bytes of posts per second, and wrong passwords.
//!
//! A client is an IPv4 address, or the first 64 bits of an IPv6 address. The reason: one machine may use all addresses
//! with the same first 64 bits.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::events::VIEWS_MAX;
use super::rate_limit::{Rate, RateLimit, wait_time};

pub(super) const CONNECTIONS_MAX: usize = 512;
/// Maximum total size, in bytes, of all answers that the node reads from the database or that wait to be sent.
pub(super) const ANSWER_BYTES_MAX: usize = 128 << 20;
/// Divisor for the limits: each limit divided by this number is the limit of one client. So one client may take a
/// quarter of each limit.
const CLIENT_FRACTION: usize = 4;
/// Maximum number of disconnected clients whose posts and wrong passwords the node remembers.
const REMEMBERED_CLIENTS_MAX: usize = 4_096;
/// The wrong passwords of one client: 10 at once, then one in 30 s.
const CLIENT_LOGINS: Rate = Rate {
    units: 1,
    period: Duration::from_secs(30),
    burst: Duration::from_secs(30 * 9),
};
/// The wrong passwords of all clients that have never logged in: 60 at once, then one in 10 s.
const ALL_LOGINS: Rate = Rate {
    units: 1,
    period: Duration::from_secs(10),
    burst: Duration::from_secs(10 * 59),
};
/// Even a shorter post counts as this many bytes, because each post needs a row and an index entry.
const POST_BYTES_MIN: usize = 256;

#[derive(Debug)]
pub(crate) struct Clients {
    by_address: Mutex<HashMap<IpAddr, Arc<ClientShares>>>,
    answers: Arc<Semaphore>,
    posts: RateLimit,
    logins: RateLimit,
    rate: usize,
}

#[derive(Debug)]
struct ClientShares {
    connections: Arc<Semaphore>,
    views: Arc<Semaphore>,
    answers: Arc<Semaphore>,
    posts: RateLimit,
    logins: RateLimit,
    /// Whether this client has given the password. Strangers that try passwords cannot keep such a client out.
    has_logged_in: AtomicBool,
}

/// A client. While this value exists, the node does not forget the client.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    address: IpAddr,
    shares: Arc<ClientShares>,
}

/// One connection of a client. Until this value is dropped, the connection counts towards the limits.
#[derive(Debug)]
pub(crate) struct ClientConnection {
    client: Client,
    _connection: OwnedSemaphorePermit,
}

impl ClientConnection {
    pub(crate) const fn client(&self) -> &Client {
        &self.client
    }
}

/// One live view of a client. Until this value is dropped, the view counts towards the limits.
#[derive(Debug)]
pub(crate) struct ViewPermit {
    _client: Client,
    _view: OwnedSemaphorePermit,
}

impl Client {
    pub(crate) const fn address(&self) -> IpAddr {
        self.address
    }

    /// Reserves a live view. Returns `None` if the client has too many live views.
    pub(crate) fn reserve_view(&self) -> Option<ViewPermit> {
        let view = Arc::clone(&self.shares.views).try_acquire_owned().ok()?;
        Some(ViewPermit {
            _client: self.clone(),
            _view: view,
        })
    }
}

#[derive(Debug)]
pub(crate) struct ReservedBytes {
    of_client: OwnedSemaphorePermit,
    of_all: OwnedSemaphorePermit,
}

impl ReservedBytes {
    /// Releases the reserved bytes that the answer does not need.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        for permit in [&mut self.of_client, &mut self.of_all] {
            drop(permit.split(permit.num_permits().saturating_sub(bytes)));
        }
    }
}

impl Clients {
    /// Creates the limits. Each client may post `rate` bytes per second.
    pub(crate) fn new(rate: usize) -> Self {
        Self {
            by_address: Mutex::default(),
            answers: Arc::new(Semaphore::new(ANSWER_BYTES_MAX)),
            posts: RateLimit::new(Rate::of_posts(rate.saturating_mul(CLIENT_FRACTION))),
            logins: RateLimit::new(ALL_LOGINS),
            rate,
        }
    }

    /// Admits a connection. Returns `None` if its client has too many connections.
    pub(crate) fn admit(&self, address: IpAddr, now: Instant) -> Option<ClientConnection> {
        let client = self.client(address, now);
        let place = Arc::clone(&client.shares.connections).try_acquire_owned();
        place.ok().map(|connection| ClientConnection {
            client,
            _connection: connection,
        })
    }

    /// Returns the client with this address.
    pub(crate) fn client(&self, address: IpAddr, now: Instant) -> Client {
        let mut by_address = self
            .by_address
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if by_address.len() >= REMEMBERED_CLIENTS_MAX {
            by_address.retain(|_, shares| {
                Arc::strong_count(shares) > 1
                    || !shares.posts.is_idle(now)
                    || !shares.logins.is_idle(now)
            });
        }
        let shares = by_address
            .entry(client_network(address))
            .or_insert_with(|| {
                let part = |all| Arc::new(Semaphore::new(all / CLIENT_FRACTION));
                Arc::new(ClientShares {
                    connections: part(CONNECTIONS_MAX),
                    views: part(VIEWS_MAX),
                    answers: part(ANSWER_BYTES_MAX),
                    posts: RateLimit::new(Rate::of_posts(self.rate)),
                    logins: RateLimit::new(CLIENT_LOGINS),
                    has_logged_in: AtomicBool::new(false),
                })
            });
        Client {
            address: address.to_canonical(),
            shares: Arc::clone(shares),
        }
    }

    /// Waits until bytes for an answer are available, and reserves them. Returns `None` when the server ends.
    pub(crate) async fn reserve(&self, client: &Client, bytes: u32) -> Option<ReservedBytes> {
        let of_client = Arc::clone(&client.shares.answers).acquire_many_owned(bytes);
        let of_client = of_client.await.ok()?;
        let of_all = Arc::clone(&self.answers).acquire_many_owned(bytes);
        Some(ReservedBytes {
            of_client,
            of_all: of_all.await.ok()?,
        })
    }

    /// Counts a post of this length.
    ///
    /// # Errors
    /// If the client posts too fast, returns its waiting time.
    pub(crate) fn count_post(
        &self,
        client: &Client,
        bytes: usize,
        now: Instant,
    ) -> Result<(), Duration> {
        let limits = [&client.shares.posts, &self.posts];
        wait_time(&limits, now)?;
        for limit in limits {
            limit.count(bytes.max(POST_BYTES_MIN), now);
        }
        Ok(())
    }

    /// Counts a password before the node checks it. So a client that does not wait for the answer gets no further
    /// attempts. If the password is right, call [`Self::forgive_login`].
    ///
    /// # Errors
    /// If there were too many wrong passwords, returns the client's waiting time.
    pub(crate) fn count_login(&self, client: &Client, now: Instant) -> Result<(), Duration> {
        let mut limits = vec![&client.shares.logins];
        if !client.shares.has_logged_in.load(Ordering::Relaxed) {
            limits.push(&self.logins);
        }
        wait_time(&limits, now)?;
        for limit in [&client.shares.logins, &self.logins] {
            limit.count(1, now);
        }
        Ok(())
    }

    /// Forgets a counted password, because it is right.
    pub(crate) fn forgive_login(&self, client: &Client, now: Instant) {
        for limit in [&client.shares.logins, &self.logins] {
            limit.forgive(1, now);
        }
        client.shares.has_logged_in.store(true, Ordering::Relaxed);
    }
}

fn client_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{
        ANSWER_BYTES_MAX, CLIENT_FRACTION, CONNECTIONS_MAX, Clients, POST_BYTES_MIN,
        REMEMBERED_CLIENTS_MAX, VIEWS_MAX,
    };
    use crate::http::rate_limit::BURST_TIME;

    const RATE: usize = 64 << 10;

    fn address(text: &str) -> std::net::IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn one_client_has_a_quarter_of_all_connections() {
        let (clients, now) = (Clients::new(RATE), Instant::now());
        let admit = |text: &str| clients.admit(address(text), now);
        let mut visits: Vec<_> = (0..CONNECTIONS_MAX / CLIENT_FRACTION)
            .map(|_| admit("192.0.2.1").unwrap())
            .collect();
        assert!(admit("192.0.2.1").is_none() && admit("::ffff:192.0.2.1").is_none());
        assert!(admit("192.0.2.2").is_some());
        visits.pop();
        assert!(admit("192.0.2.1").is_some());
    }

    #[test]
    fn one_client_has_a_quarter_of_all_live_views_over_all_its_connections() {
        let (clients, now) = (Clients::new(RATE), Instant::now());
        let admit = |text: &str| clients.admit(address(text), now).unwrap();
        let [first, second, other] = ["192.0.2.1", "192.0.2.1", "192.0.2.2"].map(admit);
        let mut views: Vec<_> = (0..VIEWS_MAX / CLIENT_FRACTION)
            .map(|_| first.client().reserve_view().unwrap())
            .collect();
        let has_room = |of: &super::ClientConnection| of.client().reserve_view().is_some();
        assert!(!has_room(&first) && !has_room(&second));
        assert!(has_room(&other));
        views.pop();
        assert!(has_room(&second));
    }

    #[test]
    fn addresses_of_one_ipv6_network_are_one_client() {
        let (clients, now) = (Clients::new(RATE), Instant::now());
        let visits: Vec<_> = (0..CONNECTIONS_MAX / CLIENT_FRACTION)
            .map(|at| clients.admit(address(&format!("2001:db8::{at:x}")), now))
            .collect();
        assert!(visits.iter().all(Option::is_some));
        assert!(clients.admit(address("2001:db8::ffff"), now).is_none());
        assert!(clients.admit(address("2001:db8:0:1::1"), now).is_some());
    }

    #[test]
    fn a_client_posts_at_its_rate_after_a_burst_and_all_together_at_four_times_that() {
        let (clients, start) = (Clients::new(RATE), Instant::now());
        let post = |shares: &super::Client, now| {
            let mut bytes = 0;
            while clients.count_post(shares, 16_384, now).is_ok() {
                bytes += 16_384;
            }
            bytes
        };
        let visits: Vec<_> = (1..=6)
            .map(|at| clients.client(address(&format!("192.0.2.{at}")), start))
            .collect();
        let burst = RATE * 8 + 16_384;
        assert_eq!(post(&visits[0], start), burst, "the last may exceed it");
        let wait = clients.count_post(&visits[0], 1, start).unwrap_err();
        assert!(wait > Duration::ZERO && wait < Duration::from_secs(1));
        let later = start + Duration::from_secs(4);
        assert!(post(&visits[0], later).abs_diff(RATE * 4) <= 16_384);
        let all: usize = visits[1..].iter().map(|client| post(client, later)).sum();
        assert!(all <= CLIENT_FRACTION * (RATE * 8 + 16_384), "{all}");
        assert!(
            clients.count_post(&visits[5], 1, later).is_err(),
            "all are too fast"
        );
        assert!(
            clients
                .count_post(&visits[5], 1, later + BURST_TIME)
                .is_ok()
        );
    }

    #[test]
    fn many_short_posts_count_too() {
        let (clients, now) = (Clients::new(RATE), Instant::now());
        let client = clients.client(address("192.0.2.1"), now);
        let count = (0..).take_while(|_| clients.count_post(&client, 1, now).is_ok());
        assert!(count.count() <= RATE * 8 / POST_BYTES_MIN + 1);
    }

    #[test]
    fn one_client_holds_a_quarter_of_all_answers_until_they_are_sent() {
        let (clients, now) = (Clients::new(RATE), Instant::now());
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(async {
            let [greedy, other] =
                ["192.0.2.1", "192.0.2.2"].map(|text| clients.client(address(text), now));
            let quarter = u32::try_from(ANSWER_BYTES_MAX / CLIENT_FRACTION).unwrap();
            let mut reserved = clients.reserve(&greedy, quarter).await.unwrap();
            let more = clients.reserve(&greedy, 1);
            let late =
                tokio::select! { biased; _ = more => false, () = std::future::ready(()) => true };
            assert!(late, "it waits for its own answers");
            assert!(clients.reserve(&other, quarter).await.is_some());
            reserved.shrink(10);
            assert!(clients.reserve(&greedy, quarter - 10).await.is_some());
        });
    }

    /// Tries wrong passwords until the node refuses one. Returns the number of tries.
    fn guess(clients: &Clients, client: &super::Client, now: Instant) -> usize {
        (0..1_000)
            .take_while(|_| clients.count_login(client, now).is_ok())
            .count()
    }

    #[test]
    fn one_client_has_few_wrong_passwords_and_then_one_in_half_a_minute() {
        let (clients, start) = (Clients::new(RATE), Instant::now());
        let [guesser, other] =
            ["192.0.2.1", "192.0.2.2"].map(|text| clients.client(address(text), start));
        assert_eq!(guess(&clients, &guesser, start), 10);
        let wait = clients.count_login(&guesser, start).unwrap_err();
        assert_eq!(wait, Duration::from_secs(30));
        assert_eq!(guess(&clients, &guesser, start + wait), 1);
        for _ in 0..100 {
            clients.count_login(&other, start).unwrap();
            clients.forgive_login(&other, start);
        }
        assert_eq!(guess(&clients, &other, start), 10);
    }

    #[test]
    fn many_guessers_together_have_a_limit_which_does_not_keep_out_a_known_client() {
        let (clients, start) = (Clients::new(RATE), Instant::now());
        let known = clients.client(address("192.0.2.1"), start);
        clients.count_login(&known, start).unwrap();
        clients.forgive_login(&known, start);
        let count = |now| -> usize {
            let guessers = (2..100).map(|at| address(&format!("192.0.2.{at}")));
            let guesses = guessers.map(|it| guess(&clients, &clients.client(it, now), now));
            guesses.sum()
        };
        assert_eq!(count(start), 60);
        assert_eq!(count(start + Duration::from_secs(60)), 6);
        let stranger = clients.client(address("192.0.2.200"), start);
        assert!(clients.count_login(&stranger, start).is_err());
        assert!(clients.count_login(&known, start).is_ok());
    }

    #[test]
    fn the_node_remembers_a_bounded_number_of_clients() {
        let (clients, start) = (Clients::new(RATE), Instant::now());
        let hour = Duration::from_secs(3_600);
        let guesser = address("192.0.2.1");
        guess(&clients, &clients.client(guesser, start), start);
        for at in 0..2 * REMEMBERED_CLIENTS_MAX as u128 {
            clients.client(std::net::Ipv6Addr::from_bits(at << 64).into(), start);
        }
        let remembered = |now| {
            clients.client(guesser, now);
            clients.by_address.lock().unwrap().len()
        };
        assert!(remembered(start) <= REMEMBERED_CLIENTS_MAX);
        assert_eq!(guess(&clients, &clients.client(guesser, start), start), 0);
        assert!(remembered(start + hour) <= REMEMBERED_CLIENTS_MAX);
    }
}
