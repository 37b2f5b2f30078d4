-- Version 2: what is reported to platforms, and what was last seen of them.

-- One row a request that is reported: what the platform calls it, and what it was last told.
CREATE TABLE platform_records (
    id            INTEGER PRIMARY KEY,
    run           INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    request       INTEGER NOT NULL UNIQUE REFERENCES requests (id) ON DELETE CASCADE,
    platform      TEXT    NOT NULL,                 -- agentloop
    settings      TEXT    NOT NULL DEFAULT '{}',    -- JSON: what the platform's module needs to report; no credentials
    record_id     TEXT    NOT NULL DEFAULT '',      -- the platform's id, '' until it was made
    record_name   TEXT    NOT NULL DEFAULT '',
    status        TEXT    NOT NULL DEFAULT '',      -- the status that the platform was last told
    told          TEXT    NOT NULL DEFAULT '{}',    -- JSON: the counts that it was last told
    started_at    REAL,                             -- the start that it was told
    error         TEXT    NOT NULL DEFAULT '',      -- why reporting does not go on, '' when it does
    evaluation    TEXT    NOT NULL DEFAULT '{}',    -- JSON: how far the platform is with its scores
    updated_at    REAL    NOT NULL
) STRICT;
CREATE INDEX platform_records_by_run ON platform_records (run);

-- The queue of results to report is every finished task of a reported request that has no row here.
CREATE TABLE reports (
    task          INTEGER PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    record        INTEGER NOT NULL REFERENCES platform_records (id) ON DELETE CASCADE,
    state         TEXT    NOT NULL,                 -- sending (nothing is known yet) | broken (the platform
                                                    -- answered with an error of its own) | sent | refused
    at            REAL    NOT NULL
) STRICT;
CREATE INDEX reports_by_record ON reports (record, state);

-- What platforms listed, for looking at it without them.
CREATE TABLE platform_cache (
    platform      TEXT    NOT NULL,
    key           TEXT    NOT NULL,
    at            REAL    NOT NULL,
    data          TEXT    NOT NULL,                 -- JSON
    PRIMARY KEY (platform, key)
) STRICT, WITHOUT ROWID;
