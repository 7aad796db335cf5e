//! Fields of Jitterbug.

use std::net::IpAddr;

use ring_codec::jitterbug::{Message, Terms, TokenId, VERSION};

use super::super::tshark::Fields;

/// Returns the fields of a message.
pub(in super::super) fn fields(message: &Message<'_>) -> Fields {
    let mut fields = Fields::default();
    fields.put("jitterbug.version", VERSION);
    fields.put("jitterbug.type", message.kind() as u8);
    let mut put_id = |id: TokenId| fields.put("jitterbug.token_id", id.to_wire());
    match message {
        Message::Tr1 { token_id, .. }
        | Message::Tr2 { token_id, .. }
        | Message::Tp1 { token_id, .. }
        | Message::Tp5 { token_id, .. } => put_id(*token_id),
        _ => {}
    }
    match message {
        Message::Tr1 {
            node_tcp_port,
            terms,
            ..
        } => {
            fields.put("jitterbug.node_tcp_port", node_tcp_port);
            put_terms(&mut fields, terms.as_ref());
        }
        Message::Tr2 { terms, .. } => put_terms(&mut fields, terms.as_ref()),
        Message::Tp1 { node_list_hash, .. } => {
            fields.put("jitterbug.node_list_hash", node_list_hash);
        }
        Message::Tp4 { node_list } => {
            fields.put("jitterbug.count", node_list.len());
            for node in node_list {
                fields.put("jitterbug.node.meta", u8::from(node.ip.is_ipv6()));
                match node.ip {
                    IpAddr::V4(ip) => fields.put("jitterbug.node.address", ip),
                    IpAddr::V6(ip) => fields.put("jitterbug.node.address6", ip),
                }
                fields.put("jitterbug.node.port", node.port);
            }
        }
        Message::Tp5 { data, .. } => fields.put_bytes("jitterbug.data", data),
        Message::Tp6 { terms } => put_terms(&mut fields, Some(terms)),
        Message::Tp2 | Message::Tp3 => {}
    }
    fields
}

fn put_terms(fields: &mut Fields, terms: Option<&Terms>) {
    let Some(terms) = terms else { return };
    let (followed, asks) = (u8::from(terms.is_followed), u8::from(terms.asks));
    fields.put("jitterbug.terms.lease", terms.lease_us);
    fields.put("jitterbug.terms.shortest", terms.shortest_us);
    fields.put("jitterbug.terms.longest", terms.longest_us);
    fields.put("jitterbug.terms.renew", terms.renew_ms);
    fields.put("jitterbug.terms.pass", terms.pass_ms);
    fields.put("jitterbug.terms.follows", terms.follows);
    fields.put("jitterbug.terms.policy", terms.policy);
    fields.put("jitterbug.terms.flags", followed + 2 * asks);
    fields.put("jitterbug.terms.flags.followed", followed);
    fields.put("jitterbug.terms.flags.asks", asks);
}
