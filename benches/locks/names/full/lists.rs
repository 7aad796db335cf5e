//! Lists of named locks, as the members of a ring show them.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use ring_client::daemon;
use ring_client::lines::Lines;
use ring_control::lab2::{NamedLockStatus, RingRequest};
use ring_control::{Reply, Request};

use crate::real::daemon::Daemon;

/// Time between two requests. Each request disturbs a daemon.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Longest time until all members show the same locks.
const WAIT_LIMIT: Duration = Duration::from_secs(20);

/// The fencing token of each held lock.
pub(super) type List = BTreeMap<String, String>;

/// Waits until each of these daemons lists exactly the `expected` locks, all of them held. Returns the time.
pub(super) fn await_list<'a>(
    daemons: impl IntoIterator<Item = &'a Daemon>,
    expected: &List,
) -> Result<Duration> {
    let began = Instant::now();
    let mut others: Vec<&Daemon> = daemons.into_iter().collect();
    loop {
        // All daemons get the request before the first answer is read, because reading takes long.
        let asked = others.iter().map(|daemon| request_list(daemon));
        let mut asked = asked.collect::<Result<Vec<_>>>()?;
        let lists = asked.iter_mut().map(read_list);
        let lists = lists.collect::<Result<Vec<_>>>()?;
        let lasted = began.elapsed();
        let pairs = others.iter().zip(&lists);
        let differ: Vec<_> = pairs.filter(|(_, list)| *list != expected).collect();
        let Some((_, list)) = differ.first() else {
            return Ok(lasted);
        };
        ensure!(
            lasted < WAIT_LIMIT,
            "after {lasted:.1?}, {} members list other locks than programs hold; one lists {} of {} locks, and {} \
             others",
            differ.len(),
            count_common(expected, list),
            expected.len(),
            list.len() - count_common(expected, list)
        );
        others = differ.into_iter().map(|(daemon, _)| *daemon).collect();
        thread::sleep(POLL_INTERVAL);
    }
}

fn count_common(expected: &List, list: &List) -> usize {
    let equal = |(name, fencing): &(&String, &String)| list.get(*name) == Some(*fencing);
    expected.iter().filter(equal).count()
}

/// Waits until a new daemon answers requests.
pub(super) fn await_answer(daemon: &Daemon) -> Result<()> {
    let began = Instant::now();
    while let Err(error) = request_list(daemon) {
        if began.elapsed() > WAIT_LIMIT {
            return Err(error.context("a daemon does not start"));
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

fn request_list(daemon: &Daemon) -> Result<Lines> {
    let mut lines = daemon::connect(&daemon.control())?;
    lines.send(&Request::System(RingRequest::Locks))?;
    Ok(lines)
}

fn read_list(lines: &mut Lines) -> Result<List> {
    let reply = lines.wait_for_message();
    let locks = match reply.context("the daemon closed the connection")? {
        Reply::Locks(locks) => locks,
        reply => bail!("the daemon sends {reply:?}"),
    };
    let locks = locks.iter().map(|lock| {
        let lock: NamedLockStatus = lock.decode()?;
        let fencing = lock.fencing.unwrap_or_else(|| "waiting".to_owned());
        Ok((lock.name, fencing))
    });
    locks.collect()
}
