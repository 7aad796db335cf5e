//! Plans the faults of a run and their times. A seed determines the plan.

use std::collections::HashMap;
use std::time::Duration;

use ring_segment::Rng;

use crate::fault::Fault;

/// Default length of a cycle's faults. Each fault lasts less than half of this time.
pub const FAULTS_TIME: Duration = Duration::from_secs(8);
/// Maximum number of attempts to find a free time for a fault.
const PLACEMENT_TRIES: u32 = 14;
/// Number of faults that last until the calm begins, so that the calm begins in a bad state.
const FAULTS_TO_THE_END: u32 = 2;
/// One calm in this number of calms has CPU burners; the first such calm is the second calm.
const STARVED_EVERY: u32 = 5;

/// A fault and its period. Times count from the start of the cycle.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    pub begins: Duration,
    pub ends: Duration,
    pub fault: Fault,
}

/// A phase of faults, and properties of the calm after it.
#[derive(Debug, Clone, PartialEq)]
pub struct Cycle {
    pub number: u32,
    pub faults: Vec<Planned>,
    pub starved: bool,
    /// Number of owners that the run kills in the calm.
    pub crashes: u32,
}

impl Cycle {
    /// Returns the plan of a cycle whose phase of faults lasts for `phase`. The plan depends only on the arguments.
    pub fn of(seed: u64, number: u32, phase: Duration, daemons: usize, ports: usize) -> Self {
        let mut rng = Rng::with_seed(seed.wrapping_mul(0x9e37_79b9).wrapping_add(number.into()));
        let mut busy: HashMap<String, Vec<(Duration, Duration)>> = HashMap::new();
        let mut faults = Vec::new();
        for turn in 0..PLACEMENT_TRIES {
            let (fault, lasts) = Fault::random(&mut rng, daemons, ports);
            let latest = phase.saturating_sub(lasts);
            let begins = latest.mul_f64(if turn < FAULTS_TO_THE_END {
                1.0
            } else {
                rng.f64()
            });
            let ends = begins + lasts;
            // Between two of its faults, a resource works for some time.
            let taken = busy.entry(fault.resource()).or_default();
            let margin = Duration::from_millis(50);
            if taken
                .iter()
                .any(|(from, to)| begins < *to + margin && *from < ends + margin)
            {
                continue;
            }
            taken.push((begins, ends));
            faults.push(Planned {
                begins,
                ends,
                fault,
            });
        }
        faults.sort_by_key(|planned| planned.begins);
        Self {
            number,
            faults,
            starved: number % STARVED_EVERY == 2,
            crashes: 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cycle, FAULTS_TIME};
    use crate::fault::Fault;
    use std::collections::HashSet;

    #[test]
    fn equal_seeds_make_equal_plans_and_different_seeds_make_different_plans() {
        assert_eq!(
            Cycle::of(7, 3, FAULTS_TIME, 8, 11),
            Cycle::of(7, 3, FAULTS_TIME, 8, 11)
        );
        assert_ne!(
            Cycle::of(7, 3, FAULTS_TIME, 8, 11),
            Cycle::of(8, 3, FAULTS_TIME, 8, 11)
        );
        assert_ne!(
            Cycle::of(7, 3, FAULTS_TIME, 8, 11).faults,
            Cycle::of(7, 4, FAULTS_TIME, 8, 11).faults
        );
    }

    #[test]
    fn every_kind_of_fault_occurs_and_ends_in_time() {
        let cycles: Vec<_> = (1..=40)
            .map(|number| Cycle::of(1, number, FAULTS_TIME, 8, 11))
            .collect();
        let all = cycles.iter().flat_map(|cycle| &cycle.faults);
        let kinds: HashSet<_> = all.clone().map(|planned| planned.fault.kind()).collect();
        assert_eq!(kinds.len(), Fault::KINDS, "{kinds:?}");
        assert!(all.clone().all(|planned| planned.ends <= FAULTS_TIME));
        assert!(cycles.iter().all(|cycle| cycle.faults.len() >= 4));
        let lasts = |cycle: &Cycle| {
            cycle
                .faults
                .iter()
                .any(|planned| planned.ends == FAULTS_TIME)
        };
        assert!(cycles.iter().all(lasts));
    }

    #[test]
    fn no_resource_has_two_faults_at_once() {
        for cycle in (1..=40).map(|number| Cycle::of(2, number, FAULTS_TIME, 8, 11)) {
            for (index, one) in cycle.faults.iter().enumerate() {
                let others = cycle.faults[index + 1..].iter();
                let mut same = others.filter(|it| it.fault.resource() == one.fault.resource());
                assert!(same.all(|other| other.begins > one.ends), "{cycle:?}");
            }
        }
    }
}
