//! Requests of clients on the table of posts, and their results (`docs/board/protocol/token.md`, rules P).

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A request of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoardRequest {
    /// Writes a post.
    Post(NewPost),
    /// Reads posts, in the order of their ids.
    Read {
        /// The read starts after the post with this id. Only posts with larger ids are read.
        after: i64,
        /// The maximum number of posts.
        limit: u16,
    },
}

/// A post that is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPost {
    /// The author.
    pub author: String,
    /// The text.
    pub text: String,
    /// A key of the request. A client that repeats the request sends the same key, so the post is written only once.
    pub key: Option<String>,
    /// The time at which the request arrived, in milliseconds since 1970.
    pub time_ms: i64,
}

/// A post of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    /// The id of the post. The ids give the order of all posts.
    pub id: i64,
    /// The author.
    pub author: String,
    /// The text.
    pub text: String,
    /// The node that wrote the post.
    pub node: u32,
    /// The sequence of the token under which the post was written.
    pub sequence: u64,
    /// The time at which the request arrived, in milliseconds since 1970.
    pub time_ms: i64,
}

/// The result of a committed request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestResult {
    /// The post is in the table.
    Written {
        /// The id of the post.
        id: i64,
        /// The sequence of the token under which the post was written.
        sequence: u64,
        /// Whether an earlier request with the same key wrote the post.
        is_old: bool,
    },
    /// The posts, in the order of their ids.
    Posts(Vec<Post>),
}

/// The requests that wait for the token, by id. The state machine knows only the ids. The worker reads the content of
/// the requests from this table, and stores their results in it.
#[derive(Debug, Default)]
pub struct PendingRequests {
    entries: Mutex<HashMap<u64, Entry>>,
}

#[derive(Debug)]
struct Entry {
    request: BoardRequest,
    result: Option<RequestResult>,
}

impl PendingRequests {
    fn entries(&self) -> MutexGuard<'_, HashMap<u64, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a request.
    pub fn add(&self, id: u64, request: BoardRequest) {
        let result = None;
        self.entries().insert(id, Entry { request, result });
    }

    /// Returns the request with this id. Returns `None` if the request's client no longer waits.
    pub fn get(&self, id: u64) -> Option<BoardRequest> {
        self.entries().get(&id).map(|entry| entry.request.clone())
    }

    /// Stores the result of a request if the request's client still waits.
    pub fn set_result(&self, id: u64, result: RequestResult) {
        if let Some(entry) = self.entries().get_mut(&id) {
            entry.result = Some(result);
        }
    }

    /// Removes a request, and returns its result.
    pub fn take(&self, id: u64) -> Option<RequestResult> {
        self.entries().remove(&id)?.result
    }
}

/// The clients that listen for new posts. In each visit of the token, the worker reads the new posts once for all
/// listeners.
pub trait PostFeed: Debug + Send + Sync {
    /// Returns the id of the post after which the next visit reads posts. Returns `None` if no listener can take posts.
    fn next_start(&self) -> Option<i64>;

    /// Sends the posts that follow `after`, in the order of their ids, to the listeners.
    fn publish(&self, after: i64, posts: &[Post]);
}
