"""Who is kept out of the live page, what is too much for it, and hostile texts: over its port."""

import json
import re
import socket
import time
import unittest

from fleet_page import PagedFleet
from harness import TOP


class Guard(PagedFleet):
    boards = ("n-1",)
    nodes = ("n-1", "n-2")

    @classmethod
    def configure(cls, board):
        pass

    def raw(self, serve, text, seconds=20):
        """What comes back until the server closes."""
        with socket.create_connection(("127.0.0.1", serve.port), timeout=seconds) as link:
            try:
                link.sendall(text)
            except OSError:
                pass
            out = b""
            try:
                while block := link.recv(65536):
                    out += block
            except ConnectionResetError:
                pass
            return out.decode(errors="replace")

    def test_the_page_is_public_and_strict_and_its_data_are_not(self):
        serve = self.serve()
        for path in ("/", "/page.js", "/page.css"):
            status, headers, text = serve.ask(path, token=False)
            self.assertEqual(200, status)
            self.assertIn("script-src 'self'", headers["Content-Security-Policy"])
            self.assertNotIn("unsafe", headers["Content-Security-Policy"])
            self.assertEqual(("nosniff", "no-store"),
                             (headers["X-Content-Type-Options"], headers["Cache-Control"]))
            self.assertIsNone(re.search(r"https?://(?!['\"+ ])", text))
            self.assertNotIn(serve.token, text)
        for path in ("/api/stream", "/api/board?board=n-1", "/api/why?board=n-1&task=a"):
            for token in (False, "0" * 32, serve.token[:-1], serve.token + "0"):
                self.assertEqual(401, serve.ask(path, token=token)[0], path)
        self.assertEqual(200, serve.ask("/api/board?board=n-1")[0])
        self.assertEqual(404, serve.ask("/api/board?board=n-9")[0])
        self.assertEqual(404, serve.ask("/etc/passwd")[0])

    def test_foreign_names_pages_and_methods_are_refused(self):
        serve = self.serve()
        self.assertEqual(421, serve.ask("/", Host="evil.example:%d" % serve.port)[0])
        self.assertEqual(403, serve.ask("/api/stream", Origin="http://evil.example")[0])
        self.assertEqual(403, serve.ask("/api/stream", Sec_Fetch_Site="cross-site")[0])
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "HEAD"):
            self.assertEqual(405, serve.ask("/api/order", method)[0], method)
        self.assertEqual(405, serve.order(verb="drain", board="n-1")[0])

    def test_orders_with_control_and_what_they_refuse(self):
        serve = self.serve("--control")
        self.assertEqual(400, serve.order(verb="purge", board="n-1")[0])
        self.assertEqual(400, serve.order(verb="drain", board="--all")[0])
        status, told = serve.order(verb="drain", board="n-1")
        self.assertEqual((200, True), (status, told["ok"]), told)
        status, told = serve.order(verb="undrain", board="n-1")
        self.assertTrue(told["ok"], told)
        status, told = serve.order(verb="cancel", board="n-1", task="nobody")
        self.assertEqual((200, False, 3), (status, told["ok"], told["code"]), told)
        status, told = serve.order(verb="submit", board="n-1", task='{"name": "bad"}')
        self.assertEqual((200, False, 2), (status, told["ok"], told["code"]), told)
        self.assertIn("target_loss", told["text"])
        body = json.dumps({"verb": "drain", "board": "n-1"})
        self.assertEqual(403, serve.ask("/api/order", "POST", body, Content_Type="application/json")[0])

    def test_too_large_malformed_and_slow_requests_do_no_harm(self):
        serve = self.serve("--control")
        self.assertIn(" 431 ", self.raw(serve, b"GET / HTTP/1.1\r\nA: " + b"x" * 20000))
        self.assertIn(" 413 ", self.raw(serve, b"POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n"))
        self.assertIn(" 400 ", self.raw(serve, b"\x16\x03\x01\x00\r\n\r\n"))
        self.assertEqual("", self.raw(serve, b"GET / HTTP/1.1\r\n"))  # never ended: closed by the server
        idle = [socket.create_connection(("127.0.0.1", serve.port)) for _ in range(60)]
        try:
            self.assertEqual(200, serve.ask("/")[0])
        finally:
            for link in idle:
                link.close()

    def test_so_many_watch_and_no_more(self):
        serve = self.serve()
        streams = [serve.stream() for _ in range(8)]
        try:
            self.assertTrue(all(s.next()[0] == "whole" for s in streams))
            self.assertEqual(503, serve.ask("/api/stream")[0])
            self.assertEqual("change", streams[0].next()[0])
        finally:
            for s in streams:
                s.link.close()

    def test_control_is_for_the_loopback_and_a_used_port_is_said(self):
        done = self.lairctl("serve", "--control", "--listen", "0.0.0.0:9478", code=2)
        self.assertIn("ssh -L", done.err)
        self.assertIn("is no address", self.lairctl("serve", "--listen", "localhost:1", code=2).err)
        serve = self.serve()
        done = self.lairctl("serve", "--listen", "127.0.0.1:%d" % serve.port, code=1)
        self.assertIn("choose another address", done.err)

    def test_ten_thousand_hostile_tasks_are_texts_within_bounds(self):
        import browser
        serve = self.serve()
        evil = "<script>window.broken=1</script>\u202e\u001b]0;x\u0007<img src=x onerror=window.broken=2>"
        node = self.up("n-2")
        node.publish(TOP + "node/n-2/status", json.dumps(
            {"s": "laird.status/1.0", "state": "ready", "epoch": 1, "ts": "2026-11-18T00:00:00.000Z"}),
            kind="state", retained=True, qos=1)
        node.publish(TOP + "node/n-2/info", json.dumps(
            {"s": "laird.info/1.0", "model": evil, "version": evil}), kind="state", retained=True, qos=1)
        task = {"s": "laird.task/1.0", "lane": evil, "state": evil, "loss": 1, "target_loss": 0.1,
                "samples": 1, "reason": evil, "deadline_in_s": 5, "ts": "2026-11-18T00:00:00.000Z"}
        before = serve.resident_kb()
        for i in range(10000):
            node.publish(TOP + "node/n-2/task/t-%d" % i, json.dumps(dict(task, name="t-%d" % i)),
                         kind="event", qos=1)
            if i % 100 == 99:
                time.sleep(0.05)
        node.publish(TOP + "node/n-2/evt/task", json.dumps(
            {"s": "laird.event/1.0", "kind": "task", "text": evil, "ts": "2026-11-18T00:00:00.000Z"}),
            kind="event", qos=1)
        with serve.stream() as stream:
            kind, told = stream.next()
            for _ in range(60):
                if told["summary"].get("tasks_hidden", 0) > 0:
                    break
                kind, told = stream.next()
        self.assertGreater(told["summary"]["tasks_hidden"], 0)
        self.assertLess(serve.resident_kb() - before, 150_000)
        if not browser.path():
            self.skipTest("no chromium here: apt install chromium")
        with browser.Browser() as b:
            self.open(b, serve, 390)
            self.assertIsNone(b.says("window.broken"))
            self.assertEqual(0, b.says("document.querySelectorAll('img, #main script').length"))
            self.assertIn("<script>", b.says("document.querySelector('#task-rows').innerText"))
            self.assertLessEqual(b.says("document.documentElement.scrollWidth"), 390)
            self.assertEqual([], b.errors())


if __name__ == "__main__":
    unittest.main(verbosity=2)
