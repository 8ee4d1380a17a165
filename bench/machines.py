"""The one form in which every library's result is stored and checked.

A multi-class model is a list of two-class machines. Machine p decides between the labels
``positive[p]`` and ``negative[p]``: f(x) = sum_i coef_i K(x_i, x) + bias, f >= 0 for the positive
one, and coef_i = y_i alpha_i with y_i = +1 for rows of the positive label.
"""

from dataclasses import dataclass, fields

import numpy as np


@dataclass
class Machines:
    positive: np.ndarray  # (P,) labels
    negative: np.ndarray  # (P,) labels
    start: np.ndarray  # (P + 1,) where each machine's support starts in rows and coef
    rows: np.ndarray  # indices into the training rows
    coef: np.ndarray  # signed coefficients, in the precision of the library
    bias: np.ndarray  # (P,)

    def __len__(self):
        return len(self.positive)

    def support(self, p):
        """Training rows and signed coefficients of machine ``p``."""
        part = slice(self.start[p], self.start[p + 1])
        return self.rows[part], self.coef[part].astype(np.float64)

    def n_support(self):
        """Distinct support vectors over all machines."""
        return len(np.unique(self.rows))

    def save(self, path):
        np.savez(path, **{field.name: getattr(self, field.name) for field in fields(self)})

    @classmethod
    def load(cls, path):
        with np.load(path) as arrays:
            return cls(**{field.name: arrays[field.name] for field in fields(cls)})


def from_libsvm_layout(labels, n_support, support, dual_coef, bias):
    """Machines out of LIBSVM's packed arrays (one-vs-one, rows grouped by class).

    Parameters
    ----------
    labels : (k,) class labels in the order of the groups.
    n_support : (k,) support vectors per class.
    support : (n_sv,) training rows.
    dual_coef : (k - 1, n_sv). Rows of class i have their coefficient against class j in line j - 1
        if i < j and in line j otherwise. The first class of a pair is the positive one.
    bias : (k (k - 1) / 2,) in the order (0, 1), (0, 2), ..., (k - 2, k - 1); minus rho.
    """
    labels, support = np.asarray(labels), np.asarray(support, dtype=np.int64)
    group = np.concatenate([[0], np.cumsum(n_support)])
    positive, negative, rows, coef = [], [], [], []
    for i in range(len(labels)):
        for j in range(i + 1, len(labels)):
            of_i, of_j = slice(group[i], group[i + 1]), slice(group[j], group[j + 1])
            pair_coef = np.concatenate([dual_coef[j - 1, of_i], dual_coef[i, of_j]])
            pair_rows = np.concatenate([support[of_i], support[of_j]])
            rows.append(pair_rows[pair_coef != 0])
            coef.append(pair_coef[pair_coef != 0])
            positive.append(labels[i])
            negative.append(labels[j])
    start = np.concatenate([[0], np.cumsum([len(part) for part in rows])])
    return Machines(
        np.array(positive),
        np.array(negative),
        start,
        np.concatenate(rows),
        np.concatenate(coef),
        np.asarray(bias, dtype=np.float64),
    )
