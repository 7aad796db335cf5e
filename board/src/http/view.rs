//! A live view: events for one browser, as long as it takes them.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::Counter;
use super::events::Ear;
use super::output::Body;

/// Time between two comments, which keep proxies from closing the connection.
const COMMENT: Duration = Duration::from_secs(15);

/// The state of a live view. The body of its answer owns all of it, so it ends with the connection and not at the next event.
struct View {
    /// The first event.
    status: Option<String>,
    ear: Ear,
    comments: Interval,
    _place: OwnedSemaphorePermit,
    /// Declared after `ear`, because fields are dropped in this order.
    _end: End,
}

/// Wakes the loop when a view has ended, because no listener may be left.
struct End(Arc<Counter>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.ring_bell();
    }
}

impl View {
    async fn next(&mut self) -> String {
        if let Some(status) = self.status.take() {
            return event_of_ring(&status);
        }
        let Ear { posts, ring } = &mut self.ear;
        tokio::select! {
            Some((id, post)) = posts.recv() => format!("event: post\nid: {id}\ndata: {post}\n\n"),
            Ok(()) = ring.changed() => event_of_ring(&ring.borrow_and_update()),
            _ = self.comments.tick() => ":\n\n".to_owned(),
        }
    }
}

fn event_of_ring(status: &str) -> String {
    format!("event: ring\ndata: {status}\n\n")
}

/// Returns the body of a live view, which begins with the status and holds its place until it is dropped.
pub(super) fn body(
    counter: Arc<Counter>,
    ear: Ear,
    place: OwnedSemaphorePermit,
    status: String,
) -> Body {
    let mut comments = interval_at(Instant::now() + COMMENT, COMMENT);
    comments.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let view = View {
        status: Some(status),
        ear,
        comments,
        _place: place,
        _end: End(counter),
    };
    let events = stream::unfold(view, |mut view| async {
        let event = Bytes::from(view.next().await);
        Some((Ok::<_, Infallible>(Frame::data(event)), view))
    });
    StreamBody::new(events).boxed_unsync()
}
