"""lairctl pki and broker config: what they make, and that a real broker run with it lets everybody do
exactly what is theirs."""

import base64
import getpass
import glob
import os
import shutil
import stat
import subprocess
import tempfile
import unittest

from harness import (BIN, MOSQUITTO, TOP, Broker, FleetTest, Pki, free_port, lairctl, listening,
                     wait_until)


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def openssl(*args):
    return subprocess.run(["openssl", *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=20, check=False).stdout.decode()


class Files(unittest.TestCase):

    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="laird-pki-", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)

    def test_modes_are_tight_whatever_the_umask(self):
        before = os.umask(0)
        try:
            pki = Pki(self.root)
            Broker(self.root, pki)
        finally:
            os.umask(before)
        seen = 0
        for top in (pki.folder, os.path.join(self.root, "mosquitto")):
            for folder, folders, files in os.walk(top):
                self.assertEqual(mode(folder), 0o700, folder)
                self.assertFalse([f for f in folders + files if f.startswith(".lairctl")])
                for name in files:
                    path = os.path.join(folder, name)
                    public = name.endswith((".crt", ".pub", "crl.pem", "mosquitto.conf"))
                    self.assertEqual(mode(path), 0o644 if public else 0o600, path)
                    seen += 1
        self.assertGreater(seen, 20)

    def test_the_systems_openssl_cnf_is_not_read(self):
        pipe = os.path.join(self.root, "openssl.cnf")
        os.mkfifo(pipe)  # who opens it waits for ever
        subprocess.run([os.path.join(BIN, "lairctl"), "pki", "init", "--fleet", "lab", "--host", "broker.local",
                        "--dir", os.path.join(self.root, "pki")], check=True, timeout=60,
                       stdout=subprocess.DEVNULL, env=dict(os.environ, OPENSSL_CONF=pipe))

    def test_the_brokers_files_name_each_other_by_where_they_will_stand(self):
        pki = Pki(self.root)
        out = os.path.join(self.root, "here")
        lairctl("broker", "config", "--pki", pki.folder, "--out", out, "--at", "/etc/mosquitto/laird/")
        with open(out + "/mosquitto.conf", encoding="utf-8") as file:
            named = [line.split()[1] for line in file if line.split()[:1] and
                     line.split()[0] in ("cafile", "certfile", "keyfile", "crlfile", "acl_file")]
        self.assertEqual(sorted(named), ["/etc/mosquitto/laird/" + name for name in
                                         ("acl", "ca.crt", "crl.pem", "server.crt", "server.key")])
        self.assertTrue(all(os.path.exists(os.path.join(out, os.path.basename(p))) for p in named))

    def test_nothing_is_overwritten_without_force(self):
        pki = Pki(self.root)
        Broker(self.root, pki)
        before = self.contents()
        for args in (("pki", "init", "--fleet", "other", "--host", "x", "--dir", pki.folder),
                     ("pki", "issue", "node", "n-1", "--dir", pki.folder),
                     ("pki", "issue", "operator", "op-alice", "--dir", pki.folder),
                     ("broker", "config", "--pki", pki.folder, "--out", self.root + "/mosquitto")):
            self.assertIn("--force", lairctl(*args, code=4))
        self.assertEqual(self.contents(), before)

    def contents(self):
        out = {}
        for path in glob.glob(self.root + "/**", recursive=True):
            if os.path.isfile(path):
                with open(path, "rb") as f:
                    out[path] = f.read()
        return out

    def test_force_keeps_the_old_aside_and_revokes_it(self):
        pki = Pki(self.root)
        old = openssl("x509", "-noout", "-serial", "-in", pki.files("n-1")["cert"])
        said = lairctl("pki", "issue", "node", "n-1", "--force", "--dir", pki.folder)
        self.assertIn("nodes/n-1.before-1", said)
        aside = openssl("x509", "-noout", "-serial", "-in", pki.folder +
                        "/nodes/n-1.before-1/node.crt")
        self.assertEqual(old, aside)
        revoked = openssl("crl", "-noout", "-text", "-in", pki.folder + "/crl.pem")
        self.assertIn(old.strip().split("=")[1], revoked)
        self.assertEqual(revoked.count("Serial Number"), 1)
        said = lairctl("pki", "list", "--dir", pki.folder)
        self.assertRegex(said, r"n-1 +node .* revoked\n")
        self.assertRegex(said, r"n-1 +node .* good\n")

    def test_names_that_would_confuse_are_refused(self):
        pki = Pki(self.root)
        for role, name in (("node", "all"), ("node", "op-bob"), ("node", "../x"), ("node", "N-1"),
                           ("operator", "bob"), ("node", "x" * 33), ("operator", "op-bob/x")):
            with self.subTest(name=name):
                lairctl("pki", "issue", role, name, "--dir", pki.folder, code=2)
        lairctl("pki", "init", "--fleet", "Lab", "--host", "x", "--dir", self.root + "/p", code=2)
        lairctl("pki", "init", "--fleet", "lab", "--host", "a,DNS:b", "--dir", self.root + "/p",
                code=2)
        self.assertFalse(os.path.exists(self.root + "/p"))
        lairctl("pki", "revoke", "n-9", "--dir", pki.folder, code=3)
        self.assertIn("pki init", lairctl("pki", "list", "--dir", self.root + "/none", code=3))

    def test_certificates_verify_and_say_what_they_are_for(self):
        pki = Pki(self.root)
        ca = pki.folder + "/ca.crt"
        for path, purpose, other in (
                (pki.folder + "/broker/server.crt", "sslserver", "sslclient"),
                (pki.files("n-1")["cert"], "sslclient", "sslserver"),
                (pki.files("op-alice")["cert"], "sslclient", "sslserver")):
            check = ["verify", "-CAfile", ca, "-crl_check", "-CRLfile", pki.folder + "/crl.pem"]
            self.assertIn(": OK", openssl(*check, "-purpose", purpose, path))
            self.assertIn("unsuitable certificate purpose",
                          openssl(*check, "-purpose", other, path).lower())
        text = openssl("x509", "-noout", "-text", "-in", pki.folder + "/broker/server.crt")
        self.assertIn("DNS:localhost, IP Address:127.0.0.1", text)
        self.assertIn("CN = n-1", openssl("x509", "-noout", "-subject", "-in",
                                          pki.files("n-1")["cert"]))

    def test_the_signing_key_is_one_openssl_knows_and_no_secret_is_shown(self):
        pki = Pki(self.root, operators=())
        said = lairctl("pki", "issue", "operator", "op-bob", "--dir", pki.folder)
        at = pki.folder + "/operators/op-bob/"
        self.assertIn("ED25519", openssl("pkey", "-noout", "-text", "-in", at + "signing.key"))
        with open(at + "signing.pub", encoding="utf-8") as f:
            public = f.read().strip()
        self.assertIn(public, said)
        der = subprocess.run(["openssl", "pkey", "-in", at + "signing.key", "-pubout", "-outform",
                              "DER"], stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(base64.b64encode(der[-32:]).decode(), public)
        for name in ("signing.key", "op.key"):
            with open(at + name, encoding="utf-8") as f:
                secret = "".join(f.read().splitlines()[1:-1])
            self.assertNotIn(secret[:40], said.replace("\n", ""))

    def test_only_one_changes_the_folder_at_a_time(self):
        pki = Pki(self.root)
        held = subprocess.Popen(["flock", pki.folder, "sleep", "5"])
        self.addCleanup(held.wait)
        self.addCleanup(held.kill)
        def locked():
            return subprocess.run(["flock", "-n", pki.folder, "true"], check=False).returncode == 1
        self.assertTrue(wait_until(locked, 5))
        self.assertIn("another lairctl",
                      lairctl("pki", "issue", "node", "n-5", "--dir", pki.folder, code=124))


class AccessControl(FleetTest):
    """Each name does what is its own and nothing else; the broker answers each publish."""

    def assert_writes(self, name, allowed, refused):
        client = self.up(name)
        for topic in allowed + refused:
            client.publish(TOP + topic, "x", qos=1, kind="event")
        self.assertTrue(wait_until(lambda: sum_of(client) == len(allowed + refused), 10),
                        client.counters())
        problems = " ".join(e["text"] for e in client.seen if e["ev"] == "problem")
        wrong = [t for t in allowed if TOP + t + ":" in problems]
        wrong += [t for t in refused if TOP + t + ":" not in problems]
        self.assertEqual(wrong, [])
        self.assertEqual(client.counters()["refused"], len(refused))
        client.kill()

    def test_a_board_writes_below_its_own_name_only(self):
        self.assert_writes("n-1", [
            "node/n-1/status", "node/n-1/task/a", "node/n-1/coop/n-2", "node/n-1/evt/task",
            "res/op-alice/n-1", "res/op-bob/n-1",
        ], [
            "node/n-2/status", "node/n-2/coop/n-1", "node/n-10/status", "ctl/n-1/cmd/submit",
            "ctl/n-2/cmd/submit", "ctl/all/cmd/drain", "ctl/all/config", "ctl/n-1/config",
            "res/op-alice/n-2", "res/op-alice", "node/all/status",
        ])

    def test_an_operator_writes_commands_only(self):
        self.assert_writes("op-alice", [
            "ctl/n-1/cmd/submit", "ctl/all/cmd/drain", "ctl/all/config", "ctl/n-1/config",
        ], [
            "node/n-1/status", "node/n-2/evt/task", "node/op-alice/status", "node/op-alice/coop/n-1",
            "res/op-alice/n-1", "res/op-alice/op-alice",
        ])

    def test_nobody_writes_outside_the_fleet(self):
        client = self.up("op-alice")
        for topic in ("laird/v1/other/ctl/n-1/cmd/submit", "laird/v2/lab/ctl/n-1/cmd/x", "x"):
            client.publish(topic, "x", qos=1, kind="event")
        self.assertTrue(wait_until(lambda: sum_of(client) == 3, 5))
        self.assertEqual(client.counters()["refused"], 3)

    def test_a_board_reads_its_own_commands_only(self):
        operator = self.up("op-alice", subscriptions=[TOP + "#"])
        first = self.up("n-1", subscriptions=["#", TOP + "ctl/n-2/#"])
        second = self.up("n-2", subscriptions=[TOP + "ctl/n-2/#", TOP + "ctl/all/#",
                                               TOP + "node/+/coop/n-2"])
        for topic in ("ctl/n-2/cmd/submit", "ctl/all/cmd/ping"):
            operator.publish(TOP + topic, topic, qos=1, kind="event")
        first.publish(TOP + "node/n-1/coop/n-2", "hello", kind="peer")
        for topic in ("ctl/n-2/cmd/submit", "ctl/all/cmd/ping", "node/n-1/coop/n-2"):
            second.message(TOP + topic)
        operator.message(TOP + "node/n-1/coop/n-2")
        second.publish(TOP + "res/op-alice/n-2", "secret", qos=1, kind="reply")
        operator.message(TOP + "res/op-alice/n-2")
        first.message(TOP + "ctl/all/cmd/ping")
        first.nothing_within(0.3, "unexpected")
        topics = {e["topic"] for e in first.seen if e["ev"] == "message"}
        self.assertFalse(topics & {TOP + "ctl/n-2/cmd/submit", TOP + "res/op-alice/n-2"}, topics)


def sum_of(client):
    counters = client.counters()
    return counters["sent"] + counters["refused"]


class Certificates(FleetTest):

    def publish_by_mosquitto_pub(self, *tls):
        done = subprocess.run(
            ["mosquitto_pub", "-h", "localhost", "-p", str(self.broker.port), "-V", "5", "-q", "1",
             "-t", TOP + "ctl/n-1/cmd/ping", "-m", "x", *tls],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=10, check=False)
        return done.returncode, done.stdout.decode()

    def test_without_a_certificate_nobody_gets_in(self):
        ca = self.pki.folder + "/ca.crt"
        alice = self.pki.files("op-alice")
        good = ("--cafile", ca, "--cert", alice["cert"], "--key", alice["key"])
        self.assertEqual(self.publish_by_mosquitto_pub(*good)[0], 0)
        self.assertNotEqual(self.publish_by_mosquitto_pub("--cafile", ca)[0], 0)
        self.assertNotEqual(self.publish_by_mosquitto_pub()[0], 0)

    def test_a_certificate_for_another_purpose_does_not_get_in(self):
        server = self.pki.folder + "/broker/server"
        node = self.client("n-1", cert=server + ".crt", key=server + ".key")
        while "does not take our certificate" not in node.expect("link")["why"]:
            pass

    def test_a_board_cannot_pose_as_the_broker(self):
        fake = os.path.join(self.root, "fake")
        os.makedirs(fake, mode=0o700)
        own = self.pki.files("n-2")
        port = free_port()
        with open(fake + "/mosquitto.conf", "w", encoding="utf-8") as f:
            f.write("listener %d 127.0.0.1\ncafile %s\ncertfile %s\nkeyfile %s\nuser %s\n"
                    "allow_anonymous true\n" % (port, own["ca"], own["cert"], own["key"],
                                                getpass.getuser()))
        process = subprocess.Popen([MOSQUITTO, "-c", fake + "/mosquitto.conf"],
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertTrue(wait_until(lambda: listening(port), 5))
        node = self.client("n-1", brokers=["mqtts://localhost:%d" % port])
        while "not trusted: unsuitable certificate purpose" not in node.expect("link")["why"].lower():
            pass

    def test_a_revoked_certificate_does_not_get_in_and_its_operator_has_no_rights(self):
        lairctl("pki", "issue", "node", "n-7", "--dir", self.pki.folder)
        lairctl("pki", "issue", "operator", "op-carol", "--dir", self.pki.folder)
        self.broker.configure("--force")
        self.broker.kill()
        self.broker.start()
        for name in ("n-7", "op-carol"):
            self.up(name).kill()
        said = lairctl("pki", "revoke", "n-7", "op-carol", "--dir", self.pki.folder)
        self.assertEqual(said.count("revoked 1 certificate of"), 2)
        self.assertIn("revoked before", lairctl("pki", "revoke", "n-7", "--dir", self.pki.folder))
        self.broker.configure("--force")
        with open(self.broker.folder + "/acl", encoding="utf-8") as f:
            acl = f.read()
        self.assertIn("user op-alice\n", acl)
        self.assertNotIn("op-carol", acl)
        self.broker.kill()
        self.broker.start()
        for name in ("n-7", "op-carol"):
            client = self.client(name)
            while "certificate revoked" not in client.expect("link")["why"]:
                pass
        self.up("n-1")


if __name__ == "__main__":
    unittest.main(verbosity=2)
