//! Tests of the monitor socket.

use std::io::Write;

use ring_control::monitor_socket_path;

use super::{ACCEPTS_PER_ROUND, MAX_CLIENTS, MAX_MONITORS, Rig, STATUS, close_for_good, take};

#[test]
fn a_removed_monitor_socket_is_made_again() {
    let mut rig = Rig::new("fine");
    std::fs::remove_file(monitor_socket_path(&rig.path)).unwrap();
    rig.server.check_sockets();
    let mut client = rig.connect_monitor();
    client.write_all(STATUS).unwrap();
    rig.run_rounds(3);
    assert_eq!(take(&client).0, "{\"error\":\"fine\"}\n");
}

#[test]
fn a_client_of_the_monitor_socket_may_only_read() {
    let mut rig = Rig::new("fine");
    let mut client = rig.connect_monitor();
    for request in [r#"{"request":"data_set","hex":""}"#, r#"{"request":"?"}"#] {
        client.write_all(request.as_bytes()).unwrap();
        client.write_all(b"\n").unwrap();
        rig.run_rounds(3);
        let (text, has_closed) = take(&client);
        assert!(text.contains("only answers questions"), "{text}");
        assert!(!has_closed);
    }
    client.write_all(STATUS).unwrap();
    rig.run_rounds(2);
    assert_eq!(take(&client).0, "{\"error\":\"fine\"}\n");
}

#[test]
fn neither_socket_takes_places_of_the_other() {
    let mut rig = Rig::new("fine");
    let monitors: Vec<_> = (0..MAX_MONITORS).map(|_| rig.connect_monitor()).collect();
    rig.run_rounds(2);
    let refused = rig.connect_monitor();
    rig.run_rounds(2);
    let (text, has_closed) = take(&refused);
    assert!(
        text.contains("already serves 3 clients") && has_closed,
        "{text}"
    );
    let clients: Vec<_> = (0..MAX_CLIENTS).map(|_| rig.connect()).collect();
    rig.run_rounds(MAX_CLIENTS / ACCEPTS_PER_ROUND + 1);
    assert!(clients.iter().all(|client| !take(client).1));
    monitors.iter().for_each(close_for_good);
    rig.run_rounds(2);
    let mut monitor = rig.connect_monitor();
    monitor.write_all(STATUS).unwrap();
    rig.run_rounds(3);
    assert_eq!(take(&monitor).0, "{\"error\":\"fine\"}\n");
}
