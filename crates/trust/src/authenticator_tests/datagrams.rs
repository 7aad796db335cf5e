//! Tests of datagrams, whose addresses are not in the message, and of client keys.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::{NEW, OLD, keyring, millis};
use crate::{
    Authenticator, Destination, DropReason, Key, NONCE_LEN, Origin, PseudoHeader, TRAILER_LEN,
    Verdict, len_without_trailer,
};

const CLIENT_KEY: &str = "9 0909090909090909090909090909090909090909090909090909090909090909";
const SERVER: u8 = 1;
const CLIENT: u8 = 9;

fn address(name: u8) -> SocketAddr {
    (Ipv4Addr::new(10, 0, 0, name), 4000).into()
}

/// A node that exchanges datagrams. A node is a server if its name is less than [`CLIENT`].
struct Node {
    name: u8,
    authenticator: Authenticator<u8>,
}

impl Node {
    fn new(name: u8, boot: u8, keys: &[&str]) -> Self {
        Self {
            name,
            authenticator: Authenticator::new(&keyring(keys), false, [boot; 32]),
        }
    }

    fn with_client_keys(mut self, keys: &[&str]) -> Self {
        let keys: Vec<Key> = keyring(keys).keys().to_vec();
        self.authenticator.set_client_keys(&keys);
        self
    }

    fn seal(&mut self, header: PseudoHeader, client: Option<u8>) -> Vec<u8> {
        let mut buffer = [0; 100];
        buffer[..5].copy_from_slice(b"hello");
        let to = Destination { header, client };
        let len = self.authenticator.seal(millis(9), &to, &mut buffer, 5);
        buffer[..len.expect("enough room")].to_vec()
    }

    fn seal_to(&mut self, to: u8) -> Vec<u8> {
        let header = PseudoHeader::new(address(self.name), address(to));
        self.seal(header, (to >= CLIENT).then_some(to))
    }

    fn seal_to_all(&mut self) -> Vec<u8> {
        self.seal(PseudoHeader::to_all(address(self.name)), None)
    }

    fn open(&mut self, from: u8, bytes: &[u8]) -> Verdict {
        let origin = Origin {
            address: from,
            header: PseudoHeader::new(address(from), address(self.name)),
            is_client: from >= CLIENT,
        };
        self.authenticator
            .open(millis(9), Duration::ZERO, &origin, bytes)
    }

    fn replies(&mut self) -> Vec<(u8, Vec<u8>)> {
        let (own, mut replies, mut buffer) = (address(self.name), Vec::new(), [0; 100]);
        let header = |to, _: &mut [u8]| (0, PseudoHeader::new(own, address(to)));
        while let Some((to, len)) = self
            .authenticator
            .poll_transmit(millis(9), &mut buffer, header)
        {
            replies.push((to, buffer[..len].to_vec()));
        }
        replies
    }
}

/// Carries a message, and then challenges and answers until there are none.
fn prove(sender: &mut Node, receiver: &mut Node) {
    let first = sender.seal_to(receiver.name);
    receiver.open(sender.name, &first);
    loop {
        let (to_sender, to_receiver) = (receiver.replies(), sender.replies());
        if to_sender.is_empty() && to_receiver.is_empty() {
            return;
        }
        for (_, reply) in to_sender {
            sender.open(receiver.name, &reply);
        }
        for (_, reply) in to_receiver {
            receiver.open(sender.name, &reply);
        }
    }
}

fn key_of(verdict: Verdict) -> Option<u32> {
    match verdict {
        Verdict::Deliver { len: 5, key } => key.map(u32::from),
        _ => None,
    }
}

#[test]
fn a_datagram_counts_only_between_its_own_addresses() {
    let [mut left, mut right, mut third] = [1, 2, 3].map(|name| Node::new(name, name, &[OLD]));
    prove(&mut left, &mut right);
    prove(&mut left, &mut third);
    let signed = left.seal_to(2);
    let wrong_mac = Verdict::Drop(DropReason::WrongMac);
    assert_eq!(third.open(1, &signed), wrong_mac);
    assert_eq!(right.open(3, &signed), wrong_mac);
    assert_eq!(key_of(right.open(1, &signed)), Some(7));
}

