"""The contracts that plugins and rooms share: standard library only, one noun a file.

Nothing here imports another module of Pegboard outside this folder, so every room and every plugin
may import it at no cost. `hookspecs` is the one module that needs a library (pluggy's marker).
"""
