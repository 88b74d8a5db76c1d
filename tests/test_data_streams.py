"""Streams: the tokens, batches and weights of `Texts`, from sources that are walked through once."""

import copy
import json
import os
import threading
import tracemalloc
from itertools import count, pairwise
from pathlib import Path

import datasets
import numpy as np
import pytest
import torch
from conftest import REAL, make_encoder, real_data
from contrast_kit.data.lines import walk
from contrast_kit.data.tokens import TokenCache, tokenize
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers.processors import TemplateProcessing

import contrast_kit as ck
from contrast_kit.data import Batches, Stream, Texts, streams, tokens, train_tokenizer


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache of the test's own, and small parts, so that a few texts make several."""
    monkeypatch.setenv("CONTRAST_KIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(streams, "_ROWS", 7)
    monkeypatch.setattr(tokens, "_AT_ONCE", 5)
    return tmp_path / "cache" / "tokens"


def same(one, other):
    assert len(one) == len(other)
    for index in range(len(one)):
        a, b = one[index], other[index]
        assert a.keys() == b.keys()
        assert all(
            torch.equal(a[k], b[k]) if isinstance(a[k], torch.Tensor) else a[k] == b[k] for k in a if k != "text_id"
        )


def rows_of(texts):
    return [{"sentence": text, "label": at % 3} for at, text in enumerate(texts)]


# The same as Texts


def sources(texts, folder):
    """The same rows in every form that can be walked through."""
    rows = rows_of(texts)
    data = datasets.Dataset.from_list(rows)
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    data.to_parquet(folder / "rows.parquet")
    return {
        "generator": (row for row in rows),
        "function": lambda: iter(rows),
        "list": rows,
        "dataset": data,
        "iterable": data.to_iterable_dataset(num_shards=3),
        "jsonl": folder / "rows.jsonl",
        "parquet": str(folder / "rows.parquet"),
    }


@pytest.mark.parametrize("form", ["generator", "function", "list", "dataset", "iterable", "jsonl", "parquet"])
def test_a_stream_holds_what_texts_hold(form, texts, tokenizer, tmp_path):
    whole = Texts(rows_of(texts[:40]), tokenizer, max_length=12)
    stream = Stream(sources(texts[:40], tmp_path)[form], tokenizer, max_length=12)
    same(whole, stream)
    assert stream.fingerprint() == whole.fingerprint() and torch.equal(stream.labels, whole.labels)
    same_text = whole.text_ids[:, None] == whole.text_ids
    assert torch.equal(stream.text_ids[:, None] == stream.text_ids, same_text)
    batch = stream.batch([39, 0, 7])
    assert torch.equal(batch["input_ids"], whole.batch([39, 0, 7])["input_ids"])


def test_token_types_and_pairs_and_label_names(tokenizer):
    kinds = train_tokenizer(["a red ball", "the box"], vocab_size=60)
    kinds.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    rows = [{"premise": "a red ball", "hypothesis": "the box", "label": i % 2} for i in range(9)]
    features = datasets.Features(
        {"premise": datasets.Value("string"), "hypothesis": datasets.Value("string")}
        | {"label": datasets.ClassLabel(names=["no", "yes"])}
    )
    data = datasets.Dataset.from_list(rows, features=features)
    same(Texts(data, kinds), stream := Stream(data, kinds))
    assert stream.label_names == ["no", "yes"] and stream.columns == ("premise", "hypothesis")


def test_a_folder_of_files_line_by_line(tokenizer, tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.txt").write_bytes("\ufeffOne ball.\r\nTwo balls.\r\n\r\n\r\nThree.\r\n".encode())
    (tmp_path / "deep" / "b.md").write_text("Four\n")
    (tmp_path / "README.md").write_text("Not this one.")
    assert [tuple(line) for line in walk(tmp_path)] == [
        ("One ball.", False), ("Two balls.", True), ("Three.", True), ("Four", True),
    ]  # fmt: skip
    assert len(Stream(tmp_path, tokenizer)) == 4


# Training


def weights(encoder):
    return torch.cat([p.detach().flatten() for p in encoder.parameters()])


def test_fit_on_a_stream_gives_the_weights_of_texts(texts, tokenizer):
    found = []
    for data in (texts[:60], iter(texts[:60])):  # a generator goes to fit as it is
        encoder = make_encoder(tokenizer, dropout=0.1)
        ck.fit(ck.objectives.CMLM(encoder), data, steps=5, batch_size=8, max_length=32, progress=False)
        found.append(weights(encoder))
    assert torch.equal(*found)


@pytest.mark.parametrize("pack", [False, True])
def test_a_run_stopped_in_the_middle_of_an_epoch_goes_on_to_the_same_weights(pack, texts, tokenizer, tmp_path):
    def run(folder, stop=None, resume=False):
        encoder = make_encoder(tokenizer, dropout=0.1)
        stream = Stream((text for text in texts[:90]), tokenizer, max_length=24, pack=pack)  # walked through anew
        assert len(stream) > 4 * 5  # more than the steps before the stop
        callback = (lambda run: run.stop() if run.steps == stop else None) if stop else None
        settings = dict(steps=9, batch_size=4, progress=False, folder=folder, resume=resume)
        return ck.fit(ck.objectives.MLM(encoder), stream, callback=callback, **settings)

    unbroken = run(tmp_path / "one")
    assert run(tmp_path / "two", stop=5).interrupted
    again = run(tmp_path / "two", resume=True)
    assert torch.equal(weights(again.encoder), weights(unbroken.encoder)) and again.steps == 9
    with pytest.raises(ValueError, match="data"):  # other texts are another run
        other = Stream(iter(texts[1:91]), tokenizer, max_length=24, pack=pack)
        ck.fit(ck.objectives.MLM(make_encoder(tokenizer, dropout=0.1)), other, steps=9, batch_size=4, progress=False,
               folder=tmp_path / "two", resume=True)  # fmt: skip


def test_a_run_begun_with_texts_goes_on_with_a_stream(texts, tokenizer, tmp_path):
    settings = dict(steps=6, batch_size=8, max_length=32, progress=False)
    ends = []
    for folder, first, second in (("a", texts, texts), ("b", texts, iter(texts))):
        objective = ck.objectives.MLM(make_encoder(tokenizer, dropout=0.1))
        ck.fit(objective, first, folder=tmp_path / folder, callback=lambda r: r.steps == 3 and r.stop(), **settings)
        objective = ck.objectives.MLM(make_encoder(tokenizer, dropout=0.1))
        ends.append(weights(ck.fit(objective, second, folder=tmp_path / folder, resume=True, **settings).encoder))
    assert torch.equal(*ends)


def test_a_plan_is_made_for_a_stream(texts, tokenizer):
    stream = Stream(iter(texts), tokenizer)
    assert (
        ck.plan(ck.objectives.SimCSE(make_encoder(tokenizer, dropout=0.1)), stream, steps=3, batch_size=8).negatives
        == 7
    )


# Packing


def content(stream):
    return torch.cat([stream[i]["input_ids"][1:-1] for i in range(len(stream))]).tolist()


def test_blocks_are_full_and_documents_are_separated(texts, tokenizer, tmp_path):
    documents = [texts[at : at + 3] for at in range(0, 30, 3)]
    file = tmp_path / "text.txt"
    file.write_text("\n\n".join("\n".join(document) for document in documents))
    stream = Stream(file, tokenizer, max_length=32, pack=True)
    assert set(stream.lengths[:-1].tolist()) == {32} and 2 < stream.lengths[-1] <= 32
    expected = []
    for document in documents:
        for text in document:
            expected += tokenizer(text, add_special_tokens=False)["input_ids"]
        expected.append(tokenizer.sep_token_id)
    assert content(stream) == expected
    for i in range(len(stream)):
        ids, maskable = stream[i]["input_ids"], stream[i]["maskable"]
        assert ids[0] == tokenizer.cls_token_id and ids[-1] == tokenizer.sep_token_id
        assert maskable.tolist() == [id not in (tokenizer.cls_token_id, tokenizer.sep_token_id) for id in ids.tolist()]
    assert len(set(stream.text_ids.tolist())) == len(stream) and stream.labels is None
    file.write_text("\n".join(text for document in documents for text in document))  # one document of the same texts
    joined = [token for token in expected if token != tokenizer.sep_token_id]
    assert content(Stream(file, tokenizer, max_length=32, pack=True)) == [*joined, tokenizer.sep_token_id]


def test_whole_texts_are_never_cut(texts, tokenizer):
    chosen = [*texts[:30], " ".join(texts[:9]), *texts[30:40]]
    stream = Stream(iter(chosen), tokenizer, max_length=64, pack=True, whole_texts=True)
    assert stream.lengths.max() <= 64 and len(set(stream.lengths.tolist())) > 1
    lengths = [len(tokenizer(text, add_special_tokens=False)["input_ids"]) for text in chosen]
    blocks = [int(stream[i]["maskable"].sum()) for i in range(len(stream))]  # tokens of text in each
    starts, ends = [0, *np.cumsum(lengths).tolist()], np.cumsum(blocks).tolist()
    inside = range(sum(lengths[:30]), sum(lengths[:31]))  # the one text that is longer than a block
    assert ends[-1] == starts[-1] and all(end in starts or end in inside for end in ends)
    for start, end in pairwise([0, *ends]):  # greedy: the next text, with a [SEP] before it, would not have fitted
        texts_here = sum(start < s <= end for s in starts)
        following = next((s for s in starts if s > end), None)
        assert following is None or following - start + texts_here > 62 or end in inside


@pytest.mark.parametrize("lengths", [[14] * 5, [14, 3, 11, 13, 15, 28, 1, 14, 40]])
def test_no_block_of_whole_texts_begins_with_the_end_of_a_text(lengths, tokenizer):
    """Texts that fill a block exactly, or are longer by one: their [SEP] has no room, and falls away."""
    word = next(w for w in ("kite", "the", "a") if len(tokenizer(w, add_special_tokens=False)["input_ids"]) == 1)
    stream = Stream([" ".join([word] * n) for n in lengths], tokenizer, max_length=16, pack=True, whole_texts=True)
    blocks = [stream[i]["input_ids"].tolist() for i in range(len(stream))]
    assert all(block[1] != tokenizer.sep_token_id and len(block) <= 16 for block in blocks)
    assert sum(int(stream[i]["maskable"].sum()) for i in range(len(stream))) == sum(lengths)
    if set(lengths) == {14}:
        assert [len(block) for block in blocks] == [16] * 5


def test_packing_needs_no_mask_token(texts):
    bare = train_tokenizer(texts, vocab_size=300)
    bare.mask_token = None
    assert len(Stream(iter(texts), bare, max_length=32, pack=True))


def test_packing_without_a_separator_is_refused(texts):
    bare = train_tokenizer(texts, vocab_size=300)
    bare.sep_token = None
    with pytest.raises(ValueError, match="Packing frames a block"):
        Stream(iter(texts), bare, pack=True)
    bare = train_tokenizer(texts, vocab_size=300)
    bare.backend_tokenizer.post_processor = TemplateProcessing(single="$A", special_tokens=[])
    with pytest.raises(
        ValueError, match="this tokenizer frames a text otherwise"
    ):  # COCO-LM's crop would cut blocks open
        Stream(iter(texts), bare, pack=True)


# Tokens: on all cores, by content

WORDS = st.text(st.sampled_from("abc é蟹 .[]MASK\n\u2028"), max_size=30)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=12), st.integers(6, 20), st.booleans())
def test_tokenize_gives_the_tokenizers_own_ids_to_the_bit(pairs, length, pair):
    columns = [list(column) for column in zip(*pairs, strict=True)][: 2 if pair else 1]
    for kind in ("wordpiece", "bpe"):
        tokenizer = TOKENIZERS[kind]
        found = tokenize(tokenizer, columns, length)
        expected = tokenizer(*columns, truncation=True, max_length=length)
        assert np.split(found.ids, found.lengths.cumsum())[0].tolist() == expected["input_ids"][0]
        assert found.ids.tolist() == [id for row in expected["input_ids"] for id in row]
        assert found.lengths.tolist() == [len(row) for row in expected["input_ids"]]
        assert (found.types is None) == ("token_type_ids" not in expected)
        if found.types is not None:
            assert found.types.tolist() == [kind for row in expected["token_type_ids"] for kind in row]


