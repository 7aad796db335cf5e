use std::fmt::Write as _;

use super::cost::{Action, Costs, frames, seconds};
use super::page::group_digits;

/// Returns one table with the frames and the time for each action and each size. The other tables contain the growth
/// and the frames of each kind.
pub(crate) fn table(costs: &Costs) -> String {
    let mut text = "| | members | frames | to one | to all | time |\n".to_owned();
    text += "|---|---:|---:|---:|---:|---:|\n";
    for action in Action::ALL {
        for cost in costs.of(action) {
            let (one, all) = (cost.to_one(), cost.to_all());
            let (name, nodes, total) = (
                action.name(),
                group_digits(cost.nodes as u64),
                cost.frames(),
            );
            let (total, one, all) = (group_digits(total), group_digits(one), group_digits(all));
            let time = format!("{:.3} s", seconds(cost));
            let _ = writeln!(
                text,
                "| {name} | {nodes} | {total} | {one} | {all} | {time} |"
            );
        }
    }
    text += "\n| | frames grow as n to the | time as n to the |\n";
    text += "|---|---:|---:|\n";
    for action in Action::ALL {
        let exponent = |value| {
            let exponent = costs.exponent(action, value);
            exponent.map_or_else(|| "-".to_owned(), |exponent| format!("{exponent:.2}"))
        };
        let columns = [exponent(frames), exponent(seconds)];
        let _ = writeln!(text, "| {} | {} |", action.name(), columns.join(" | "));
    }
    text += "\n| | members | frames by kind, to one + to all |\n|---|---:|---|\n";
    for action in Action::ALL {
        for cost in costs.of(action) {
            let kinds: Vec<_> = cost
                .by_kind()
                .map(|(kind, one, all)| {
                    format!("{kind} {}+{}", group_digits(one), group_digits(all))
                })
                .collect();
            let (name, nodes) = (action.name(), group_digits(cost.nodes as u64));
            let _ = writeln!(text, "| {name} | {nodes} | {} |", kinds.join(", "));
        }
    }
    text
}
