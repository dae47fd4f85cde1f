"""The power commands as a user meets them: output, exit codes, files, hostile input, cost.

Usage: power_cli.py LAIRD LAIRD_PRIV FOLDER_OF_FAKE_NVML
"""
import json, os, pathlib, resource, signal, subprocess, sys, tempfile, time, unittest

POWER, PRIV, FAKE_NVML = sys.argv.pop(1), sys.argv.pop(1), sys.argv.pop(1)
LINE = ("01-02-2026 03:04:%02d RAM 1866/7620MB (lfb 42x4MB) SWAP 0/3810MB (cached 0MB) "
        "CPU [10%%@1344,off] GR3D_FREQ 50%%@[306] cpu@41.5C VDD_IN %dmW/5216mW VDD_SOC 1402mW/1402mW")


def run(*arguments, stdin=None, program=POWER, env=None):
    return subprocess.run([program, *map(str, arguments)], input=stdin, capture_output=True, timeout=60,
                          env=env)


class PowerCommands(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.log = self.folder / "x.log"
        self.log.write_text("\n".join(LINE % (i, 5000 + 10 * i) for i in range(30)) + "\n")

    def sysfs(self):
        chip = self.folder / "sys/bus/i2c/devices/1-0040/hwmon/hwmon4"
        chip.mkdir(parents=True)
        (chip / "name").write_text("ina3221\n")
        for n, rail in enumerate(("VDD_IN", "VDD_CPU_GPU_CV", "VDD_SOC"), 1):
            (chip / f"in{n}_label").write_text(rail + "\n")
            (chip / f"in{n}_input").write_text("5000\n")
            (chip / f"curr{n}_input").write_text(f"{1000 + n}\n")
        tree = self.folder / "proc/device-tree"
        tree.mkdir(parents=True)
        (tree / "compatible").write_bytes(b"nvidia,p3768-0000+p3767-0005\0nvidia,tegra234\0")
        return self.folder

    def test_parse_gives_one_object_per_line(self):
        done = run("power", "parse", self.log, "--json")
        self.assertEqual(done.returncode, 0)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([r["total_mw"] for r in rows], [5000 + 10 * i for i in range(30)])
        self.assertEqual(rows[7]["time"], "2026-01-02T03:04:07")
        self.assertEqual(rows[0]["cpu"], [{"load_percent": 10, "mhz": 1344}, None])
        self.assertEqual(rows[0]["unknown"], [])

    def test_parse_follows_a_pipe_and_survives_anything(self):
        garbage = os.urandom(200_000) + b"\n" + b"x" * 3_000_000 + b"\n" + (LINE % (1, 7777)).encode()
        done = run("power", "parse", "-", "--json", stdin=garbage)
        self.assertEqual(done.returncode, 0)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(rows[-1]["total_mw"], 7777)
        self.assertIn(b"were left out", done.stderr)

    def test_report_writes_a_page_and_says_the_energy(self):
        page = self.folder / "page.html"
        done = run("power", "report", self.log, "--board", "orin-nano-8gb", "-o", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        # Trapezoids of 5.00 W rising by 10 mW each second for 29 s.
        self.assertIn(b"energy   149 J over 29 s, no gaps", done.stdout)
        self.assertIn("<svg", page.read_text())

    def test_errors_name_the_cause_and_set_the_exit_code(self):
        for arguments, code, text in (
                (("power", "parse", self.folder / "none.log"), 1, b"No such file"),
                (("power", "parse", self.log, "--board", "orin-nan-8gb"), 1, b'did you mean "orin-nano-8gb"'),
                (("power", "report", "/dev/null", "-o", self.folder / "p"), 1, b"no line of tegrastats"),
                (("power", "report", self.log, "--interval", "5"), 1, b"has no unit"),
                (("power", "watch", "--reader", "recorded", "--file", "/none"), 1, b"/none"),
                (("power", "parse"), 2, b"required"),
                (("power", "dance"), 2, b""),
                ((), 2, b"")):
            done = run(*arguments)
            self.assertEqual(done.returncode, code, arguments)
            self.assertIn(text, done.stderr + done.stdout)

    def test_board_says_what_it_saw_and_what_is_uncertain(self):
        done = run("board", "--json", "--root", self.sysfs())
        self.assertEqual(done.returncode, 0)
        board = json.loads(done.stdout)
        self.assertEqual(board["board"], "orin-nano-8gb")
        self.assertIn("p3767-0005", board["evidence"][0])
        self.assertEqual(board["rails_found"], ["VDD_IN", "VDD_CPU_GPU_CV", "VDD_SOC"])
        self.assertEqual(board["power_source"], "hwmon")
        self.assertTrue(any("unconfirmed" in u for u in board["uncertain"]))
        self.assertIn(b"orin-nano-8gb", run("board", "--root", self.folder).stdout)

    def thor(self, said):
        """A Thor with one rail and a library that says so; the environment to see it with."""
        chip = self.folder / "sys/bus/i2c/devices/2-0044/hwmon/hwmon1"
        chip.mkdir(parents=True)
        (chip / "name").write_text("ina238\n")
        (chip / "power1_input").write_text("20000000\n")
        nvml = self.folder / "nvml"
        nvml.write_text(said)
        return {**os.environ, "FAKE_NVML": str(nvml), "LD_LIBRARY_PATH": FAKE_NVML}

    def test_thors_gpu_load_comes_from_nvml_and_board_says_so(self):
        env = self.thor("load 47\n")
        done = run("power", "watch", "--board", "thor-t5000", "--root", self.folder, "--interval", "50ms",
                   "--count", 40, "--json", env=env)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual({row["total_mw"] for row in rows}, {20000})
        self.assertEqual(rows[-1]["gpu_load_permille"], 470)
        board = json.loads(run("board", "--board", "thor-t5000", "--root", self.folder, "--json",
                               env=env).stdout)
        self.assertEqual(board["gpu_load_source"], "nvml")
        text = run("board", "--board", "thor-t5000", "--root", self.folder, env=env).stdout.decode()
        self.assertIn("gpu load      from nvml: NVML, driver 580.00-fake", text)

    def test_without_nvml_thors_load_is_unknown_and_board_says_why(self):
        env = {**self.thor(""), "LD_LIBRARY_PATH": ""}
        text = run("board", "--board", "thor-t5000", "--root", self.folder, env=env).stdout.decode()
        self.assertIn("gpu load      unknown: NVML cannot be loaded: libnvidia-ml.so.1", text)
        env = self.thor_says(env, "hang init\n")
        text = run("board", "--board", "thor-t5000", "--root", self.folder, env=env).stdout.decode()
        self.assertIn("gpu load      unknown: NVML does not answer, a call hangs", text)
        row = json.loads(run("power", "watch", "--board", "thor-t5000", "--root", self.folder,
                             "--count", 1, "--json", env=env).stdout)
        self.assertEqual((row["total_mw"], row.get("gpu_load_permille")), (20000, None))

    def thor_says(self, env, said):
        (self.folder / "nvml").write_text(said)
        return {**env, "LD_LIBRARY_PATH": FAKE_NVML}

    def test_the_reference_in_the_documents_is_the_programs_own(self):
        document = pathlib.Path(__file__).resolve().parents[3] / "docs/boards.md"
        self.assertIn(run("board", "--reference").stdout.decode().strip(), document.read_text())

    def test_watch_reads_sysfs_live_and_keeps_a_metrics_file(self):
        metrics = self.folder / "laird.prom"
        done = run("power", "watch", "--root", self.sysfs(), "--interval", "20ms", "--count", 5, "--json",
                   "--openmetrics", metrics)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([r["total_mw"] for r in rows], [5005] * 5)
        self.assertTrue(metrics.read_text().endswith("# EOF\n"))
        self.assertIn("laird_readings_total 5", metrics.read_text())

    def test_watch_ends_cleanly_on_interrupt(self):
        process = subprocess.Popen([POWER, "power", "watch", "--reader", "modelled", "--interval", "50ms"],
                                   stdout=subprocess.PIPE)
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=10), 0)
        process.stdout.close()

    def test_live_reading_is_cheap(self):
        # 100 Hz for two seconds stands for 200 s at 1 Hz; the bound is far above what is measured in
        # bench/power and catches only a busy loop.
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run("power", "watch", "--root", self.sysfs(), "--interval", "10ms", "--count", 200, "--json")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.assertLess(spent, 1.0)

    def test_the_helper_sets_and_restores_over_a_pipe(self):
        gpu = self.folder / "sys/devices/platform/17000000.gpu/devfreq/17000000.gpu"
        gpu.mkdir(parents=True)
        (gpu / "max_freq").write_text("1020000000\n")
        (gpu / "min_freq").write_text("306000000\n")
        (gpu / "available_frequencies").write_text("306000000 612000000 1020000000\n")
        link = self.folder / "sys/class/devfreq"
        link.mkdir(parents=True)
        (link / "17000000.gpu").symlink_to(gpu)
        arguments = ("--root", self.folder, "--journal", self.folder / "journal")
        done = run(*arguments, program=PRIV, stdin=b"set gpu-max-freq 612000000\nset gpu-max-freq 7\n"
                   + b"y" * 100_000 + b"\nget gpu-max-freq\n")
        self.assertEqual(done.returncode, 0)
        answers = done.stdout.splitlines()
        self.assertEqual(answers[0], b"ok 612000000")
        self.assertIn(b"is not within", answers[1])
        self.assertIn(b"too long", answers[2])
        self.assertEqual(answers[3], b"ok 612000000 306000000 1020000000")
        self.assertEqual((gpu / "max_freq").read_text(), "1020000000\n")
        # SIGTERM restores as well.
        process = subprocess.Popen([PRIV, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process.stdin.write(b"set gpu-max-freq 306000000\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), b"ok 306000000\n")
        process.terminate()
        self.assertEqual(process.wait(timeout=10), 0)
        process.stdin.close()
        process.stdout.close()
        self.assertEqual((gpu / "max_freq").read_text(), "1020000000\n")

    def test_the_helper_refuses_a_root_that_is_not_the_callers(self):
        if os.getuid() == 0:
            foreign = self.folder / "foreign"
            foreign.mkdir()
            os.chown(foreign, 12345, 12345)
        else:
            foreign = pathlib.Path("/")
        done = run("--root", foreign, program=PRIV, stdin=b"")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"folder of your own", done.stderr)


unittest.main(verbosity=2)