TOKENIZERS = {kind: train_tokenizer(["abc é a b c", "[MASK] ab"], 300, kind) for kind in ("wordpiece", "bpe")}
TOKENIZERS["bpe"].model_input_names = ["input_ids", "token_type_ids", "attention_mask"]


def test_the_same_texts_are_tokenized_once(texts, tokenizer, cache, monkeypatch):
    calls, plain = [], tokens.tokenize
    for module in (tokens, streams):
        monkeypatch.setattr(module, "tokenize", lambda *args: calls.append(len(args[1][0])) or plain(*args))
    first = Stream(iter(texts[:20]), tokenizer)
    assert calls == [7, 7, 6] and len(list(cache.iterdir())) == 3
    same(first, Stream(iter(texts[:20]), tokenizer))
    assert calls == [7, 7, 6]  # from the disk
    Stream(iter([*texts[:19], "another"]), tokenizer)
    assert calls == [7, 7, 6, 6]  # the part with another text
    Stream(iter(texts[:7]), tokenizer, max_length=8)
    Stream(iter(texts[:7]), train_tokenizer(texts[:100], vocab_size=250))
    assert calls == [7, 7, 6, 6, 7, 7]
    assert TokenCache(tokenizer, 8).key([["ab", "c"]]) != TokenCache(tokenizer, 8).key([["a", "bc"]])
    assert TokenCache(tokenizer, 8).key([["a"], ["b"]]) != TokenCache(tokenizer, 8).key([["a", "b"]])
    assert TokenCache(tokenizer, 8).key([[*"abcd", ""]]) != TokenCache(tokenizer, 8).key([["a", "b"], ["c", "d"]])
    assert streams._hash(("ab", "c")) != streams._hash(("a", "bc"))
    letters = copy.deepcopy(tokenizer)
    letters.split_special_tokens = True  # "[MASK]" in a text is then no mask
    assert TokenCache(letters, 8).key([["a"]]) != TokenCache(tokenizer, 8).key([["a"]])


