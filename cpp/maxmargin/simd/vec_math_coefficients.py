"""Print the polynomials of vec_math.hpp and vec_exp2.hpp.

exp(r) = 1 + r + r^2 q(r) on |r| <= log(2)/2, and 2^r = 1 + r p(r) on |r| <= 1/(2 n), where n powers
of 2 are looked up.

They interpolate the quotients at the Chebyshev nodes, in 60-digit arithmetic, which is within a
small factor of the minimax error. Run with mpmath installed; paste what it prints.
"""

from mpmath import chop, cos, exp, expm1, log, lu_solve, matrix, mp, mpf, pi

mp.dps = 60
LN2 = log(mpf(2))


def q(r):
    if abs(r) < mpf("1e-12"):
        return mpf(1) / 2 + r / 6
    return (expm1(r) - r) / r**2


def p(r):
    if abs(r) < mpf("1e-12"):
        return LN2 + LN2**2 * r / 2
    return expm1(r * LN2) / r


def interpolate(function, half_width, degree):
    nodes = [half_width * cos(pi * (2 * k + 1) / (2 * degree + 2)) for k in range(degree + 1)]
    powers = matrix(degree + 1, degree + 1)
    values = matrix(degree + 1, 1)
    for row, r in enumerate(nodes):
        values[row] = function(r)
        for k in range(degree + 1):
            powers[row, k] = r**k
    return [chop(c) for c in lu_solve(powers, values)]


def worst_relative_error(series, exact, half_width):
    steps = [half_width * step / 400 for step in range(-400, 401)]
    return max(abs(series(r) / exact(r) - 1) for r in steps)


def at(coefficients, r):
    return sum(c * r**k for k, c in enumerate(coefficients))


def show(name, coefficients, error):
    print(f"// {name}: degree {len(coefficients) - 1}, error {float(error):.2g}")
    for k, c in enumerate(coefficients):
        print(f"//   r^{k}: {float(c)!r}")


def show_exp(name, degree):
    c = interpolate(q, LN2 / 2, degree)
    show(name, c, worst_relative_error(lambda r: 1 + r + r**2 * at(c, r), exp, LN2 / 2))


def show_exp2(name, n, degree):
    half_width = mpf(1) / (2 * n)
    c = interpolate(p, half_width, degree)
    error = worst_relative_error(lambda r: 1 + r * at(c, r), lambda r: mpf(2) ** r, half_width)
    show(f"{name}, {n} powers", c, error)


if __name__ == "__main__":
    for name, degree in (("float", 4), ("double", 9)):
        show_exp(name, degree)
    for name, n, degree in (("float", 1, 5), ("float", 8, 2), ("float", 16, 2)):
        show_exp2(name, n, degree)
    for name, n, degree in (("double", 1, 10), ("double", 2, 8), ("double", 8, 6)):
        show_exp2(name, n, degree)
    for name, bits in (("float", 12), ("double", 32)):
        high = mpf(int(LN2 * 2**bits)) / mpf(2) ** bits
        print(f"// {name}: ln2 = {float(high)!r} + {float(LN2 - high)!r}")
