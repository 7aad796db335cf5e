//! Those who listen to new posts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, watch};

use super::output::post_json;
use crate::posts::{Feed, Post};

/// The most that listen.
pub(super) const MOST: usize = 64;
/// Posts that wait for one of them to read: when there are so many it is fed later.
pub(super) const WAITING: usize = 64;

/// A post with its id, as listeners get it.
pub(super) type News = (i64, Arc<str>);

/// All who listen.
#[derive(Debug)]
pub(crate) struct Listeners {
    all: Mutex<All>,
    /// The node's status, each time that it has changed.
    ring: watch::Sender<Arc<str>>,
}

#[derive(Debug, Default)]
struct All {
    listeners: Vec<Listener>,
    /// Whose turn it is: one that is far behind must not keep news from the others.
    turn: usize,
}

#[derive(Debug)]
struct Listener {
    /// It has had all posts up to this.
    after: i64,
    posts: mpsc::Sender<News>,
}

/// What one of them receives.
#[derive(Debug)]
pub(crate) struct Ear {
    /// Posts.
    pub posts: mpsc::Receiver<News>,
    /// The node's status, when it has changed.
    pub ring: watch::Receiver<Arc<str>>,
}

impl Default for Listeners {
    fn default() -> Self {
        Self {
            all: Mutex::default(),
            ring: watch::Sender::new(Arc::from("")),
        }
    }
}

impl Listeners {
    fn all(&self) -> MutexGuard<'_, All> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.listeners.retain(|it| !it.posts.is_closed());
        all
    }

    /// Adds one, which is to get all posts after this one. `None`: there are too many.
    pub(crate) fn add(&self, after: i64) -> Option<Ear> {
        let mut all = self.all();
        if all.listeners.len() >= MOST {
            return None;
        }
        let (sender, posts) = mpsc::channel(WAITING);
        all.listeners.push(Listener {
            after,
            posts: sender,
        });
        let ring = self.ring.subscribe();
        Some(Ear { posts, ring })
    }

    /// Whether there are any.
    pub(crate) fn is_any(&self) -> bool {
        !self.all().listeners.is_empty()
    }

    /// Tells them the node's status.
    pub(crate) fn tell_ring(&self, status: &str) {
        self.ring.send_replace(Arc::from(status));
    }
}

impl Feed for Listeners {
    fn after(&self) -> Option<i64> {
        let mut all = self.all();
        let turn = all.turn;
        all.turn = turn.wrapping_add(1);
        // One that does not read is left out.
        let ready = all.listeners.iter().filter(|it| it.posts.capacity() > 0);
        let ready: Vec<i64> = ready.map(|it| it.after).collect();
        let place = turn.checked_rem(ready.len())?;
        ready.get(place).copied()
    }

    fn feed(&self, after: i64, posts: &[Post]) {
        let posts: Vec<News> = posts.iter().map(|it| (it.id, post_json(it))).collect();
        // Who has not had all before them would miss some.
        for listener in self
            .all()
            .listeners
            .iter_mut()
            .filter(|it| it.after >= after)
        {
            for (id, post) in &posts {
                if *id <= listener.after {
                    continue;
                }
                if listener.posts.try_send((*id, Arc::clone(post))).is_err() {
                    break;
                }
                listener.after = *id;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Listeners, MOST, WAITING};
    use crate::posts::{Feed, Post};

    fn posts(ids: std::ops::RangeInclusive<i64>) -> Vec<Post> {
        let post = |id| Post {
            id,
            author: "a".to_owned(),
            text: "b".to_owned(),
            node: 1,
            sequence: 1,
            time_ms: 1,
        };
        ids.map(post).collect()
    }

    #[test]
    fn each_gets_what_comes_after_its_own_and_none_twice_or_with_a_gap() {
        let listeners = Listeners::default();
        let mut new = listeners.add(5).unwrap();
        let mut old = listeners.add(0).unwrap();
        // They have turns.
        let turns = [listeners.after(), listeners.after(), listeners.after()];
        assert_eq!(turns, [Some(5), Some(0), Some(5)]);
        listeners.feed(5, &posts(6..=7));
        let mut heard = || {
            let mut all = Vec::new();
            for ear in [&mut new, &mut old] {
                let mut ids = Vec::new();
                while let Ok((id, _)) = ear.posts.try_recv() {
                    ids.push(id);
                }
                all.push(ids);
            }
            all
        };
        assert_eq!(heard(), [vec![6, 7], vec![]]);
        listeners.feed(0, &posts(1..=8));
        assert_eq!(heard(), [vec![8], (1..=8).collect()]);
    }

    #[test]
    fn who_does_not_read_is_fed_later_and_keeps_nothing_from_the_others() {
        let listeners = Listeners::default();
        let mut slow = listeners.add(0).unwrap();
        let many = i64::try_from(WAITING).unwrap();
        listeners.feed(0, &posts(1..=many + 10));
        assert_eq!(listeners.after(), None);
        let other = listeners.add(many).unwrap();
        assert_eq!([listeners.after(), listeners.after()], [Some(many); 2]);
        drop(other);
        assert_eq!(slow.posts.try_recv().unwrap().0, 1);
        assert_eq!(listeners.after(), Some(many), "it goes on where it was");
    }

    #[test]
    fn there_are_so_many_at_most_and_who_has_gone_makes_room() {
        let listeners = Listeners::default();
        let mut ears: Vec<_> = (0..MOST).map(|_| listeners.add(0).unwrap()).collect();
        assert!(listeners.add(0).is_none() && listeners.is_any());
        ears.pop();
        assert!(listeners.add(0).is_some());
        ears.clear();
        assert!(!listeners.is_any());
    }
}
