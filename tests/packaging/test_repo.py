"""The apt repository of `./dev repo`, read by the real apt with every path of its own: what is signed is taken, and
what anybody changed on the way is refused."""

import glob
import gzip
import os
import shutil
import subprocess
import tempfile
import unittest

import fake_rootfs

TOP = fake_rootfs.TOP
MAKE = os.path.join(TOP, "packaging/make_repo.sh")
TOOLS = ("apt-ftparchive", "gpg", "apt-get", "dpkg-deb")


@unittest.skipUnless(all(shutil.which(tool) for tool in TOOLS), "apt-utils or gnupg is not installed")
class Repository(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        # A socket of gpg's agent must have a short path.
        cls.gnupg = tempfile.mkdtemp(prefix="gpg-", dir="/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.gnupg, ignore_errors=True)
        cls.addClassCleanup(subprocess.run, ["gpgconf", "--homedir", cls.gnupg, "--kill", "all"], check=False)
        cls.key("repo@localhost")

    @classmethod
    def key(cls, name):
        subprocess.run(["gpg", "--batch", "--homedir", cls.gnupg, "--passphrase", "", "--quick-generate-key", name,
                        "ed25519", "sign", "never"], check=True, capture_output=True)

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="laird-repo-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.repo = os.path.join(self.folder, "repo")

    def package(self, version, word="laird"):
        place = tempfile.mkdtemp(dir=self.folder)
        return fake_rootfs.make_package(place, version=version, word=word)

    def make(self, *debs, channel="stable", key="repo@localhost", code=0):
        done = subprocess.run([MAKE, self.repo, channel, key, *debs], capture_output=True, text=True, check=False,
                              env={"PATH": os.environ["PATH"], "GNUPGHOME": self.gnupg}, timeout=60)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stderr

    def apt(self, *args, channel="stable", fresh=True):
        """As a board's apt; (code, what it said). `fresh`: with no list from before."""
        home = os.path.join(self.folder, "apt")
        if fresh:
            shutil.rmtree(home, ignore_errors=True)
        for place in ("none", "state/lists/partial", "cache/archives/partial"):
            os.makedirs(os.path.join(home, place), exist_ok=True)
        open(os.path.join(home, "state/status"), "a", encoding="utf-8").close()
        if not os.path.exists(home + "/laird.gpg"):
            shutil.copy(self.repo + "/laird.gpg", home)
        with open(home + "/sources.list", "w", encoding="utf-8") as out:
            out.write("deb [arch=arm64 signed-by=%s/laird.gpg] file:%s %s main\n" % (home, self.repo, channel))
        options = {"Dir::Etc::sourcelist": home + "/sources.list", "Dir::Etc::sourceparts": home + "/none",
                   "Dir::State": home + "/state", "Dir::State::status": home + "/state/status",
                   "Dir::Cache": home + "/cache", "APT::Architecture": "arm64", "APT::Sandbox::User": "root",
                   "Debug::NoLocking": "true", "APT::Architectures::": "arm64"}
        flags = [flag for name, value in options.items() for flag in ("-o", "%s=%s" % (name, value))]
        done = subprocess.run(["apt-get", "-q", *flags, *args], capture_output=True, text=True, check=False, cwd=home,
                              env={"PATH": os.environ["PATH"], "LC_ALL": "C"}, timeout=60)
        return done.returncode, done.stdout + done.stderr

    def fetched(self, version, **more):
        code, said = self.apt("update", **more)
        self.assertEqual(code, 0, said)
        self.assertNotIn("W:", said)
        code, said = self.apt("download", "laird=" + version, fresh=False, **more)
        self.assertEqual(code, 0, said)
        return glob.glob(self.folder + "/apt/laird_%s_arm64.deb" % version)

    def path(self, *parts):
        return os.path.join(self.repo, *parts)

    def test_apt_takes_each_version_from_its_channel(self):
        first, second = self.package("1.0"), self.package("2.0")
        self.make(first)
        self.make(second, channel="testing")
        self.assertEqual(len(self.fetched("1.0")), 1)
        self.assertEqual(len(self.fetched("2.0", channel="testing")), 1)
        self.make(second)
        self.assertEqual(len(self.fetched("2.0")), 1)
        self.assertEqual(len(self.fetched("1.0")), 1)
        self.assertFalse(glob.glob(self.path("dists/.*")))

    def test_a_changed_index_a_changed_signature_and_a_changed_package_are_refused(self):
        self.make(self.package("1.0"))
        packages = self.path("dists/stable/main/binary-arm64/Packages")
        for path, change, why in (
                (packages, lambda text: text.replace(b"Version: 1.0", b"Version: 6.6"), "Hash Sum mismatch"),
                (self.path("dists/stable/InRelease"), lambda text: text.replace(b"Origin: laird", b"Origin: liar!"),
                 "BADSIG")):
            with open(path, "rb") as file:
                good = file.read()
            self.assertNotEqual(change(good), good)
            os.rename(packages + ".gz", packages + ".gz.aside")
            with open(path, "wb") as file:
                file.write(change(good))
            code, said = self.apt("update")
            self.assertNotEqual(code, 0, said)
            self.assertIn(why, said)
            with open(path, "wb") as file:
                file.write(good)
            os.rename(packages + ".gz.aside", packages + ".gz")
        deb = self.path("pool/stable/laird_1.0_arm64.deb")
        with open(deb, "r+b") as file:
            file.seek(200)
            file.write(b"~")
        self.assertEqual(self.apt("update")[0], 0)
        code, said = self.apt("download", "laird=1.0", fresh=False)
        self.assertNotEqual(code, 0, said)
        self.assertIn("Hash Sum mismatch", said)

    def test_another_key_than_the_boards_is_refused(self):
        self.make(self.package("1.0"))
        self.assertEqual(self.apt("update")[0], 0)
        self.key("thief@localhost")
        self.make(self.package("2.0"), key="thief@localhost")
        shutil.rmtree(self.folder + "/apt/state")
        code, said = self.apt("update", fresh=False)
        self.assertNotEqual(code, 0, said)
        self.assertIn("NO_PUBKEY", said)

    def test_a_version_never_changes_and_other_packages_and_channels_are_refused(self):
        first = self.package("1.0")
        self.make(first)
        self.make(first)  # the same bytes
        self.assertIn("raise the version", self.make(self.package("1.0", word="changed"), code=1))
        other = fake_rootfs.make_package(tempfile.mkdtemp(dir=self.folder), name="other")
        self.assertIn("of other, not of laird", self.make(other, code=1))
        self.assertIn("a channel is", self.make(self.package("3.0"), channel="../up", code=1))
        self.assertIn("no secret key", self.make(self.package("3.0"), key="nobody@localhost", code=1))
        with gzip.open(self.path("dists/stable/main/binary-arm64/Packages.gz"), "rt", encoding="utf-8") as file:
            self.assertEqual(file.read().count("Version: 1.0\n"), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
