"""The optimum of a machine's problem without one of its samples, from that with all.

In signed form beta_i moves along nodes, where the slope of its loss jumps (0 and the bounds), and
segments between them. With the residual r = K beta + ridge beta - t - rho, an optimum has r_i = T_k
on the segment between the nodes k - 1 and k, and T_k+1 <= r_i <= T_k at the node k, where T_0 is
infinite and the last one minus that. Where the states of all samples are known, the free ones, on
segments, follow from a linear system. With the inverse of that of the whole problem, the base, a
sample that goes, and others whose states change by that, are corrections of a few columns
(Cauwenberghs and Poggio 2000). Wrong states are exchanged, all at once (Judice and Pires 1994).
Where a few such exchanges do not suffice, the coefficient of the sample goes to 0 continuously, and
states change one by one on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Places = NDArray[np.int64]

# Free vectors nearer to the plane of others, squared and relative to the largest distance of two,
# are not taken into the base.
_IN_PLANE = 1e-9
_AT_NODE = 1e-12  # relative to the node
_BEYOND_NODE = 1e-10  # of the largest coefficient: so near to a node, it is on the segment too
_SINGULAR = 1e6  # times the largest bound, no coefficient of a regular system is
_MOST_EXCHANGES = 8  # 3 are usual
_MOST_STEPS = 500
_MOST_ROUNDS = 3  # that remove what `tol` left
_TOGETHER = 256  # columns that are computed at a time


class Solved(NamedTuple):
    """A solved problem: nodes[i] are those of beta_i, ascending; slopes the T_1 .. of all."""

    beta: Values
    residuals: Values
    nodes: Values
    slopes: tuple[float, ...]
    ridge: Values


class _Exchange:
    """The states of samples on the way to another optimum, and what follows from them."""

    def __init__(self, base: Removal, taken: int | None, total: float) -> None:
        self.base, self.taken, self.total = base, taken, total
        self.state, self.rests = base.state.copy(), base.rests.copy()
        self.limits = base.limits.copy()
        self.pushed: int | None = None  # a sample whose coefficient is greater by 1
        if taken is not None:  # its coefficient is 0, whatever its residual
            self.state[taken], self.rests[taken] = 0, False
            self.limits[:, taken] = [-np.inf, np.inf, -np.inf, np.inf]

    def copy(self) -> _Exchange:
        new = _Exchange(self.base, self.taken, self.total)
        new.state, new.rests, new.limits = self.state.copy(), self.rests.copy(), self.limits.copy()
        return new

    def move(self, places: Places, steps: Places) -> None:
        """Move samples to the next states; one that rests on a segment is set free there."""
        self.state[places] += np.where(self.rests[places], 0, steps)
        self.rests[places] = False
        self.limits[:, places] = self.base.limits_of_states[:, self.state[places], places]

    def enter(self, i: int, step: int, beta: Values) -> Values:
        """Set a sample free whose vector lies in the plane of the free ones; return beta then.

        As its coefficient moves, residuals stay, until another one, or itself, reaches a node.
        Raises ArithmeticError if none does.
        """
        pushed, state = self.copy(), self.state[i]
        pushed.pushed = i
        along = (pushed.solution()[0] - self.solution()[0]) * step
        along[i] = step
        limit = np.where(along > 0.0, self.limits[3], self.limits[2])
        limit[i] = self.base.nodes[i, state // 2 + 1 if step > 0 else (state + 1) // 2 - 1]
        may_move = self.is_free() & (np.abs(along) > _AT_NODE * np.abs(along).max())
        may_move[i] = True
        room = np.where(may_move, (limit - beta) / np.where(may_move, along, 1.0), np.inf)
        first = int(room.argmin())
        if np.isinf(room[first]):
            raise ArithmeticError("the system of the free coefficients is singular")
        self.move(np.array([i]), np.array([step]))
        self.move(np.array([first]), np.array([1 if along[first] > 0.0 else -1]))
        return beta + max(0.0, float(room[first])) * np.where(may_move, along, 0.0)

    def is_free(self) -> NDArray[np.bool_]:
        return np.asarray((self.state % 2 == 1) & ~self.rests)

    def _at_nodes(self, places: Places) -> Values:
        """Return the coefficients of samples at nodes."""
        values = self.base.nodes[places, (self.state[places] + 1) // 2]
        return np.where(places == self.taken, 0.0, values) if self.taken is not None else values

    def free_one(self, residuals: Values) -> Values:
        """Set the sample free that leaves its node first, where the sum of beta needs that.

        Returns the residuals when it does. Raises ArithmeticError if there is none.
        """
        base, held = self.base, np.flatnonzero(self.state % 2 == 0)
        need = self.total - float((self._at_nodes(held) - base.beta[held]).sum())
        direction = 1 if need > 0.0 else -1
        slacks = base.slacks(self.state, residuals, direction)
        if self.taken is not None:
            slacks[self.taken] = np.inf
        first = int(slacks.argmin())
        if np.isinf(slacks[first]):
            raise ArithmeticError("no sample is left that may change")
        self.move(np.array([first]), np.array([direction]))
        return np.asarray(residuals - direction * slacks[first])

    def solution(self) -> tuple[Values, Values]:
        """Return beta and the residuals; ArithmeticError where the system is singular."""
        base, inverse = self.base, self.base.inverse
        differs = (self.state != base.state) | (self.rests != base.rests)
        if self.taken is not None:
            differs[self.taken] = True
        changed = np.flatnonzero(differs)
        is_node, is_inside = self.state[changed] % 2 == 0, base.place[changed] >= 0
        held, shifted = changed[is_node & is_inside], changed[~is_node & is_inside]
        left, entered = changed[is_node & ~is_inside], changed[~is_node & ~is_inside]
        by = self._at_nodes(left) - base.beta[left] + (left == self.pushed)
        if self.pushed is not None and not differs[self.pushed]:
            left, by = np.append(left, self.pushed), np.append(by, 1.0)
        left, by = left[by != 0.0], by[by != 0.0]
        right = np.zeros(len(inverse))
        right[0] = self.total
        right[1 + base.place[shifted]] = base.bends[(self.state[shifted] + 1) // 2]
        right[1 + base.place[shifted]] -= base.bends[(base.state[shifted] + 1) // 2]
        used = np.flatnonzero(right)
        change = right[used] @ inverse[used] - by @ base.rows_of_free[left]
        residuals = base.residuals + by @ base.columns(left)
        if len(used) > 0:
            residuals += right[used] @ base.columns_of_free[used]
        beta = base.beta.copy()
        beta[left] += by
        at = 1 + base.place[held]
        columns, of_held = base.columns(entered), base.columns_of_free[at]
        if len(entered) + len(held) > 0:
            among = of_held[:, entered]
            system = np.block([[columns[:, entered], among.T], [-among, inverse[np.ix_(at, at)]]])
            wanted = self._at_nodes(held) + (held == self.pushed)
            needed = base.bends[(self.state[entered] + 1) // 2] - residuals[entered]
            try:
                found = np.linalg.solve(
                    system, np.concatenate([needed, wanted - base.beta[held] - change[at]])
                )
            except np.linalg.LinAlgError as error:
                raise ArithmeticError(str(error)) from error
            by, force = found[: len(entered)], found[len(entered) :]
            residuals += by @ columns + force @ of_held
            change += force @ inverse[at] - by @ base.rows_of_free[entered]
            beta[entered] += by
        beta[base.free] += change[1:]
        if len(held) > 0:
            beta[held] = wanted
        if not np.abs(beta).max() <= _SINGULAR * base.largest:
            raise ArithmeticError("the system of the free coefficients is singular")
        return beta, residuals


class Removal:
    """A solved problem, out of which samples are taken.

    `rows(places)` are the kernel values of samples with all. What `tol` has left of violations is
    removed first.
    """

    def __init__(self, rows: Callable[[Places], Values], solved: Solved, tol: float) -> None:
        self._rows, self._tol = rows, tol
        self.nodes, self._ridge = solved.nodes, solved.ridge
        self.bends = np.array([np.inf, *solved.slopes, -np.inf])
        is_finite = np.isfinite(self.nodes)
        sizes = np.where(is_finite, np.abs(self.nodes), 0.0)
        most = float(np.abs(solved.beta).max())
        self.largest = max(float(sizes.max()), most)
        self._slack = _BEYOND_NODE * np.minimum(sizes.max(axis=1), most if most > 0.0 else np.inf)
        beta = solved.beta[:, np.newaxis]
        is_at = is_finite & (np.abs(beta - self.nodes) <= _AT_NODE * sizes)
        # 2 k at the node k, 2 k - 1 on the segment below it.
        last = 2 * (self.nodes.shape[1] - 1)
        between = np.clip(2 * (beta > self.nodes).sum(axis=1) - 1, 0, last)
        self.state = np.where(is_at.any(axis=1), 2 * is_at.argmax(axis=1), between)
        self.limits_of_states = self._limits(last + 1)
        self._set_base(solved.beta, solved.residuals)
        for _ in range(_MOST_ROUNDS):
            try:
                beta_now, residuals, exchange = self._optimum(None, 0.0)
            except ArithmeticError:  # then each removal has to
                break
            if (exchange.state == self.state).all():
                break
            self.state = exchange.state
            self._set_base(beta_now, residuals)

    def residual_without(self, i: int, total: float) -> float:
        """Return the residual of sample i where it has no coefficient and the sum grows by `total`.

        Raises ArithmeticError where none is found.
        """
        beta, residuals, exchange = self._optimum(i, total)
        return float(residuals[i] + self._centring(beta, residuals, exchange))

    @property
    def is_free(self) -> NDArray[np.bool_]:
        """Whether a coefficient is between two nodes, so that the offset follows from it."""
        return self._is_between(self.beta, self.state)

    def prepare(self, places: Places) -> None:
        """Compute what taking these samples out needs, many at a time."""
        outside = places[self.place[places] < 0]
        for begin in range(0, len(outside), _TOGETHER):
            some = outside[begin : begin + _TOGETHER]
            block = self._rows(some) - self.rows_of_free[some] @ self._edges
            block[np.arange(len(some)), some] += self._ridge[some]
            self._columns.update(zip(some.tolist(), block, strict=True))

    def columns(self, places: Places) -> Values:
        """Return by how much the residuals change with these coefficients, which are not free."""
        missing = [i for i in places.tolist() if i not in self._columns]
        if missing:
            self.prepare(np.array(missing))
        rows = [self._columns[i] for i in places.tolist()]
        return np.array(rows) if rows else np.empty((0, len(self.beta)))

    def slacks(self, state: Places, residuals: Values, direction: int) -> Values:
        """Return how far from leaving its node in a direction each sample is."""
        may_move = state < len(self.limits_of_states[0]) - 1 if direction > 0 else state > 0
        bend = self.bends[state // 2 + (direction > 0)]
        return np.where(may_move & (state % 2 == 0), direction * (residuals - bend), np.inf)

    def _limits(self, n_states: int) -> Values:
        """Return the limits of residuals at nodes and of coefficients on segments, by state."""
        limits = np.empty((4, n_states, len(self._slack)))
        for state in range(n_states):
            k = (state + 1) // 2
            limits[::2, state], limits[1::2, state] = -np.inf, np.inf
            if state % 2 == 0:
                limits[0, state], limits[1, state] = self.bends[k + 1], self.bends[k]
            else:
                limits[2:, state] = self.nodes[:, k - 1 : k + 1].T
                limits[2:, state] += np.array([[-1.0], [1.0]]) * self._slack
        return limits

    def _set_base(self, beta: Values, residuals: Values) -> None:
        self.beta, self.residuals, n = beta.copy(), residuals.copy(), len(beta)
        if not (self.state % 2 == 1).any():  # one at an end of the interval of rho
            for direction in (1, -1):
                slacks = self.slacks(self.state, self.residuals, direction)
                i = int(slacks.argmin())
                if np.isfinite(slacks[i]):
                    self.residuals -= direction * slacks[i]
                    self.state[i] += direction
                    break
        free = np.flatnonzero(self.state % 2 == 1)
        values = self._rows(free)
        square = values[:, free] + np.diag(self._ridge[free])
        kept = _independent(square)
        self.free = free[kept]
        n_free = len(kept)
        self.place = np.full(n, -1)
        self.place[self.free] = np.arange(n_free)
        self._edges = np.concatenate([np.ones((1, n)), values[kept]])
        self._edges[1 + np.arange(n_free), self.free] += self._ridge[self.free]
        bordered = np.zeros((n_free + 1, n_free + 1))
        bordered[0, 1:] = bordered[1:, 0] = 1.0
        bordered[1:, 1:] = square[np.ix_(kept, kept)]
        self.inverse = np.linalg.inv(bordered)
        self.columns_of_free = self.inverse @ self._edges
        self.rows_of_free = np.ascontiguousarray(self.columns_of_free.T)
        self._columns: dict[int, Values] = {}
        wanted = self.bends[(self.state[self.free] + 1) // 2] - self.residuals[self.free]
        right = np.concatenate([[0.0], wanted])
        self.beta[self.free] += (self.inverse @ right)[1:]
        self.residuals += self.rows_of_free @ right
        self.limits = self.limits_of_states[:, self.state, np.arange(n)]
        # Free ones outside the base keep their values, and so their residuals.
        self.rests = (self.state % 2 == 1) & (self.place < 0)
        bend = self.bends[(self.state[self.rests] + 1) // 2]
        self.limits[:2, self.rests] = bend
        self.limits[2:, self.rests] = [[-np.inf], [np.inf]]

    def _optimum(self, i: int | None, total: float) -> tuple[Values, Values, _Exchange]:
        try:
            return self._exchanged(_Exchange(self, i, total))
        except ArithmeticError:
            return self._walked(_Exchange(self, i, total))

    def _exchanged(self, exchange: _Exchange) -> tuple[Values, Values, _Exchange]:
        """Exchange all wrong states until there are none.

        Raises ArithmeticError if that takes too long, or a system is singular.
        """
        residuals = self.residuals
        for _ in range(_MOST_EXCHANGES):
            if not exchange.is_free().any():
                exchange.free_one(residuals)
            beta, residuals = exchange.solution()
            below, above, least, most = exchange.limits
            rises = (residuals < below - self._tol) | (beta > most)
            wrong = np.flatnonzero(rises | (residuals > above + self._tol) | (beta < least))
            if len(wrong) == 0:
                return beta, residuals, exchange
            exchange.move(wrong, np.where(rises[wrong], 1, -1))
        raise ArithmeticError("the exchange of states does not end")

    @np.errstate(divide="ignore", invalid="ignore")
    def _walked(self, exchange: _Exchange) -> tuple[Values, Values, _Exchange]:
        """Go straight to what the states lead to, and exchange the first that becomes wrong.

        Raises ArithmeticError if that takes too long, or finds no way.
        """
        beta, residuals = self.beta, self.residuals
        before: tuple[_Exchange, int, int] | None = None
        for _ in range(_MOST_STEPS):
            if not exchange.is_free().any():
                residuals = exchange.free_one(residuals)
            try:
                aims = exchange.solution()
            except ArithmeticError:
                if before is None:
                    raise
                exchange, j, step = before
                beta, before = exchange.enter(j, step, beta), None
                continue
            below, above, least, most = exchange.limits
            ways = aims[0] - beta, aims[1] - residuals
            ends = (
                np.where(ways[0] > 0.0, most, least),
                np.where(ways[1] > 0.0, above + self._tol, below - self._tol),
            )
            rooms = [
                np.where(way != 0.0, (end - now) / way, np.inf)
                for way, end, now in zip(ways, ends, (beta, residuals), strict=True)
            ]
            firsts = [int(room.argmin()) for room in rooms]
            lengths = [float(room[first]) for room, first in zip(rooms, firsts, strict=True)]
            of_residuals = lengths[1] < lengths[0]
            j, length = firsts[of_residuals], max(0.0, lengths[of_residuals])
            if length >= 1.0:
                return *aims, exchange
            beta, residuals = beta + length * ways[0], residuals + length * ways[1]
            step = 1 if (ways[of_residuals][j] > 0.0) != of_residuals else -1
            before = (exchange.copy(), j, step) if of_residuals else None
            exchange.move(np.array([j]), np.array([step]))
        raise ArithmeticError("there are too many steps")

    def _is_between(self, beta: Values, state: Places) -> NDArray[np.bool_]:
        is_between, free = np.zeros(len(beta), dtype=bool), np.flatnonzero(state % 2 == 1)
        k, values, slack = (state[free] + 1) // 2, beta[free], self._slack[free]
        is_above = values > self.nodes[free, k - 1] + slack
        is_between[free] = is_above & (values < self.nodes[free, k] - slack)
        return is_between

    def _centring(self, beta: Values, residuals: Values, exchange: _Exchange) -> float:
        """Return what moves the residuals to the middle of the interval that rho may lie in."""
        state, every = exchange.state, np.arange(len(beta))
        if self._is_between(beta, state).any():
            return 0.0
        k = (state + 1) // 2  # one that is free is at a node of its segment
        is_lower = beta <= self.nodes[every, np.maximum(k - 1, 0)] + self._slack
        state = np.where(state % 2 == 0, state, state + np.where(is_lower, -1, 1))
        slacks = [self.slacks(state, residuals, direction) for direction in (1, -1)]
        if exchange.taken is not None:
            slacks[0][exchange.taken] = slacks[1][exchange.taken] = np.inf
        fall, rise = (float(slack.min()) for slack in slacks)
        if np.isinf(fall) or np.isinf(rise):
            return (0.0 if np.isinf(fall) else -fall) + (0.0 if np.isinf(rise) else rise)
        return 0.5 * (rise - fall)


def _independent(square: Values) -> Places:
    """Return which vectors, of these products, span the plane of all; a pivoted Cholesky."""
    n = len(square)
    if n <= 1:
        return np.arange(n)
    apart = square - square[:, :1] - square[:1] + square[0, 0]  # counted from the first
    left = np.diagonal(apart).copy()
    least = _IN_PLANE * float(left.max())
    try:
        if np.diagonal(np.linalg.cholesky(apart[1:, 1:])).min() ** 2 > least:
            return np.arange(n)
    except np.linalg.LinAlgError:
        pass
    chosen, factor = [0], np.zeros((n, n))
    for k in range(n - 1):
        j = int(left.argmax())
        if left[j] <= least:
            break
        factor[k] = (apart[j] - factor[:k, j] @ factor[:k]) / np.sqrt(left[j])
        left -= np.square(factor[k])
        left[[*chosen, j]] = 0.0
        chosen.append(j)
    return np.sort(np.array(chosen))
