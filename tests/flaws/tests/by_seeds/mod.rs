//! Tests for flaws that a simulator detects within a few seeds. The real state machine passes the same seeds.

/// Number of seeds that a test tries, starting with its first seed.
pub(crate) const SEEDS: u64 = 20;

/// Declares one test per flaw of a system. Each line has the name of the flaw, the faults of its runs, the first seed,
/// and the rule that the flaw breaks. Two more tests check that each patch has a test, and that copies without a flaw
/// behave like the originals.
macro_rules! found_by_seeds {
    ($system:ident, $simulate:ident, $time:expr; $($name:ident $faults:literal $first:literal, $rule:ident;)*) => {
        use ring_flaws::Flaw;
        use ring_model::{Findings, findings};
        use ring_sim::$system::{Outcome, Rule, Settings, run};

        fn settings(seed: u64, faults: &str) -> Settings {
            Settings {
                seed,
                nodes: None,
                time: $time,
                faults: faults.parse().expect("valid kinds of faults"),
            }
        }

        fn caught(findings: &mut Findings, name: &str, faults: &str, first: u64, rule: Rule) {
            let found = (first..first + crate::by_seeds::SEEDS).find_map(|seed| {
                let settings = settings(seed, faults);
                let sound = run(&settings);
                assert_eq!(sound.violations, [], "the original state machine, seed {seed}");
                let spoilt = crate::break_rule(name).$simulate(&settings);
                Some(format!("seed {seed}: {}", broken(&spoilt, rule)?))
            });
            let found = found.unwrap_or_else(|| panic!("{name} is not detected"));
            findings.note(format_args!("{name}: simulator, {found}"));
        }

        /// Returns the first violation of a rule as one line.
        fn broken(outcome: &Outcome, rule: Rule) -> Option<String> {
            let found = outcome.violations.iter().find(|found| found.rule == rule)?;
            Some(found.to_string().chars().take(160).collect())
        }

        $(
            #[test]
            fn $name() {
                let mut findings = findings!(concat!(stringify!($system), "::", stringify!($name)));
                caught(&mut findings, stringify!($name), $faults, $first, Rule::$rule);
                findings.keep().expect("the findings are written");
            }
        )*

        #[test]
        fn without_a_flaw_the_copies_behave_like_the_originals() {
            let mut findings = findings!(concat!(
                stringify!($system),
                "::without_a_flaw_the_copies_behave_like_the_originals"
            ));
            for seed in 0..5 {
                let settings = settings(seed, "all");
                assert_eq!(Flaw::none().$simulate(&settings), run(&settings));
            }
            findings.note("without a flaw: the same outcome and fingerprint in 5 seeds");
            findings.keep().expect("the findings are written");
        }

        #[test]
        fn every_patch_has_its_test() {
            let patches = crate::patches_of(stringify!($system));
            assert_eq!(patches, [$(stringify!($name)),*]);
            let mut findings = findings!(concat!(stringify!($system), "::every_patch_has_its_test"));
            findings.note(format_args!("{} patches", patches.len()));
            findings.keep().expect("the findings are written");
        }
    };
}
