use std::path::Path;

use anyhow::Result;

use super::chart::{self, Curve};
use super::cost::{Action, Cost, Costs, frames, seconds};

/// File, label of the vertical axis, actions, and the plotted value.
type Chart<'a> = (&'a str, &'a str, &'a [Action], fn(&Cost) -> f64);

#[allow(clippy::cast_precision_loss, reason = "rings of less than 2^52 nodes")]
pub(crate) fn draw(costs: &Costs, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let feats = [Action::Form, Action::Join, Action::FailOver, Action::Merge];
    let charts: [Chart<'_>; 3] = [
        ("scaling-frames.svg", "frames", &feats, frames),
        ("scaling-time.svg", "seconds", &feats, seconds),
        (
            "scaling-idle.svg",
            "frames per second, idle",
            &[Action::Idle],
            Cost::rate,
        ),
    ];
    for (file, what, feats, value) in charts {
        let curves: Vec<Curve> = feats
            .iter()
            .map(|&action| {
                let points = costs.of(action);
                let points = points.map(|cost| (cost.nodes as f64, value(cost)));
                Curve::new(action.name(), action as usize, points.collect())
            })
            .collect();
        chart::draw(&folder.join(file), ["members", what], &curves)?;
    }
    Ok(())
}
