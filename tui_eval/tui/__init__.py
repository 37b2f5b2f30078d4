"""The screens: a terminal application over the history. They read it, start runners and write commands; nothing else.

The parts
---------
``app.main``        starts it (light: the toolkit is imported only when the terminal can show it)
``application``     wires settings, themes, history and screens; toasts, palette, help, quitting
``routes``          screens by name, imported when first opened
``screens/``        one module a screen: composes widgets, asks the history, obeys keys
``widgets/``        one module a kind of thing that is drawn; none reads the history
``projections/``    records to rows and texts: plain functions, tested without a terminal
``polling``         questions to the history in threads; answers come as typed messages
``background``      other long work, in threads that neither the keys nor the end of the program wait for
``long_work``       what the user asked for and takes long (deleting, exporting): told in the title bar, stopped with a key
``child_command``   the command line in a process of its own, for what needs the engine or must not hold the keys
``foreground``      the terminal given to another program until it ends: an editor, a pager
``keys/``           one module a group of keys; ids, help, README table and the check for clashes come from there
``text``            the one way for text from outside onto the screen

A new screen in ten lines
-------------------------
1. ``keys/thing.py``: ``TITLE``, ``WITH = ("everywhere", "table")``, ``KEYS = (Key("thing.open", "o", "open", …),)``.
2. ``projections/thing.py``: ``COLUMNS = (Column("name", "name", 20, weight=1), …)`` and a function record -> ``Row``.
3. ``screens/thing.py``::

       class ThingsRead(Message):
           def __init__(self, rows: list[Row]) -> None:
               super().__init__()
               self.rows = rows

       class ThingScreen(BaseScreen):
           BINDINGS = keys.bindings("thing")
           PANELS = ("#things",)                       # what the keys 1 to 5 go to
           HELP = "What one sees here, in a sentence."

           def body(self):
               yield LineTable(COLUMNS, id="things", empty="No things yet.\\nPress L to make one.")

           def on_mount(self):
               self.query_one(LineTable).focus()
               self.call_after_refresh(self.watch_history, self._question, ThingsRead)

           def _question(self, history):               # in a thread; sees no widget
               return [thing_row(thing) for thing in history.things()]

           @on(ThingsRead)
           def _read(self, event):                     # in the event loop; owns the widgets
               self.query_one(LineTable).show(event.rows)

4. ``routes.ROUTES``: one line (those of the planned screens are there already). Open it with
   ``self.tui.open("thing", name=…)``; a section (no argument) with its key in ``keys/everywhere.py``.
5. ``tests/tui/test_thing.py``: the projection alone, then a pilot test by keyboard with a history from
   ``tests.support.histories`` and the texts of ``tests.support.hostile``.

Rules
-----
* Text from outside (outputs, ids, names, paths, errors) is given to a ``LineTable`` cell, ``text.content``,
  ``text.line``, ``TitleBar`` or ``App.notify``, which make it safe; never to a widget as ``str``.
* Long work is ``await self.tui.history.read(question)`` or ``.call(function)`` in an action with ``@work``; nothing
  else may take more than a few milliseconds in the event loop. Work of many steps tells how far it is, between steps.
* A screen that is not in front (``polling.in_front``) draws nothing: the toolkit would send the one in front anew.
* A key that means something closer here than elsewhere: its id in ``INSTEAD`` of the group.
* What a screen is for stands first in the line of keys: ids in ``HINTS``; what a key means there: ``LABELS`` (a property
  where it changes). The widget with the focus may have both, too.
* The toolkit's ``size`` of what scrolls includes the scrollbar: lines are laid out in ``LineTable.across`` cells.
* A filter is a ``text_query``: words, patterns, "phrases", ``!without``; fields (``tag:x``) are read by its projection.
* A question before something irreversible, or before anything that calls an agent: ``dialogs.Confirm``. An action that
  asks is marked ``@asks`` instead of ``@work``: keys typed before the question is there wait for it (``type_ahead``).
* Heavy imports (httpx, yaml, pydantic, the store's reader) inside the functions that need them.
* Colours only as ``$state-…``, ``$muted``, ``$primary``, ``$edge`` … of the theme; a state has its glyph and word too.
* Usable at 60x18: let low-priority columns and panels go (``-narrow``, ``-short`` on the screen).
"""