#[test]
fn a_datagram_to_all_counts_once_at_each_node() {
    let [mut left, mut right, mut third] = [1, 2, 3].map(|name| Node::new(name, name, &[OLD]));
    prove(&mut left, &mut right);
    prove(&mut left, &mut third);
    let signed = left.seal_to_all();
    assert_eq!(key_of(right.open(1, &signed)), Some(7));
    assert_eq!(key_of(third.open(1, &signed)), Some(7));
    assert_eq!(third.open(1, &signed), Verdict::Drop(DropReason::Replayed));
    assert_eq!(right.open(3, &signed), Verdict::Drop(DropReason::WrongMac));
    // The kernel also delivers a broadcast to its sender.
    let own = PseudoHeader::to_all(address(1));
    let origin = Origin {
        address: 1,
        header: own,
        is_client: false,
    };
    let signed = left.seal_to_all();
    let verdict = left
        .authenticator
        .open(millis(9), Duration::ZERO, &origin, &signed);
    assert_eq!(verdict, Verdict::Consume);
    // Frames of this kind do not exist, because a frame contains its receivers.
    let verdict = right.authenticator.open(
        millis(9),
        Duration::ZERO,
        &Origin::of_frame(1),
        &left.seal_to_all(),
    );
    assert_eq!(verdict, Verdict::Drop(DropReason::Malformed));
}

#[test]
fn a_challenge_and_its_answer_count_only_between_their_own_addresses() {
    let [mut left, mut right] = [1, 2].map(|name| Node::new(name, name, &[OLD]));
    let first = left.seal_to(2);
    right.open(1, &first);
    let (_, challenge) = right.replies().remove(0);
    // The attacker passes the challenge to the node. It sends the node's answer back from a different address.
    let wrong_mac = Verdict::Drop(DropReason::WrongMac);
    assert_eq!(left.open(3, &challenge), wrong_mac);
    assert_eq!(left.open(2, &challenge), Verdict::Consume);
    let answers = left.replies();
    for (_, reply) in &answers {
        assert_eq!(right.open(3, reply), wrong_mac);
    }
}

#[test]
fn only_clients_sign_with_client_keys_and_servers_answer_with_them() {
    let mut server = Node::new(SERVER, 1, &[NEW, OLD]).with_client_keys(&[CLIENT_KEY]);
    let mut client = Node::new(CLIENT, 2, &[CLIENT_KEY]);
    prove(&mut client, &mut server);
    let request = client.seal_to(SERVER);
    assert_eq!(key_of(server.open(CLIENT, &request)), Some(9));
    // The server also signed its challenge with the client's key, so the server is already proven for the client.
    let answer = server.seal_to(CLIENT);
    client.open(SERVER, &answer);
    for (_, challenge) in client.replies() {
        server.open(CLIENT, &challenge);
    }
    for (_, reply) in server.replies() {
        client.open(SERVER, &reply);
    }
    let answer = server.seal_to(CLIENT);
    assert_eq!(key_of(client.open(SERVER, &answer)), Some(9));
    // A host with the client's key forges a message of a server.
    let mut liar = Node::new(2, 3, &[CLIENT_KEY]);
    let forged = liar.seal_to(SERVER);
    assert_eq!(
        server.open(2, &forged),
        Verdict::Drop(DropReason::UnknownKey)
    );
    // For other servers, a server signs with a key of the ring.
    let mut other = Node::new(2, 4, &[NEW]);
    prove(&mut server, &mut other);
    let signed = server.seal_to(2);
    assert_eq!(key_of(other.open(SERVER, &signed)), Some(8));
}

#[test]
fn a_client_may_use_a_key_of_the_ring() {
    let mut server = Node::new(SERVER, 1, &[OLD]).with_client_keys(&[CLIENT_KEY]);
    let mut client = Node::new(CLIENT, 2, &[OLD]);
    prove(&mut client, &mut server);
    let request = client.seal_to(SERVER);
    assert_eq!(key_of(server.open(CLIENT, &request)), Some(7));
    prove(&mut server, &mut client);
    let answer = server.seal_to(CLIENT);
    assert_eq!(key_of(client.open(SERVER, &answer)), Some(7));
}

#[test]
fn a_client_whose_key_was_removed_is_dropped() {
    let mut server = Node::new(SERVER, 1, &[OLD]).with_client_keys(&[CLIENT_KEY]);
    let mut client = Node::new(CLIENT, 2, &[CLIENT_KEY]);
    prove(&mut client, &mut server);
    server.authenticator.set_client_keys(&[]);
    let request = client.seal_to(SERVER);
    assert_eq!(
        server.open(CLIENT, &request),
        Verdict::Drop(DropReason::UnknownKey)
    );
}

