"""The agent's metrics as a scraper meets them: strictly parsed, bounded, and closed to everything else. The
dashboard asks for nothing that is not there."""

import json
import os
import re
import socket
import unittest
import urllib.error
import urllib.request

from boards import OperatedFleet, task
from harness import free_port, wait_until

DASHBOARD = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                         "../../../packaging/grafana/laird.json")
SAMPLE = re.compile(r'^([a-z_]+)(\{(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*\})? (\S+)$')


def parse(text):
    """Samples by name and labels; every rule of the format that a scraper insists on."""
    lines = text.split("\n")
    assert lines[-2:] == ["# EOF", ""], lines[-3:]
    samples, types, family = {}, {}, None
    for line in lines[:-2]:
        meta = re.match(r"^# (TYPE|UNIT|HELP) (\S+) (.+)$", line)
        if meta:
            if meta[1] == "TYPE":
                assert meta[2] not in types, line
                family, types[meta[2]] = meta[2], meta[3]
            assert meta[2] == family, line
            assert meta[1] != "UNIT" or family.endswith("_" + meta[3]), line
            continue
        sample = SAMPLE.match(line)
        assert sample, line
        suffix = {"counter": "_total", "info": "_info", "gauge": ""}[types[family]]
        assert sample[1] == family + suffix, line
        assert (sample[1], sample[2]) not in samples, line
        samples[sample[1], sample[2]] = float(sample[3])
    return samples


class Metrics(OperatedFleet):

    boards = ("n-1", "n-2")
    nodes = boards

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.port = free_port()
        board = cls.agents["n-1"]
        board.kill()
        board.config["metrics"] = {"listen": "127.0.0.1:%d" % cls.port}
        board.config["power"] = {"source": "modelled", "cap": "20W"}
        board.start()
        cls.wait_for_boards()

    def get(self, path="/metrics", **more):
        request = urllib.request.Request("http://127.0.0.1:%d%s" % (self.port, path), **more)
        with urllib.request.urlopen(request, timeout=10) as answer:
            self.assertEqual(answer.headers["Content-Type"],
                             "application/openmetrics-text; version=1.0.0; charset=utf-8")
            return answer.read().decode()

    def test_what_it_says_is_so_and_well_formed(self):
        self.submit(task("scraped", epochs=4000), "--node", "n-1")
        self.wait_for_task("scraped", "running")
        self.assertTrue(wait_until(lambda: "laird_task_loss{" in self.get(), 20, 0.3))
        samples = parse(self.get())
        names = {name for name, _ in samples}
        self.assertEqual(samples["laird_mqtt_connected", None], 1)
        caps = {labels: v for (name, labels), v in samples.items() if name == "laird_power_cap_watts"}
        self.assertEqual(len(caps), 1)  # the lowest holds: the file's, or the share at this moment
        self.assertLessEqual(max(caps.values()), 20)
        self.assertGreater(samples["laird_task_loss", '{task="scraped"}'], 0)
        self.assertGreater(samples["laird_energy_joules_total", None], 0)
        self.assertGreater(samples["process_resident_memory_bytes", None], 1e6)
        self.assertLess(samples["process_resident_memory_bytes", None], 1e8)
        # The fleet of two agrees on its shares, in rounds.
        self.assertTrue(wait_until(lambda: parse(self.get()).get(
            ("laird_coop_neighbours", '{state="heard"}')) == 1, 20, 0.3))
        agreed = parse(self.get())
        self.assertEqual(agreed["laird_coop_neighbours", '{state="silent"}'], 0)
        self.assertEqual(agreed["laird_fleet_members", None], 2)
        self.assertEqual(agreed["laird_fleet_fenced", None], 0)
        self.assertGreater(agreed["laird_fleet_fenced_in_seconds", None], 0)
        self.assertLessEqual(agreed["laird_coop_disagreement_ratio", '{resource="power"}'], 1)
        rounds = agreed["laird_coop_rounds_total", None]
        self.assertTrue(wait_until(
            lambda: parse(self.get())["laird_coop_rounds_total", None] > rounds, 20, 0.3))
        self.assertTrue(wait_until(lambda: parse(self.get())[
            "laird_coop_disagreement_ratio", '{resource="power"}'] < 0.01, 40, 0.3))
        self.lairctl("cancel", "scraped", "--yes")
        self.assertTrue(wait_until(lambda: parse(self.get())[
            "laird_tasks_ended_total", '{outcome="cancelled"}'] == 1, 15, 0.3))
        # What the dashboard asks for exists, if not on every board at every time.
        sometimes = {"laird_temperature_celsius", "laird_task_loss_forecast"}
        with open(DASHBOARD, encoding="utf-8") as file:
            dashboard = json.load(file)
        asked = {name for panel in dashboard["panels"] for target in panel.get("targets", [])
                 for name in re.findall(r"\b(?:laird|process)_[a-z_]+", target["expr"])}
        self.assertGreater(len(asked), 10)
        self.assertEqual(asked - names - sometimes, set())

    def test_everything_else_is_refused(self):
        for path, method, code in (("/", "GET", 404), ("/metrics", "POST", 405),
                                   ("/metricsx", "GET", 404)):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                self.get(path, method=method)
            self.assertEqual(refused.exception.code, code)
            refused.exception.close()
        for request, code in ((b"rubbish\r\n\r\n", b"400"), (b"x" * 4096, b"431")):
            with socket.create_connection(("127.0.0.1", self.port), 10) as s:
                s.sendall(request)
                self.assertIn(code, s.recv(100))

    def test_silent_visitors_keep_nobody_out(self):
        idle = [socket.create_connection(("127.0.0.1", self.port), 10) for _ in range(40)]
        for s in idle:
            self.addCleanup(s.close)
        for _ in range(3):
            parse(self.get())
        for s in idle:  # and they are sent away
            s.settimeout(20)
            self.assertEqual(s.recv(10), b"")
        parse(self.get())


if __name__ == "__main__":
    unittest.main(verbosity=2)
