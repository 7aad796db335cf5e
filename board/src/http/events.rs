//! The clients that listen for new posts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, watch};

use super::output::post_json;
use crate::posts::{Post, PostFeed};

/// Maximum number of live views. The node refuses further live views.
pub(super) const VIEWS_MAX: usize = 64;
/// Maximum number of posts that wait in memory for one listener. Further posts wait in the table.
pub(super) const QUEUED_POSTS_MAX: usize = 64;

/// The id of a post, and the post in the form for listeners.
pub(super) type PostEvent = (i64, Arc<str>);

#[derive(Debug)]
pub(crate) struct Listeners {
    all: Mutex<ListenerList>,
    /// The node's status. Listeners get the new status after each change.
    ring: watch::Sender<Arc<str>>,
}

#[derive(Debug, Default)]
struct ListenerList {
    listeners: Vec<Listener>,
    /// The index of a listener. The next read starts with the first post that this listener lacks. The listeners take
    /// turns. So a listener that is far behind does not delay the other listeners.
    next_place: usize,
}

#[derive(Debug)]
struct Listener {
    /// The id of the last post that the listener has. The listener has all earlier posts too.
    after: i64,
    posts: mpsc::Sender<PostEvent>,
}

#[derive(Debug)]
pub(crate) struct Subscription {
    /// New posts.
    pub posts: mpsc::Receiver<PostEvent>,
    /// The node's status. A new status arrives after each change.
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
    fn all(&self) -> MutexGuard<'_, ListenerList> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.listeners.retain(|it| !it.posts.is_closed());
        all
    }

    /// Adds a listener. The listener gets all posts with ids larger than `after`. Returns `None` if there are too many
    /// listeners.
    pub(crate) fn subscribe(&self, after: i64) -> Option<Subscription> {
        let mut all = self.all();
        if all.listeners.len() >= VIEWS_MAX {
            return None;
        }
        let (sender, posts) = mpsc::channel(QUEUED_POSTS_MAX);
        all.listeners.push(Listener {
            after,
            posts: sender,
        });
        let ring = self.ring.subscribe();
        Some(Subscription { posts, ring })
    }

    /// Whether at least one listener exists.
    pub(crate) fn has_any(&self) -> bool {
        !self.all().listeners.is_empty()
    }

    /// Sends the node's status to all listeners.
    pub(crate) fn publish_status(&self, status: &str) {
        self.ring.send_replace(Arc::from(status));
    }
}

impl PostFeed for Listeners {
    fn next_start(&self) -> Option<i64> {
        let mut all = self.all();
        let next_place = all.next_place;
        all.next_place = next_place.wrapping_add(1);
        // A listener that does not read must not delay the others.
        let ready = all.listeners.iter().filter(|it| it.posts.capacity() > 0);
        let ready: Vec<i64> = ready.map(|it| it.after).collect();
        let place = next_place.checked_rem(ready.len())?;
        ready.get(place).copied()
    }

    fn publish(&self, after: i64, posts: &[Post]) {
        let posts: Vec<PostEvent> = posts.iter().map(|it| (it.id, post_json(it))).collect();
        // A listener that lacks earlier posts must not skip them. So it gets these posts in a later read.
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
    use super::{Listeners, QUEUED_POSTS_MAX, VIEWS_MAX};
    use crate::posts::{Post, PostFeed};

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
    fn each_listener_gets_later_events_without_repeats_or_gaps() {
        let listeners = Listeners::default();
        let mut new = listeners.subscribe(5).unwrap();
        let mut old = listeners.subscribe(0).unwrap();
        // The listeners take turns.
        let starts = [
            listeners.next_start(),
            listeners.next_start(),
            listeners.next_start(),
        ];
        assert_eq!(starts, [Some(5), Some(0), Some(5)]);
        listeners.publish(5, &posts(6..=7));
        let mut received_ids = || {
            let mut all = Vec::new();
            for subscription in [&mut new, &mut old] {
                let mut ids = Vec::new();
                while let Ok((id, _)) = subscription.posts.try_recv() {
                    ids.push(id);
                }
                all.push(ids);
            }
            all
        };
        assert_eq!(received_ids(), [vec![6, 7], vec![]]);
        listeners.publish(0, &posts(1..=8));
        assert_eq!(received_ids(), [vec![8], (1..=8).collect()]);
    }

    #[test]
    fn a_listener_that_does_not_read_delays_no_other_listener() {
        let listeners = Listeners::default();
        let mut slow = listeners.subscribe(0).unwrap();
        let many = i64::try_from(QUEUED_POSTS_MAX).unwrap();
        listeners.publish(0, &posts(1..=many + 10));
        assert_eq!(listeners.next_start(), None);
        let other = listeners.subscribe(many).unwrap();
        assert_eq!(
            [listeners.next_start(), listeners.next_start()],
            [Some(many); 2]
        );
        drop(other);
        assert_eq!(slow.posts.try_recv().unwrap().0, 1);
        assert_eq!(
            listeners.next_start(),
            Some(many),
            "it goes on where it was"
        );
    }

    #[test]
    fn the_number_of_listeners_is_limited_and_disconnects_free_places() {
        let listeners = Listeners::default();
        let mut subscriptions: Vec<_> = (0..VIEWS_MAX)
            .map(|_| listeners.subscribe(0).unwrap())
            .collect();
        assert!(listeners.subscribe(0).is_none() && listeners.has_any());
        subscriptions.pop();
        assert!(listeners.subscribe(0).is_some());
        subscriptions.clear();
        assert!(!listeners.has_any());
    }
}
