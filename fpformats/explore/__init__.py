"""Looking at formats: one number explained, many numbers compared."""
