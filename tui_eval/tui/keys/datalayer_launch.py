"""Keys of the screen that launches an evalset."""

from tui_eval.tui.keys import Key

TITLE = "Launch: an evalset"
WITH = ("everywhere", "table")
KEYS = (
    Key("datalayer_launch.go_on", "ctrl+o,f10", "go_on", "continue", "Continue to the pre-flight page", True, True),
    Key("datalayer_launch.add", "a", "add", "add agentspec", "Name agentspecs that the evalset does not suggest", True),
    Key("datalayer_launch.remove", "x", "remove", "remove", "Take an agentspec that was named here off the list", True),
)
