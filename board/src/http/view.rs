//! A live view: a stream of events for one browser.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::LoopHandle;
use super::clients::ViewPermit;
use super::events::Subscription;
use super::output::Body;
use super::sessions::SessionEnd;

/// The interval of comments. Without comments, a proxy could close the connection.
const COMMENT_INTERVAL: Duration = Duration::from_secs(15);

/// The state of a live view. The state belongs to the body of the answer. So a live view ends as soon as its connection
/// ends, and does not wait for the next event.
struct View {
    /// The status for the first event.
    status: Option<String>,
    subscription: Subscription,
    comments: Interval,
    /// The end of the session in which a browser opened the view.
    session: Option<SessionEnd>,
    _view_permit: ViewPermit,
    /// Wakes the loop. Fields are dropped in their order. This field must be the last field. Then the listener is
    /// already removed when the loop wakes.
    wake_loop: WakeLoopOnDrop,
}

/// Wakes the loop when a live view ends, because it may have been the last live view.
struct WakeLoopOnDrop(Arc<LoopHandle>);

impl Drop for WakeLoopOnDrop {
    fn drop(&mut self) {
        self.0.wake_loop();
    }
}

impl View {
    /// Waits for the next event. Returns `None` after the end of the session.
    async fn next(&mut self) -> Option<String> {
        if let Some(status) = self.status.take() {
            return Some(status_event(&status));
        }
        let Subscription { posts, ring } = &mut self.subscription;
        tokio::select! {
            () = wait_for_end(&mut self.session) => None,
            Some((id, post)) = posts.recv() => Some(format!("event: post\nid: {id}\ndata: {post}\n\n")),
            Ok(()) = ring.changed() => Some(status_event(&ring.borrow_and_update())),
            _ = self.comments.tick() => {
                if let Some(login) = &self.wake_loop.0.rules.login {
                    login.end_old_sessions();
                }
                Some(":\n\n".to_owned())
            }
        }
    }
}

/// Waits until a session ends. Waits indefinitely if there is no session.
async fn wait_for_end(session: &mut Option<SessionEnd>) {
    match session {
        // Only the end of the session drops the sender.
        Some(end) => while end.changed().await.is_ok() {},
        None => pending().await,
    }
}

fn status_event(status: &str) -> String {
    format!("event: ring\ndata: {status}\n\n")
}

/// Returns the body of a live view. The body begins with the status. The reservation ends when the body is dropped.
pub(super) fn body(
    loop_handle: Arc<LoopHandle>,
    subscription: Subscription,
    view_permit: ViewPermit,
    session: Option<SessionEnd>,
    status: String,
) -> Body {
    let mut comments = interval_at(Instant::now() + COMMENT_INTERVAL, COMMENT_INTERVAL);
    comments.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let view = View {
        status: Some(status),
        subscription,
        comments,
        session,
        _view_permit: view_permit,
        wake_loop: WakeLoopOnDrop(loop_handle),
    };
    let events = stream::unfold(view, |mut view| async {
        let event = Bytes::from(view.next().await?);
        Some((Ok::<_, Infallible>(Frame::data(event)), view))
    });
    StreamBody::new(events).boxed_unsync()
}
