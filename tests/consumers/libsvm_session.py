"""What the README of LIBSVM's Python interface shows: one line, the same on every library."""

from liblinear_session import samples

try:
    from libsvm import svmutil as util
except ImportError:  # Debian's
    import svmutil as util

labels, targets, rows = samples(300, 3)
model = util.svm_train(labels, rows, "-q -c 4 -b 1")
assert model.get_labels() == [1, 2, 3]
assert model.is_probability_model()
indices = model.get_sv_indices()
assert len(indices) == model.get_nr_sv() == sum(model.nSV[i] for i in range(model.get_nr_class()))
assert len(model.get_sv_coef()) == len(indices)
found = [{j: x for j, x in row.items() if j > 0} for row in model.get_SV()]
assert found == [rows[i - 1] for i in indices]
predicted, (accuracy, _, _), values = util.svm_predict(labels, rows, model, "-b 1 -q")
assert all(abs(sum(row) - 1) < 1e-6 for row in values)
util.svm_save_model("session.model", model)
again = util.svm_load_model("session.model")
assert util.svm_predict(labels, rows, again, "-b 1 -q")[0] == predicted

validated = util.svm_train(labels, rows, "-q -s 1 -n 0.3 -v 5")
regression = util.svm_train(targets, rows, "-q -s 3 -e 1e-5")
error = util.svm_predict(targets, rows, regression, "-q")[1][1]
one_class = util.svm_train(labels, rows, "-q -s 2 -n 0.2 -e 1e-6")
assert 230 < util.svm_predict(labels, rows, one_class, "-q")[0].count(1) < 250
print(f"accuracy {accuracy:.2f}, cross-validated {validated:.2f}, squared error {error:.2f}")
