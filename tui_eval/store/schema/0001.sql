-- Version 1 of the history. Times are seconds since the epoch (UTC) unless a name says otherwise.

CREATE TABLE runs (
    id            INTEGER PRIMARY KEY,
    run_id        TEXT    NOT NULL UNIQUE,          -- 20261129-143501-7f3a: sorts by time, safe in a path
    name          TEXT    NOT NULL,                 -- the plan's name
    state         TEXT    NOT NULL,                 -- see records.RunState
    origin        TEXT    NOT NULL,                 -- launch | rerun | import
    origin_detail TEXT    NOT NULL DEFAULT '{}',    -- JSON: what a re-run selected, what changed since
    parent_run_id TEXT,                             -- run_id of the run this one takes up (it may be gone)
    plan_path     TEXT    NOT NULL DEFAULT '',
    folder        TEXT    NOT NULL,                 -- relative paths of the plan start here
    program       TEXT    NOT NULL,                 -- tui_eval version
    created_at    REAL    NOT NULL,
    started_at    REAL,
    finished_at   REAL,
    error         TEXT    NOT NULL DEFAULT '',
    warnings      TEXT    NOT NULL DEFAULT '[]',    -- JSON list of texts a reader must see (skipped lines, changed data)
    tags          TEXT    NOT NULL DEFAULT '[]',
    note          TEXT    NOT NULL DEFAULT '',
    host          TEXT    NOT NULL DEFAULT '',      -- the runner: host, pid, and the start of that pid (see runner)
    pid           INTEGER,
    pid_started   TEXT    NOT NULL DEFAULT '',
    heartbeat_at  REAL,
    task_concurrency INTEGER NOT NULL DEFAULT 1,
    pinned        INTEGER NOT NULL DEFAULT 0,
    plan          TEXT    NOT NULL                  -- JSON: the resolved plan, ${NAME} still in place, credentials
                                                    -- hidden; last, so that lists of runs need not read past it
) STRICT;
CREATE INDEX runs_by_time ON runs (created_at, id);
CREATE INDEX runs_by_parent ON runs (parent_run_id) WHERE parent_run_id IS NOT NULL;

-- One row a request of a run, with its counters: lists and live screens never count tasks.
CREATE TABLE requests (
    id            INTEGER PRIMARY KEY,
    run           INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    position      INTEGER NOT NULL,
    name          TEXT    NOT NULL,
    state         TEXT    NOT NULL,                 -- see records.RequestState
    error         TEXT    NOT NULL DEFAULT '',
    solution_type TEXT    NOT NULL,
    dataset       TEXT    NOT NULL DEFAULT '',      -- path as written, for lists
    dataset_hash  TEXT    NOT NULL DEFAULT '',
    started_at    REAL,
    finished_at   REAL,
    total         INTEGER NOT NULL DEFAULT 0,
    passed        INTEGER NOT NULL DEFAULT 0,
    failed        INTEGER NOT NULL DEFAULT 0,
    error_count   INTEGER NOT NULL DEFAULT 0,
    unscored      INTEGER NOT NULL DEFAULT 0,
    cancelled     INTEGER NOT NULL DEFAULT 0,
    running       INTEGER NOT NULL DEFAULT 0,       -- as of the last batch; queued = total - all of these
    waiting       INTEGER NOT NULL DEFAULT 0,       -- of the running ones: between attempts
    reused        INTEGER NOT NULL DEFAULT 0,       -- of the final ones: taken over from the parent run
    attempts      INTEGER NOT NULL DEFAULT 0,
    input_tokens  INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    cost          REAL    NOT NULL DEFAULT 0,
    latency_total REAL    NOT NULL DEFAULT 0,       -- seconds, sum over answered tasks not reused
    latency_count INTEGER NOT NULL DEFAULT 0,
    UNIQUE (run, position),
    UNIQUE (run, name)
) STRICT;

-- Cases by content: the same case is kept once, whoever uses it.
CREATE TABLE cases (
    id            INTEGER PRIMARY KEY,
    content_hash  BLOB    NOT NULL UNIQUE,          -- 16 bytes over id and columns
    case_id       TEXT    NOT NULL,
    codec         INTEGER NOT NULL,                 -- 0 plain UTF-8, 1 zlib
    data          BLOB    NOT NULL                  -- JSON of the columns
) STRICT;

