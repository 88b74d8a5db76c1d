"""SCL's tables as its first edition prints and numbers them (arXiv 2011.01403v1, November 2020), in percent.

The ICLR edition numbers them differently. The CoLA column is near 86, which reads as accuracy, not MCC.
"""

TABLES = {
    1: (
        "Tasks: training examples as printed (thousands), and classes",
        "task | train_k classes",
        """
SST-2 | 67 2
CoLA | 8.5 2
MRPC | 3.7 2
RTE | 2.5 2
QNLI | 105 2
MNLI | 393 3
""",
    ),
    2: (
        "Full training sets, RoBERTa-large; the best of 10 seeds by validation",
        "method | SST-2 CoLA MRPC RTE QNLI MNLI Avg",
        """
CE | 94.7 86.4 87.3 85.0 94.5 90.0 89.7
CE + SCL | 95.9 87.3 87.8 85.6 95.4 89.9 90.3
""",
    ),
    3: (
        "Full training sets, RoBERTa-base, by batch size",
        "batch_size | method | SST-2 CoLA QNLI",
        """
16 | CE + SCL | 93.9 83.4 92.1
64 | CE + SCL | 94.2 84.8 92.7
256 | CE + SCL | 94.3 84.9 92.9
""",
    ),
    4: (
        "Few-shot, RoBERTa-large: mean and deviation of the top 3 of 10 draws by validation",
        "n | method | SST-2 QNLI MNLI",
        """
20 | CE | 85.9±2.1 65.0±2.0 39.3±2.5
20 | CE + SCL | 88.1±3.3 75.7±4.8 42.7±4.6
100 | CE | 91.1±1.3 81.9±0.4 59.2±2.1
100 | CE + SCL | 92.8±1.3 82.5±0.4 61.1±3.0
1000 | CE | 94.0±0.6 89.2±0.6 81.4±0.2
1000 | CE + SCL | 94.1±0.5 89.8±0.4 81.5±0.2
""",
    ),
    5: (
        "100 labels, training sets augmented by back-translation at temperature T; top 3 of 10 draws",
        "task | method | Original T=0.3 T=0.5 T=0.7 T=0.9 Average",
        """
SST-2 | CE | 91.1±1.3 92.0±1.3 91.4±1.0 91.7±1.3 90.0±0.5 91.3±1.2
SST-2 | CE + SCL | 92.8±1.3 92.6±0.9 91.5±1.0 91.2±0.6 91.5±1.0 91.7±1.0
QNLI | CE | 81.9±0.4 81.1±2.3 80.0±2.9 78.9±3.7 75.9±4.0 79.0±3.5
QNLI | CE + SCL | 82.5±0.4 82.7±1.9 81.9±2.5 81.3±0.6 80.1±2.5 81.5±2.0
MNLI | CE | 59.2±2.1 54.0±1.1 55.3±2.4 54.6±2.2 47.0±1.8 52.7±3.9
MNLI | CE + SCL | 61.1±3.0 61.2±2.3 62.1±0.9 62.3±1.1 53.0±2.1 59.7±4.3
""",
    ),
    7: (
        "Transfer of the SST-2 model, 20 labels a class; top 3 of 10 draws",
        "n | method | Amazon-2 Yelp-2",
        """
40 | CE | 87.4±6.4 90.8±2.2
40 | CE + SCL | 90.3±0.6 91.2±0.4
""",
    ),
}

SD_UNIT = 1.0
