"""Boards of one image join a fleet by themselves, and nobody else gets anything out of it."""

import base64
import datetime
import glob
import hashlib
import json
import os
import random
import subprocess
import tempfile
import threading
import time
import unittest

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from harness import FLEET, TOP, Client, FleetTest, wait_until
from boards import Done, LAIRCTL
from joining import Joiner

BOARDS = int(os.environ.get("LAIRD_JOIN_BOARDS", "20"))
CUTS = int(os.environ.get("LAIRD_JOIN_CUTS", "50"))
ASK = TOP + "join/ask"


def b64(data):
    return base64.b64encode(data).decode()


class Asker:
    """A board in Python, by docs/mqtt-api.md."""

    def __init__(self, serial, fleet=FLEET, **more):
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.public = self.key.public_key().public_bytes(serialization.Encoding.DER,
                                                         serialization.PublicFormat.SubjectPublicKeyInfo)
        self.fingerprint = hashlib.sha256(self.public).hexdigest()[:32]
        self.fields = {"fleet": fleet, "serial": serial, "module": "tx2", "model": "a board", "version": "0.1.0"}
        self.fields.update(more)

    def message(self, **more):
        text = json.dumps(self.fields)
        sig = self.key.sign(b"laird-join-ask-v1\n" + text.encode(), ec.ECDSA(hashes.SHA256()))
        out = {"s": "laird.join-ask/1.0", "signed": text, "key": b64(self.public), "sig": b64(sig)}
        out.update(more)
        return json.dumps(out)


class Joining(FleetTest):
    """A fleet that is founded by the boards that join first."""

    nodes = ()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.home = os.path.join(cls.root, "home")
        os.makedirs(os.path.join(cls.home, ".config/laird"))
        with open(os.path.join(cls.home, ".config/laird/lairctl.json"), "w", encoding="utf-8") as out:
            json.dump({"fleet": FLEET, "brokers": [cls.broker.url],
                       "credentials": os.path.join(cls.pki.folder, "operators/op-alice")}, out)
        with open(os.path.join(cls.pki.folder, "fleet.json"), "w", encoding="utf-8") as out:
            json.dump({"s": "laird.founding/1.0", "fleet": FLEET, "hosts": ["localhost"], "port": cls.broker.port,
                       "operator": "op-alice", "budget": "400W", "boards": {}}, out)
        cls.image = os.path.join(cls.root, "join")
        done = cls.run_lairctl("join", "image", "--pki", cls.pki.folder, "--out", cls.image)
        assert done.code == 0, done
        cls.joiners = []

    @classmethod
    def run_lairctl(cls, *args):
        env = {"HOME": cls.home, "PATH": "/usr/bin:/bin", "NO_COLOR": "1"}
        done = subprocess.run([LAIRCTL, *args], capture_output=True, timeout=120, check=False, env=env)
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def lairctl(self, *args, code=0):
        done = self.run_lairctl(*args)
        self.assertEqual(done.code, code, done)
        return done

    def join(self, verb, *args, code=0):
        return self.lairctl("join", verb, "--pki", self.pki.folder, *args, code=code)

    def listed(self, *more):
        return {row["key"]: row for row in self.join("list", "-o", "json", *more).json()}

    def joiner(self, name, serial, image=None, **more):
        board = Joiner(tempfile.mkdtemp(prefix="joiner-", dir=self.root), name, image or self.image, serial, **more)
        self.addCleanup(board.close)
        return board

    def index(self):
        with open(os.path.join(self.pki.folder, "index.json"), encoding="utf-8") as file:
            return [e for e in json.load(file)["issued"] if e["role"] == "node"]

    def asks(self, *boards):
        """A client with the join certificate says what these boards ask."""
        client = self.with_join_certificate()
        client.expect_up()
        for board in boards:
            client.publish(ASK, board if isinstance(board, str) else board.message(), qos=1)
        return client

    def with_join_certificate(self, image=None, **more):
        return JoinClient(self, image or self.image, **more)


class JoinClient(Client):
    """Whoever has an image."""

    def __init__(self, test, at, **more):
        files = {"ca": at + "/ca.crt", "cert": at + "/join.crt", "key": at + "/join.key"}
        super().__init__("op-thief", test.broker, test.pki, **{**files, **more})
        test.addCleanup(self.kill)