def test_large_texts_are_cached_and_small_ones_leave_no_files(texts, tokenizer, cache, monkeypatch):
    Texts(texts, tokenizer)
    assert not cache.exists()
    monkeypatch.setattr("contrast_kit.data.texts.CACHED_FROM", 100)
    first, again = Texts(texts, tokenizer), Texts(texts, tokenizer)
    assert len(list(cache.iterdir())) == 1 and first.fingerprint() == again.fingerprint()


def test_a_cache_that_is_damaged_gone_or_read_only(texts, tokenizer, cache, monkeypatch):
    stream = Stream(iter(texts[:20]), tokenizer)
    for file in cache.glob("*/ids"):
        file.write_bytes(file.read_bytes()[:-4])
    same(Texts(texts[:20], tokenizer), again := Stream(iter(texts[:20]), tokenizer))
    for part in cache.iterdir():
        part.rename(part.with_name("gone-" + part.name))
    with pytest.raises(FileNotFoundError, match="make the Stream anew"):
        again[0]
    assert len(stream) == 20
    monkeypatch.setattr(Path, "mkdir", lambda *_, **__: (_ for _ in ()).throw(PermissionError("read-only")))
    with pytest.raises(OSError, match="takes no files"):
        Stream(iter(["a new text"]), tokenizer)
    monkeypatch.setattr("contrast_kit.data.texts.CACHED_FROM", 100)
    assert len(Texts(texts, tokenizer)) == len(texts)  # Texts go on without a cache


