//! Signatures at the end of frames, and frames with a challenge or an answer.

use anyhow::{Result, ensure};
use ring_segment::{
    ETHERTYPE, MacAddr, Message, Test, forged_signature, frame, now, tests, write_pcap,
};

use super::tshark::Tshark;

/// The distance of the kind from the end of a frame, in bytes.
const KIND_FROM_END: usize = 21;

pub(super) fn tests() -> Vec<Test> {
    tests![signatures_challenges_and_answers_are_dissected]
}

/// Returns a signed frame with this payload. The kind is 0 for a message, 1 for a challenge, and 2 for an answer.
fn signed(payload: &[u8], kind: u8) -> Vec<u8> {
    let author = MacAddr::new(2, 0, 0, 0, 0, 1);
    let mut bytes = frame(MacAddr::broadcast(), author, ETHERTYPE, payload);
    bytes.extend(forged_signature(20_261_130));
    let at = bytes.len() - KIND_FROM_END;
    bytes[at] = kind;
    bytes
}

fn signatures_challenges_and_answers_are_dissected() -> Result<()> {
    let message = Message::WhereIsToken.payload(MacAddr::new(2, 0, 0, 0, 0, 1));
    let frames = [
        signed(&message, 0),
        signed(&[9; 16], 1),
        signed(&[9; 16], 2),
    ];
    let tshark = Tshark::new()?;
    let file = tshark.path("signed.pcap");
    write_pcap(&file, frames.iter().map(|bytes| (now(), &bytes[..])))?;
    let packets = tshark.dissect(&file, &tshark.fields("lab2")?, &[])?;
    ensure!(packets.len() == frames.len(), "{packets:?}");
    for (packet, start) in packets
        .iter()
        .zip(["WHERE_IS_TOKEN to", "challenge to", "answer to"])
    {
        let Some(rest) = packet.info.strip_prefix(start) else {
            anyhow::bail!("{:?} instead of {start}", packet.info);
        };
        ensure!(rest.ends_with(", key 20261130"), "{rest}");
        ensure!(packet.notes.is_empty(), "{packet:?}");
        ensure!(
            packet.fields.values("lab2.signature.keyId") == ["20261130"],
            "{packet:?}"
        );
        ensure!(
            packet.fields.values("lab2.padding").is_empty(),
            "{packet:?}"
        );
        let nonces = packet.fields.values("lab2.nonce").len();
        ensure!(
            nonces == usize::from(start != "WHERE_IS_TOKEN to"),
            "{packet:?}"
        );
    }
    Ok(())
}
