"""The MQTT client against a real broker: what it promises in mqtt/client/client.hpp."""

import base64
import ctypes
import os
import re
import signal
import socket
import subprocess
import threading
import time
import unittest

from harness import DRIVER, TOP, Client, FleetTest, Pki, free_port, wait_until


class Delivery(FleetTest):

    def test_response_topic_and_correlation_with_nul_bytes_arrive(self):
        operator = self.up("op-alice", subscriptions=[TOP + "#"])
        node = self.up("n-1", subscriptions=[TOP + "ctl/n-1/#"])
        correlation = b"\x00\x01\x00\xff"
        operator.publish(TOP + "ctl/n-1/cmd/ping", "hello", qos=1, kind="event", expiry_s=30,
                         response_topic=TOP + "res/op-alice/n-1",
                         correlation64=base64.b64encode(correlation).decode())
        command = node.message(TOP + "ctl/n-1/cmd/ping")
        self.assertEqual(command["payload"], b"hello")
        self.assertEqual(command["correlation"], correlation)
        self.assertEqual(command["response_topic"], TOP + "res/op-alice/n-1")
        self.assertFalse(command["retained"])
        node.publish(command["response_topic"], "done", qos=1, kind="reply",
                     correlation64=command["correlation64"])
        reply = operator.message(TOP + "res/op-alice/n-1")
        self.assertEqual((reply["payload"], reply["correlation"]), (b"done", correlation))

    def test_the_retained_will_follows_a_kill_and_not_a_clean_end(self):
        status = TOP + "node/n-2/status"
        will = {"topic": status, "payload": "lost", "qos": 1, "retained": True}
        operator = self.up("op-alice", subscriptions=[status])
        node = self.up("n-2", will=will, will_delay_s=1)
        node.publish(status, "ready", kind="state", qos=1, retained=True)
        self.assertEqual(operator.message(status)["payload"], b"ready")
        node.kill()
        self.assertEqual(operator.message(status)["payload"], b"lost")
        late = self.up("op-alice", subscriptions=[status])
        kept = late.message(status)
        self.assertEqual((kept["payload"], kept["retained"]), (b"lost", True))

        node = self.up("n-2", will=will, will_delay_s=1)
        node.tell("close", last_word={"topic": status, "payload": "offline", "kind": "state",
                                      "qos": 1, "retained": True})
        node.expect("closed")
        self.assertEqual(operator.message(status)["payload"], b"offline")
        operator.nothing_within(2.0, "message")

    def test_leaving_without_a_close_sends_the_will(self):
        status = TOP + "node/n-2/status"
        operator = self.up("op-alice", subscriptions=[status])
        wait_until(lambda: operator.lines.qsize() > 0, 0.5)
        node = self.up("n-2", will={"topic": status, "payload": "gone", "qos": 1}, will_delay_s=0)
        node.tell("leave")
        while operator.message(status)["payload"] != b"gone":
            pass

    def test_an_oversized_message_is_dropped_counted_and_named(self):
        node = self.up("n-1", subscriptions=[TOP + "ctl/n-1/#"])
        # mosquitto's own limit is as large, so a lax broker stands in: 64 KiB and one byte.
        with LaxBroker() as lax:
            node.kill()
            node = self.client("n-1", brokers=["mqtt://127.0.0.1:%d" % lax.port], insecure_lab=True)
            node.expect_up()
            lax.send(TOP + "ctl/n-1/cmd/submit", b"x" * (64 * 1024 + 1))
            problem = node.expect("problem")["text"]
            self.assertIn("65537 bytes on " + TOP + "ctl/n-1/cmd/submit", problem)
            lax.send(TOP + "ctl/n-1/cmd/ping", b"y" * (64 * 1024))
            self.assertEqual(len(node.message()["payload"]), 64 * 1024)
            self.assertEqual(node.counters()["oversized"], 1)

    def test_the_broker_itself_refuses_an_oversized_message(self):
        operator = self.up("op-alice")
        node = self.up("n-1", subscriptions=[TOP + "ctl/n-1/#"])
        done = subprocess.run(
            ["mosquitto_pub", "-h", "localhost", "-p", str(self.broker.port), "-V", "5", "-q", "1",
             "--cafile", self.pki.files("op-alice")["ca"], "--cert",
             self.pki.files("op-alice")["cert"], "--key", self.pki.files("op-alice")["key"],
             "-t", TOP + "ctl/n-1/cmd/submit", "-s"], input=b"x" * (64 * 1024 + 1),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=10, check=False)
        self.assertIn(b"Packet too large", done.stdout)
        operator.publish(TOP + "ctl/n-1/cmd/ping", "after", qos=1, kind="event")
        self.assertEqual(node.message()["payload"], b"after")

    def test_a_write_the_acl_forbids_is_told_once_and_not_tried_again(self):
        node = self.up("n-1")
        for _ in range(5):
            node.publish(TOP + "node/n-2/evt/task", "forged", qos=1, kind="event")
        text = node.expect("problem")["text"]
        self.assertIn("ACL", text)
        self.assertIn(TOP + "node/n-2/evt/task", text)
        node.nothing_within(0.5, "problem")
        counters = node.counters()
        self.assertEqual((counters["refused"], counters["sent"]), (5, 0))

    def test_what_is_heard_follows_the_subscriptions_over_connections_and_lives(self):
        state, own = TOP + "node/n-2/status", TOP + "ctl/n-1/cmd/ping"
        operator, other = self.up("op-alice"), self.up("n-2")
        other.publish(state, "one", kind="state", qos=1, retained=True)
        other.counters()
        # The session at the broker knows the filter when the next life begins, which leaves it.
        former = self.up("n-1", subscriptions=[TOP + "node/+/status"])
        self.assertEqual(former.message(state)["payload"], b"one")
        former.kill()
        node = self.client("n-1", subscriptions=[TOP + "ctl/n-1/#"])
        node.tell("unsubscribe", filter=TOP + "node/+/status")
        node.expect_up()

        def hears(word):
            """Whether the state comes before a command that was sent after it."""
            other.publish(state, word, kind="state", qos=1, retained=True)
            self.assertTrue(wait_until(lambda: other.counters()["sent"] >= hears.sent, 5, 0.05))
            hears.sent += 1
            operator.publish(own, word, kind="event", qos=1)
            seen = []
            while not seen or seen[-1] != (own, word.encode()):
                event = node.message()
                seen.append((event["topic"], event["payload"]))
            return (state, word.encode()) in seen
        hears.sent = other.counters()["sent"] + 1
        self.assertFalse(hears("two"))
        node.tell("subscribe", filter=TOP + "node/+/status")
        self.assertEqual(node.message(state)["payload"], b"two")  # it was retained
        self.assertTrue(hears("three"))
        node.tell("unsubscribe", filter=TOP + "node/+/status")
        node.tell("subscribe", filter="bad/#/filter")
        node.expect("refused")
        self.assertTrue(wait_until(lambda: not hears("four"), 5, 0.05))
        self.broker.kill()
        self.broker.start()
        for each in (operator, other, node):
            each.expect_up()
        hears.sent = other.counters()["sent"] + 1
        self.assertFalse(hears("five"))

    def test_the_connection_does_not_wait_and_is_not_inherited(self):
        node = self.up("n-1", subscriptions=[TOP + "ctl/n-1/#"])
        found = 0
        for fd in os.listdir("/proc/%d/fd" % node.process.pid):
            copy = borrowed_socket(node.process.pid, int(fd))
            if copy is None:
                continue
            with copy:
                if copy.family == socket.AF_UNIX or copy.getpeername()[1] != self.broker.port:
                    continue
                self.assertNotEqual(copy.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY), 0)
            with open("/proc/%d/fdinfo/%s" % (node.process.pid, fd), encoding="utf-8") as f:
                flags = int(re.search(r"flags:\s+(\d+)", f.read())[1], 8)
            self.assertTrue(flags & os.O_CLOEXEC)
            found += 1
        self.assertEqual(found, 1)


