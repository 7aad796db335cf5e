//! Tests that the code computes the values in the tables of the sections "Test vectors" of the pages.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use ring_codec::ftn::{Datagram, Header, Message, hash, server_sequence, server_signature};
use ring_codec::jitterbug::{Node, node_list_hash};

use crate::page::parse_hex;

/// Returns the rows of the table below a heading of a page. A cell with several values in code marks has one entry for
/// each value.
fn rows(page: &str, heading: &str) -> Vec<Vec<Vec<String>>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../docs")
        .join(page);
    let page = fs::read_to_string(path).unwrap();
    let (_, section) = page.split_once(&format!("\n### {heading}\n")).unwrap();
    let table = section
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'));
    // The first two lines are the heads of the columns and the rule below them.
    let rows: Vec<_> = table.skip(2).map(cells).collect();
    assert!(!rows.is_empty(), "{heading} has no rows");
    rows
}

fn cells(row: &str) -> Vec<Vec<String>> {
    let inner = row.trim_matches('|');
    let values = |cell: &str| {
        let code: Vec<String> = cell
            .split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect();
        if code.is_empty() && cell.bytes().any(|byte| byte.is_ascii_digit()) {
            vec![cell.trim().to_owned()]
        } else {
            code
        }
    };
    inner.split('|').map(values).collect()
}

fn confirm(msgnum: i64) -> Datagram<'static> {
    let header = Header {
        from: 0,
        to: 0,
        ssig: 0,
    };
    Datagram::new(header, Message::Confirm { msgnum })
}

#[test]
fn names_have_the_hashes_and_orders_of_the_page() {
    for row in rows("token-service/messages.md", "Hash and order of servers") {
        let name = row[0].first().cloned().unwrap_or_default();
        assert_eq!(hash(name.as_bytes()).to_string(), row[1][0], "{name}");
        for cell in &row[2..] {
            let expected: Vec<i32> = cell[0].split(' ').map(|it| it.parse().unwrap()).collect();
            let mut order = vec![0; expected.len()];
            server_sequence(name.as_bytes(), &mut order);
            assert_eq!(order, expected, "{name}");
        }
    }
}

#[test]
fn lists_have_the_signatures_of_the_page() {
    for row in rows("token-service/messages.md", "Signature of a list") {
        let signature = server_signature(row[0].iter().map(String::as_bytes));
        assert_eq!(signature.to_string(), row[1][0], "{:?}", row[0]);
    }
}

#[test]
fn integers_have_the_forms_of_the_page() {
    for row in rows("token-service/messages.md", "Integers") {
        let datagram = confirm(row[0][0].parse().unwrap());
        let mut buf = [0; 64];
        let len = datagram.encode(&mut buf).unwrap();
        // Type, from, to and ssig have one byte each.
        let (head, number) = buf[..len].split_at(4);
        assert_eq!(number, parse_hex(&row[1][0]), "{:?}", row[0]);
        for longer in &row[2] {
            let bytes = [head, &parse_hex(longer)].concat();
            let decoded = Datagram::decode(&bytes).unwrap();
            assert_eq!(decoded, datagram, "{longer}");
            assert!(!decoded.is_shortest(), "{longer}");
        }
    }
}

#[test]
fn node_lists_have_the_hashes_of_the_page() {
    for row in rows("jitterbug/datagrams.md", "node_list_hash") {
        let nodes: Vec<Node> = row[0]
            .iter()
            .map(|address| {
                let address: SocketAddr = address.parse().unwrap();
                Node {
                    ip: address.ip(),
                    port: address.port(),
                }
            })
            .collect();
        let hash = node_list_hash(&nodes[..].into());
        assert_eq!(
            hash.to_be_bytes().to_vec(),
            parse_hex(&row[1][0]),
            "{nodes:?}"
        );
    }
}
