"""What is not read is not computed in the last layer of a packed batch, and whoever reads it notices."""

import pytest
import torch
from conftest import make_encoder
from torch.utils.flop_counter import FlopCounterMode

import contrast_kit as ck
from contrast_kit.fast import layout, packed
from contrast_kit.fast.layout import Layout
from contrast_kit.fast.shapes import rounded_up


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def floating_point_operations(call):
    with FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops()


def test_ten_of_twelve_square_matrices_run_on_the_tokens_read(tokenizer, batch):
    """Of a layer of 12 D² weights, with a feed-forward network of 4 D; the keys' and the values' run on all tokens."""
    encoder = make_encoder(tokenizer, num_hidden_layers=1, intermediate_size=4 * 32)
    encoder.use_packing()
    assert encoder.width == 32
    real = batch["attention_mask"].bool()
    read = real & (torch.rand(real.shape, generator=seeded()) < 0.3)
    some, all_of_them = ({**batch, "read": which} for which in (read, real))
    with torch.no_grad():
        saved = floating_point_operations(lambda: encoder(all_of_them)) - floating_point_operations(
            lambda: encoder(some)
        )
    tokens = int(real.sum() - read.sum())
    of_weights = 2 * 10 * 32**2 * tokens
    longest = real.shape[1]
    assert of_weights < saved <= of_weights + 2 * 2 * 32 * longest * real.numel()  # and their attention


@pytest.mark.parametrize("alike", [1, 3, 32])
def test_those_who_ask_see_their_own_text(alike, monkeypatch):
    """Queries of some tokens against keys of all, text by text as printed: softmax(q k' / √d) v."""
    monkeypatch.setattr("contrast_kit.fast.layout.ALIKE", alike)
    draw = dict(generator=seeded(1), dtype=torch.float64)
    mask = torch.arange(9) < torch.tensor([4, 9, 0, 5, 4])[:, None]
    where = Layout.of(mask)
    q, k, v = (torch.randn(where.size, 2, 4, **draw) for _ in range(3))
    read = torch.zeros_like(mask)
    read[0, [1, 3]], read[1, [0, 4, 8]], read[4, 2] = True, True, True  # none of the text of five
    rows, asking = where.asking(read)
    assert where.index[rows].tolist() == [1, 3, 4 * 9 + 2, 9 + 0, 9 + 4, 9 + 8]  # from short texts to long
    ours = packed.attend(q[rows], k, v, where, asking=asking)
    whole = packed.attend(q, k, v, where)
    assert ours.shape == (6, 2, 4) and torch.allclose(ours, whole[rows], atol=1e-14)
    for name in ("layout", "packed"):  # and through torch's fused kernel
        monkeypatch.setattr(f"contrast_kit.fast.{name}.LONG", 0)
    long = Layout.of(mask)
    assert torch.allclose(packed.attend(q[rows], k, v, long, asking=long.asking(read)[1]), ours, atol=1e-14)


def test_nothing_read_is_nothing_computed(tokenizer, batch):
    encoder = make_encoder(tokenizer)
    encoder.use_packing()
    states = encoder({**batch, "read": torch.zeros_like(batch["attention_mask"], dtype=torch.bool)})
    assert states.shape == (*batch["input_ids"].shape, encoder.width) and states.isnan().all()


def test_in_half_precision_its_rows_are_filled_up_too(tokenizer, batch, monkeypatch):
    """A product is compiled for each shape there; and what fills up has no gradient."""
    encoder, seen = make_encoder(tokenizer), []
    last = encoder.model.base_model.encoder.layer[-1]
    for module in (last.attention.self.query, last.attention.output.dense, last.output.dense):
        module.register_forward_hook(lambda module, inputs, output: seen.append(len(inputs[0])))
    view = ck.objectives.MLM(encoder, p_m=0.3).views(batch, seeded())["T0"]
    view["read"] = view["selected"]
    found = {}
    for packing in (False, True):
        encoder.zero_grad()
        encoder.use_packing(packing)
        with torch.autocast("cpu", torch.bfloat16):
            states = encoder(view)[view["read"]]
        states.float().square().mean().backward()
        found[packing] = {name: weight.grad for name, weight in encoder.named_parameters() if weight.grad is not None}
    assert set(seen[-3:]) == {rounded_up(int(view["read"].sum()))}
    for name, slope in found[False].items():
        assert (found[True][name] - slope).norm() < 0.03 * slope.norm() + 1e-3, name


