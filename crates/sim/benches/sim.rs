//! Measures the simulator's speed on one core.
//!
//! `cargo bench --bench sim [FILTER]`

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ring_proto::lab2::{Constants, Lab2};
use ring_sim::lab2::{Faults, Settings, World, run};

const NODES: usize = 8;
/// The simulated time of one measurement.
const TIME: Duration = Duration::from_secs(1);

/// Returns a ring of eight nodes that has already formed.
fn ring(idle_hold: Duration) -> World<Lab2> {
    let constants = Constants {
        idle_hold,
        ..Constants::default()
    };
    let mut sim = World::new(NODES, constants, 1);
    sim.start_all();
    sim.run(2 * TIME);
    sim
}

/// Measures the number of frames that nodes read per second of real time. One of the two measured rings is idle. In the
/// second ring, the token moves as fast as the network segment allows.
fn bench_delivery(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("frames delivered, 8 nodes");
    let holds = [
        ("idle hold 10 ms", Duration::from_millis(10)),
        ("idle hold 0", Duration::ZERO),
    ];
    for (name, idle_hold) in holds {
        let mut sim = ring(idle_hold);
        let before = sim.stats().delivered;
        sim.run(TIME);
        group.throughput(Throughput::Elements(sim.stats().delivered - before));
        group.bench_function(name, |bencher| bencher.iter(|| sim.run(TIME)));
    }
    group.finish();
}

/// Measures whole runs of five nodes with all faults and the recovery.
fn bench_runs(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("runs, 5 nodes");
    group.sample_size(10);
    group.bench_function("all faults for 60 s", |bencher| {
        let mut seed = 0;
        bencher.iter(|| {
            seed += 1;
            black_box(run::<Lab2>(&Settings {
                seed,
                nodes: 5,
                time: 60 * TIME,
                faults: Faults::all(),
                idle_hold: None,
            }))
        });
    });
    group.finish();
}

criterion_group!(benches, bench_delivery, bench_runs);
criterion_main!(benches);
