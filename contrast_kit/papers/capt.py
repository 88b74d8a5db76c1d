"""CAPT's tables of results as printed, in percent. In table 2, `split` is the heading above the rows."""

TABLES = {
    2: (
        "GLUE, large models: test by leaderboard; dev over 5 seeds (its text says median, its heading averaged)",
        "split | method | CoLA SST-2 MRPC STS-B QQP MNLI QNLI RTE Avg",
        """
test | BERT | 60.5 94.9 85.4 87.6 89.3 86.7 92.7 70.1 83.4
test | SpanBERT | 64.3 94.8 87.9 89.9 89.5 88.1 94.3 79.0 86.0
test | RoBERTa | 63.8 96.3 88.1 91.9 90.0 89.8 94.8 86.0 87.6
test | CAPT | 64.7 96.8 88.9 91.5 89.7 90.0 94.7 86.9 87.9
dev | BERT | 60.6 93.2 88.0 90.0 91.3 86.6 92.3 70.4 84.0
dev | XLNet | 63.6 95.6 89.2 91.8 91.8 89.8 93.9 83.8 87.4
dev | RoBERTa | 68.0 96.4 90.9 92.4 92.2 90.2 94.7 86.6 88.9
dev | ELECTRA | 69.3 96.0 90.6 92.1 92.4 90.5 94.5 86.8 89.0
dev | CAPT | 69.2 96.5 92.1 92.5 92.3 90.7 95.0 88.0 89.5
""",
    ),
    3: (
        "Vision and language, single models",
        "method | VQA-test-dev VQA-test-std GQA-test-dev GQA-test-std NLVR2-dev NLVR2-test-p",
        """
SOTA (No pre-training) | 70.63 70.90 55.8 56.1 54.80 53.50
ViLBERT | 70.55 70.92 - - - -
VisualBERT | 70.80 71.00 - - 67.40 67.00
VL-BERT | 71.79 72.22 - - - -
LXMERT | 72.42 72.54 59.95 60.33 74.82 74.41
CAPT | 72.78 73.03 60.48 60.93 75.12 75.13
""",
    ),
}

SD_UNIT = 1.0