def borrowed_socket(pid, fd):
    """A connected socket of another process, or nothing."""
    handle = os.pidfd_open(pid)
    copy = ctypes.CDLL(None).syscall(438, handle, fd, 0)  # pidfd_getfd
    os.close(handle)
    if copy < 0:
        return None
    try:
        out = socket.socket(fileno=copy)
        out.getpeername()
        return out
    except OSError:
        os.close(copy)
        return None


class Outage(FleetTest):

    def test_broker_killed_and_back_without_memory(self):
        watcher = self.up("op-alice", subscriptions=[TOP + "#"])
        node = self.up("n-1", subscriptions=[TOP + "ctl/n-1/#"])
        node.publish(TOP + "node/n-1/status", "old", kind="state", qos=1, retained=True)
        node.publish(TOP + "node/n-1/status", "new", kind="state", qos=1, retained=True)
        node.publish(TOP + "node/n-1/task/gone", "x", kind="state", qos=1, retained=True)
        node.publish(TOP + "node/n-1/task/gone", "", kind="state", qos=1, retained=True)
        wait_until(lambda: False, 0.3)
        self.broker.kill()
        for client in (watcher, node):
            client.expect("link", connected=False)
        node.publish(TOP + "node/n-1/evt/task", "while away", kind="event", qos=1)
        node.publish(TOP + "node/n-1/tele/power", "stale", kind="telemetry", expiry_s=1)
        time.sleep(1.1)
        # The watcher is there first, or it would miss what the node has to tell.
        node.process.send_signal(signal.SIGSTOP)
        self.broker.start()
        watcher.expect_up()
        node.process.send_signal(signal.SIGCONT)
        node.expect_up()
        # A broker without memory has lost subscriptions and retained messages: both come again.
        watcher.publish(TOP + "ctl/n-1/cmd/ping", "again", qos=1, kind="event")
        self.assertEqual(node.message(TOP + "ctl/n-1/cmd/ping")["payload"], b"again")
        late = self.up("op-alice", subscriptions=[TOP + "node/#"])
        kept = late.message()
        self.assertEqual((kept["topic"], kept["payload"]), (TOP + "node/n-1/status", b"new"))
        late.nothing_within(0.3, "message")
        # The event waited; what was stale by then did not.
        topics = [e["topic"] for e in watcher.seen if e["ev"] == "message"]
        if TOP + "node/n-1/evt/task" not in topics:
            watcher.message(TOP + "node/n-1/evt/task")
        topics = [e["topic"] for e in watcher.seen if e["ev"] == "message"]
        self.assertNotIn(TOP + "node/n-1/tele/power", topics)

    def test_events_in_flight_when_the_broker_dies_arrive_later(self):
        node = self.up("n-1")
        self.broker.process.send_signal(signal.SIGSTOP)
        for i in range(40):
            node.publish(TOP + "node/n-1/evt/task", "e%d" % i, kind="event", qos=1)
        time.sleep(0.2)
        self.broker.kill()
        node.expect("link", connected=False, timeout_s=20)
        self.broker.start()
        node.expect_up()
        self.assertTrue(wait_until(lambda: node.counters()["sent"] >= 40, 10), node.counters())
        counters = node.counters()
        self.assertEqual((counters["refused"], sum(counters["dropped"])), (0, 0))

    def test_first_connect_before_the_broker_is_there(self):
        self.broker.kill()
        node = self.client("n-1")
        self.assertFalse(node.expect("link")["connected"])
        self.broker.start()
        node.expect_up()

    def test_the_next_broker_of_the_list_is_taken(self):
        dead = "mqtts://localhost:%d" % free_port()
        node = self.client("n-1", brokers=[dead, self.broker.url])
        node.expect_up()

    def test_memory_stays_flat_for_200000_publishes_without_a_broker(self):
        for kind, topic in (("telemetry", "node/n-1/tele/power"), ("event", "node/n-1/evt/task"),
                            ("state", "node/n-1/report"), ("peer", "node/n-1/coop/n-2")):
            with self.subTest(kind=kind):
                node = Client("n-1", self.broker, self.pki,
                              brokers=["mqtts://localhost:%d" % free_port()])
                self.addCleanup(node.kill)
                node.expect("link", connected=False)
                before = node.counters()["rss_kb"]
                node.tell("flood", topic=TOP + topic, payload="p" * 200, kind=kind, qos=1,
                          count=200000)
                node.expect("flooded", 30)
                after = node.counters()
                self.assertLess(after["rss_kb"] - before, 2048, after)
                if kind != "state":
                    self.assertGreater(sum(after["dropped"]), 199000)
                node.kill()


