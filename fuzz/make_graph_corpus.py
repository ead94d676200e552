"""Writes the seed corpus of fuzz-graph: small graphs that together use every operation and member of the format."""

import json
import pathlib

OUT = pathlib.Path(__file__).parent / "corpus" / "graph"
X = {"name": "x", "shape": [4, 6]}
I = {"name": "i", "shape": [3], "dtype": "int32"}
S = {"name": "s", "shape": [], "dtype": "int32"}

OPS = {
    "elementwise": [("exp", ["x"], {}), ("add", ["x", 2], {}), ("less", [1.5, "x"], {}), ("select", ["v2", "x", 0], {}), ("clamp", ["x"], {"min": -1, "max": 1}),
                    ("convert", ["x"], {"dtype": "bf16"}), ("not", ["i"], {}), ("abs", ["i"], {}), ("sign", ["i"], {}), ("shift_left", ["i", 2], {})],
    "views": [("transpose", ["x"], {"permutation": [1, 0]}), ("reshape", ["v0"], {"shape": [-1]}), ("slice", ["x"], {"start": [1, 0], "limit": [4, 5], "step": [2, 1]}),
              ("reverse", ["x"], {"axes": [0]}), ("broadcast_to", ["x"], {"shape": [2, 4, 6]}), ("broadcast_in_dim", ["i"], {"shape": [3, 2], "axes": [0]}), ("iota", [], {"shape": [5, 3], "dtype": "int32", "axis": 1}),
              ("constant", [], {"shape": [2], "value": 3}), ("concatenate", ["x", "v3"], {"axis": -1}), ("pad", ["x"], {"low": [1, -1], "high": [0, 2], "interior": [1, 0], "value": 1}), ("identity", ["v5"], {})],
    "rows": [("embedding", ["x", "i"], {}), ("scatter_add", ["x", "i", "v0"], {}), ("dynamic_slice", ["x", "s", "s"], {"size": [2, 3]}), ("dynamic_update_slice", ["x", "v2", "s", "s"], {})],
    "reductions": [("reduce_max", ["x"], {"axes": [0], "keepdims": True}), ("sum", ["x"], {}), ("mean", ["x"], {"axes": [1]}), ("reduce_and", ["i"], {})],
    "dots": [("matmul", ["x", "w"], {"transpose_a": False}), ("linear", ["x", "w", "b"], {}), ("dot_general", ["x", "x"], {"lhs_batch": [0], "rhs_batch": [0], "lhs_contract": [1], "rhs_contract": [1], "dtype": "fp32"})],
    "layers": [("softmax", ["x"], {"axis": 0}), ("log_softmax", ["x"], {}), ("layernorm", ["x"], {"eps": 0.1}), ("rmsnorm", ["x"], {}), ("gelu", ["x"], {}), ("attention", ["x", "x", "x"], {"causal": True, "scale": 0.5})],
    "collectives": [("all_reduce", ["x"], {"reduce": "max", "groups": [[0, 1], [2, 3]]}), ("all_gather", ["x"], {"axis": 1}), ("reduce_scatter", ["x"], {"axis": 0}),
                    ("all_to_all", ["x"], {"split_axis": 0, "concat_axis": 1}), ("permute", ["x"], {"pairs": [[0, 1], [1, 0]]})],
}


def graph(ops):
    made = [{"name": f"v{k}", "op": op, "inputs": inputs, "layer": "/l", "source": "m.py:1"} | attributes for k, (op, inputs, attributes) in enumerate(ops)]
    weights = [{"name": "w", "shape": [6, 3], "init": {"seed": 1, "scale": 0.1, "offset": 1}}, {"name": "b", "shape": [3], "data": [1, 2, 3]}, {"name": "g", "shape": [2, 2], "dtype": "fp16", "value": 1}]
    return {"name": "g", "ranks": 4, "inputs": [X, I, S], "weights": weights, "ops": made, "outputs": [{"name": f"o{k}", "value": f"v{k}"} for k in range(len(ops))]}


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    for name, ops in OPS.items():
        (OUT / name).write_text(json.dumps(graph(ops), separators=(",", ":")))
    repeated = {"inputs": [X], "ops": [{"repeat": 2, "as": "i", "weights": [{"name": "w{i}", "shape": [6, 6], "init": {"seed": 3}}],
                "ops": [{"name": "h{i+1}", "op": "matmul", "inputs": ["x", "w{i}"]}, {"repeat": 2, "as": "j", "ops": [{"name": "k{i}_{j}", "op": "tanh", "inputs": ["h{i+1}"]}]}]}], "outputs": ["h2", "k1_1"]}
    (OUT / "repeat").write_text(json.dumps(repeated, separators=(",", ":")))


if __name__ == "__main__":
    main()
