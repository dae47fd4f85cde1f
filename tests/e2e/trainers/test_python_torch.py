"""laird_trainer.py counts the rows of PyTorch's own batches. Skipped (exit code 77) without PyTorch."""

import importlib.util
import inspect
import io
import os
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, os.environ["LAIRD_PYTHON_MODULE"])
import laird_trainer  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "models"))
import onnx_graph  # noqa: E402
from exported import Rows  # noqa: E402

if importlib.util.find_spec("torch") is None:
    print("PyTorch is not installed")
    sys.exit(77)
import torch  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

ROWS = 80  # in batches of 32, 32 and 16


class PyTorch(unittest.TestCase):
    def count(self, loader, report):
        """(samples counted in two epochs, what was said on stderr)"""
        said = io.StringIO()
        with mock.patch("sys.stderr", said), mock.patch("sys.stdout", io.StringIO()):
            with laird_trainer.connect() as trainer:
                for batch in trainer.batches(loader, epochs=2):
                    report(trainer, batch)
        return trainer.samples, said.getvalue()

    def loader(self, *columns):
        return DataLoader(TensorDataset(*columns), batch_size=32, shuffle=True)

    def test_a_data_loader_is_counted_by_rows(self):
        loader = self.loader(torch.zeros(ROWS, 5), torch.zeros(ROWS))
        self.assertEqual(len(next(iter(loader))), 2)
        weight = torch.ones(1, requires_grad=True)
        self.assertEqual(
            self.count(loader, lambda trainer, batch: trainer.report(
                loss=(batch[0].mean() * weight).sum())), (2 * ROWS, ""))

    def test_one_column_and_dicts_of_columns_are_too(self):
        rows = [{"x": torch.zeros(3), "y": 1} for _ in range(ROWS)]
        for loader in (self.loader(torch.zeros(ROWS, 5)), DataLoader(rows, batch_size=32)):
            self.assertEqual(self.count(loader, lambda trainer, _: trainer.report(loss=1.0)),
                             (2 * ROWS, ""))

    def test_a_model_is_exported_by_torch_onnx(self):
        model = torch.nn.Linear(5, 3)

        def export(path):
            rows = torch.randn(20, 5)
            extra = inspect.signature(torch.onnx.export).parameters
            with torch.no_grad():
                answers = model(rows)
                torch.onnx.export(model, (rows[:1],), path, opset_version=13,
                                  input_names=["input"], output_names=["logits"],
                                  dynamic_axes={"input": {0: "batch"}, "logits": {0: "batch"}},
                                  **({"dynamo": False} if "dynamo" in extra else {}))
            return {"features": 5, "outputs": 3, "rows": (rows, answers.argmax(1), answers)}

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.onnx")
            with mock.patch("sys.stdout", io.StringIO()):
                with laird_trainer.connect(export=export) as trainer:
                    for _ in trainer.batches(self.loader(torch.zeros(ROWS, 5)), epochs=1):
                        trainer.report(loss=1.0)
                    about = trainer.export(path)
            self.assertEqual((about["samples"], about["held_out"]["accuracy"]), (ROWS, 1.0))
            graph = onnx_graph.read(path)
            rows = Rows(os.path.join(folder, "m.rows"))
            self.assertEqual((graph.opset, rows.rows), (13, 20))

    def test_len_of_a_batch_is_warned_of(self):
        counted, said = self.count(
            self.loader(torch.zeros(ROWS, 5), torch.zeros(ROWS)),
            lambda trainer, batch: trainer.report(samples=len(batch), loss=1.0))
        self.assertEqual(counted, 12)
        self.assertIn("report(samples=2), but the last batch has 32 rows", said)


if __name__ == "__main__":
    unittest.main()
