//! Shares of the page that one client may take: connections, live views, bytes of answers, and bytes of posts per second.
//!
//! A client is an IPv4 address, or the first 64 bits of an IPv6 address, of which one machine may use all.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::events::MOST as VIEWS;

/// Maximum connections of all clients.
pub(super) const CONNECTIONS: usize = 512;
/// Maximum bytes of all answers that are read, or wait to be sent.
pub(super) const ANSWERS: usize = 128 << 20;
/// One client takes at most this fraction of connections, live views, answers and posts.
const PART: usize = 4;
/// Clients that are remembered for their posts after they have gone.
const REMEMBERED: usize = 4_096;
/// Posts of this time may come at once.
const BURST: Duration = Duration::from_secs(8);
/// Bytes that the shortest post counts for, as it takes a row and an index entry.
const SMALLEST: usize = 256;

/// All clients.
#[derive(Debug)]
pub(crate) struct Clients {
    known: Mutex<HashMap<IpAddr, Arc<Client>>>,
    answers: Arc<Semaphore>,
    posts: Pace,
    rate: usize,
}

#[derive(Debug)]
struct Client {
    connections: Arc<Semaphore>,
    views: Arc<Semaphore>,
    answers: Arc<Semaphore>,
    posts: Pace,
}

/// One connection of a client.
#[derive(Debug)]
pub(crate) struct Visit {
    client: Arc<Client>,
    _connection: OwnedSemaphorePermit,
}

impl Visit {
    /// Takes the place of one live view; `None`: the client has too many.
    pub(crate) fn watch(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.client.views).try_acquire_owned().ok()
    }
}

/// Bytes of answers that are set aside.
#[derive(Debug)]
pub(crate) struct Share {
    of_client: OwnedSemaphorePermit,
    of_all: OwnedSemaphorePermit,
}

impl Share {
    /// Gives the rest back, once the answer's length is known.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        for permit in [&mut self.of_client, &mut self.of_all] {
            drop(permit.split(permit.num_permits().saturating_sub(bytes)));
        }
    }
}

impl Clients {
    /// No clients yet. Each may post this many bytes per second.
    pub(crate) fn new(rate: usize) -> Self {
        Self {
            known: Mutex::default(),
            answers: Arc::new(Semaphore::new(ANSWERS)),
            posts: Pace::new(rate.saturating_mul(PART)),
            rate,
        }
    }

    /// Admits one connection more; `None`: its client has too many.
    pub(crate) fn admit(&self, address: IpAddr, now: Instant) -> Option<Visit> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED {
            known.retain(|_, client| Arc::strong_count(client) > 1 || !client.posts.is_paid(now));
        }
        let client = known.entry(network(address)).or_insert_with(|| {
            let part = |all| Arc::new(Semaphore::new(all / PART));
            Arc::new(Client {
                connections: part(CONNECTIONS),
                views: part(VIEWS),
                answers: part(ANSWERS),
                posts: Pace::new(self.rate),
            })
        });
        let place = Arc::clone(&client.connections).try_acquire_owned();
        place.ok().map(|connection| Visit {
            client: Arc::clone(client),
            _connection: connection,
        })
    }

    /// Sets bytes of answers aside, as soon as there are as many. `None`: the page ends.
    pub(crate) async fn reserve(&self, visit: &Visit, bytes: u32) -> Option<Share> {
        let of_client = Arc::clone(&visit.client.answers).acquire_many_owned(bytes);
        let of_client = of_client.await.ok()?;
        let of_all = Arc::clone(&self.answers).acquire_many_owned(bytes);
        Some(Share {
            of_client,
            of_all: of_all.await.ok()?,
        })
    }

    /// Counts a post of this length.
    ///
    /// # Errors
    /// It comes too soon: how long to wait.
    pub(crate) fn pay(&self, visit: &Visit, bytes: usize, now: Instant) -> Result<(), Duration> {
        let paces = [&visit.client.posts, &self.posts];
        let wait = paces.map(|pace| pace.wait(now)).into_iter().max();
        if let Some(wait) = wait.filter(|wait| !wait.is_zero()) {
            return Err(wait);
        }
        for pace in paces {
            pace.pay(bytes.max(SMALLEST), now);
        }
        Ok(())
    }
}

fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

/// A number of bytes per second.
#[derive(Debug)]
struct Pace {
    rate: usize,
    /// When all bytes so far have had their time; `None`: there were none.
    paid: Mutex<Option<Instant>>,
}

