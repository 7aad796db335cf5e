//! Fields of Andrews.

use ring_codec::andrews::{Election, Frame, HEADER_LEN, Message, VERSION};

use super::super::tshark::Fields;

/// Returns the fields of a frame.
pub(in super::super) fn fields(frame: &Frame<'_>) -> Fields {
    let mut fields = Fields::default();
    fields.put("andrews.version", VERSION);
    fields.put("andrews.type", frame.message.kind() as u8);
    fields.put("andrews.reserved", 0);
    fields.put("andrews.srcId", frame.src_id);
    fields.put("andrews.payloadLen", frame.encoded_len() - HEADER_LEN);
    match frame.message {
        Message::Successor { successor_id } => fields.put("andrews.successorId", successor_id),
        Message::Token { sequence } | Message::TokenAck { sequence } => {
            fields.put("andrews.sequence", sequence);
        }
        Message::CoordinatorElection { election } => put_election(&mut fields, &election),
        Message::Join | Message::SuccessorRequest => {}
    }
    fields
}

fn put_election(fields: &mut Fields, election: &Election<'_>) {
    fields.put("andrews.method", election.method() as u8);
    fields.put("andrews.reserved", 0);
    let step = match election {
        Election::RingBased { ids } => {
            fields.put("andrews.count", ids.len());
            for id in *ids {
                fields.put("andrews.ids", id);
            }
            1
        }
        Election::ChangRoberts { candidate } => {
            fields.put("andrews.candidate", candidate);
            1
        }
        Election::Bully => 1,
        Election::Coordinator { coordinator_id, .. } => {
            fields.put("andrews.coordinatorId", coordinator_id);
            2
        }
        Election::BullyOk => 3,
    };
    fields.put("andrews.electionType", step);
}