def test_dropout_falls_on_its_attention_in_training_alone(tokenizer, batch):
    encoder = make_encoder(tokenizer, dropout=0.3)
    encoder.use_packing()
    for module in encoder.modules():
        if (
            isinstance(module, torch.nn.Dropout)
            and module is not encoder.model.base_model.encoder.layer[-1].attention.self.dropout
        ):
            module.p = 0.0
    view = {**batch, "read": batch["attention_mask"].bool()}
    first, second = (encoder.train()(view)[view["read"]] for _ in range(2))
    assert not torch.allclose(first, second)
    first, second = (encoder.eval()(view)[view["read"]] for _ in range(2))
    assert torch.equal(first, second)


@pytest.mark.filterwarnings("ignore:`gradient_checkpointing_enable` is deprecated")
def test_checkpointed_activations_give_the_same_gradient(tokenizer, batch):
    found = []
    for again in (False, True):
        objective = ck.faster(ck.objectives.MLM(make_encoder(tokenizer, num_hidden_layers=3)).double(), packing=True)
        if again:
            objective.encoder.model.gradient_checkpointing_enable()
        objective.train()(batch, seeded())["loss"].backward()
        found.append([weight.grad for weight in objective.parameters() if weight.grad is not None])
    assert len(found[0]) == len(found[1]) > 20
    assert all(torch.allclose(one, other, atol=1e-14) for one, other in zip(*found, strict=True))


def test_a_plain_masked_lm_reads_what_it_selected(tokenizer, batch):
    objective = ck.faster(ck.objectives.MLM(make_encoder(tokenizer)), packing=True)
    view = objective.views(batch, seeded())["T0"]
    states = objective.states("T0", view)
    assert torch.equal(states.isnan().all(-1), ~view["selected"]) and view["selected"].any()


def test_a_subclass_may_read_every_state(tokenizer, batch):
    class Sharper(ck.objectives.MLM):
        weights = {"mlm": 1.0, "size": 0.1}

        def local_sums(self, name, hidden, view):
            return {**super().local_sums(name, hidden, view), "size": hidden.square().mean(-1).sum()}

        def term_counts(self, name, view):
            return {**super().term_counts(name, view), "size": view["attention_mask"].sum()}

    losses = []
    for packing in (False, True):
        objective = ck.faster(Sharper(make_encoder(tokenizer)).double().eval(), packing=packing)
        real = batch["attention_mask"].unsqueeze(-1)
        encode = objective.encoder.forward
        objective.encoder.forward = lambda view, encode=encode, real=real: encode(view) * real  # padding has states too
        losses.append(objective(batch, seeded())["size"].item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-12)


def test_who_reads_what_was_left_out_notices(tokenizer, batch):
    encoder = make_encoder(tokenizer, pooling="mean")
    encoder.use_packing()
    view = ck.objectives.MLM(encoder, p_m=0.3).views(batch, seeded())["T0"]
    assert encoder.pool(encoder(view), view).isfinite().all()
    assert encoder.pool(encoder({**view, "read": view["selected"]}), view).isnan().all()


def test_who_listens_at_the_last_layer_hears_all_of_it(tokenizer, batch):
    encoder, heard = make_encoder(tokenizer), []
    encoder.use_packing()
    view = {**batch, "read": torch.zeros_like(batch["attention_mask"], dtype=torch.bool)}
    last = encoder.model.base_model.encoder.layer[-1]
    for part in (last, last.attention, last.attention.self):
        for listen in (part.register_forward_hook, part.register_forward_pre_hook, part.register_full_backward_hook):
            handle = listen(lambda *given: heard.append(len(given)))
            states = encoder(view)
            assert states.isfinite().all()
            states.sum().backward()
            handle.remove()
    assert len(heard) == 9 and encoder(view).isnan().all()


@pytest.mark.parametrize("method", ["ELECTRA", "COCOLM"])
def test_an_auxiliary_model_reads_only_what_it_must_recover(method, tokenizer, batch):
    losses = []
    for packing in (False, True):
        objective = getattr(ck.objectives, method)(make_encoder(tokenizer, num_hidden_layers=3)).double().eval()
        objective.auxiliary.encoder.use_packing(packing)
        read = []
        forward = objective.auxiliary.encoder.forward
        objective.auxiliary.encoder.forward = lambda view, forward=forward, read=read: (
            read.append(view["read"]) or forward(view)
        )
        losses.append(objective(batch, seeded()))
        assert len(read) == 2 and torch.equal(read[0], read[1]) and read[0].sum() < batch["attention_mask"].sum()
    assert losses[0].keys() == losses[1].keys()
    assert all(losses[1][name].item() == pytest.approx(value.item(), rel=1e-10) for name, value in losses[0].items())


def test_groups_take_texts_in_any_order():
    group = layout.Group.of([0, 3, 1], torch.device("cpu"))
    assert group.real.tolist() == [[False] * 3, [True] * 3, [True, False, False]] and group.size == 4
    x = torch.arange(4.0).view(4, 1, 1)
    assert torch.equal(group.collect(group.spread(x)), x)
