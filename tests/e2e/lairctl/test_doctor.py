"""lairctl doctor: what is well, what is not, and how to mend it."""

import os
import shutil
import signal
import unittest

from boards import OperatedFleet


class Doctor(OperatedFleet):
    boards = nodes = ("n-1", "n-2")

    def findings(self, *args, code=0, **more):
        rows = self.lairctl("doctor", "-o", "json", *args, code=code, **more).json()
        for row in rows:
            if row["health"] in ("warn", "fail"):
                self.assertNotEqual(row["remedy"], "", row)
        return {(r["subject"], r["health"]): r["text"] for r in rows}

    def test_a_healthy_fleet_passes(self):
        found = self.findings("--timeout", "8s")
        for subject in ("config", "tls", "broker", "link", "signing", "acl", "boards", "commands",
                        "clocks", "budget"):
            self.assertIn((subject, "ok"), found)
        self.assertIn("answered 2 of 2", found["commands", "ok"])
        self.assertIn("3 boards" if len(self.boards) == 3 else "2 boards", found["clocks", "ok"])

    def test_the_local_agent_is_looked_at_too(self):
        text = self.lairctl("doctor", "--socket", self.agents["n-1"].socket).out
        self.assertRegex(text, r"ok    agent     answers as n-1")
        self.assertRegex(text, r"ok    journal ")
        self.assertRegex(text, r"(?m)^warn  power ")

    def test_a_broker_that_is_away_fails_with_a_reason(self):
        found = self.findings("--broker", "mqtts://localhost:1", "--timeout", "2s", code=1)
        self.assertIn("Connection refused", found["broker", "fail"])

    def test_a_key_that_everybody_may_read_fails(self):
        folder = os.path.join(self.root, "open")
        shutil.copytree(self.credentials, folder)
        os.chmod(os.path.join(folder, "op.key"), 0o644)
        found = self.findings("--credentials", folder, code=1)
        self.assertIn("op.key", found["tls", "fail"])

    def test_an_operator_the_boards_do_not_know_is_told(self):
        folder = os.path.join(self.root, "other")
        shutil.copytree(self.credentials, folder)
        os.remove(os.path.join(folder, "signing.key"))
        os.system("openssl genpkey -algorithm ed25519 -out %s/signing.key 2>/dev/null" % folder)
        os.chmod(os.path.join(folder, "signing.key"), 0o600)
        found = self.findings("--credentials", folder, code=1)
        self.assertIn("signature", found["commands", "fail"])

    def test_an_acl_that_lets_operators_write_anywhere_fails(self):
        acl = os.path.join(self.broker.folder, "acl")
        with open(acl, encoding="utf-8") as file:
            before = file.read()
        self.addCleanup(self.reload, acl, before)
        self.reload(acl, "user op-alice\ntopic readwrite #\n" + before.replace("topic deny", "#"))
        found = self.findings(code=1)
        self.assertIn("does not hold the ACL", found["acl", "fail"])

    def reload(self, acl, text):
        with open(acl, "w", encoding="utf-8") as file:
            file.write(text)
        self.broker.process.send_signal(signal.SIGHUP)


if __name__ == "__main__":
    unittest.main(verbosity=2)
