"""Keys of the datasets of the workspace."""

from tui_eval.tui.keys import Key

TITLE = "Datasets"
WITH = ("everywhere", "table")
KEYS = (
    Key("datasets.sample", "t", "sample", "sample", "Take a sample: limit, seed, where, ids of the marked rows", True),
    Key("datasets.check", "c", "check", "check", "Look through the whole file for problems", True),
    Key("datasets.copy", "y", "copy", "copy", "Copy the sample as YAML for a plan", True),
    Key("datasets.write", "Y", "write", "write", "Write the sample as YAML to a file"),
    Key("datasets.stop", "x", "stop", "stop", "Stop what is being counted or looked through"),
    Key("datasets.all", "A", "all", "all cases", "Forget the sample: all cases take part"),
    Key("datasets.edit", "e", "edit", "edit", "Open the file in $VISUAL or $EDITOR"),
    Key("datasets.again", "r", "again", "read again", "Read this dataset again"),
    Key("datasets.filter", "slash", "filter", "filter", "Filter: words of the path", True),
)
