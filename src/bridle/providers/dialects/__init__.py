"""How services of models speak: a request is encoded, an answer decoded."""
