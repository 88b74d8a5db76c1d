"""Streams: the tokens, batches and weights of `Texts`, from sources that are walked through once."""

import tracemalloc

import datasets
import pytest
import torch
from conftest import make_encoder
from tokenizers.processors import TemplateProcessing

import contrast_kit as ck
from contrast_kit.data import Stream, Texts, stream, train_tokenizer
from contrast_kit.data.stream import walk


@pytest.fixture(autouse=True)
def parts(tmp_path, monkeypatch):
    """A cache of the test's own, and small parts, so that a few texts make several."""
    monkeypatch.setenv("CONTRAST_KIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(stream, "PART", 7)


def same(one, other):
    assert len(one) == len(other)
    for index in range(len(one)):
        a, b = one[index], other[index]
        assert a.keys() == b.keys()
        assert all(
            torch.equal(torch.as_tensor(a[k]), torch.as_tensor(b[k]))
            for k in a
            if k != "text_id"
        )


# The same as Texts


def sources(rows):
    """The same rows in every form that can be walked through."""
    data = datasets.Dataset.from_list(rows)
    return {
        "generator": (row for row in rows),
        "function": lambda: iter(rows),
        "list": rows,
        "dataset": data,
        "iterable": data.to_iterable_dataset(num_shards=3),
    }


@pytest.mark.parametrize("form", ["generator", "function", "list", "dataset", "iterable"])
def test_a_stream_holds_what_texts_hold(form, texts, tokenizer):
    rows = [{"sentence": text} for text in texts[:40]]
    whole = Texts(rows, tokenizer, max_length=12)
    found = Stream(sources(rows)[form], tokenizer, max_length=12)
    same(whole, found)
    assert found.fingerprint() == whole.fingerprint()
    same_text = whole.text_ids[:, None] == whole.text_ids
    assert torch.equal(found.text_ids[:, None] == found.text_ids, same_text)
    assert torch.equal(
        found.batch([39, 0, 7])["input_ids"], whole.batch([39, 0, 7])["input_ids"]
    )


def test_a_folder_of_files_line_by_line(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "a.txt").write_bytes(
        "\ufeffOne ball.\r\nTwo balls.\r\n\r\n\r\nThree.\r\n".encode()
    )
    (folder / "b.txt").write_text("Four\n")
    (folder / "README.md").write_text("Not this one.")
    assert list(walk(folder)) == [
        ("One ball.", False), ("Two balls.", True), ("Three.", True), ("Four", True),
    ]  # fmt: skip


# Training


def weights(encoder):
    return torch.cat([p.detach().flatten() for p in encoder.parameters()])


@pytest.mark.parametrize("pack", [False, True])
def test_a_run_stopped_in_the_middle_of_an_epoch_goes_on_to_the_same_weights(
    pack, texts, tokenizer, tmp_path
):
    def run(folder, lines, stop=None, resume=False):
        encoder = make_encoder(tokenizer, dropout=0.1)
        source = Stream(
            iter(lines), tokenizer, max_length=24, pack=pack
        )  # walked through anew
        assert len(source) > 4 * 5  # more than the steps before the stop
        callback = (
            (lambda run: run.stop() if run.steps == stop else None) if stop else None
        )
        settings = dict(
            steps=9, batch_size=4, progress=False, folder=folder, resume=resume
        )
        return ck.fit(ck.objectives.MLM(encoder), source, callback=callback, **settings)

    unbroken = run(tmp_path / "one", texts[:90])
    assert run(tmp_path / "two", texts[:90], stop=5).interrupted
    again = run(tmp_path / "two", texts[:90], resume=True)
    assert (
        torch.equal(weights(again.encoder), weights(unbroken.encoder))
        and again.steps == 9
    )
    with pytest.raises(ValueError, match="data"):  # other texts are another run
        run(tmp_path / "two", texts[1:91], resume=True)


# Packing


def content(blocks):
    return torch.cat([blocks[i]["input_ids"][1:-1] for i in range(len(blocks))]).tolist()


def test_blocks_are_full_and_documents_are_separated(texts, tokenizer, tmp_path):
    documents = [texts[start : start + 3] for start in range(0, 30, 3)]
    file = tmp_path / "text.txt"
    file.write_text("\n\n".join("\n".join(document) for document in documents))
    blocks = Stream(file, tokenizer, max_length=32, pack=True)
    assert set(blocks.lengths[:-1].tolist()) == {32} and 2 < blocks.lengths[-1] <= 32
    expected = []
    for document in documents:
        for text in document:
            expected += tokenizer(text, add_special_tokens=False)["input_ids"]
        expected.append(tokenizer.sep_token_id)
    assert content(blocks) == expected
    frame = (tokenizer.cls_token_id, tokenizer.sep_token_id)
    for i in range(len(blocks)):
        ids, maskable = blocks[i]["input_ids"].tolist(), blocks[i]["maskable"]
        assert (ids[0], ids[-1]) == frame and maskable.tolist() == [
            id not in frame for id in ids
        ]
    assert len(set(blocks.text_ids.tolist())) == len(blocks) and blocks.labels is None
    file.write_text(
        "\n".join(text for document in documents for text in document)
    )  # one document of the same texts
    joined = [token for token in expected if token != tokenizer.sep_token_id]
    assert content(Stream(file, tokenizer, max_length=32, pack=True)) == [
        *joined,
        tokenizer.sep_token_id,
    ]


def test_packing_with_another_frame_is_refused(texts):
    bare = train_tokenizer(texts, vocab_size=300)
    bare.backend_tokenizer.post_processor = TemplateProcessing(
        single="$A", special_tokens=[]
    )
    with pytest.raises(
        ValueError, match="this tokenizer frames a text otherwise"
    ):  # COCO-LM's crop would cut it open
        Stream(iter(texts), bare, pack=True)


# What cannot be


def test_a_row_without_a_token_is_left_out(tokenizer, monkeypatch):
    monkeypatch.setattr(stream, "PART", 3)
    rows = [f"a ball {'red ' * i}" for i in range(9)]
    whole = Texts(rows[:1] + rows[2:], tokenizer)
    rows[1] = "[MASK] "
    with pytest.warns(UserWarning, match="1 texts of the source hold no token"):
        found = Stream(iter(rows), tokenizer)
    assert found.left_out == 1
    same(whole, found)


# Memory


def test_memory_does_not_grow_with_the_text(tokenizer):
    def peak(lines):
        tracemalloc.start()
        Stream(
            ("a red ball " * 40 + str(i) for i in range(lines)), tokenizer, max_length=8
        )
        return tracemalloc.get_traced_memory()[1], tracemalloc.stop()

    small, large = peak(100)[0], peak(1_600)[0]
    assert large - small < 0.25 * 1_500 * 440, (
        small,
        large,
    )  # 440 characters a line; numbers of a text remain
