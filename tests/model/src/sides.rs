//! The sides of a split segment.

use crate::notation;

/// The side of each node. Sides are numbered in the order of their first nodes, so equal splits are equal lists.
pub(crate) type Sides = Vec<u8>;

/// Returns all splits of `nodes` nodes. The first split has only one side.
pub(crate) fn all(nodes: usize) -> Vec<Sides> {
    let mut all = vec![Sides::new()];
    for _ in 0..nodes {
        let longer = all.iter().flat_map(|sides| {
            let next = sides.iter().max().map_or(0, |last| last + 1);
            (0..=next).map(|side| [&sides[..], &[side]].concat())
        });
        all = longer.collect();
    }
    all
}

/// Formats a split. Example: `n1 n2 | n3`.
pub(crate) fn show(sides: &[u8]) -> String {
    let count = sides.iter().max().map_or(0, |last| last + 1);
    let members = (0..count).map(|side| {
        let on = |&at: &usize| sides[at] == side;
        let names = (0..sides.len()).filter(on);
        let names: Vec<String> = names.map(|at| notation::name(notation::mac(at))).collect();
        names.join(" ")
    });
    members.collect::<Vec<_>>().join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_nodes_have_five_splits() {
        let all = all(3);
        let shown: Vec<String> = all.iter().map(|sides| show(sides)).collect();
        assert_eq!(
            shown,
            [
                "n1 n2 n3",
                "n1 n2 | n3",
                "n1 n3 | n2",
                "n1 | n2 n3",
                "n1 | n2 | n3"
            ]
        );
    }
}
