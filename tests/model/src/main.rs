#![forbid(unsafe_code)]
//! x
use ring_model::{Faults, Scenario, Timing, explore};
use ringd::proto::lab2::Lab2;
use std::time::Duration;
fn main() {
    let a: Vec<u64> = std::env::args()
        .skip(1)
        .map(|a| a.parse().unwrap())
        .collect();
    let f = Faults {
        lost: a[5] as u8,
        doubled: a[6] as u8,
        crashes: a[7] as u8,
        refused: a[8] as u8,
        stalls: a[9] as u8,
        wants: a[10] as u8,
        ..Faults::default()
    };
    let mut s = if a[1] == 0 {
        Scenario::cold("x", a[0] as usize)
    } else {
        Scenario::formed("x", a[0] as usize)
    };
    s = s
        .faults(f)
        .bounds(a[2], a[3] as usize, a[4] as usize)
        .recovers(a[11]);
    if a.len() > 12 && a[12] < 99 {
        s.timing = Timing::Bounded {
            skew: Duration::from_millis(a[12]),
            delay: Duration::from_millis(a[13]),
        };
        s.calm = a[14] == 1;
    }
    if a.len() > 15 {
        s.constants.take_timeout = Duration::from_millis(a[15]);
        s.constants.idle_hold = Duration::from_millis(a[16]);
    }
    println!("{}", explore::<Lab2>(&s, 2));
}
