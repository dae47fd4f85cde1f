"""docs/mqtt-api.md is enough to write a client: its shell commands and its Python program are run as they
stand there against a real board, and every message of the board fits its schema."""

import base64
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import jsonschema

from harness import TOP, Board, FleetTest, wait_until

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs")


def blocks(language):
    with open(DOCS + "/mqtt-api.md", encoding="utf-8") as f:
        return re.findall(r"^```%s\n(.*?)^```" % language, f.read(), re.M | re.S)


class Api(FleetTest):

    def setUp(self):
        self.watcher = self.up("op-alice", subscriptions=[TOP + "#"])
        self.board = Board(self, "n-1").start()
        while True:  # what the broker kept of an earlier board does not count
            status = self.watcher.message(TOP + "node/n-1/status", 20)
            if not status["retained"] and json.loads(status["payload"])["state"] == "ready":
                break
        self.environment = {**os.environ, "HOST": "localhost", "PORT": str(self.broker.port),
                            "ME": self.pki.folder + "/operators/op-alice"}

    def test_the_shell_client_of_the_page_takes_a_task_through_its_life(self):
        script = "set -eu\n" + "".join(blocks("sh"))
        # Into a file: the subscriber that is left behind would keep a pipe open.
        with tempfile.TemporaryFile("w+", encoding="utf-8") as out:
            done = subprocess.run(["bash", "-c", script], env=self.environment, stdout=out,
                                  stderr=subprocess.STDOUT, timeout=60, check=False)
            out.seek(0)
            said = out.read()
        self.assertEqual(done.returncode, 0, said + self.board.log())
        replies = [json.loads(line) for line in said.splitlines() if "laird.reply" in line]
        self.assertEqual([(r["code"], r["node"]) for r in replies], [("ok", "n-1")] * 4, said)
        self.assertIs(replies[1]["data"]["admits"], True)
        self.assertIn('"state":"ready"', said)
        self.assertIn('"state":"succeeded"', said)

    def test_the_python_client_of_the_page_gets_its_answers(self):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(blocks("python")[0])
            file.flush()
            done = subprocess.run([sys.executable, "-B", file.name], env=self.environment,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30,
                                  check=False)
        said = done.stdout.decode()
        self.assertEqual(done.returncode, 0, said)
        self.assertIn("'text': 'here'", said)
        self.assertIn("'tasks': [", said)

    def test_every_message_fits_its_schema(self):
        script = "set -eu\n" + "".join(blocks("sh"))
        subprocess.run(["bash", "-c", script], env=self.environment, stdout=subprocess.DEVNULL,
                       timeout=60, check=True)
        kinds = ("status", "info", "report", "task", "evt", "tele", "res", "cmd")
        seen = {}

        def collect():
            while not self.watcher.lines.empty():
                self.watcher.seen.append(self.watcher.lines.get())
            for event in self.watcher.seen:
                if event["ev"] != "message" or "/coop/" in event["topic"]:
                    continue
                levels = event["topic"].split("/")
                kind = "res" if levels[3] == "res" else levels[5]
                seen.setdefault(kind, []).append((event["topic"], event["payload64"]))
            return set(kinds) <= set(seen)

        self.assertTrue(wait_until(collect, 15, 0.5), set(kinds) - set(seen))
        names = {"evt": "event", "res": "reply"}
        for kind, messages in seen.items():
            with open("%s/schema/%s.json" % (DOCS, names.get(kind, kind)), encoding="utf-8") as f:
                check = jsonschema.Draft202012Validator(json.load(f))
            for topic, payload in messages:
                value = json.loads(base64.b64decode(payload))
                errors = [e.message for e in check.iter_errors(value)]
                self.assertEqual(errors, [], "%s: %s" % (topic, value))
                if kind == "cmd":
                    with open(DOCS + "/schema/signed.json", encoding="utf-8") as f:
                        jsonschema.Draft202012Validator(json.load(f)).validate(
                            json.loads(value["signed"]))

    def test_the_examples_of_the_page_fit_their_schemas(self):
        with open(DOCS + "/mqtt-api.md", encoding="utf-8") as f:
            lines = [line for line in f if re.match(r'{.*"s":"laird\.', line) and "<" not in line]
        kinds = set()
        for line in lines:
            value = json.loads(line)
            kind = re.match(r"laird\.([a-z]+)/", value["s"])[1]
            with open("%s/schema/%s.json" % (DOCS, kind), encoding="utf-8") as f:
                jsonschema.Draft202012Validator(json.load(f)).validate(value)
            kinds.add(kind)
        self.assertEqual(kinds, {"status", "info", "report", "cotrain", "task", "event", "tele",
                                 "reply"})

    def test_the_bodies_of_config_fit_their_schema(self):
        with open(DOCS + "/mqtt-api.md", encoding="utf-8") as f:
            lines = [line for line in f if re.match(r'{"(set|apply|confirm)"', line)]
        with open(DOCS + "/schema/config.json", encoding="utf-8") as f:
            check = jsonschema.Draft202012Validator(json.load(f))
        self.assertEqual(len(lines), 3)
        for line in lines:
            check.validate(json.loads(line))
        self.assertFalse(check.is_valid({"confirm_within_s": 4, "set": {}}))
        self.assertFalse(check.is_valid({}))


if __name__ == "__main__":
    unittest.main(verbosity=2)
