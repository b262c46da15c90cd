-- What is stated about a version of a dataset; none where nothing is.
ALTER TABLE dataset_versions ADD COLUMN size_bytes INTEGER;
ALTER TABLE dataset_versions ADD COLUMN checksum TEXT;
ALTER TABLE dataset_versions ADD COLUMN format TEXT;
-- Which environments have seen a version when a task started, and what they saw.
CREATE TABLE dataset_sightings (
    version_seq INTEGER NOT NULL REFERENCES dataset_versions (seq) ON DELETE CASCADE,
    environment TEXT NOT NULL,
    proven_ms   INTEGER NOT NULL,
    document    TEXT NOT NULL,
    PRIMARY KEY (version_seq, environment)
) WITHOUT ROWID;
-- The numbers of a model, where they were given or read, as JSON with where they come from.
ALTER TABLE models ADD COLUMN shape TEXT;