class OneImage(Joining):

    def test_many_boards_are_in_the_fleet_after_one_approval(self):
        boards = [self.joiner("b-%d" % i, "14210%08d" % i) for i in range(BOARDS)]
        for board in boards:
            board.step()
        serials = os.path.join(self.root, "bought.txt")
        with open(serials, "w", encoding="utf-8") as out:
            out.write("# a delivery\n" + "".join("14210%08d   # box %d\n" % (i, i) for i in range(BOARDS)))
        self.assertTrue(wait_until(lambda: all("asks the fleet" in b.log() for b in boards), 60, 0.3))
        done = self.join("approve", "--serials", serials, "--wait", "60s")
        approved = time.monotonic()
        self.assertEqual(done.out.count(" is n-"), BOARDS, done)

        def all_installed():
            for board in boards:
                board.step()
            return all(board.done() for board in boards)
        self.assertTrue(wait_until(all_installed, 60, 0.1), [b.log()[-300:] for b in boards if not b.done()])
        for board in boards:
            board.start_agent()

        def live():
            rows = self.lairctl("get", "nodes", "-o", "json").json()
            return [r for r in rows if r["live"] and r["report"]]
        self.assertTrue(wait_until(lambda: len(live()) == BOARDS, 120, 1), live())
        print("all of %d live %.0f s after approval" % (BOARDS, time.monotonic() - approved))

        def founded():
            done = self.run_lairctl("fleet", "status", "-o", "json")
            now = json.loads(done.out) if done.out.startswith("{") else {}
            return now.get("ok") and now["fenced"] == 0 and now["budget_w"] == 400
        self.assertTrue(wait_until(founded, 90, 1), self.run_lairctl("fleet", "status"))

        names = {board.config()["node"] for board in boards}
        keys = set()
        for board in boards:
            with open(board.etc + "/tls/node.key", encoding="utf-8") as file:
                keys.add(file.read())
            self.assertEqual(os.stat(board.etc + "/tls/node.key").st_mode & 0o777, 0o640)
            # Nothing is left by which another board could ask, and no second copy of the key.
            self.assertEqual(sorted(os.listdir(board.etc + "/join")), ["ca.crt", "join.json"])
            self.assertEqual(os.listdir(board.state), [])
        self.assertEqual((len(names), len(keys)), (BOARDS, BOARDS))
        self.assertEqual(len({e["name"] for e in self.index()}), len(self.index()))
        # The keys are on the boards alone: not in the image, nor with the operator.
        for path in glob.glob(self.pki.folder + "/nodes/**", recursive=True) + glob.glob(self.image + "/*"):
            if os.path.isfile(path):
                with open(path, encoding="utf-8") as file:
                    self.assertNotIn(file.read(), keys, path)
        self.assertFalse(glob.glob(self.pki.folder + "/nodes/*/node.key"))

        # A board that joined by itself can be purged like any other.
        boards[0].agent.terminate()
        boards[0].agent.wait(20)
        gone = boards[0].config()["node"]
        self.assertTrue(wait_until(lambda: gone not in [r["node"] for r in live()], 30, 0.5))
        self.lairctl("purge", gone, "--pki", self.pki.folder, "--yes")


