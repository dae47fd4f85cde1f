"""laird_trainer.py counts the rows of PyTorch's own batches. Skipped (exit code 77) without PyTorch."""

import importlib.util
import io
import os
import sys
import unittest
from unittest import mock

sys.path.insert(0, os.environ["LAIRD_PYTHON_MODULE"])
import laird_trainer  # noqa: E402

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

    def test_len_of_a_batch_is_warned_of(self):
        counted, said = self.count(
            self.loader(torch.zeros(ROWS, 5), torch.zeros(ROWS)),
            lambda trainer, batch: trainer.report(samples=len(batch), loss=1.0))
        self.assertEqual(counted, 12)
        self.assertIn("report(samples=2), but the last batch has 32 rows", said)


if __name__ == "__main__":
    unittest.main()
