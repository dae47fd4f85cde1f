"""Flower's side of bench/cotrain/local_steps: `server FILE` or `client FILE`, a JSON file of what to do."""

import json
import logging
import resource
import sys
import warnings

import numpy as np

from local_model import Model, Rows

warnings.filterwarnings("ignore")
logging.getLogger("flwr").setLevel(logging.ERROR)
import flwr  # noqa: E402


def server(job):
    test_x, test_y = np.load(job["test_x"]), np.load(job["test_y"])
    model = Model(job["model"], test_x.shape[1], 1)
    accuracies = []

    def evaluate(_round, weights, _config):
        model.weights = weights
        accuracies.append(model.accuracy(test_x, test_y))
        return 0.0, {}

    strategy = flwr.server.strategy.FedAvgM(
        min_fit_clients=job["boards"], min_available_clients=job["boards"], fraction_evaluate=0.0,
        server_momentum=job["momentum"], server_learning_rate=1.0, evaluate_fn=evaluate,
        initial_parameters=flwr.common.ndarrays_to_parameters(model.weights))
    flwr.server.start_server(server_address=job["address"], strategy=strategy,
                             config=flwr.server.ServerConfig(num_rounds=job["rounds"]))
    return {"accuracies": accuracies[1:]}


def client(job):
    x, y = np.load(job["x"]), np.load(job["y"])
    model, rows = Model(job["model"], x.shape[1], 1), Rows(x, y, job["batch"], job["seed"])

    class Board(flwr.client.NumPyClient):
        def fit(self, parameters, config):
            model.weights = [np.array(w) for w in parameters]
            for _ in range(job["steps"]):
                model.step(*rows(), job["rate"])
            return model.weights, len(y), {}

    flwr.client.start_client(server_address=job["address"], client=Board().to_client(), insecure=True)
    return {}


with open(sys.argv[2], encoding="utf-8") as file:
    todo = json.load(file)
found = {"server": server, "client": client}[sys.argv[1]](todo)
found["peak_kb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with open(todo["result"], "w", encoding="utf-8") as out:
    json.dump(found, out)
