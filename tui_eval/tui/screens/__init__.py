"""The screens: each composes widgets, asks the history and obeys keys. They are found through `routes`."""
