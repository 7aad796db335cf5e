#![forbid(unsafe_code)]
//! Checks the machine that ships in the named scenarios: see `scripts/model-check`.

use ring_model::{Faults, Scenario, explore};
use ringd::proto::lab2::Lab2;

fn main() {
    let f = Faults {
        lost: 1,
        doubled: 1,
        crashes: 1,
        ..Faults::default()
    };
    for d in [8, 10, 12] {
        let s = Scenario::cold("two", 2)
            .faults(f)
            .bounds(6, 5, d)
            .recovers(8);
        println!("{}", explore::<Lab2>(&s, 2));
        let s = Scenario::formed("two", 2)
            .faults(f)
            .bounds(6, 5, d)
            .recovers(8);
        println!("{}", explore::<Lab2>(&s, 2));
        let s = Scenario::formed("three", 3)
            .faults(f)
            .bounds(6, 6, d - 2)
            .recovers(8);
        println!("{}", explore::<Lab2>(&s, 2));
    }
}
