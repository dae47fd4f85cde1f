"""A plain PyTorch loop becomes a trainer of the agent with five changed lines: its samples are counted,
its model is exported, promoted and pulled. Skipped (exit code 77) without PyTorch."""

import difflib
import importlib.util
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../agent"))
sys.path.insert(0, HERE)

if importlib.util.find_spec("torch") is None:
    print("skipped: PyTorch is not installed")
    sys.exit(77)

from harness import BIN, Board  # noqa: E402
from test_promotion import FAKE, LIMITS, PROMOTE  # noqa: E402

MODULE = os.path.abspath(os.path.join(HERE, "../../../trainers/python"))
ROWS, FEATURES, CLASSES, BATCH = 960, 5, 3, 32

# What somebody has before they have heard of laird.
PLAIN = f"""
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
torch.set_num_threads(1)
inputs = torch.randn({ROWS}, {FEATURES})
labels = (inputs @ torch.randn({FEATURES}, {CLASSES})).argmax(1)
loader = DataLoader(TensorDataset(inputs, labels), batch_size={BATCH}, shuffle=True)
model = torch.nn.Linear({FEATURES}, {CLASSES})
optimiser = torch.optim.SGD(model.parameters(), lr=0.5)

def save(path):
    torch.save(model.state_dict(), path)

def load(path):
    model.load_state_dict(torch.load(path))

def export(path):
    torch.onnx.export(model, (inputs[:1],), path, opset_version=13, input_names=["input"],
                      output_names=["logits"],
                      dynamic_axes={{"input": {{0: "batch"}}, "logits": {{0: "batch"}}}})
    with torch.no_grad():
        return {{"features": {FEATURES}, "outputs": {CLASSES},
                "rows": (inputs[:200], labels[:200], model(inputs[:200]))}}

for epoch in range(100):
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
"""

CHANGES = [
    ("import torch\n", "import laird_trainer\nimport torch\n"),
    ("for epoch in range(100):\n    for x, y in loader:\n",
     "with laird_trainer.connect(save=save, load=load, export=export) as trainer:\n"
     "    for x, y in trainer.batches(loader):\n"),
    ("        optimiser.step()\n", "        optimiser.step()\n        trainer.report(loss=loss)\n"),
]


def trainer_source():
    out = PLAIN
    for old, new in CHANGES:
        assert out.count(old) == 1, old
        out = out.replace(old, new)
    return out


class TorchTask(unittest.TestCase):
    def test_it_is_no_more_than_five_lines(self):
        changed = [line for line in difflib.ndiff(PLAIN.splitlines(), trainer_source().splitlines())
                   if line.startswith("+ ")]
        self.assertLessEqual(len(changed), 5, changed)

    def test_it_is_counted_exported_promoted_and_pulled(self):
        board = Board("torch")
        self.addCleanup(board.__exit__)
        script = os.path.join(board.root, "train.py")
        with open(script, "w", encoding="utf-8") as out:
            out.write(trainer_source())
        board.config["trainers"]["own"] = {
            "exec": ["/usr/bin/python3", "-B", script],
            "env": {"PYTHONPATH": MODULE, "HOME": "/tmp", "PATH": "/usr/bin:/bin"}}
        board.config["trainers"]["laird-promote"] = {
            "exec": [PROMOTE, "task", "--trtexec", FAKE, "--plugin", "/no/such.so"],
            "env": {"FAKE_TRTEXEC_MODE": "ok", "PATH": "/usr/bin:/bin"}}
        board.config["timing"].update({"start_timeout": "60s", "hang_timeout": "60s"})
        board.config["board"]["memory"] = "8GB"
        board.config["cell"] = {"processes": 512}
        board.start()
        board.accept({"name": "own", "trainer": "own", "deadline": "10m", "target_loss": 0.25,
                      "memory": "2GB", "report_every": 320, "promote": dict(LIMITS)})
        rows = board.wait_ended("own", timeout=120)
        self.assertEqual(rows["own"]["state"], "succeeded", rows["own"])
        # Whole batches of 32, and no sample twice.
        self.assertEqual(rows["own"]["samples"] % BATCH, 0)
        self.assertGreater(rows["own"]["samples"], 0)
        board.wait_for(lambda: "own-promote" in board.tasks(), 60, "no promotion")
        promoted = board.wait_ended("own-promote", timeout=120)["own-promote"]
        self.assertEqual(promoted["state"], "succeeded", promoted)
        self.assertIn(promoted["promotion"]["choice"], ("fp16", "fp32"),
                      self.promoted_json(board))
        board.wait_for(lambda: "own" in board.ctl("models")[1], 20, "the model is not in the store")
        into = os.path.join(board.root, "pulled")
        code, out, err = board.ctl("pull", "own", into)
        self.assertEqual(code, 0, out + err)
        self.assertLessEqual({"model.onnx", "model.json", "engine"}, set(os.listdir(into)))


    @staticmethod
    def promoted_json(board):
        with open(os.path.join(board.task_folder("own"), "promoted/current/promoted.json"),
                  encoding="utf-8") as file:
            return file.read()


if __name__ == "__main__":
    unittest.main(verbosity=2)
