#!/usr/bin/env python3
"""Shows the pages of the lab's nodes to a browser on this machine. Sockets that listen on 127.0.0.1 are opened outside
the lab. Processes within the lab inherit them and connect to the nodes. scripts/lab calls it.

    relay.py listen COUNT FIRST COMMAND...      opens COUNT sockets at the ports from FIRST on, or at free ports if
                                                those are taken, and becomes COMMAND DESCRIPTOR:PORT...
    relay.py serve DESCRIPTOR HOST PORT         forwards connections to HOST until a signal ends relay.py
"""

import os
import socket
import sys
import threading


def listen(count, first, command):
    opened = []
    for port in range(first, first + count):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        listener.set_inheritable(True)
        opened.append(listener)
    sockets = [f"{it.fileno()}:{it.getsockname()[1]}" for it in opened]
    os.execvp(command[0], [*command, *sockets])


def copy(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    # Only this direction ends. The other direction ends when its source ends.
    try:
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def relay(client, address):
    with client:
        try:
            node = socket.create_connection(address, timeout=5)
        except OSError:
            return  # the node is down, so the browser's connection is closed
        with node:
            node.settimeout(None)
            back = threading.Thread(target=copy, args=(node, client), daemon=True)
            back.start()
            copy(client, node)
            back.join()


def serve(descriptor, address):
    # This process also inherited the other relays' sockets. Close them.
    os.closerange(3, descriptor)
    os.closerange(descriptor + 1, 4096)
    listener = socket.socket(fileno=descriptor)
    while True:
        client, _ = listener.accept()
        threading.Thread(target=relay, args=(client, address), daemon=True).start()


if sys.argv[1] == "listen":
    listen(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
else:
    serve(int(sys.argv[2]), (sys.argv[3], int(sys.argv[4])))
