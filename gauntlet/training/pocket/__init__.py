"""The pocket model: a tiny Llama that ships with the project, and the script that trained it."""