#[test]
fn a_node_without_keys_reads_signed_messages_but_no_challenges() {
    let mut signer = Node::new(1, 1, &[OLD]);
    let unsigned = b"hello without a signature, and longer than a trailer of 44 bytes";
    assert_eq!(len_without_trailer(unsigned), Some(unsigned.len()));
    assert_eq!(len_without_trailer(b""), Some(0));
    assert_eq!(len_without_trailer(&signer.seal_to(2)), Some(5));
    assert_eq!(len_without_trailer(&signer.seal_to_all()), Some(5));
    let mut other = Node::new(2, 2, &[OLD]);
    other.open(1, &signer.seal_to(2));
    let (_, challenge) = other.replies().remove(0);
    assert_eq!(challenge.len(), NONCE_LEN + TRAILER_LEN);
    assert_eq!(len_without_trailer(&challenge), None);
}

#[test]
fn a_client_without_keys_gets_unsigned_messages_while_they_are_accepted() {
    let mut server = Node::new(1, 1, &[OLD]).with_client_keys(&[CLIENT_KEY]);
    let is_signed = |bytes: &[u8]| bytes.len() > 5;
    assert!(
        is_signed(&server.seal_to(CLIENT)),
        "signatures are required"
    );
    server.authenticator.set_keyring(&keyring(&[OLD]), true);
    assert!(!is_signed(&server.seal_to(CLIENT)));
    assert!(is_signed(&server.seal_to(2)), "the receiver is a server");
    let mut client = Node::new(CLIENT, CLIENT, &[CLIENT_KEY]);
    let first = client.seal_to(1);
    server.open(CLIENT, &first);
    assert!(is_signed(&server.seal_to(CLIENT)), "the client signs");
}

#[test]
fn after_a_greeting_the_first_message_counts() {
    let [mut left, mut right] = [1, 2].map(|name| Node::new(name, name, &[OLD]));
    left.authenticator.greet(millis(9), 2);
    loop {
        let (there, back) = (left.replies(), right.replies());
        if there.is_empty() && back.is_empty() {
            break;
        }
        for (_, reply) in there {
            right.open(1, &reply);
        }
        for (_, reply) in back {
            left.open(2, &reply);
        }
    }
    let first = left.seal_to(2);
    assert_eq!(key_of(right.open(1, &first)), Some(7));
}

#[test]
fn a_client_cannot_take_the_address_of_a_proven_client_with_another_key() {
    const OTHER: &str = "10 0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a";
    let mut server = Node::new(SERVER, 1, &[OLD]).with_client_keys(&[CLIENT_KEY, OTHER]);
    let mut client = Node::new(CLIENT, 2, &[CLIENT_KEY]);
    prove(&mut client, &mut server);
    let refused = Verdict::Drop(DropReason::UnknownKey);
    let mut liar = Node::new(CLIENT, 3, &[OTHER]);
    let forged = liar.seal_to(SERVER);
    assert_eq!(server.open(CLIENT, &forged), refused);
    assert!(server.replies().is_empty());
    // A client with the same key may restart at this address.
    let mut again = Node::new(CLIENT, 4, &[CLIENT_KEY]);
    prove(&mut again, &mut server);
    let request = again.seal_to(SERVER);
    assert_eq!(key_of(server.open(CLIENT, &request)), Some(9));
    // If the key of a client is removed, its session may continue. This is also true for a key of the ring.
    for (client_key, ring) in [(CLIENT_KEY, OLD), (OLD, NEW)] {
        let mut strict = Node::new(SERVER, 1, &[OLD]).with_client_keys(&[CLIENT_KEY, OTHER]);
        prove(&mut Node::new(CLIENT, 2, &[client_key]), &mut strict);
        let authenticator = &mut strict.authenticator;
        authenticator.set_keyring(&keyring(&[ring]), false);
        authenticator.set_client_keys(keyring(&[OTHER]).keys());
        let forged = liar.seal_to(SERVER);
        assert_eq!(strict.open(CLIENT, &forged), refused);
        // A client with a key of the ring counts as trusted.
        let mut trusted = Node::new(CLIENT, 4, &[ring]);
        prove(&mut trusted, &mut strict);
        let request = trusted.seal_to(SERVER);
        assert!(key_of(strict.open(CLIENT, &request)).is_some());
    }
    // After a minute of silence, the address is free.
    let origin = Origin {
        address: CLIENT,
        header: PseudoHeader::new(address(CLIENT), address(SERVER)),
        is_client: true,
    };
    let later = millis(60_009);
    let forged = liar.seal_to(SERVER);
    let verdict = server
        .authenticator
        .open(later, Duration::ZERO, &origin, &forged);
    assert_eq!(verdict, Verdict::Drop(DropReason::Unproven));
}
