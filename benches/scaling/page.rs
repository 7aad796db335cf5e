//! The table in `docs/scaling.md`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use ring_codec::lab2::Kind;

use super::cost::{Costs, Feat, frames, seconds};

/// What stands before and after the tables in the page.
const BEGIN: &str = "<!-- made by benches/scaling: begin -->\n";
const END: &str = "<!-- made by benches/scaling: end -->";

/// Puts the tables into the page, in the place of those that are there.
pub fn update(costs: &Costs, page: &Path) -> Result<()> {
    let text =
        fs::read_to_string(page).with_context(|| format!("cannot read {}", page.display()))?;
    let (before, rest) = text
        .split_once(BEGIN)
        .context("the page has no place for tables")?;
    let (_, after) = rest
        .split_once(END)
        .context("the place for tables has no end")?;
    let text = [before, BEGIN, "\n", &table(costs), "\n", END, after].concat();
    fs::write(page, text).with_context(|| format!("cannot write {}", page.display()))
}

/// Frames and time of every feat by size, and how they grow; then the frames by kind.
pub fn table(costs: &Costs) -> String {
    let mut text = "| | members | frames | to one | to all | time |\n".to_owned();
    text += "|---|---:|---:|---:|---:|---:|\n";
    for feat in Feat::ALL {
        for cost in costs.of(feat) {
            let (one, all): (u64, u64) = (cost.unicast.iter().sum(), cost.broadcast.iter().sum());
            let (name, nodes, total) = (feat.name(), grouped(cost.nodes as u64), cost.frames());
            let (total, one, all) = (grouped(total), grouped(one), grouped(all));
            let time = format!("{:.3} s", seconds(cost));
            let _ = writeln!(
                text,
                "| {name} | {nodes} | {total} | {one} | {all} | {time} |"
            );
        }
    }
    text += "\n| | frames grow as n to the | time as n to the |\n";
    text += "|---|---:|---:|\n";
    for feat in Feat::ALL {
        let exponent = |value| {
            let exponent = costs.exponent(feat, value);
            exponent.map_or_else(|| "-".to_owned(), |exponent| format!("{exponent:.2}"))
        };
        let columns = [exponent(frames), exponent(seconds)];
        let _ = writeln!(text, "| {} | {} |", feat.name(), columns.join(" | "));
    }
    text += "\n| | members | frames by kind, to one + to all |\n|---|---:|---|\n";
    for feat in Feat::ALL {
        for cost in costs.of(feat) {
            let kinds = Kind::ALL.map(|kind| {
                let (one, all) = (cost.unicast[kind as usize], cost.broadcast[kind as usize]);
                (one + all > 0).then(|| format!("{kind} {}+{}", grouped(one), grouped(all)))
            });
            let kinds: Vec<_> = kinds.into_iter().flatten().collect();
            let (name, nodes) = (feat.name(), grouped(cost.nodes as u64));
            let _ = writeln!(text, "| {name} | {nodes} | {} |", kinds.join(", "));
        }
    }
    text
}

/// 12,345 for 12345.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
