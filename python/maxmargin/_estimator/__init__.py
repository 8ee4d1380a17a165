"""What all estimators share: parameters, metadata, texts, certificates."""
