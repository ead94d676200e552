"""A launch-bound GPT training step in JAX. Prints its time per step as JSON; --profiler jax records it with JAX's own."""

import argparse
import functools
import json
import tempfile
import time

import jax
import jax.numpy as jnp

LAYERS, WIDTH, HEADS, TOKENS, BATCH, VOCABULARY = 8, 512, 8, 128, 4, 1024


def parameters(key):
    keys = iter(jax.random.split(key, 200))

    def normal(*shape):
        return jax.random.normal(next(keys), shape, jnp.bfloat16) * 0.02

    layers = [{"qkv": normal(WIDTH, 3 * WIDTH), "out": normal(WIDTH, WIDTH), "up": normal(WIDTH, 4 * WIDTH),
               "down": normal(4 * WIDTH, WIDTH)} for _ in range(LAYERS)]
    return {"embedding": normal(VOCABULARY, WIDTH), "head": normal(WIDTH, VOCABULARY), "layers": layers}


def norm(x):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5)


def attention(weights, x):
    query, key, value = jnp.split(norm(x) @ weights["qkv"], 3, -1)

    def heads(y):
        return y.reshape(BATCH, TOKENS, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)

    scores = heads(query) @ heads(key).transpose(0, 1, 3, 2) / 8
    scores = jnp.where(jnp.tril(jnp.ones((TOKENS, TOKENS), bool)), scores, -1e9)
    mixed = (jax.nn.softmax(scores) @ heads(value)).transpose(0, 2, 1, 3).reshape(BATCH, TOKENS, WIDTH)
    return mixed @ weights["out"]


def model(weights, tokens):
    x = weights["embedding"][tokens]
    for number, layer in enumerate(weights["layers"]):
        with jax.named_scope(f"layer{number}"):
            with jax.named_scope("attention"):
                x = x + attention(layer, x)
            with jax.named_scope("mlp"):
                x = x + jax.nn.gelu(norm(x) @ layer["up"]) @ layer["down"]
    return norm(x) @ weights["head"]


def loss(weights, tokens):
    likely = jax.nn.log_softmax(model(weights, tokens).astype(jnp.float32)[:, :-1])
    return -jnp.mean(jnp.take_along_axis(likely, tokens[:, 1:, None], -1))


@functools.partial(jax.jit, donate_argnums=0)
def step(weights, tokens):
    value, gradient = jax.value_and_grad(loss)(weights, tokens)
    return jax.tree.map(lambda a, b: a - 0.01 * b.astype(a.dtype), weights, gradient), value


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--steps", type=int, default=200)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--profiler", choices=["none", "jax", "jax-python"], default="none")
    options.add_argument("--log-dir", help="where JAX's profiler writes")
    given = options.parse_args()
    weights, tokens = parameters(jax.random.key(0)), jax.random.randint(jax.random.key(1), (BATCH, TOKENS), 0, VOCABULARY)
    for _ in range(20):
        weights, value = step(weights, tokens)
    value.block_until_ready()
    if given.profiler != "none":
        recorded = jax.profiler.ProfileOptions()
        recorded.python_tracer_level = int(given.profiler == "jax-python")
        jax.profiler.start_trace(given.log_dir or tempfile.mkdtemp(), profiler_options=recorded)
    times = []
    for _ in range(given.rounds):
        start = time.perf_counter()
        for _ in range(given.steps):
            weights, value = step(weights, tokens)
        value.block_until_ready()
        times.append((time.perf_counter() - start) / given.steps * 1e3)
    start = time.perf_counter()
    if given.profiler != "none":
        jax.profiler.stop_trace()
    print(json.dumps({"ms": times, "stop_s": time.perf_counter() - start}), flush=True)


if __name__ == "__main__":
    main()
