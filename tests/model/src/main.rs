#![forbid(unsafe_code)]
//! Explores the machine that ships and prints states and bounds: see `scripts/model-check`.

use std::process::ExitCode;

use ring_model::{Scenario, explore, large, small};
use ring_proto::lab2::Lab2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let chosen = match &arguments[..] {
        [] => choose("small"),
        [which] => choose(which),
        _ => None,
    };
    let Some(scenarios) = chosen else {
        eprintln!("give small, large, or a number of nodes: 2, 3 or 4");
        return ExitCode::from(2);
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut code = ExitCode::SUCCESS;
    let (mut unique, mut generated) = (0, 0);
    for scenario in &scenarios {
        let report = explore::<Lab2>(scenario, threads);
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

/// `small`, `large`, or those of the large ones with so many nodes.
fn choose(which: &str) -> Option<Vec<Scenario>> {
    match which {
        "small" => Some(small()),
        "large" => Some(large()),
        nodes => {
            let nodes: usize = nodes.parse().ok()?;
            let chosen = large()
                .into_iter()
                .filter(|scenario| scenario.nodes == nodes);
            Some(chosen.collect()).filter(|chosen: &Vec<_>| !chosen.is_empty())
        }
    }
}
