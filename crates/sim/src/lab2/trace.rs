//! The end of what happened, as people read it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use ring_proto::lab2::Event;

use super::notation::line;
use super::outcome::Violation;
use super::plan::Fault;
use super::record::Record;

/// Keeps the last lines of a run up to its first violation. Clones share them.
#[derive(Debug, Clone)]
pub struct Trace {
    most: usize,
    told: Rc<RefCell<Told>>,
}

#[derive(Debug, Default)]
struct Told {
    lines: VecDeque<String>,
    over: bool,
}

impl Trace {
    /// A trace of so many lines.
    pub fn of(lines: usize) -> Self {
        Self {
            most: lines,
            told: Rc::default(),
        }
    }

    /// The lines so far, and none from here on.
    pub fn take(&self) -> Vec<String> {
        self.told.take().lines.into()
    }

    fn tell(&self, at: Duration, node: Option<usize>, what: std::fmt::Arguments<'_>) {
        let mut told = self.told.borrow_mut();
        if told.over {
            return;
        }
        if told.lines.len() == self.most {
            told.lines.pop_front();
        }
        let who = node.map_or_else(|| "--".to_owned(), |node| format!("n{node}"));
        let (seconds, nanos) = (at.as_secs(), at.subsec_nanos());
        told.lines
            .push_back(format!("{seconds:>4}.{nanos:09} {who:<4} {what}"));
    }
}

impl Record for Trace {
    fn sent(&mut self, at: Duration, from: Option<usize>, frame: &[u8]) {
        self.tell(at, from, format_args!("says  {}", line(frame)));
    }

    fn heard(&mut self, at: Duration, node: usize, frame: &[u8], age: Duration) {
        let late = Late(age);
        self.tell(at, Some(node), format_args!("hears {}{late}", line(frame)));
    }

    fn told(&mut self, at: Duration, node: usize, event: &Event) {
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
                self.tell(
                    at,
                    node,
                    format_args!("{from} -> {to}: {reason:?}, {token}"),
                );
            }
            Event::HandOverFailed { .. } | Event::Dropped { .. } => {
                self.tell(at, node, format_args!("{event:?}"));
            }
            _ => {}
        }
    }

    fn acted(&mut self, at: Duration, fault: &Fault) {
        self.tell(at, None, format_args!("=== {fault:?}"));
    }

    fn phase(&mut self, at: Duration, name: &'static str) {
        self.tell(at, None, format_args!("=== {name}"));
    }

    fn broken(&mut self, violation: &Violation) {
        let (rule, what) = (violation.rule, &violation.what);
        let node = violation.node;
        self.tell(violation.at, node, format_args!("!!! {rule}: {what}"));
        self.told.borrow_mut().over = true;
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