@pytest.mark.parametrize("damage", [lambda file: file.write_bytes(file.read_bytes()[:-4]), Path.unlink])
def test_a_cache_whose_token_types_are_damaged_or_gone(damage, texts, tokenizer, cache):
    typed = copy.deepcopy(tokenizer)
    typed.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    files = TokenCache(typed, 8)
    columns = [texts[:5], texts[5:10]]
    whole = files.tokens(columns)
    damage(files.folder / files.key(columns) / "types")
    again = files.tokens(columns)
    assert np.array_equal(whole.types, again.types) and len(again.types) == len(again.ids) and again.types.any()
    Stream(iter(texts[:20]), typed, pack=True)
    before = {file: file.stat().st_mtime_ns for file in files.folder.glob("*/ids")}
    Stream(iter(texts[:20]), typed, pack=True)  # which needs no types: its files are whole
    assert before == {file: file.stat().st_mtime_ns for file in files.folder.glob("*/ids")}


def test_threads_with_one_tokenizer_and_other_lengths_do_not_disturb_each_other(texts, tokenizer):
    expected = {length: tokenize(tokenizer, [texts], length).ids for length in (6, 12)}
    wrong = []

    def work(length):
        for _ in range(20):
            if not np.array_equal(tokenize(tokenizer, [texts], length).ids, expected[length]):
                wrong.append(length)

    workers = [threading.Thread(target=work, args=(length,)) for length in (6, 12, 6, 12)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_child_tokenizes_and_reads_though_it_was_forked_while_a_thread_did(texts, tokenizer, monkeypatch):
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    stream = Stream(iter(texts[:20]), tokenizer)
    expected = stream[19]["input_ids"].tolist()
    with tokens._lock:  # as if another thread were in the middle of it
        if (child := os.fork()) == 0:
            right = False
            try:
                right = stream[19]["input_ids"].tolist() == expected
                right = right and len(tokenize(tokenizer, [texts], 12).lengths) == len(texts)
            finally:
                os._exit(0 if right else 1)
    timer = threading.Timer(20, os.kill, (child, 9))
    timer.start()
    assert os.waitpid(child, 0)[1] == 0
    timer.cancel()


# What cannot be


def test_a_source_without_an_end_needs_a_limit(tokenizer):
    stream = Stream((f"a ball {i}" for i in count()), tokenizer, limit=10)
    assert len(stream) == 10
    with pytest.raises(ValueError, match="limit is a number of texts"):
        Stream(iter(["a"]), tokenizer, limit=0)


def test_texts_without_a_token_are_counted_and_left_out(tokenizer):
    rows = [{"text": text, "label": at} for at, text in enumerate(["a ball", " ", "a box", "[MASK]"])]
    with pytest.warns(UserWarning, match="2 texts of the source hold no token"):
        stream = Stream(iter(rows), tokenizer)
    assert len(stream) == 2 and stream.left_out == 2 and stream.labels.tolist() == [0, 2]
    assert tokenizer.decode(stream[1]["input_ids"]) == "[CLS] a box [SEP]"


@pytest.mark.parametrize("unlabelled", [[0], [3], [7], [3, 4, 5], range(3, 9), range(9)])
def test_a_row_without_a_label_shifts_no_other_label(tokenizer, monkeypatch, unlabelled):
    monkeypatch.setattr(streams, "_ROWS", 3)
    rows = [{"text": f"a ball {'red ' * i}"} | ({} if i in unlabelled else {"label": i}) for i in range(9)]
    stream, whole = Stream(iter(rows), tokenizer), [-1 if i in unlabelled else i for i in range(9)]
    assert (stream.labels is None) if set(whole) == {-1} else (stream.labels.tolist() == whole)
    rows[1]["text"] = " "
    with pytest.warns(UserWarning, match="1 texts"):
        stream = Stream(iter(rows), tokenizer)
    assert (stream.labels is None) if set(whole) == {-1} else (stream.labels.tolist() == whole[:1] + whole[2:])


def test_no_packed_block_is_without_text(tokenizer):
    words = len(tokenizer("a red ball", add_special_tokens=False)["input_ids"])
    room = 4 * (words + 1) - 1  # all but the last [SEP]
    stream = Stream(iter(["a red ball"] * 4), tokenizer, pack=True, max_length=room + 2)
    assert len(stream) == 1 and stream.batch([0])["maskable"].any(1).all()


@pytest.mark.parametrize(
    ("source", "error", "sentence"),
    [
        (3, TypeError, "not from int"),
        ({"train": []}, TypeError, "not from dict"),
        ([3], TypeError, "Row 0 of the source is int"),
        ([], ValueError, "the source holds no text"),
        (["", " "], ValueError, "the source holds no text"),
        ([{"body": "a"}], ValueError, "Cannot tell which column"),
        ([{"text": "a"}, {"txt": "b"}], ValueError, "Row 1 has no column 'text'"),
        ([{"text": None}], TypeError, "Row 0 of column 'text' is NoneType"),
        (Path("/no/such/folder"), FileNotFoundError, "There is no file or folder"),
    ],
)
def test_bad_sources_get_one_clear_sentence(source, error, sentence, tokenizer):
    with pytest.raises(error, match=sentence):
        Stream(source, tokenizer)


def test_files_that_cannot_be_walked_through_are_named(tokenizer, tmp_path):
    (tmp_path / "a.csv").write_text("text\na\n")
    with pytest.raises(ValueError, match=r"a.csv cannot be read line by line .*data.load"):
        Stream(tmp_path, tokenizer)
    (tmp_path / "b.jsonl").write_text('{"text": "a"}\n{no}\n')
    with pytest.raises(ValueError, match=r"Line 2 of .*b.jsonl is not JSON \([A-Z][^:]*, column \d+\)"):
        Stream(tmp_path / "b.jsonl", tokenizer)
    (tmp_path / "b.parquet").write_bytes(b"nope")
    with pytest.raises(ValueError, match="b.parquet is not a complete Parquet file"):
        Stream(tmp_path / "b.parquet", tokenizer)
    (tmp_path / "c.txt").write_bytes("gr\xfcn".encode("latin-1"))
    with pytest.raises(ValueError, match="not UTF-8"):
        Stream(tmp_path / "c.txt", tokenizer)
    with pytest.raises(TypeError, match="data.Stream walks through a generator"):
        Texts(iter(["a"]), tokenizer)


# Memory


def test_memory_does_not_grow_with_the_text(tokenizer):
    def peak(lines):
        tracemalloc.start()
        Stream(("a red ball " * 40 + str(i) for i in range(lines)), tokenizer, max_length=8)
        return tracemalloc.get_traced_memory()[1], tracemalloc.stop()

    small, large = peak(100)[0], peak(1_600)[0]
    assert large - small < 0.25 * 1_500 * 440, (small, large)  # 440 characters a line; numbers of a text remain


def test_batches_are_made_when_they_are_looked_at():
    epoch = Batches([5] * 100_000, 10).epoch(0)
    tracemalloc.start()
    assert sum(len(batch) for batch in epoch) == 100_000
    assert tracemalloc.get_traced_memory()[1] < 100_000
    tracemalloc.stop()
    assert epoch[-1] == list(epoch)[-1] and epoch[:2] == [epoch[0], epoch[1]] and repr(epoch[:1])[:2] == "[["
    with pytest.raises(IndexError):
        epoch[10_000]


@pytest.mark.real_data
@real_data
def test_real_novels_packed_into_blocks_of_512():
    folder = Path(REAL, "corpus", "english_novels")
    first = sorted(folder.glob("*.txt"))[0]
    tokenizer = ck.data.open_tokenizer(Path(REAL, "vocab", "bert-base-uncased"))
    stream = Stream(first, tokenizer, max_length=512, pack=True)
    assert set(stream.lengths[:-1].tolist()) == {512} and len(stream) > 20
    assert "[UNK]" not in tokenizer.decode(stream[3]["input_ids"])


def test_a_folder_is_read_without_its_test_files(tmp_path, tokenizer):
    for split, rows in {"train": 2, "test": 1}.items():
        (tmp_path / f"{split}.jsonl").write_text('{"text": "a red kite"}\n' * rows)
    with pytest.warns(UserWarning, match=r"test.jsonl is not read"):
        assert len(ck.data.Stream(tmp_path, tokenizer)) == 2
    (tmp_path / "train.jsonl").write_text("5\n")
    with pytest.warns(UserWarning), pytest.raises(ValueError, match="Line 1 of .* is 5, no row"):
        len(ck.data.Stream(tmp_path, tokenizer))


def test_folders_of_test_data_and_hidden_folders_are_left_out(tmp_path, tokenizer):
    for file in ("train/a.txt", "test/b.txt", "deep/dev.v2/c.txt", ".ipynb_checkpoints/a-checkpoint.txt"):
        (tmp_path / "data" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / file).write_text("a red kite\n")
    with pytest.warns(UserWarning, match=r"deep.dev.v2.c.txt and 1 more are not read"):
        assert len(Stream(tmp_path / "data", tokenizer)) == 1


def test_labels_that_are_none_are_refused_before_the_walk_ends(tokenizer):
    walked = []
    rows = ({"text": "a red kite", "label": walked.append(at) or "good"} for at in range(100))
    with pytest.raises(ValueError, match=r"row 0 has 'good': .* label='none'"):
        Stream(rows, tokenizer)
    assert len(walked) == 7  # the first part
    assert Stream(iter([{"text": "a red kite", "label": "good"}]), tokenizer, label="none").labels is None