class PowerCuts(Joining):

    def test_boards_that_lose_power_at_any_moment_join_all_the_same(self):
        seed = random.randrange(1 << 32)
        chance = random.Random(seed)
        boards = [self.joiner("c-%d" % i, "14220%08d" % i) for i in range(5)]
        cuts = 0
        for board in boards:
            board.step()
        self.assertTrue(wait_until(lambda: all("asks the fleet" in b.log() for b in boards), 60, 0.1))

        def run_for(seconds, approve=None):
            nonlocal cuts
            end = time.monotonic() + seconds
            while time.monotonic() < end and (approve is None or approve.poll() is None):
                for board in boards:
                    board.step()
                time.sleep(chance.uniform(0, 0.02))
                if cuts < CUTS and chance.random() < 0.2:
                    chance.choice(boards).cut()
                    cuts += 1
        run_for(1)
        for _ in range(3):  # the operator too is interrupted
            env = {"HOME": self.home, "PATH": "/usr/bin:/bin"}
            approve = subprocess.Popen([LAIRCTL, "join", "approve", "--pki", self.pki.folder,
                                        *("14220%08d" % i for i in range(5)), "--wait", "30s"], env=env,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            run_for(chance.uniform(3, 6), approve)
            approve.kill()
            approve.wait()
        while cuts < CUTS:
            board = chance.choice(boards)
            board.step()
            time.sleep(chance.uniform(0, 0.05))
            board.cut()
            cuts += 1

        def settled():
            for board in boards:
                board.step()
            return all(board.done() for board in boards)
        if not wait_until(settled, 15, 0.05):
            missing = [b for b in boards if not b.installed()]
            self.assertTrue(missing)
            env = {"HOME": self.home, "PATH": "/usr/bin:/bin"}
            approve = subprocess.Popen([LAIRCTL, "join", "approve", "--pki", self.pki.folder,
                                        *("14220%08d" % i for i in range(5) if not boards[i].installed()),
                                        "--wait", "40s"], env=env, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            self.addCleanup(approve.kill)
            self.assertTrue(wait_until(settled, 60, 0.05), "seed %d %s" % (seed, [b.log()[-400:] for b in boards]))
            approve.wait(60)
        names = [board.config()["node"] for board in boards]
        self.assertEqual(len(set(names)), 5, "seed %d" % seed)
        good = {e["name"]: e["board_serial"] for e in self.index() if e["revoked_at_s"] is None}
        self.assertEqual(sorted(good.values()), ["14220%08d" % i for i in range(5)], "seed %d" % seed)
        for i, board in enumerate(boards):
            self.assertEqual(good[board.config()["node"]], "14220%08d" % i, "seed %d" % seed)
            with open(board.etc + "/tls/node.crt", "rb") as file:
                cert = x509.load_pem_x509_certificate(file.read())
            with open(board.etc + "/tls/node.key", "rb") as file:
                key = serialization.load_pem_private_key(file.read(), None)
            self.assertEqual(cert.public_key().public_numbers(), key.public_key().public_numbers())
            left = [p for p in glob.glob(board.root + "/**", recursive=True) if p.endswith((".new", ".joining"))]
            self.assertEqual(left, [], "seed %d" % seed)
        print("%d cuts, seed %d" % (cuts, seed))


class Refusals(Joining):

    def test_a_clone_of_a_serial_number_is_refused_and_shown(self):
        first = Asker("s-1")
        self.keep_asking(first)
        name = self.join("approve", first.fingerprint).out.split("s-1 is ")[1].strip()
        clone = Asker("s-1")
        self.keep_asking(clone)
        row = self.listed()[clone.fingerprint]
        self.assertEqual((row["state"], row["node"]), ("another board of this serial number is", name))
        done = self.join("approve", "s-1", code=5)
        self.assertIn("refused: s-1, key " + clone.fingerprint, done.err)
        self.join("approve", "--all", code=5)
        self.assertEqual([e["name"] for e in self.index() if e["board_serial"] == "s-1"], [name])
        # The same board, set up anew: when the operator says so, by its fingerprint.
        done = self.join("approve", clone.fingerprint[:12], "--replace", name)
        self.assertIn("s-1 is " + name, done.out)
        good = [e for e in self.index() if e["revoked_at_s"] is None and e["board_serial"] == "s-1"]
        self.assertEqual([(e["name"], e["fingerprint"]) for e in good], [(name, clone.fingerprint)])

    def test_two_new_boards_of_one_serial_number_are_told_apart_by_their_keys_only(self):
        twins = [Asker("t-1"), Asker("t-1")]
        self.keep_asking(*twins)
        before = len(self.index())
        done = self.join("approve", "t-1", code=5)
        self.assertEqual(done.err.count("one of several with this serial number"), 2)
        self.assertEqual(len(self.index()), before)
        self.join("approve", twins[1].fingerprint)
        self.assertEqual(self.listed()[twins[0].fingerprint]["state"], "another board of this serial number is")

    def test_a_board_is_answered_again_with_the_same_name(self):
        board = Asker("again-1")
        self.keep_asking(board)
        first = self.join("approve", "again-1").out.splitlines()[-1]
        self.assertEqual(self.join("approve", "again-1").out.splitlines()[-1], first)

    def test_a_denied_board_hears_why_and_keeps_quiet(self):
        board = self.joiner("d", "denied-1")
        board.step()
        self.join("deny", "denied-1", "--why", "not ours", "--wait", "30s")
        self.assertTrue(wait_until(lambda: "denied: not ours" in board.log(), 20), board.log())
        self.assertNotIn("denied-1", [r["serial"] for r in self.listed().values()])

    def test_hostile_requests_change_nothing(self):
        before = self.index()
        fine = Asker("fine-1")
        other = Asker("other-1")
        hostile = ["", "{}", "[]", "null", "x" * 60000, "{" * 5000, json.dumps({"s": "laird.join-ask/1.0"}),
                   other.message(key=b64(fine.public)), other.message(sig=b64(b"x" * 70)),
                   other.message(key=b64(other.public + b"x")), other.message(s="laird.join-ask/2.0"),
                   Asker("x" * 65).message(), Asker("").message(), Asker("a b").message(),
                   Asker("\x1b]0;title\x07").message(), Asker("../../etc").message(), Asker("$(id)").message(),
                   Asker("m-1", module="../../../etc/passwd").message(), Asker("m-2", model="m" * 500).message(),
                   Asker("f-1", fleet="other").message(), Asker("v-1", version=7).message(),
                   Asker("e-1", model="\x1b[2J\u202e").message()]
        self.asks(*hostile)
        flood = self.with_join_certificate()
        flood.expect_up()
        self.keep_asking(fine)
        for i in range(600):
            flood.publish(ASK, Asker("flood-%d" % i).message() if i % 20 == 0 else "{%d" % i, qos=0)
        rows = self.listed()
        self.assertEqual(rows[fine.fingerprint]["state"], "new")
        text = self.join("list").out
        self.assertNotIn("\x1b", text)
        self.assertNotIn("\u202e", text)
        for row in rows.values():
            self.assertNotIn(row["serial"], ("../../etc", "$(id)", "a b", ""))
        self.assertEqual(self.index(), before)
        self.assertIn("neither a serial", self.join("approve", "a;b", code=2).err)

    def test_what_the_broker_has_kept_is_no_board(self):
        ghost = Asker("ghost-1")
        client = self.with_join_certificate()
        client.expect_up()
        client.publish(ASK, ghost.message(), qos=1, retained=True)
        time.sleep(1)
        self.assertNotIn(ghost.fingerprint, self.listed("--wait", "2s"))

    def test_a_join_certificate_reads_and_commands_nothing_else(self):
        listener = self.up("op-alice", subscriptions=[TOP + "#"])
        thief = self.with_join_certificate(subscriptions=["#"])
        thief.expect_up()
        for topic in ("node/n-1/status", "node/join/status", "ctl/all/cmd/drain", "ctl/all/config", "ctl/join/cmd/ping",
                      "res/op-alice/join", "res/op-alice/n-1", "join/answer/" + "0" * 32, "join/other"):
            thief.publish(TOP + topic, "{}", qos=1)
        listener.publish(TOP + "ctl/all/cmd/hello", "{}", qos=1)
        listener.publish(TOP + "ctl/join/cmd/hello", "{}", qos=1)
        listener.publish(TOP + "join/answer/" + "1" * 32, "{}", qos=1)
        heard = thief.message(topic=TOP + "join/answer/" + "1" * 32)
        self.assertEqual(heard["payload"], b"{}")
        thief.publish(ASK, "the last", qos=1)
        listener.message(topic=ASK)
        thief.nothing_within(1, "message")
        # What other tests of this class left with the broker comes first.
        seen = {e["topic"] for e in listener.seen + listener.unclaimed if e["ev"] == "message" and not e["retained"]}
        self.assertEqual(seen - {ASK}, {TOP + "ctl/all/cmd/hello", TOP + "ctl/join/cmd/hello",
                                        TOP + "join/answer/" + "1" * 32})
        told = {e["topic"] for e in thief.seen if e["ev"] == "message"}
        self.assertEqual({topic for topic in told if not topic.startswith(TOP + "join/answer/")}, set())

    def test_an_expired_certificate_and_a_board_called_join_are_refused(self):
        image = self.expired_image()
        board = self.joiner("e", "expired-1", image=image)
        board.step()
        self.assertTrue(wait_until(lambda: "has expired" in board.log(), 15), board.log())
        # And the broker says so too, to whoever does not look at the date.
        done = subprocess.run(["openssl", "s_client", "-connect", "localhost:%d" % self.broker.port, "-CAfile",
                               image + "/ca.crt", "-cert", image + "/join.crt", "-key", image + "/join.key",
                               "-ign_eof"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30,
                              check=False)
        self.assertIn("certificate expired", done.stdout + done.stderr)
        self.lairctl("pki", "issue", "node", "join", "--dir", self.pki.folder, code=2)

    def test_answers_that_are_not_the_authoritys_are_not_believed(self):
        board = self.joiner("l", "liar-1")
        board.step()
        self.assertTrue(wait_until(lambda: "its key " in board.log(), 15))
        print_ = board.log().split("its key ")[1].split(";")[0]
        operator = self.up("op-alice")
        key = ec.generate_private_key(ec.SECP256R1())
        text = json.dumps({"fleet": FLEET, "to": print_, "admitted": True, "node": "n-9", "cert": "x",
                           "config": {"node": "n-9"}})
        sig = key.sign(b"laird-join-answer-v1\n" + text.encode(), ec.ECDSA(hashes.SHA256()))
        topic = TOP + "join/answer/" + print_

        def is_refused():  # told again until the board listens
            for payload in ("", "{}", "y" * 60000,
                            json.dumps({"s": "laird.join-answer/1.0", "signed": text, "sig": b64(sig)})):
                operator.publish(topic, payload, qos=1)
            return "not signed by the fleet's authority" in board.log()
        self.assertTrue(wait_until(is_refused, 20, 0.5), board.log())
        self.assertIsNone(board.process.poll())
        self.assertFalse(os.path.exists(board.state + "/answer.json"))
        # A file that somebody put there is judged again by the half that may write the config.
        with open(board.state + "/answer.json", "w", encoding="utf-8") as out:
            out.write(json.dumps({"s": "laird.join-answer/1.0", "signed": text, "sig": b64(sig)}))
        done = subprocess.run(board.argv("--install"), capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertFalse(board.installed())
        self.assertFalse(os.path.exists(board.state + "/answer.json"))

    # What the tests above share.

    def keep_asking(self, *boards):
        """As boards do, every five seconds and more often, until the test ends."""
        client = self.with_join_certificate()
        client.expect_up()
        stop = threading.Event()

        def run():
            while not stop.wait(1):
                for board in boards:
                    client.publish(ASK, board.message(), qos=1)
        thread = threading.Thread(target=run, daemon=True)
        thread.start()

        def end():
            stop.set()
            thread.join(5)
        self.addCleanup(end)

    def expired_image(self):
        with open(self.pki.folder + "/ca.key", "rb") as file:
            authority = serialization.load_pem_private_key(file.read(), None)
        with open(self.pki.folder + "/ca.crt", "rb") as file:
            ca = x509.load_pem_x509_certificate(file.read())
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.datetime.utcnow()
        cert = (x509.CertificateBuilder().subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "join")]))
                .issuer_name(ca.subject).public_key(key.public_key()).serial_number(x509.random_serial_number())
                .not_valid_before(now - datetime.timedelta(days=3)).not_valid_after(now - datetime.timedelta(days=1))
                .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), False)
                .sign(authority, hashes.SHA256()))
        folder = os.path.join(self.root, "expired")
        os.makedirs(folder)
        files = {"join.crt": cert.public_bytes(serialization.Encoding.PEM),
                 "ca.crt": ca.public_bytes(serialization.Encoding.PEM),
                 "join.key": key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                               serialization.NoEncryption()),
                 "join.json": json.dumps({"fleet": FLEET, "brokers": [self.broker.url]}).encode()}
        for name, content in files.items():
            with open(os.path.join(folder, name), "wb") as out:
                out.write(content)
            os.chmod(os.path.join(folder, name), 0o600)
        return folder


if __name__ == "__main__":
    unittest.main(verbosity=2)