class Trust(FleetTest):

    def test_files_that_cannot_work_are_refused_in_words(self):
        other = self.pki.files("n-2")
        with open(os.path.join(self.root, "garbage"), "w", encoding="utf-8") as f:
            f.write("not a key\n")
        garbage = os.path.join(self.root, "garbage")
        for more, said in (({"key": other["key"]}, "is not the key of"),
                           ({"ca": "/nowhere/ca.crt"}, "/nowhere/ca.crt"),
                           ({"cert": garbage}, "is not a certificate"),
                           ({"key": garbage}, "is not a private key"),
                           ({"ca": other["cert"]}, "was not issued by"),
                           ({"brokers": ["mqtt://localhost:1883"]}, "insecure_lab"),
                           ({"brokers": ["localhost:8883"]}, "mqtts://host:8883"),
                           ({"brokers": []}, "no broker")):
            with self.subTest(more=more):
                self.assertIn(said, self.client("n-1", **more).expect("refused")["text"])
        loose = os.path.join(self.root, "loose.key")
        with open(self.pki.files("n-1")["key"], encoding="utf-8") as f:
            key = f.read()
        with open(loose, "w", encoding="utf-8") as f:
            f.write(key)
        os.chmod(loose, 0o644)
        self.assertIn("chmod", self.client("n-1", key=loose).expect("refused")["text"])

    def test_a_broker_of_another_authority_is_not_trusted(self):
        stranger = Pki(os.path.join(self.root, "stranger"), nodes=("n-1",), operators=())
        node = self.client("n-1", **stranger.files("n-1"))
        self.assert_never_up(node, "the broker's certificate is not trusted")
        self.assertNotIn("as n-1", self.broker.log())

    def assert_never_up(self, node, why):
        """It says that it failed, soon also why, and there is no link a while after."""
        while True:
            link = node.expect("link")
            self.assertFalse(link["connected"])
            if why in link["why"]:
                break
        node.nothing_within(1.0, "link")

    def test_a_client_of_another_authority_is_not_let_in(self):
        stranger = Pki(os.path.join(self.root, "stranger2"), nodes=("n-1",), operators=())
        theirs = stranger.files("n-1")
        # It even knows whom to trust: both authorities are in its file.
        both = os.path.join(self.root, "both.crt")
        with open(both, "w", encoding="utf-8") as out:
            for path in (theirs["ca"], self.pki.files("n-1")["ca"]):
                with open(path, encoding="utf-8") as f:
                    out.write(f.read())
        node = self.client("n-1", **{**theirs, "ca": both})
        self.assert_never_up(node, "the broker does not take our certificate")

    def test_why_there_is_no_link_is_told_in_words(self):
        self.assert_never_up(self.client("n-1", brokers=["mqtts://localhost:%d" % free_port()]),
                             "nothing listens there")
        self.assert_never_up(self.client("n-1", brokers=["mqtts://nowhere.invalid:8883"]),
                             "the name nowhere.invalid leads nowhere")

    def test_a_broker_of_another_name_is_not_trusted(self):
        # The certificate says localhost and 127.0.0.1; 127.0.0.2 leads to nobody it names.
        with Relay(self.broker.port) as relay:
            node = self.client("n-1", brokers=["mqtts://127.0.0.2:%d" % relay.port])
            self.assert_never_up(node, "the broker's certificate is not for 127.0.0.2")
            self.assertGreater(relay.accepted, 0)
        node = self.client("n-2", brokers=["mqtts://127.0.0.1:%d" % self.broker.port])
        node.expect_up()

    def test_a_broker_without_mqtt_5_is_named(self):
        with OldBroker() as old:
            node = self.client("n-1", brokers=["mqtt://127.0.0.1:%d" % old.port], insecure_lab=True)
            link = node.expect("link")
            self.assertFalse(link["connected"])
            self.assertIn("MQTT 5", link["why"])
            self.assertEqual(old.version_asked, 5)


