//! What clients want of the table of posts, and what they get (`docs/board.md`, section 10).

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a client wants written or read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// A new post.
    Post(NewPost),
    /// Posts with larger ids.
    Read {
        /// Than this.
        after: i64,
        /// At most so many.
        limit: u16,
    },
}

/// A post that is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPost {
    /// Who says so.
    pub author: String,
    /// What is said.
    pub text: String,
    /// Who repeats a request gives the same: it is written once.
    pub key: Option<String>,
    /// When it came, in milliseconds since 1970.
    pub time_ms: i64,
}

/// A post of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    /// Its place in the order of all.
    pub id: i64,
    /// Who says so.
    pub author: String,
    /// What is said.
    pub text: String,
    /// The node that has written it.
    pub node: u32,
    /// The token's sequence under which it was written.
    pub sequence: u64,
    /// When it came, in milliseconds since 1970.
    pub time_ms: i64,
}

/// What has come of a request whose transaction was committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// The post is in the table.
    Written {
        /// Its id.
        id: i64,
        /// The sequence under which it was written.
        sequence: u64,
        /// An earlier request has written it, with the same key.
        is_old: bool,
    },
    /// Posts, in order of their ids.
    Posts(Vec<Post>),
}

/// What waits for the token, by the requests' ids. The machine knows the ids alone; the worker at the database looks here
/// for what they stand for, and leaves here what has come of them.
#[derive(Debug, Default)]
pub struct Desk {
    entries: Mutex<HashMap<u64, Entry>>,
}

#[derive(Debug)]
struct Entry {
    wanted: Wanted,
    found: Option<Found>,
}

impl Desk {
    fn entries(&self) -> MutexGuard<'_, HashMap<u64, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves a request.
    pub fn leave(&self, id: u64, wanted: Wanted) {
        let found = None;
        self.entries().insert(id, Entry { wanted, found });
    }

    /// What a request stands for; `None`: nobody waits for it any longer.
    pub fn wanted(&self, id: u64) -> Option<Wanted> {
        self.entries().get(&id).map(|entry| entry.wanted.clone())
    }

    /// Leaves what has come of a request, if anybody waits for it.
    pub fn answer(&self, id: u64, found: Found) {
        if let Some(entry) = self.entries().get_mut(&id) {
            entry.found = Some(found);
        }
    }

    /// Takes a request away, with what has come of it.
    pub fn take(&self, id: u64) -> Option<Found> {
        self.entries().remove(&id)?.found
    }
}

/// Those who listen to new posts. The worker at the database feeds them, once a visit of the token.
pub trait Feed: Debug + Send + Sync {
    /// After which id the next visit is to read; `None`: nobody listens, or none of them reads.
    fn after(&self) -> Option<i64>;

    /// Gives them the posts that come right after `after`, in order of their ids.
    fn feed(&self, after: i64, posts: &[Post]);
}
