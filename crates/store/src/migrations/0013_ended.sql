-- What users have had lately is counted by the tasks that ended last.
CREATE INDEX tasks_by_ended ON tasks (ended_ms DESC) WHERE ended_ms IS NOT NULL;
