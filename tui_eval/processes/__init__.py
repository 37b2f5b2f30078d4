"""Child processes that can always be ended: programs (``child``) and Python functions (``workers``)."""
