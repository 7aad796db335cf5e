//! Limits for each client: connections, live views, bytes of answers, and bytes of posts per second.
//!
//! A client is an IPv4 address, or the first 64 bits of an IPv6 address. The reason: one machine may use all addresses
//! with the same first 64 bits.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::events::VIEWS_MAX;

pub(super) const CONNECTIONS_MAX: usize = 512;
/// Maximum total size, in bytes, of all answers that the node reads from the database or that wait to be sent.
pub(super) const ANSWER_BYTES_MAX: usize = 128 << 20;
/// Divisor for the limits: each limit divided by this number is the limit of one client. So one client may take a
/// quarter of each limit.
const CLIENT_FRACTION: usize = 4;
/// Maximum number of disconnected clients whose posts the node remembers.
const REMEMBERED_CLIENTS_MAX: usize = 4_096;
/// Length of a burst: a client may send at once the bytes that its rate permits during this time.
const BURST_TIME: Duration = Duration::from_secs(8);
/// Even a shorter post counts as this many bytes, because each post needs a row and an index entry.
const POST_BYTES_MIN: usize = 256;

#[derive(Debug)]
pub(crate) struct Clients {
    by_address: Mutex<HashMap<IpAddr, Arc<ClientShares>>>,
    answers: Arc<Semaphore>,
    posts: RateLimit,
    rate: usize,
}

#[derive(Debug)]
struct ClientShares {
    connections: Arc<Semaphore>,
    views: Arc<Semaphore>,
    answers: Arc<Semaphore>,
    posts: RateLimit,
}

/// One connection of a client. Until this value is dropped, the connection counts towards the limits.
#[derive(Debug)]
pub(crate) struct ClientConnection {
    shares: Arc<ClientShares>,
    _connection: OwnedSemaphorePermit,
}

impl ClientConnection {
    /// Reserves a live view. Returns `None` if the client has too many live views.
    pub(crate) fn reserve_view(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.shares.views).try_acquire_owned().ok()
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
            posts: RateLimit::new(rate.saturating_mul(CLIENT_FRACTION)),
            rate,
        }
    }

    /// Admits a connection. Returns `None` if its client has too many connections.
    pub(crate) fn admit(&self, address: IpAddr, now: Instant) -> Option<ClientConnection> {
        let mut by_address = self
            .by_address
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if by_address.len() >= REMEMBERED_CLIENTS_MAX {
            by_address
                .retain(|_, shares| Arc::strong_count(shares) > 1 || !shares.posts.is_idle(now));
        }
        let shares = by_address
            .entry(client_network(address))
            .or_insert_with(|| {
                let part = |all| Arc::new(Semaphore::new(all / CLIENT_FRACTION));
                Arc::new(ClientShares {
                    connections: part(CONNECTIONS_MAX),
                    views: part(VIEWS_MAX),
                    answers: part(ANSWER_BYTES_MAX),
                    posts: RateLimit::new(self.rate),
                })
            });
        let place = Arc::clone(&shares.connections).try_acquire_owned();
        place.ok().map(|connection| ClientConnection {
            shares: Arc::clone(shares),
            _connection: connection,
        })
    }

    /// Waits until bytes for an answer are available, and reserves them. Returns `None` when the server ends.
    pub(crate) async fn reserve(
        &self,
        client: &ClientConnection,
        bytes: u32,
    ) -> Option<ReservedBytes> {
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
        client: &ClientConnection,
        bytes: usize,
        now: Instant,
    ) -> Result<(), Duration> {
        let limits = [&client.shares.posts, &self.posts];
        let wait = limits.map(|limit| limit.wait_time(now)).into_iter().max();
        if let Some(wait) = wait.filter(|wait| !wait.is_zero()) {
            return Err(wait);
        }
        for limit in limits {
            limit.count_post(bytes.max(POST_BYTES_MIN), now);
        }
        Ok(())
    }
}

fn client_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

/// A limit in bytes per second.
#[derive(Debug)]
struct RateLimit {
    rate: usize,
    /// The time at which all counted bytes are forgotten. The limit forgets `rate` bytes per second. The time is `None`
    /// if no bytes were counted.
    idle_at: Mutex<Option<Instant>>,
}

impl RateLimit {
    fn new(rate: usize) -> Self {
        Self {
            rate: rate.max(1),
            idle_at: Mutex::default(),
        }
    }

    fn backlog(&self, now: Instant) -> Duration {
        let idle_at = *self.idle_at.lock().unwrap_or_else(PoisonError::into_inner);
        idle_at.map_or(Duration::ZERO, |idle_at| {
            idle_at.saturating_duration_since(now)
        })
    }

    fn is_idle(&self, now: Instant) -> bool {
        self.backlog(now).is_zero()
    }

    fn wait_time(&self, now: Instant) -> Duration {
        self.backlog(now).saturating_sub(BURST_TIME)
    }

    fn count_post(&self, bytes: usize, now: Instant) {
        let time = Duration::from_secs(1).saturating_mul(u32::try_from(bytes).unwrap_or(u32::MAX))
            / u32::try_from(self.rate).unwrap_or(u32::MAX);
        let backlog = self.backlog(now);
        let mut idle_at = self.idle_at.lock().unwrap_or_else(PoisonError::into_inner);
        *idle_at = now.checked_add(backlog + time);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{
        ANSWER_BYTES_MAX, BURST_TIME, CLIENT_FRACTION, CONNECTIONS_MAX, Clients, POST_BYTES_MIN,
        VIEWS_MAX,
    };

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
            .map(|_| first.reserve_view().unwrap())
            .collect();
        assert!(first.reserve_view().is_none() && second.reserve_view().is_none());
        assert!(other.reserve_view().is_some());
        views.pop();
        assert!(second.reserve_view().is_some());
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
        let post = |shares: &super::ClientConnection, now| {
            let mut bytes = 0;
            while clients.count_post(shares, 16_384, now).is_ok() {
                bytes += 16_384;
            }
            bytes
        };
        let visits: Vec<_> = (1..=6)
            .map(|at| {
                clients
                    .admit(address(&format!("192.0.2.{at}")), start)
                    .unwrap()
            })
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
        let client = clients.admit(address("192.0.2.1"), now).unwrap();
        let count = (0..).take_while(|_| clients.count_post(&client, 1, now).is_ok());
        assert!(count.count() <= RATE * 8 / POST_BYTES_MIN + 1);
    }

    #[test]
    fn one_client_holds_a_quarter_of_all_answers_until_they_are_sent() {
        let (clients, now) = (Clients::new(RATE), Instant::now());
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(async {
            let [greedy, other] =
                ["192.0.2.1", "192.0.2.2"].map(|text| clients.admit(address(text), now).unwrap());
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
}
