"""AgentCompass: its orchestration files, its runs, its results, all in our history. Never imported into our process."""
