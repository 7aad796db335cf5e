//! Fields of FTN.

use ring_codec::ftn::{Datagram, Holders, Message, Terms, Token};

use super::super::tshark::Fields;

/// Returns the fields of a datagram.
pub(in super::super) fn fields(datagram: &Datagram<'_>) -> Fields {
    let mut fields = Fields::default();
    let (header, message) = (datagram.header(), datagram.message());
    fields.put("ftn.type", message.kind() as u8);
    fields.put("ftn.from", header.from);
    fields.put("ftn.to", header.to);
    fields.put("ftn.ssig", header.ssig);
    put_client_message(&mut fields, &message);
    put_server_message(&mut fields, &message);
    if let Some(terms) = datagram.terms() {
        put_terms(&mut fields, terms);
    }
    fields
}

fn put_client_message(fields: &mut Fields, message: &Message<'_>) {
    match *message {
        Message::Login { p } => fields.put_text("ftn.p", p),
        Message::Config { leader, sstates } => {
            fields.put("ftn.leader", leader);
            for state in sstates {
                fields.put("ftn.sstates", state as i8);
            }
        }
        Message::Catalog { holdings } => {
            for token in holdings {
                put_token(fields, token);
            }
        }
        Message::Request {
            msgnum,
            token,
            access,
        } => {
            fields.put("ftn.msgnum", msgnum);
            put_token(fields, token);
            fields.put("ftn.access", access as i8);
        }
        Message::Grant { msgnum, token } => {
            fields.put("ftn.msgnum", msgnum);
            put_token(fields, token);
        }
        Message::Revoke { name } => fields.put_text("ftn.name", name),
        Message::Return {
            msgnum,
            token,
            flags,
        } => {
            fields.put("ftn.msgnum", msgnum);
            put_token(fields, token);
            fields.put("ftn.flags", flags as i8);
        }
        Message::Confirm { msgnum } => fields.put("ftn.msgnum", msgnum),
        _ => {}
    }
}

fn put_server_message(fields: &mut Fields, message: &Message<'_>) {
    match *message {
        Message::State {
            seq,
            leader,
            sstates,
            clients,
        } => {
            put_seq(fields, seq);
            fields.put("ftn.leader", leader);
            for state in sstates {
                fields.put("ftn.sstates", state as i8);
            }
            for client in clients {
                fields.put("ftn.clients.id", client.id);
                fields.put_text("ftn.clients.address", client.address);
            }
        }
        Message::Heartbeat { seq, sstate } => {
            put_seq(fields, seq);
            fields.put("ftn.sstate", sstate as i8);
        }
        Message::Elect { seq, leader } => {
            put_seq(fields, seq);
            fields.put("ftn.elect.leader", leader);
        }
        Message::Transfer {
            msgnum,
            part,
            parts,
            assignments,
        } => {
            fields.put("ftn.msgnum", msgnum);
            fields.put("ftn.part", part);
            fields.put("ftn.parts", parts);
            for assignment in assignments {
                put_token(fields, assignment.token);
                put_holders(fields, &assignment.holders);
            }
        }
        Message::Transferred { msgnum, part } => {
            fields.put("ftn.msgnum", msgnum);
            fields.put("ftn.part", part);
        }
        Message::Part {
            content,
            part,
            parts,
            bytes,
        } => {
            fields.put("ftn.content", content);
            fields.put("ftn.part", part);
            fields.put("ftn.parts", parts);
            fields.put_bytes("ftn.bytes", bytes);
        }
        Message::Parted { content, arrived } => {
            fields.put("ftn.content", content);
            fields.put_bytes("ftn.came", arrived);
        }
        _ => {}
    }
}

fn put_token(fields: &mut Fields, token: Token<'_>) {
    fields.put_text("ftn.name", token.name);
    fields.put_bytes("ftn.data", token.data);
}

fn put_holders(fields: &mut Fields, holders: &Holders<'_>) {
    match holders {
        Holders::Nobody => fields.put("ftn.access", 0),
        Holders::Exclusive(id) => {
            fields.put("ftn.access", -1);
            fields.put("ftn.holders", id);
        }
        Holders::Shared(ids) => {
            fields.put("ftn.access", 1);
            for id in ids {
                fields.put("ftn.holders", id);
            }
        }
    }
}

fn put_seq(fields: &mut Fields, seq: i128) {
    fields.put("ftn.configuration", seq >> 32);
    fields.put("ftn.round", seq & 0xffff_ffff);
}

fn put_terms(fields: &mut Fields, terms: Terms) {
    fields.put("ftn.terms.client_timeout", terms.client_timeout);
    fields.put("ftn.terms.quorum", terms.quorum);
    if let Some(pace) = terms.pace {
        fields.put("ftn.terms.heartbeat", pace.heartbeat);
        fields.put("ftn.terms.server_timeout", pace.server_timeout);
        fields.put("ftn.terms.grace", pace.grace);
    }
}
