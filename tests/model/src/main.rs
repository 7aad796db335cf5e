#![forbid(unsafe_code)]
//! Explores the real state machines, and prints the numbers of states and the bounds. See `scripts/model-check`.

use std::process::ExitCode;

use ring_model::{Report, Scenario, explore, ftn, large, small};
use ring_proto::lab2::Lab2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let chosen = match arguments[..] {
        [] => choose(None, "small"),
        [system @ ("lab2" | "ftn")] => choose(Some(system), "small"),
        [which] => choose(None, which),
        [system @ ("lab2" | "ftn"), which] => choose(Some(system), which),
        _ => None,
    };
    let Some(chosen) = chosen else {
        eprintln!(
            "give small, large, or for lab2 a number of nodes (2 to 4); lab2 or ftn before it selects one system"
        );
        return ExitCode::from(2);
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut code = ExitCode::SUCCESS;
    let (mut unique, mut generated) = (0, 0);
    for scenario in &chosen {
        let report = scenario.explore(threads);
        println!("{report}");
        unique += report.unique;
        generated += report.generated;
        if report.found.is_some() {
            code = ExitCode::FAILURE;
        }
    }
    println!("in all {unique} states, {generated} generated");
    code
}

/// A scenario of either system.
enum Chosen {
    Ring(Scenario),
    Group(ftn::Scenario),
}

impl Chosen {
    fn explore(&self, threads: usize) -> Report {
        match self {
            Self::Ring(scenario) => explore::<Lab2>(scenario, threads),
            Self::Group(scenario) => ftn::explore(scenario, threads),
        }
    }
}

/// Returns the scenarios of one system, or of both systems. `which` is `small` or `large`. For Lab2, `which` may also
/// be a number of nodes. A number selects the large scenarios with this number of nodes.
fn choose(system: Option<&str>, which: &str) -> Option<Vec<Chosen>> {
    let (rings, groups) = match which {
        "small" => (small(), ftn::small()),
        "large" => (large(), ftn::large()),
        nodes => {
            let nodes: usize = nodes.parse().ok()?;
            let mut rings = large();
            rings.retain(|scenario| scenario.nodes == nodes);
            (rings, Vec::new())
        }
    };
    let rings = rings.into_iter().map(Chosen::Ring);
    let groups = groups.into_iter().map(Chosen::Group);
    let chosen: Vec<Chosen> = match system {
        None => rings.chain(groups).collect(),
        Some("lab2") => rings.collect(),
        Some(_) => groups.collect(),
    };
    Some(chosen).filter(|chosen| !chosen.is_empty())
}
