//! A readable trace of the end of a run.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use ring_proto::lab2::Event;

use super::notation::line;
use super::outcome::Violation;
use super::recorder::Recorder;
use super::schedule::Fault;

/// The last lines of a run up to its first violation. Clones share these lines.
#[derive(Debug, Clone)]
pub struct Trace {
    most: usize,
    shared: Rc<RefCell<TraceLines>>,
}

#[derive(Debug, Default)]
struct TraceLines {
    lines: VecDeque<String>,
    is_complete: bool,
}

impl Trace {
    /// Returns a trace of at most `lines` lines.
    pub fn of(lines: usize) -> Self {
        Self {
            most: lines,
            shared: Rc::default(),
        }
    }

    /// Returns the lines, and stops recording.
    pub fn take(&self) -> Vec<String> {
        self.shared.take().lines.into()
    }

    fn add(&self, at: Duration, node: Option<usize>, what: std::fmt::Arguments<'_>) {
        let mut shared = self.shared.borrow_mut();
        if shared.is_complete {
            return;
        }
        if shared.lines.len() == self.most {
            shared.lines.pop_front();
        }
        let who = node.map_or_else(|| "--".to_owned(), |node| format!("n{node}"));
        let (seconds, nanos) = (at.as_secs(), at.subsec_nanos());
        shared
            .lines
            .push_back(format!("{seconds:>4}.{nanos:09} {who:<4} {what}"));
    }
}

impl Recorder for Trace {
    fn on_sent(&mut self, at: Duration, from: Option<usize>, frame: &[u8]) {
        self.add(at, from, format_args!("sends {}", line(frame)));
    }

    fn on_read(&mut self, at: Duration, node: usize, frame: &[u8], age: Duration) {
        let late = Late(age);
        self.add(at, Some(node), format_args!("reads {}{late}", line(frame)));
    }

    fn on_event(&mut self, at: Duration, node: usize, event: &Event) {
        let node = Some(node);
        match event {
            Event::StateChanged {
                from,
                to,
                reason,
                token,
            } => {
                let (from, to) = (from.name(), to.name());
                let token = token
                    .as_ref()
                    .map_or("no token".into(), ToString::to_string);
                self.add(
                    at,
                    node,
                    format_args!("{from} -> {to}: {reason:?}, {token}"),
                );
            }
            Event::HandoverFailed { .. } | Event::Dropped { .. } => {
                self.add(at, node, format_args!("{event:?}"));
            }
            _ => {}
        }
    }

    fn on_action(&mut self, at: Duration, fault: &Fault) {
        self.add(at, None, format_args!("=== {fault:?}"));
    }

    fn on_phase(&mut self, at: Duration, name: &'static str) {
        self.add(at, None, format_args!("=== {name}"));
    }

    fn on_violation(&mut self, violation: &Violation) {
        let (rule, what) = (violation.rule, &violation.details);
        let node = violation.node;
        self.add(violation.at, node, format_args!("!!! {rule}: {what}"));
        self.shared.borrow_mut().is_complete = true;
    }
}

/// The age of a frame that had to wait.
struct Late(Duration);

impl std::fmt::Display for Late {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_zero() {
            return Ok(());
        }
        write!(f, " ({:?} old)", self.0)
    }
}
