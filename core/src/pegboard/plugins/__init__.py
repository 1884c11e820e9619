"""The plugin machinery: found by metadata, decided by pure functions, imported at first use.

`declaration` is what a plugin's code writes. `discovery` reads what is installed, `decision` gives
every plugin a state, `building` derives manifests, `running` imports plugins and holds them.
"""