CREATE TABLE tasks (
    id            INTEGER PRIMARY KEY,
    run           INTEGER NOT NULL,                 -- that of its request
    request       INTEGER NOT NULL REFERENCES requests (id) ON DELETE CASCADE,
    position      INTEGER NOT NULL,                 -- order of the task in its request, from 0
    case_key      INTEGER NOT NULL REFERENCES cases (id),
    case_id       TEXT    NOT NULL,
    repeat        INTEGER NOT NULL,                 -- from 0
    line          INTEGER NOT NULL DEFAULT 0,       -- of the case in its file, from 1; 0 unknown
    work          TEXT    NOT NULL DEFAULT 'call',  -- call | score (the answer is kept, only judge it)
    outcome       TEXT    NOT NULL DEFAULT 'queued', -- final, or 'queued'; a queued one with a row in activity is running
    fingerprint   TEXT    NOT NULL DEFAULT '',      -- of the rendered request and the solution; '' when it could not be rendered
    evaluation_fingerprint TEXT NOT NULL DEFAULT '',-- of the evaluators and what they read of the case
    reused_from   TEXT,                             -- run_id the outcome was taken over from
    attempts      INTEGER NOT NULL DEFAULT 0,
    started_at    REAL,
    finished_at   REAL,
    latency       REAL,                             -- seconds of the last attempt
    score         REAL,                             -- mean of the values of its scores
    error_kind    TEXT    NOT NULL DEFAULT '',
    message       TEXT    NOT NULL DEFAULT '',      -- why it is not passed, one line, at most 500 characters
    output        TEXT    NOT NULL DEFAULT '',      -- beginning of the output's text form, at most 200 characters
    trace_id      TEXT    NOT NULL DEFAULT '',
    input_tokens  INTEGER,
    output_tokens INTEGER,
    cost          REAL,
    UNIQUE (request, case_id, repeat)
) STRICT;
CREATE INDEX tasks_by_outcome ON tasks (request, outcome, position);
CREATE INDEX tasks_by_position ON tasks (request, position);
CREATE INDEX tasks_by_case ON tasks (case_key);

CREATE TABLE attempts (
    id            INTEGER PRIMARY KEY,
    task          INTEGER NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    number        INTEGER NOT NULL,                 -- from 1, in the order made
    started_at    REAL    NOT NULL,
    seconds       REAL    NOT NULL,
    error_kind    TEXT    NOT NULL DEFAULT '',      -- '' when it gave an answer
    message       TEXT    NOT NULL DEFAULT '',
    status_code   INTEGER,
    trace_id      TEXT    NOT NULL DEFAULT '',
    payload       INTEGER REFERENCES payloads (id), -- what was sent and received; runs that reuse an answer share the row
    UNIQUE (task, number)
) STRICT;
CREATE INDEX attempts_by_payload ON attempts (payload) WHERE payload IS NOT NULL;

CREATE TABLE scores (
    task          INTEGER NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    position      INTEGER NOT NULL,
    evaluator     TEXT    NOT NULL,
    value         REAL,
    passed        INTEGER,                          -- 1, 0, or NULL: did not decide
    reason        TEXT    NOT NULL DEFAULT '',
    error         TEXT    NOT NULL DEFAULT '',      -- why it did not decide
    detail        TEXT    NOT NULL DEFAULT '{}',
    PRIMARY KEY (task, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE payloads (
    id            INTEGER PRIMARY KEY,
    codec         INTEGER NOT NULL,
    data          BLOB    NOT NULL                  -- JSON: see records.AttemptPayload
) STRICT;

-- What each running task is doing, for the people watching; rewritten by the runner, empty when it is gone.
CREATE TABLE activity (
    task          INTEGER PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    run           INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    phase         TEXT    NOT NULL,                 -- calling, streaming, waiting, judging …
    since         REAL    NOT NULL,
    until         REAL,                             -- when a wait ends
    attempt       INTEGER NOT NULL,
    detail        TEXT    NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX activity_by_run ON activity (run);

-- From screens to the runner: the only thing that passes that way.
CREATE TABLE commands (
    id            INTEGER PRIMARY KEY,
    run           INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    kind          TEXT    NOT NULL,                 -- cancel_run | cancel_request | cancel_task | pause | resume | set_concurrency
    arguments     TEXT    NOT NULL DEFAULT '{}',
    given_by      TEXT    NOT NULL DEFAULT '',      -- user@host pid
    given_at      REAL    NOT NULL,
    taken_at      REAL,
    answer        TEXT    NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX commands_open ON commands (run) WHERE taken_at IS NULL;

CREATE TABLE log (
    id            INTEGER PRIMARY KEY,
    run           INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    at            REAL    NOT NULL,
    level         TEXT    NOT NULL,                 -- info | warning | error
    request       TEXT    NOT NULL DEFAULT '',
    message       TEXT    NOT NULL
) STRICT;
CREATE INDEX log_by_run ON log (run, id);
