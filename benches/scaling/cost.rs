//! Costs of the measured actions, and the file with these costs.

use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use ring_codec::lab2::Kind;

/// Actions of a ring that are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// All nodes start at once. The action ends when one node owns the token and all tables are equal.
    Form,
    /// A node starts. The action ends when all nodes have the same table.
    Join,
    /// The owner dies. The action ends when another node owns the token.
    FailOver,
    /// Two separate halves meet. The action ends when one node owns the token and all tables are equal.
    Merge,
    /// The ring is idle for the measured time.
    Idle,
}

impl Action {
    pub(crate) const ALL: [Self; 5] = [
        Self::Form,
        Self::Join,
        Self::FailOver,
        Self::Merge,
        Self::Idle,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Form => "form",
            Self::Join => "join",
            Self::FailOver => "fail over",
            Self::Merge => "merge",
            Self::Idle => "idle",
        }
    }
}

/// Cost of one action in a ring of one size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cost {
    pub action: Action,
    pub nodes: usize,
    pub time: Duration,
    pub sent: FramesByKind,
}

/// Numbers of frames to one member and to all members, in the order of [`Kind::ALL`].
pub(crate) type FramesByKind = [(u64, u64); Kind::ALL.len()];

impl Cost {
    /// Returns the number of frames of all kinds.
    pub(crate) fn frames(&self) -> u64 {
        self.to_one() + self.to_all()
    }

    pub(crate) fn to_one(&self) -> u64 {
        self.sent.iter().map(|(one, _)| one).sum()
    }

    pub(crate) fn to_all(&self) -> u64 {
        self.sent.iter().map(|(_, all)| all).sum()
    }

    /// Returns the kinds of frames that were sent, with the numbers of frames to one member and to all members.
    pub(crate) fn by_kind(&self) -> impl Iterator<Item = (Kind, u64, u64)> {
        let all = Kind::ALL.into_iter().zip(self.sent);
        all.filter(|(_, (one, all))| one + all > 0)
            .map(|(kind, (one, all))| (kind, one, all))
    }

    #[allow(clippy::cast_precision_loss, reason = "less than 2^52")]
    pub(crate) fn rate(&self) -> f64 {
        self.frames() as f64 / self.time.as_secs_f64()
    }

    /// Returns a line of the file: the action, the number of members, the nanoseconds, and the frames by kind, such as
    /// `PING 8+2`.
    fn line(&self) -> String {
        let (name, nodes, nanos) = (self.action.name(), self.nodes, self.time.as_nanos());
        let mut line = format!("{name}\t{nodes}\t{nanos}");
        for (kind, one, all) in self.by_kind() {
            let _ = write!(line, "\t{kind} {one}+{all}");
        }
        line
    }

    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split('\t');
        let name = fields.next()?;
        let action = Action::ALL
            .into_iter()
            .find(|action| action.name() == name)?;
        let nodes = fields.next()?.parse().ok()?;
        let time = Duration::from_nanos(fields.next()?.parse().ok()?);
        let mut sent = FramesByKind::default();
        for field in fields {
            let (kind, counts) = field.split_once(' ')?;
            let index = Kind::ALL.iter().position(|it| it.name() == kind)?;
            let (one, all) = counts.split_once('+')?;
            sent[index] = (one.parse().ok()?, all.parse().ok()?);
        }
        Some(Self {
            action,
            nodes,
            time,
            sent,
        })
    }
}

#[derive(Debug, Default)]
pub(crate) struct Costs(pub Vec<Cost>);

impl Costs {
    /// Reads the costs that earlier runs measured. Returns no costs if there is no file.
    pub(crate) fn read(file: &Path) -> Result<Self> {
        let text = match fs::read_to_string(file) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            text => text.with_context(|| format!("cannot read {}", file.display()))?,
        };
        let lines = text.lines().skip(1);
        let costs = lines.map(|line| Cost::parse(line).with_context(|| format!("in {line:?}")));
        costs.collect::<Result<_>>().map(Self)
    }

    pub(crate) fn write(&self, file: &Path) -> Result<()> {
        let mut text = "action\tmembers\tnanoseconds\tframes by kind, to one+all".to_owned();
        for cost in &self.0 {
            text = text + "\n" + &cost.line();
        }
        fs::write(file, text + "\n").with_context(|| format!("cannot write {}", file.display()))
    }

    pub(crate) fn replace(&mut self, nodes: usize, costs: Vec<Cost>) {
        self.0.retain(|cost| cost.nodes != nodes);
        self.0.extend(costs);
        self.0.sort_by_key(|cost| cost.nodes);
    }

    /// Returns the costs of one action by size.
    pub(crate) fn of(&self, action: Action) -> impl Iterator<Item = &Cost> {
        self.0.iter().filter(move |cost| cost.action == action)
    }

    /// Returns the growth of a value with the size: the exponent of the power law that fits best, by least squares of
    /// the logarithms. Returns `None` if there are fewer than two sizes.
    #[allow(clippy::cast_precision_loss, reason = "few points, and small numbers")]
    pub(crate) fn exponent(&self, action: Action, value: fn(&Cost) -> f64) -> Option<f64> {
        let points: Vec<(f64, f64)> = self
            .of(action)
            .map(|cost| ((cost.nodes as f64).ln(), value(cost).ln()))
            .collect();
        let count = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let (mut over, mut under) = (0.0, 0.0);
        for point in &points {
            over += (point.0 - x) * (point.1 - y);
            under += (point.0 - x).powi(2);
        }
        (points.len() >= 2).then(|| over / under)
    }
}

#[allow(clippy::cast_precision_loss, reason = "less than 2^52")]
pub(crate) fn frames(cost: &Cost) -> f64 {
    cost.frames() as f64
}

pub(crate) fn seconds(cost: &Cost) -> f64 {
    cost.time.as_secs_f64()
}
