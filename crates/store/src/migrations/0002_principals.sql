-- On whose behalf; none in rows of before.
ALTER TABLE tasks ADD COLUMN created_by TEXT;
ALTER TABLE events ADD COLUMN principal TEXT;

-- It never was the time at which somebody was last heard.
ALTER TABLE environments RENAME COLUMN last_seen_ms TO registered_ms;

-- Nobody asks for these.
DROP INDEX tasks_due;
ALTER TABLE tasks DROP COLUMN wake_at_ms;
DROP INDEX runs_of_environment;
ALTER TABLE runs DROP COLUMN gone;
