"""Print the polynomial of vec_math.hpp: exp(r) = 1 + r + r^2 q(r) on |r| <= log(2)/2.

q interpolates (exp(r) - 1 - r) / r^2 at the Chebyshev nodes, in 60-digit arithmetic, which is
within a small factor of the minimax error. Run with mpmath installed; paste what it prints.
"""

from mpmath import chop, cos, exp, expm1, log, lu_solve, matrix, mp, mpf, pi

mp.dps = 60
HALF_WIDTH = log(mpf(2)) / 2


def q(r):
    if abs(r) < mpf("1e-12"):
        return mpf(1) / 2 + r / 6
    return (expm1(r) - r) / r**2


def interpolate(degree):
    nodes = [HALF_WIDTH * cos(pi * (2 * k + 1) / (2 * degree + 2)) for k in range(degree + 1)]
    powers = matrix(degree + 1, degree + 1)
    values = matrix(degree + 1, 1)
    for row, r in enumerate(nodes):
        values[row] = q(r)
        for k in range(degree + 1):
            powers[row, k] = r**k
    return [chop(c) for c in lu_solve(powers, values)]


def worst_relative_error(coefficients):
    worst = mpf(0)
    for step in range(-400, 401):
        r = HALF_WIDTH * step / 400
        series = 1 + r + r**2 * sum(c * r**k for k, c in enumerate(coefficients))
        worst = max(worst, abs(series / exp(r) - 1))
    return worst


if __name__ == "__main__":
    for name, degree in (("float", 4), ("double", 9)):
        coefficients = interpolate(degree)
        print(f"// {name}: degree {degree}, error {float(worst_relative_error(coefficients)):.2g}")
        for k, c in enumerate(coefficients):
            print(f"//   r^{k}: {float(c)!r}")
    ln2 = log(mpf(2))
    for name, bits in (("float", 12), ("double", 32)):
        high = mpf(int(ln2 * 2**bits)) / mpf(2) ** bits
        print(f"// {name}: ln2 = {float(high)!r} + {float(ln2 - high)!r}")