impl Pace {
    fn new(rate: usize) -> Self {
        Self {
            rate: rate.max(1),
            paid: Mutex::default(),
        }
    }

    fn debt(&self, now: Instant) -> Duration {
        let paid = *self.paid.lock().unwrap_or_else(PoisonError::into_inner);
        paid.map_or(Duration::ZERO, |paid| paid.saturating_duration_since(now))
    }

    fn is_paid(&self, now: Instant) -> bool {
        self.debt(now).is_zero()
    }

    fn wait(&self, now: Instant) -> Duration {
        self.debt(now).saturating_sub(BURST)
    }

    fn pay(&self, bytes: usize, now: Instant) {
        let time = Duration::from_secs(1).saturating_mul(u32::try_from(bytes).unwrap_or(u32::MAX))
            / u32::try_from(self.rate).unwrap_or(u32::MAX);
        let debt = self.debt(now);
        let mut paid = self.paid.lock().unwrap_or_else(PoisonError::into_inner);
        *paid = now.checked_add(debt + time);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{ANSWERS, BURST, CONNECTIONS, Clients, PART, SMALLEST, VIEWS};

    const RATE: usize = 64 << 10;

    fn address(text: &str) -> std::net::IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn one_client_has_a_quarter_of_all_connections() {
        let (clients, now) = (Clients::new(RATE), Instant::now());
        let admit = |text: &str| clients.admit(address(text), now);
        let mut visits: Vec<_> = (0..CONNECTIONS / PART)
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
        let mut views: Vec<_> = (0..VIEWS / PART).map(|_| first.watch().unwrap()).collect();
        assert!(first.watch().is_none() && second.watch().is_none());
        assert!(other.watch().is_some());
        views.pop();
        assert!(second.watch().is_some());
    }

    #[test]
    fn addresses_of_one_ipv6_network_are_one_client() {
        let (clients, now) = (Clients::new(RATE), Instant::now());
        let visits: Vec<_> = (0..CONNECTIONS / PART)
            .map(|at| clients.admit(address(&format!("2001:db8::{at:x}")), now))
            .collect();
        assert!(visits.iter().all(Option::is_some));
        assert!(clients.admit(address("2001:db8::ffff"), now).is_none());
        assert!(clients.admit(address("2001:db8:0:1::1"), now).is_some());
    }

    #[test]
    fn a_client_posts_at_its_rate_after_a_burst_and_all_together_at_four_times_that() {
        let (clients, start) = (Clients::new(RATE), Instant::now());
        let post = |client: &super::Visit, now| {
            let mut bytes = 0;
            while clients.pay(client, 16_384, now).is_ok() {
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
        let wait = clients.pay(&visits[0], 1, start).unwrap_err();
        assert!(wait > Duration::ZERO && wait < Duration::from_secs(1));
        let later = start + Duration::from_secs(4);
        assert!(post(&visits[0], later).abs_diff(RATE * 4) <= 16_384);
        let all: usize = visits[1..].iter().map(|visit| post(visit, later)).sum();
        assert!(all <= PART * (RATE * 8 + 16_384), "{all}");
        assert!(
            clients.pay(&visits[5], 1, later).is_err(),
            "all are too fast"
        );
        assert!(clients.pay(&visits[5], 1, later + BURST).is_ok());
    }

    #[test]
    fn many_short_posts_count_too() {
        let (clients, now) = (Clients::new(RATE), Instant::now());
        let visit = clients.admit(address("192.0.2.1"), now).unwrap();
        let count = (0..).take_while(|_| clients.pay(&visit, 1, now).is_ok());
        assert!(count.count() <= RATE * 8 / SMALLEST + 1);
    }

    #[test]
    fn one_client_holds_a_quarter_of_all_answers_until_they_are_sent() {
        let (clients, now) = (Clients::new(RATE), Instant::now());
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(async {
            let [greedy, other] =
                ["192.0.2.1", "192.0.2.2"].map(|text| clients.admit(address(text), now).unwrap());
            let quarter = u32::try_from(ANSWERS / PART).unwrap();
            let mut share = clients.reserve(&greedy, quarter).await.unwrap();
            let more = clients.reserve(&greedy, 1);
            let late =
                tokio::select! { biased; _ = more => false, () = std::future::ready(()) => true };
            assert!(late, "it waits for its own answers");
            assert!(clients.reserve(&other, quarter).await.is_some());
            share.shrink(10);
            assert!(clients.reserve(&greedy, quarter - 10).await.is_some());
        });
    }
}
