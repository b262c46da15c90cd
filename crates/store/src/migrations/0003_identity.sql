-- Who speaks for the environment, as JSON; none where only agents of earlier releases have come.
ALTER TABLE environments ADD COLUMN identity TEXT;
-- What operators have said of it: drained, lost; none where it serves.
ALTER TABLE environments ADD COLUMN duty TEXT;
