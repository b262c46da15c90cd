-- Where the time of all tasks has gone, those that were deleted included.
CREATE TABLE spent (
    cause TEXT NOT NULL PRIMARY KEY,
    ms    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
