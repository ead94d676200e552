"""A training step of a small GPT in JAX, for software NeuronCores:

    python examples/jax_gpt_step.py gpt_step.hlo.pb
    kymo neff build gpt_step.hlo.pb -o gpt_step.neff

The program takes the parameters and two arrays of token ids, and gives the loss and the parameters after a
step of gradient descent. JAX has to be installed; it runs on the CPU.
"""

import sys

import jax
import jax.numpy as jnp

VOCABULARY, WIDTH, HEADS, LAYERS, LENGTH, BATCH = 64, 32, 4, 2, 16, 2
RATE = 0.1


def initial(seed=0):
    """Parameters, as a tree of arrays."""
    keys = iter(jax.random.split(jax.random.key(seed), 64))

    def weight(*shape):
        return jax.random.normal(next(keys), shape) * 0.08

    def block():
        return {
            "norm1": jnp.ones(WIDTH), "norm2": jnp.ones(WIDTH),
            "qkv": weight(WIDTH, 3, HEADS, WIDTH // HEADS), "out": weight(HEADS, WIDTH // HEADS, WIDTH),
            "up": weight(WIDTH, 4 * WIDTH), "up_bias": jnp.zeros(4 * WIDTH), "down": weight(4 * WIDTH, WIDTH),
        }

    return {
        "tokens": weight(VOCABULARY, WIDTH), "positions": weight(LENGTH, WIDTH), "norm": jnp.ones(WIDTH),
        "blocks": [block() for _ in range(LAYERS)],
    }


def normalize(x, scale):
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * scale


def attention(x, block):
    q, k, v = jnp.einsum("btc,cihd->ibhtd", x, block["qkv"])
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / (WIDTH // HEADS) ** 0.5
    mask = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e9))
    return jnp.einsum("bhqk,bhkd,hdc->bqc", weights, v, block["out"])


def logits(parameters, tokens):
    with jax.named_scope("embedding"):
        x = parameters["tokens"][tokens] + parameters["positions"]
    for i, block in enumerate(parameters["blocks"]):
        with jax.named_scope(f"block{i}"):
            with jax.named_scope("attention"):
                x = x + attention(normalize(x, block["norm1"]), block)
            with jax.named_scope("mlp"):
                hidden = jax.nn.gelu(normalize(x, block["norm2"]) @ block["up"] + block["up_bias"])
                x = x + hidden @ block["down"]
    with jax.named_scope("head"):
        return normalize(x, parameters["norm"]) @ parameters["tokens"].T


def loss(parameters, tokens, targets):
    scores = jax.nn.log_softmax(logits(parameters, tokens))
    return -jnp.take_along_axis(scores, targets[..., None], axis=-1).mean()


def step(parameters, tokens, targets):
    value, gradients = jax.value_and_grad(loss)(parameters, tokens, targets)
    with jax.named_scope("update"):
        return value, jax.tree.map(lambda p, g: p - RATE * g, parameters, gradients)


def batch(seed=1):
    """Tokens and the tokens that come next, of a made-up text."""
    text = jax.random.randint(jax.random.key(seed), (BATCH, LENGTH + 1), 0, VOCABULARY)
    return text[:, :-1], text[:, 1:]


def main():
    lowered = jax.jit(step).lower(initial(), *batch())
    with open(sys.argv[1], "wb") as file:
        file.write(lowered.compiler_ir("hlo").as_serialized_hlo_module_proto())


if __name__ == "__main__":
    main()