class Stub:
    """A listener whose every connection goes to serve(), in a thread of its own."""

    host = "127.0.0.1"

    def __init__(self):
        self.listener = socket.create_server((self.host, 0))
        self.port = self.listener.getsockname()[1]
        self.accepted = 0
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.accepted += 1
            threading.Thread(target=self.guarded, args=(connection,), daemon=True).start()

    def guarded(self, connection):
        try:
            self.serve(connection)
        except OSError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


class OldBroker(Stub):
    """Answers as a broker of MQTT 3.1.1 does to a protocol it does not know."""

    version_asked = None

    def serve(self, connection):
        head = connection.recv(1024)
        self.version_asked = head[head.index(b"MQTT") + 4]
        connection.sendall(b"\x20\x02\x00\x01")
        connection.close()


class LaxBroker(Stub):
    """Lets everybody in and sends what it is told."""

    connection = None

    def serve(self, connection):
        connection.recv(4096)
        connection.sendall(b"\x20\x03\x00\x00\x00")
        self.connection = connection
        while connection.recv(4096):
            pass

    def send(self, topic, payload):
        wait_until(lambda: self.connection is not None, 5)
        body = len(topic).to_bytes(2, "big") + topic.encode() + b"\x00" + payload
        length, head = len(body), b"\x30"
        while True:
            length, low = length >> 7, length & 127
            head += bytes([low | (128 if length else 0)])
            if not length:
                break
        self.connection.sendall(head + body)


class Relay(Stub):
    """Another address of the same broker."""

    host = "127.0.0.2"

    def __init__(self, port):
        self.target = port
        super().__init__()

    def serve(self, connection):
        onward = socket.create_connection(("127.0.0.1", self.target))
        threading.Thread(target=self.pump, args=(onward, connection), daemon=True).start()
        self.pump(connection, onward)

    @staticmethod
    def pump(source, sink):
        try:
            while True:
                data = source.recv(65536)
                if not data:
                    break
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            end.close()


if __name__ == "__main__":
    assert os.path.exists(DRIVER), DRIVER
    unittest.main(verbosity=2)
