"""Keys of the application: they work on every screen, unless a text is being typed."""

from tui_eval.tui.keys import Key

TITLE = "Everywhere"
WITH: tuple[str, ...] = ()
KEYS = (
    Key(
        "app.help", "question_mark,f1", "help", "help", "Help for what has the focus, then all other keys", footer=True
    ),
    Key("app.palette", "colon,ctrl+p", "command_palette", "commands", "Command palette: search every action"),
    Key("app.back", "escape", "back", "back", "Go back to where you came from; never quits"),
    Key("app.leave", "q", "leave", "quit", "Go back; on the first screen: quit"),
    Key("app.quit", "ctrl+q", "quit", "quit", "Quit; runs go on without the screen", priority=True),
    Key("app.interrupt", "ctrl+c", "interrupt", "quit", "Twice: quit", priority=True),
    Key("app.home", "H,f2", "go('home')", "home", "Home: all runs"),
    Key("app.plans", "P,f3", "go('plans')", "plans", "Plans of the workspace"),
    Key("app.datasets", "D,f4", "go('datasets')", "datasets", "Datasets of the workspace"),
    Key("app.solutions", "O,f5", "go('solutions')", "solutions", "Solutions: how agents are called"),
    Key("app.evaluators", "E,f6", "go('evaluators')", "evaluators", "Evaluators: how answers are judged"),
    Key("app.launch", "L,f7", "go('launch')", "launch", "Launch: compose a run and start it"),
    Key("app.agentloop", "B", "go('agentloop')", "AgentLoop", "AgentLoop: its plans, datasets, evaluators and runs"),
    Key("app.settings", "comma,f8", "go('settings')", "settings", "Settings: theme, workspace, history, mouse"),
    Key("app.theme", "T", "choose_theme", "theme", "Choose a theme"),
    Key("app.mouse", "m", "toggle_mouse", "mouse", "Mouse on or off"),
    Key("app.refresh", "ctrl+r", "refresh_screen", "refresh", "Read again and draw everything anew"),
    Key("app.stop_work", "ctrl+g", "stop_work", "stop work", "Stop what is being written or deleted"),
    Key("app.next_panel", "tab", "next_panel(1)", "next panel", "Next panel"),
    Key("app.previous_panel", "shift+tab", "next_panel(-1)", "previous panel", "Previous panel"),
    *(
        Key(f"app.panel_{number}", str(number), f"panel({number})", f"panel {number}", f"Go to panel {number}")
        for number in range(1, 6)
    ),
    Key("app.zoom", "z", "zoom", "zoom", "Give the focused panel the whole screen, and back"),
)
