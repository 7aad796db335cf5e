//! Rates between two answers of the daemon.

use std::collections::VecDeque;
use std::time::Instant;

use super::page::Counter;

/// Maximum number of stored rates. A wide terminal has at most this number of columns.
const HISTORY_MAX: usize = 300;

/// The rates of counters.
#[derive(Debug, Default)]
pub(super) struct Rates {
    last: Option<(Instant, Vec<Counter>)>,
    /// The rate of each counter, per second. A rate is `None` if there is no earlier value to compare with.
    latest: Vec<(&'static str, Option<f64>)>,
    /// The rates of the first counter, the newest at the end.
    history: VecDeque<Option<f64>>,
}

impl Rates {
    /// Adds the values of the counters at `now`.
    pub(super) fn add(&mut self, counters: &[Counter], now: Instant) {
        let before = self.last.take();
        let rate = |counter: &Counter| {
            let (at, before) = before.as_ref()?;
            let before = before.iter().find(|it| it.name == counter.name)?;
            // A counter with a different origin, such as another daemon, begins again.
            let is_same = before.origin == counter.origin;
            let more = counter.value.checked_sub(before.value)?;
            let seconds = now.duration_since(*at).as_secs_f64();
            #[expect(clippy::cast_precision_loss, reason = "a rate is rounded anyway")]
            (is_same && seconds > 0.0).then(|| more as f64 / seconds)
        };
        self.latest = counters.iter().map(|it| (it.name, rate(it))).collect();
        if let Some((_, first)) = self.latest.first() {
            self.push(*first);
        }
        self.last = Some((now, counters.to_vec()));
    }

    /// Forgets the last values, because the daemon is lost.
    pub(super) fn pause(&mut self) {
        self.last = None;
        self.latest.clear();
        self.push(None);
    }

    fn push(&mut self, rate: Option<f64>) {
        if self.history.len() == HISTORY_MAX {
            self.history.pop_front();
        }
        self.history.push_back(rate);
    }

    pub(super) fn latest(&self) -> &[(&'static str, Option<f64>)] {
        &self.latest
    }

    pub(super) const fn history(&self) -> &VecDeque<Option<f64>> {
        &self.history
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Counter, Rates};

    fn counter(value: u64, origin: &str) -> Counter {
        Counter {
            name: "hops",
            value,
            origin: origin.to_owned(),
        }
    }

    #[test]
    fn a_rate_needs_two_values_of_the_same_origin() {
        let start = Instant::now();
        let mut rates = Rates::default();
        for (second, value, origin, expected) in [
            (0, 10, "a", None),
            (2, 30, "a", Some(10.0)),
            (3, 90, "b", None),
            (4, 80, "b", None),
            (5, 81, "b", Some(1.0)),
        ] {
            let at = start + Duration::from_secs(second);
            rates.add(&[counter(value, origin)], at);
            assert_eq!(rates.latest(), [("hops", expected)], "{second}");
        }
        rates.pause();
        rates.add(&[counter(82, "b")], start + Duration::from_secs(9));
        assert_eq!(rates.latest(), [("hops", None)], "the daemon was lost");
        let history: Vec<_> = rates.history().iter().copied().collect();
        let expected = [None, Some(10.0), None, None, Some(1.0), None, None];
        assert_eq!(history, expected);
    }
}
