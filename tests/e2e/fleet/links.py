"""Wires that can be cut: a proxy between each board and the broker, and an echo that says again what
boards said to each other. The proxy sees TLS only, so it can lose and delay, never forge; the echo
is a client with a board's own certificate, the worst that a copied key could do."""

import collections
import random
import selectors
import socket
import ssl
import struct
import threading
import time

import paho.mqtt.client as paho

CHUNK = 65536
HELD_BYTES_MAX = 1 << 20  # of one direction, in a slow link


class Wire:
    """One direction of one connection: bytes wait here for their time."""

    def __init__(self, source, target):
        self.source, self.target = source, target
        self.held = collections.deque()  # (when due, bytes)
        self.held_bytes = 0
        self.ended = False


class Link(threading.Thread):
    """A board's way to the broker, on a port of its own.

    open: as it comes; cut: connections are reset, new ones too; silent: they stay, and nothing goes
    through; slow: everything comes `delay_s` late, in order."""

    def __init__(self, broker_port):
        super().__init__(daemon=True)
        self.broker_port = broker_port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setblocking(False)
        self.port = self.listener.getsockname()[1]
        self.mode, self.delay_s = "open", 0.0
        self.wires = []
        self.done = False
        self.lock = threading.Lock()

    def set(self, mode, delay_s=0.0):
        with self.lock:
            self.mode, self.delay_s = mode, delay_s
            if mode == "cut":
                self.reset_all()

    def stop(self):
        self.done = True
        self.join(5)
        with self.lock:
            self.reset_all()
        self.listener.close()

    def reset_all(self):
        for wire in self.wires:
            reset(wire.source)
        self.wires = []

    def drop(self, wire):
        """Both directions of the connection."""
        ends = {wire.source, wire.target}
        self.wires = [w for w in self.wires if w.source not in ends]
        for end in ends:
            reset(end)

    def accept(self):
        try:
            board, _ = self.listener.accept()
        except OSError:
            return
        try:
            broker = socket.create_connection(("127.0.0.1", self.broker_port), 2)
        except OSError:
            reset(board)
            return
        if self.mode == "cut":
            reset(board)
            reset(broker)
            return
        for end in (board, broker):
            end.setblocking(False)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.wires += [Wire(board, broker), Wire(broker, board)]

    def read(self, wire):
        if wire.ended or wire.held_bytes > HELD_BYTES_MAX:
            return
        try:
            data = wire.source.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        wire.ended = not data
        if data:
            wire.held.append((time.monotonic() + self.delay_s, data))
            wire.held_bytes += len(data)

    def write(self, wire):
        while wire.held and wire.held[0][0] <= time.monotonic():
            due, data = wire.held.popleft()
            try:
                sent = wire.target.send(data)
            except BlockingIOError:
                sent = 0
            except OSError:
                return False
            wire.held_bytes -= sent
            if sent < len(data):
                wire.held.appendleft((due, data[sent:]))
                break
        return not (wire.ended and not wire.held)

    def run(self):
        while not self.done:
            with self.lock:
                readable = [self.listener]
                if self.mode != "silent":
                    readable += [w.source for w in self.wires if not w.ended]
            waiting = selectors.DefaultSelector()
            for end in readable:
                try:
                    waiting.register(end, selectors.EVENT_READ)
                except (KeyError, ValueError):
                    continue
            held = any(w.held for w in self.wires)
            ready = [key.fileobj for key, _ in waiting.select(0.01 if held else 0.05)]
            waiting.close()
            with self.lock:
                if self.listener in ready:
                    self.accept()
                if self.mode == "silent":
                    continue
                for wire in list(self.wires):
                    if wire.source in ready:
                        self.read(wire)
                    if wire in self.wires and not self.write(wire):
                        self.drop(wire)


def reset(end):
    """Closed with a reset: the other side sees an error, not an end."""
    try:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        end.close()
    except OSError:
        pass


class Echo:
    """Says again what boards said to each other: some at once, some long after, some from an
    earlier life."""

    KEPT = 5000

    def __init__(self, fleet, port, seed, tls_of):
        self.top = "laird/v1/%s/node/" % fleet
        self.rng = random.Random(seed)
        self.kept = collections.deque(maxlen=self.KEPT)  # (topic, payload)
        self.ours = collections.Counter()  # said again, and not heard back yet
        self.again = self.old = 0
        # Each board's messages under its own certificate: the ACL takes them from nobody else.
        self.clients = {}
        for node, files in tls_of.items():
            client = paho.Client(client_id=node + "-echo", protocol=paho.MQTTv5)
            client.tls_set(files["ca"], files["cert"], files["key"],
                           tls_version=ssl.PROTOCOL_TLS_CLIENT)
            client.reconnect_delay_set(1, 2)
            self.clients[node] = client
        ear = next(iter(self.clients.values()))
        ear.on_connect = lambda client, *_: client.subscribe(self.top + "+/coop/+", 0)
        ear.on_message = lambda _client, _user, message: self.hear(message)
        for client in self.clients.values():
            client.connect_async("localhost", port, keepalive=10)
            client.loop_start()

    def hear(self, message):
        said = (message.topic, bytes(message.payload))
        if self.ours[said] > 0:
            self.ours[said] -= 1
            return
        self.kept.append(said)
        dice = self.rng.random()
        if dice < 0.15:
            self.again += 1
            self.say(said)
        elif dice < 0.20:
            self.old += 1
            self.say(self.kept[self.rng.randrange(len(self.kept))])

    def say(self, said):
        topic, payload = said
        client = self.clients[topic[len(self.top):].split("/")[0]]
        if client.is_connected():
            self.ours[said] += 1
            client.publish(topic, payload, qos=0)

    def stop(self):
        for client in self.clients.values():
            client.disconnect()
            client.loop_stop()
