//! Random attacks detect every flaw of the signatures and of the encrypted streams. Nodes without a flaw withstand the
//! same attacks.

use ring_flaws::Flaw;
use ring_model::{Findings, findings};
use ring_sim::kernel::rng::{Rng, Stream};

/// Number of attacks that a test tries.
const ATTACKS: u64 = 50_000;
/// Maximum length of the description of an attack, in bytes.
const LEN_MAX: u64 = 600;

/// Two boots answer the same nonce. The answer of the first boot arrives last. Random attacks hardly ever do this.
const ANSWERS_OF_TWO_BOOTS: [[u8; 3]; 11] = [
    SEND,
    deliver(0),
    deliver(1),
    SEND,
    RESTART,
    deliver(1),
    deliver(6),
    SEND,
    deliver(7),
    deliver(3),
    deliver(4),
];
/// Node 0 signs a message to node 1.
const SEND: [u8; 3] = [0, 0, 0];
/// Node 0 ends and starts again.
const RESTART: [u8; 3] = [8, 0, 0];

/// Delivers the recorded message with this number.
const fn deliver(record: u8) -> [u8; 3] {
    [27, record, 0]
}

/// Returns the description of an attack.
fn attack(seed: u64) -> Vec<u8> {
    if seed == 0 {
        return ANSWERS_OF_TWO_BOOTS.as_flattened().to_vec();
    }
    let mut rng = Rng::new(seed, Stream::Plan);
    let len = rng.between(3, LEN_MAX);
    (0..len).map(|_| rng.draw().to_be_bytes()[0]).collect()
}

/// Carries out the steps of an attack. Returns its effect.
type Attack = fn(&Flaw, &[u8]) -> Result<(), &'static str>;

/// Tries attacks until one has the effect `says`.
fn caught(findings: &mut Findings, name: &str, try_attack: Attack, says: &str) {
    let flaw = crate::break_rule(name);
    let found = (0..ATTACKS).find(|&seed| {
        let effect = try_attack(&flaw, &attack(seed)).err();
        effect.is_some_and(|effect| effect.contains(says))
    });
    drop(flaw);
    let seed = found.unwrap_or_else(|| panic!("{name} is not detected in {ATTACKS} attacks"));
    let sound = try_attack(&Flaw::none(), &attack(seed));
    assert_eq!(sound, Ok(()), "the original code, attack {seed}");
    findings.note(format_args!("{name}: attack {seed}: {says}"));
}

macro_rules! found_by_attacks {
    ($($name:ident $attack:ident $says:literal;)*) => {
        $(
            #[test]
            fn $name() {
                let mut findings = findings!(concat!("trust::", stringify!($name)));
                caught(&mut findings, stringify!($name), Flaw::$attack, $says);
                findings.keep().expect("the findings are written");
            }
        )*

        #[test]
        fn every_patch_has_its_test() {
            let patches = crate::patches_of("trust");
            assert_eq!(patches, [$(stringify!($name)),*]);
            let mut findings = findings!("trust::every_patch_has_its_test");
            findings.note(format_args!("{} patches", patches.len()));
            findings.keep().expect("the findings are written");
        }
    };
}

found_by_attacks! {
    addresses_uncovered attack "took a message of another node";
    any_nonce_proves attack "of a boot that is not proven";
    mac_unchecked attack "delivered a forged message";
    nonce_answered_twice attack "of an earlier boot";
    nonce_without_end attack "of a boot that is not proven";
    old_boot_stays_proven attack "of a boot that is not proven";
    one_key_for_all_kinds attack "forged";
    one_nonce_for_all attack "of a boot that is not proven";
    replayed_in_window attack "delivered a message twice";
    silence_without_end attack "signed long ago";
    stale_accepted attack "signed long ago";
    stale_unchallenged attack "although the attacker stopped";
    stream_initiator_unproven attack_stream "a peer that has no key";
    stream_refusal_accepted attack_stream "accepted an unencrypted stream";
    stream_seed_unused attack_stream "a peer that has no key";
    window_before_mac attack "although the attacker stopped";
    window_begins_empty attack "of a boot that is not proven";
    window_forgets_its_past attack "delivered a message twice";
}

#[test]
fn nodes_without_a_flaw_withstand_all_attacks() {
    const COUNT: u64 = 10_000;
    let mut findings = findings!("trust::nodes_without_a_flaw_withstand_all_attacks");
    let sound = Flaw::none();
    for seed in 0..COUNT {
        assert_eq!(sound.attack(&attack(seed)), Ok(()), "attack {seed}");
        assert_eq!(sound.attack_stream(&attack(seed)), Ok(()), "attack {seed}");
    }
    findings.note(format_args!("{COUNT} attacks"));
    findings.keep().expect("the findings are written");
}
