"""What the package installs besides programs: manual pages, completions, the example, the units."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

BIN = os.path.abspath(os.environ.get("LAIRD_BIN", "build/release/bin"))
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGING = os.path.join(TOP, "packaging")


def said(*args, **more):
    return subprocess.run(args, capture_output=True, text=True, check=False, timeout=30, **more)


def lairctl(*args):
    done = said(os.path.join(BIN, "lairctl"), *args)
    assert done.returncode == 0, done
    return done.stdout


class ManualPages(unittest.TestCase):

    @unittest.skipUnless(shutil.which("mandoc"), "mandoc is not installed")
    def test_mandoc_finds_nothing(self):
        reference = said(os.path.join(PACKAGING, "man", "reference.py"), os.path.join(BIN, "laird"))
        self.assertEqual(reference.returncode, 0, reference.stderr)
        pages = {"lairctl.1": lairctl("completion", "man"), "laird.json.5": reference.stdout}
        for name in ("laird.8", "laird-train.1", "laird-promote.1"):
            with open(os.path.join(PACKAGING, "man", name), encoding="utf-8") as page:
                pages[name] = page.read()
        for name, text in pages.items():
            done = said("mandoc", "-T", "lint", "-W", "warning", input=text)
            # The pages name each other; only some of them are installed here.
            left = [line for line in done.stdout.splitlines() if "outdated mandoc.db" not in line]
            self.assertEqual(left, [], name)

    def test_lairctl_1_names_every_command_and_laird_json_5_every_section(self):
        page = lairctl("completion", "man")
        for command in ("submit", "get tasks", "get events", "cap set", "config apply", "fleet init",
                        "doctor", "enroll", "purge", "pki issue"):
            self.assertIn(".It Cm " + command, page)
        reference = said(os.path.join(PACKAGING, "man", "reference.py"),
                         os.path.join(BIN, "laird")).stdout
        for section in ("LAIRD.JSON", "FLEET", "TASK", "JOURNAL", "METRICS", "OPERATOR"):
            self.assertIn(".Sh " + section, reference)
        self.assertIn(".It Sy brokers", reference)


class Completion(unittest.TestCase):

    def complete(self, *words):
        script = "source <(%s completion bash)\nCOMP_WORDS=(%s)\nCOMP_CWORD=%d\n_lairctl\n" \
                 "printf '%%s\\n' \"${COMPREPLY[@]}\"\n" % (
                     os.path.join(BIN, "lairctl"), " ".join("'%s'" % w for w in words),
                     len(words) - 1)
        done = said("bash", "-c", script)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.split()

    def test_bash_completes_commands_below_commands_options_and_values(self):
        self.assertEqual(self.complete("lairctl", "can"), ["cancel"])
        self.assertEqual(sorted(self.complete("lairctl", "get", "")[:4]),
                         ["events", "nodes", "power", "tasks"])
        self.assertIn("--any", self.complete("lairctl", "submit", "--a"))
        self.assertEqual(self.complete("lairctl", "get", "tasks", "-o", "j"), ["json"])
        self.assertEqual(self.complete("lairctl", "cap", "se"), ["set"])
        self.assertIn("--confirm-within", self.complete("lairctl", "config", "apply", "--con"))

    def test_each_shell_that_is_here_reads_its_script(self):
        for shell, check in (("bash", ["-n"]), ("zsh", ["-n"]), ("fish", ["--no-execute"])):
            text = lairctl("completion", shell)
            self.assertIn("submit", text)
            if shutil.which(shell) is None:
                continue
            with tempfile.NamedTemporaryFile("w", suffix="." + shell) as file:
                file.write(text)
                file.flush()
                done = said(shell, *check, file.name)
                self.assertEqual((done.returncode, done.stderr), (0, ""), shell)

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh_completes_below_commands_and_leaves_path_alone(self):
        with tempfile.NamedTemporaryFile("w", suffix=".zsh") as file:
            file.write(lairctl("completion", "zsh"))
            file.flush()
            done = said("zsh", "-f", "-c", "_describe() { print -l -- \"${(@P)2}\"; env true }\n"
                        "words=(lairctl config ''); CURRENT=3\nsource " + file.name)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual([line.split(":")[0] for line in done.stdout.splitlines()][:3],
                         ["get", "set", "unset"])

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish_completes_below_commands(self):
        with tempfile.NamedTemporaryFile("w", suffix=".fish") as file:
            file.write(lairctl("completion", "fish"))
            file.flush()
            done = said("fish", "-c", "source %s; complete -C 'lairctl config '" % file.name)
        self.assertIn("apply\t", done.stdout)

    def test_version_for_programs(self):
        version = json.loads(lairctl("version", "-o", "json"))
        self.assertRegex(version["lairctl"], r"^\d+\.\d+\.\d+$")
        self.assertEqual(version["topics"], "laird/v1")


class Files(unittest.TestCase):

    def test_the_example_is_a_valid_config_but_for_its_files(self):
        with open(os.path.join(PACKAGING, "laird.example.json"), encoding="utf-8") as file:
            text = file.read()
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(text)
            file.flush()
            done = said(os.path.join(BIN, "laird"), "check", file.name)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd is not installed")
    def test_systemd_takes_the_units_and_finds_the_agent_well_confined(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in os.listdir(PACKAGING):
                if not re.search(r"\.(service|slice|socket|path)$", name):
                    continue
                with open(os.path.join(PACKAGING, name), encoding="utf-8") as file:
                    text = re.sub(r"/usr/(bin|libexec/laird)/(?=laird)", BIN + "/", file.read())
                    text = text.replace("User=laird\nGroup=laird\n", "User=root\nGroup=root\n")
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            unit = os.path.join(folder, "laird.service")
            done = said("systemd-analyze", "verify", "--man=no", unit,
                        os.path.join(folder, "laird-priv.socket"), os.path.join(folder, "laird.slice"),
                        os.path.join(folder, "laird-priv@.service"),
                        os.path.join(folder, "laird-cell.socket"),
                        os.path.join(folder, "laird-cell@.service"),
                        os.path.join(folder, "laird-join.service"),
                        os.path.join(folder, "laird-join-install.path"),
                        os.path.join(folder, "laird-join-install.service"),
                        os.path.join(folder, "laird-upgrade.path"),
                        os.path.join(folder, "laird-upgrade.service"))
            ours = [line for line in (done.stdout + done.stderr).splitlines() if folder in line]
            self.assertEqual(ours, [])
        # A tenth above what systemd 252 says: others weigh a little differently.
        for name, most in (("laird.service", 25), ("laird-priv@.service", 24),
                           ("laird-cell@.service", 57), ("laird-join.service", 25),
                           ("laird-join-install.service", 25), ("laird-upgrade.service", 42),
                           ("laird-upgrade-back.service", 40)):
            security = said("systemd-analyze", "security", "--offline=yes", f"--threshold={most}",
                            "--no-pager", os.path.join(PACKAGING, name))
            self.assertEqual(security.returncode, 0, security.stdout[-600:] + security.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
